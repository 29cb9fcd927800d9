"""Typed parameters of a template: the environment's values against type, bounds, choices and pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.model.config import ParameterSpec, TemplateSpec
from akotf.model.finding import Finding
from akotf.model.units import format_bytes, format_duration, parse_bytes, parse_duration
from akotf.reading import leaves
from akotf.reading.bind import suggest
from akotf.reading.leaves import Fault
from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode, ValueNode
from akotf.reading.scalars import NULLS, shown

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "recursive"})
_SECRET = re.compile(r"(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)")


@dataclass
class Parameters:
    """Final values by name (None: not set), the faults, and where the environment wrote those it gives."""

    values: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    given: dict[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True)
class _Typed:
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
        spec = self.spec
        if spec.secret and not _SECRET.fullmatch(str(value)):
            raise Fault("is secret: its value must not stand here", "write env:NAME or file:PATH", "secret")
        for bound, broken, words in ((spec.min, "below", "at least"), (spec.max, "above", "at most")):
            if bound is None or isinstance(value, (str, bool)):
                continue
            if value < bound if broken == "below" else value > bound:
                limit = self.shown(bound)
                raise Fault(f"{self.shown(value)} is {broken} {limit}", f"write {words} {limit}", "bounds")
        choices = self.choices()
        if choices and not any(type(c) is type(value) and c == value for c in choices):
            raise Fault(
                f"{self.shown(value)} is not a choice",
                suggest(str(value), [str(c) for c in choices]),
                "choice",
            )

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
        if isinstance(value, float) and value.is_integer() and self.spec.type == "integer":
            value = int(value)
        unit = f" {self.spec.unit}" if self.spec.unit else ""
        return f"{shown(value) if isinstance(value, str) else value}{unit}"


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
}  # fmt: skip


def bind_parameters(
    template: TemplateSpec,
    template_node: MapNode,
    given: Node | None,
    mark: Mark,
    *,
    check_defaults: bool = False,
) -> Parameters:
    """The final parameters: the environment's values (`given`, a mapping) over the template's defaults.

    `mark` is where the environment would write them; `check_defaults` holds defaults against patterns too. All faults at once, the template's own too.
    """
    result = Parameters()
    typed = _typed(template, template_node, result)
    entries = given.entries if isinstance(given, MapNode) else {}
    for name, stray in entries.items():
        if name not in typed:
            remedy = suggest(name, sorted(template.parameters))
            _note(
                result,
                name,
                "unknown-parameter",
                stray.mark,
                f"{template.name} has no parameter {name!r}",
                remedy,
            )
    patterns: list[tuple[str, Mark, str, str]] = []  # name, place, pattern, value
    for name, parameter in typed.items():
        entry = entries.get(name)
        default = parameter.node.get("default")
        node = entry.value if entry else default
        if node is None:
            result.values[name] = None
            if parameter.spec.required:
                remedy = f"write {name}: ..." + (f" ({parameter.spec.help})" if parameter.spec.help else "")
                _note(result, name, "missing-parameter", mark, f"parameter {name!r} is required", remedy)
            continue
        if entry:
            result.given[name] = node.mark if node.mark.line else entry.mark
        try:
            value = parameter.read(node)
            parameter.check(value)
        except Fault as fault:
            place = node.mark if node.mark.line or not entry else entry.mark
            _note(result, name, fault.rule, place, f"parameter {name!r}: {fault}", fault.remedy)
            continue
        result.values[name] = value
        if parameter.spec.pattern and isinstance(value, str) and (entry or check_defaults):
            patterns.append((name, node.mark, parameter.spec.pattern, value))
    _match(patterns, result)
    return result


def match_all(pairs: list[tuple[str, str]]) -> list[bool]:
    """Whether each pattern matches the whole of its text; runs in a limited child, as patterns can take for ever."""
    return [re.fullmatch(pattern, text) is not None for pattern, text in pairs]


def _match(patterns: list[tuple[str, Mark, str, str]], result: Parameters) -> None:
    if not patterns:
        return
    try:
        answers = run_limited(
            match_all, ([(pattern, value) for _, _, pattern, value in patterns],), seconds=2.0
        )
    except IsolationError as error:
        name, mark, pattern, _ = patterns[0]
        _note(
            result,
            name,
            "pattern",
            mark,
            f"matching the pattern {pattern} ended: {error.message}",
            "simplify it",
        )
        return
    for (name, mark, pattern, value), matches in zip(patterns, answers, strict=True):
        if not matches:
            _note(
                result,
                name,
                "pattern",
                mark,
                f"parameter {name!r}: {shown(value)} does not match {pattern}",
                "",
            )


def _typed(template: TemplateSpec, node: MapNode, result: Parameters) -> dict[str, _Typed]:
    """The parameters whose own specification holds."""
    typed = {}
    nodes = node.get("parameters")
    for name, spec in template.parameters.items():
        entry = nodes.entries.get(name) if isinstance(nodes, MapNode) else None
        if entry is None or not isinstance(entry.value, MapNode):
            continue
        parameter = _Typed(name, spec, entry.value, entry.mark)
        try:
            _check_spec(parameter)
        except Fault as fault:
            _note(
                result,
                name,
                "template",
                entry.mark,
                f"the template's parameter {name!r}: {fault}",
                fault.remedy,
            )
        typed[name] = parameter
    return typed


def _check_spec(parameter: _Typed) -> None:
    spec, default = parameter.spec, parameter.node.get("default")
    if not _NAME.fullmatch(parameter.name) or parameter.name in _WORDS:
        raise Fault(
            "can't be a name in an expression", "use lower-case letters, digits and '_', a letter first"
        )
    if spec.required and default is not None:
        raise Fault("is required and has a default", "keep one of them")
    if spec.min is not None and spec.max is not None and spec.min > spec.max:
        raise Fault(f"min {spec.min:g} is above max {spec.max:g}")
    if (spec.min is not None or spec.max is not None) and spec.type in ("string", "boolean"):
        raise Fault(f"a {spec.type} has no min and max", "remove them")
    if (spec.pattern or spec.secret) and spec.type != "string":
        raise Fault("pattern and secret are for strings", "set type: string")
    try:
        re.compile(spec.pattern)
    except re.error as error:
        raise Fault(f"the pattern can't be read: {error}") from error
    parameter.choices()
    if default is not None:
        parameter.check(parameter.read(default))


def _note(result: Parameters, name: str, rule: str, mark: Mark, message: str, remedy: str) -> None:
    result.findings.append(
        Finding(
            rule=f"config/{rule}",
            message=message,
            position=mark.position(),
            path=f"parameters.{name}",
            remedy=remedy,
        )
    )
