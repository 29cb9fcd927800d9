"""Scalars as fields want them: text keeps what was written, numbers and booleans are strict."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import math
import re
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

from akotf.reading.nodes import TextNode, ValueNode
from akotf.reading.scalars import doubt, read_integer, read_number, resolve, shown

Leaf = TextNode | ValueNode
Read = Callable[[Leaf], Any]


class Fault(ValueError):
    """A scalar that a field can't take, with what to write instead."""

    def __init__(self, message: str, remedy: str = "", rule: str = "type") -> None:
        super().__init__(message)
        self.remedy = remedy
        self.rule = rule


class Scalar:
    """Stands for the union bool | int | float | str, where nothing but the text says which."""


def reader(annotation: Any) -> Read:
    """How a field with this annotation reads a scalar."""
    simple: dict[Any, Read] = {
        str: text, int: integer, float: number, bool: boolean, dt.date: date, Scalar: scalar
    }  # fmt: skip
    if annotation in simple:
        return simple[annotation]
    if typing.get_origin(annotation) is Literal:
        return functools.partial(choice, typing.get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return functools.partial(choice, tuple(member.value for member in annotation))
    raise TypeError(f"a model field of type {annotation!r} can't be read from YAML")


def _spelt(node: Leaf) -> str:
    return shown(node.text) if isinstance(node, TextNode) else repr(node.value)


def text(node: Leaf) -> str:
    """What was written, untouched. A computed value must be text already."""
    if isinstance(node, TextNode):
        return node.text
    if isinstance(node.value, str):
        return node.value
    raise Fault(f"{node.value!r} is not text", "write {{ value | string }} to make text of it")


def unit(node: Leaf) -> Any:
    """Text for a field that parses units itself; computed numbers pass as they are."""
    return node.text if isinstance(node, TextNode) else node.value


def integer(node: Leaf) -> int:
    """A decimal integer, unquoted."""
    if isinstance(node, ValueNode):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        raise Fault(
            f"{node.value!r} is not a whole number", "compute a whole number, such as {{ (a / b) | int }}"
        )
    value = _plain(
        node,
        read_integer,
        "a whole number of at most 18 digits",
        "a whole number",
        "decimal digits, such as 8",
    )
    return int(value)


def number(node: Leaf) -> float:
    """A finite number, unquoted; `1e-4` needs no dot."""
    if isinstance(node, ValueNode):
        if (
            isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
            and math.isfinite(node.value)
        ):
            return float(node.value)
        raise Fault(f"{node.value!r} is not a finite number", "compute one, such as {{ steps * 0.1 }}")
    wanted = "a decimal number, such as 0.5 or 1e-4"
    return float(
        _plain(node, read_number, "a number between 1e-300 and 1e300, or 0", "a finite number", wanted)
    )


def _plain(
    node: TextNode, read: Callable[[str], int | float | None], held: str, kind: str, wanted: str
) -> int | float:
    """The number that an unquoted scalar spells; `held` is what fits, `kind` what it should be, `wanted` what to write."""
    try:
        value = read(node.text)
    except ValueError as error:
        raise Fault(str(error), f"write {held}") from error
    if value is None:
        raise Fault(f"{_spelt(node)} is not {kind}", f"write {wanted}")
    if not node.plain:
        raise Fault(f"{_spelt(node)} is text", f"write {node.text} without quotes")
    return value


def boolean(node: Leaf) -> bool:
    """`true` or `false`, unquoted."""
    if isinstance(node, ValueNode) and isinstance(node.value, bool):
        return node.value
    if isinstance(node, TextNode) and node.plain and node.text in ("true", "false"):
        return node.text == "true"
    raise Fault(f"{_spelt(node)} is not a boolean", "write true or false")


def date(node: Leaf) -> dt.date:
    """A calendar date, `2026-10-01`."""
    written = text(node)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", written):
        try:
            return dt.date.fromisoformat(written)
        except ValueError as error:
            raise Fault(f"{shown(written)} is not a date: {error}", "write a day of the calendar") from error
    raise Fault(f"{shown(written)} is not a date", "write year-month-day, such as 2026-10-01")


def scalar(node: Leaf) -> bool | int | float | str:
    """A boolean, number or text, when the text leaves no doubt which."""
    try:
        value = resolve(node)
    except ValueError as error:
        raise Fault(str(error), "quote it to mean text") from error
    if isinstance(value, str) and isinstance(node, TextNode) and node.plain and (remedy := doubt(value)):
        raise Fault(f"{shown(value)} may mean text or something else", remedy, "ambiguous-value")
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise Fault(f"{value!r} is no value", "compute a finite one")
    return value


def choice(options: tuple[Any, ...], node: Leaf) -> Any:
    """One of a fixed set; numbers among the options are read as numbers."""
    value: Any = node.text if isinstance(node, TextNode) else node.value
    if isinstance(node, TextNode) and not all(isinstance(o, str) for o in options):
        try:
            value = resolve(node)
        except ValueError:
            value = node.text
    for option in options:
        if type(option) is type(value) and option == value:
            return option
    near = difflib.get_close_matches(
        str(value).lower(), [str(o) for o in options if o != ""], n=1, cutoff=0.6
    )
    allowed = ", ".join(str(o) for o in options if o != "")
    raise Fault(
        f"{_spelt(node)} is not one of {allowed}",
        f"did you mean {near[0]!r}?" if near else f"write one of {allowed}",
    )


def explain(detail: Any) -> tuple[str, str]:
    """Message and remedy of one of pydantic's error details."""
    context, given, kind = detail.get("ctx", {}), shown(str(detail["input"])), detail["type"]
    bounds = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most"),
              "greater_than": ("gt", "more than"), "less_than": ("lt", "less than")}  # fmt: skip
    if kind in bounds:
        key, words = bounds[kind]
        return f"{detail['input']} must be {words} {context[key]}", f"write {words} {context[key]}"
    if kind == "string_pattern_mismatch":
        return f"{given} does not match {context['pattern']}", _pattern_remedy(context["pattern"])
    if kind in ("too_short", "string_too_short"):
        return "must not be empty", "write at least one item" if kind == "too_short" else "write some text"
    if kind == "value_error":
        message, _, remedy = str(context["error"]).partition("; ")
        return message, remedy or "write another value"
    return f"{given}: {detail['msg']}", "write another value"


def _pattern_remedy(pattern: str) -> str:
    if pattern.startswith("^[a-z]"):
        return "use lower-case letters, digits and '-', a letter first"
    return f"write a text that matches {pattern}"
