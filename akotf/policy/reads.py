"""Dotted paths under an object: what is known there, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ABSENT = object()


def value_at(data: Any, path: str) -> Any:
    """The value at a dotted path (`after.tags.0.key`), or ABSENT."""
    for name in path.split("."):
        if isinstance(data, Mapping) and name in data:
            data = data[name]
        elif isinstance(data, (list, tuple)) and name.isdecimal() and int(name) < len(data):
            data = data[int(name)]
        else:
            return ABSENT
    return data


def gap(data: Mapping[str, Any], path: str) -> str:
    """Why a rule can't read this path: `is absent`, `is null`, `is known only after apply`; "" when it can.

    Of a planned resource, what `after_unknown` marks under the path (or above it) is not known yet, whatever
    stands in `after`.
    """
    head, _, rest = path.partition(".")
    if head == "after" and _unknown(data.get("after_unknown"), rest):
        return "is known only after apply"
    value = value_at(data, path)
    if value is ABSENT:
        return "is absent"
    return "is null" if value is None else ""


def _unknown(marks: Any, path: str) -> bool:
    """Terraform marks an unknown value, or a whole unknown tree, with true."""
    while path and marks is not True:
        head, _, path = path.partition(".")
        marks = value_at(marks, head)
    return _any_true(marks)


def _any_true(marks: Any) -> bool:
    if isinstance(marks, Mapping):
        return any(_any_true(v) for v in marks.values())
    if isinstance(marks, (list, tuple)):
        return any(_any_true(v) for v in marks)
    return marks is True
