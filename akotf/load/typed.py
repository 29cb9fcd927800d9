"""Typed parameters of a template: how values are read, checked and shown, and what is wrong with a parameter itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from akotf.model.config import ParameterSpec
from akotf.model.finding import Finding
from akotf.model.secret import SCHEMES, is_reference
from akotf.model.units import (
    format_bytes,
    format_duration,
    format_percent,
    gpu_fits,
    parse_bytes,
    parse_duration,
    parse_gpu_name,
    parse_percent,
)
from akotf.reading import leaves
from akotf.reading.bind import suggest
from akotf.reading.leaves import Fault
from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode, ValueNode
from akotf.reading.scalars import NULLS, shown

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_WORDS = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "recursive", "self"}
)
_TEXTS = frozenset({"string", "gpu"})  # types whose values are text: no bounds, no unit


@dataclass(frozen=True)
class Typed:
    """A parameter's specification with its nodes, which keep what was written."""

    name: str
    spec: ParameterSpec
    node: MapNode
    mark: Mark

    def read(self, node: Node) -> Any:
        """A value of the parameter's type. Fault when it isn't one; a secret's value is never shown."""
        try:
            if not isinstance(node, (TextNode, ValueNode)):
                raise Fault("must be one value")
            if isinstance(node, TextNode) and node.plain and node.text in NULLS:
                raise Fault("needs a value", "write one, or remove the line", "needs-value")
            return _READERS[self.spec.type](node)
        except Fault as fault:
            if self.spec.secret and fault.rule != "needs-value":
                raise Fault(f"is not a {self.spec.type}", fault.remedy) from None
            raise

    def check(self, value: Any) -> None:
        """Bounds and choices. Fault when they don't hold."""
        if self.spec.secret and not is_reference(str(value)):
            remedy = f"write one of {', '.join(SCHEMES.values())}"
            raise Fault("is secret: its value must not stand here", remedy, "secret")
        for key, broken, words in (("min", "below", "at least"), ("max", "above", "at most")):
            bound = self.bound(key)
            if bound is None:
                continue
            if value < bound if key == "min" else value > bound:
                limit = self.shown(bound)
                raise Fault(f"{self.shown(value)} is {broken} {limit}", f"write {words} {limit}", "bounds")
        choices = self.choices()
        if choices and not any(self.matches(choice, value) for choice in choices):
            named = "it" if self.spec.secret else self.shown(value)
            known = [] if self.spec.secret else [self.shown(c) for c in choices]
            remedy = suggest(str(value), known) if known else "take one of the template's choices"
            raise Fault(f"{named} is not a choice", remedy, "choice")

    def matches(self, choice: Any, value: Any) -> bool:
        """Whether a value is a choice; a GPU choice without a form factor takes the card in any."""
        if self.spec.type == "gpu":
            return gpu_fits(choice, value)
        return type(choice) is type(value) and bool(choice == value)

    def bound(self, key: str) -> Any:
        """`min` or `max` as a value of the parameter's type; None when there is none. A bare number is bytes or seconds."""
        node = self.node.get(key)
        if node is None or self.spec.type in _TEXTS or self.spec.type == "boolean":
            return None
        bare = self.spec.min if key == "min" else self.spec.max
        if isinstance(bare, float):
            return bare
        return self.read(node)

    def choices(self) -> list[Any]:
        """The choices as values of the parameter's type."""
        node = self.node.get("choices")
        return [self.read(item) for item in node.items] if isinstance(node, ListNode) else []

    def shown(self, value: Any) -> str:
        """A value in its unit, for messages."""
        if self.spec.type == "bytes":
            return format_bytes(int(value))
        if self.spec.type == "duration":
            return format_duration(float(value))
        if self.spec.type == "percent":
            return format_percent(float(value))
        if isinstance(value, float):
            value = f"{value:.12g}"
        unit = f" {self.spec.unit}" if self.spec.unit else ""
        return f"{shown(value) if self.spec.type in _TEXTS else value}{unit}"

    def place(self, key: str) -> Mark:
        """Where `key` of the specification is written, else the parameter's name."""
        entry = self.node.entries.get(key)
        return entry.mark if entry and entry.mark.line else self.mark


@dataclass
class Parameters:
    """Final values by name (None: not set), the faults, and where the environment wrote those it gives."""

    values: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    given: dict[str, Mark] = field(default_factory=dict)
    typed: dict[str, Typed] = field(default_factory=dict)  # those whose own specification can be used

    def shown(self, name: str) -> str:
        """A final value in its unit, for messages; a secret's never."""
        value, parameter = self.values.get(name), self.typed[name]
        if value is None:
            return "nothing"
        return "(secret)" if parameter.spec.secret else parameter.shown(value)


def _quantity(parse: Callable[[Any], Any]) -> leaves.Read:
    def read(node: leaves.Leaf) -> Any:
        try:
            return parse(leaves.unit(node))
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            raise Fault(message, remedy) from error

    return read


_READERS: dict[str, leaves.Read] = {
    "integer": leaves.integer, "number": leaves.number, "string": leaves.text, "boolean": leaves.boolean,
    "duration": _quantity(parse_duration), "bytes": _quantity(parse_bytes),
    "percent": _quantity(parse_percent), "gpu": _quantity(parse_gpu_name),
}  # fmt: skip


def own_faults(parameter: Typed) -> Iterator[tuple[str, Fault]]:
    """What is wrong with a parameter's own specification, by its key."""
    spec, default = parameter.spec, parameter.node.get("default")
    if not _NAME.fullmatch(parameter.name) or parameter.name in _WORDS:
        remedy = "use lower-case letters, digits and '_', a letter first"
        yield "", Fault("can't be a name in an expression", remedy)
    if spec.required and default is not None:
        yield "default", Fault("is required and has a default", "keep one of them")
    for key in ("min", "max"):
        if parameter.node.get(key) is None:
            continue
        if spec.type in _TEXTS or spec.type == "boolean":
            yield key, Fault(f"a {spec.type} has no min and max", "remove it")
            return
        if (fault := _trouble(partial(parameter.bound, key))) is not None:
            yield key, Fault(f"{key} {fault}", fault.remedy)
            return
    low, high = parameter.bound("min"), parameter.bound("max")
    if low is not None and high is not None and low > high:
        yield "min", Fault(f"min {parameter.shown(low)} is above max {parameter.shown(high)}", "swap them")
    for key in ("pattern", "secret"):
        if getattr(spec, key) and spec.type != "string":
            yield key, Fault(f"{key} is for strings", "set type: string")
    try:
        re.compile(spec.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        yield "pattern", Fault(f"the pattern can't be read: {error}", "write a Python regular expression")
    if (fault := _trouble(partial(_check_choices, parameter))) is not None:
        yield "choices", Fault(f"a choice {fault}", fault.remedy)
    elif default is not None and (fault := _trouble(lambda: parameter.check(parameter.read(default)))):
        yield "default", Fault(f"its default {fault}", fault.remedy)


def _check_choices(parameter: Typed) -> None:
    """Every choice is a value of the type, within the bounds, and there once."""
    choices = parameter.choices()
    for choice in choices:
        parameter.check(choice)
    if len(set(map(str, choices))) < len(choices):
        raise Fault("is there twice", "keep one of them")


def _trouble(step: Callable[[], Any]) -> Fault | None:
    try:
        step()
    except Fault as fault:
        return fault
    return None
