"""Paths that a rule reads: what is known there, and what is not.

`after.tags_all` is a value; `[]` goes through each item of a list (`after.ingress[].cidr_blocks[]`), `*` through each
value of a map; `?` says that the value may be null or absent (`after.cidr_blocks?[]`). A path under `input` is read in
the document, any other in the object. Of a planned resource, what `after_unknown` marks is not known yet.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from akotf.model.tfplan import any_true

ABSENT = object()
STEP = re.compile(r"([^.?\[\]]+)(\?)?(\[\])?")
Step = tuple[str, bool, bool]
PATH = re.compile(rf"{STEP.pattern}(?:\.{STEP.pattern})*")


class Found(NamedTuple):
    """One value, under its full path: `after.ingress[1].cidr_blocks[0]`."""

    path: str
    value: Any


class Reading(NamedTuple):
    """What the paths of a rule gave: values, and for what can't be read the reason (`after.ami is known only after apply`)."""

    found: list[Found]
    gaps: list[str]


def read(item: Mapping[str, Any], paths: tuple[str, ...], document: Mapping[str, Any] = {}) -> Reading:
    """Follow the paths. A path that can't be spelt is a gap, as `policy test` tells more clearly."""
    reading = Reading([], [])
    for path in paths:
        steps = _steps(path)
        head = steps[0][0] if steps else ""
        if not head or steps == (("input", False, False),):
            reading.gaps.append(f"{path} is no path")
        elif head == "input":
            _walk(document, None, steps[1:], head, reading)
        else:
            marks = {"after": item.get("after_unknown")} if head == "after" else None
            _walk(item, marks, steps, "", reading)
    # two paths through the same gap tell of it once
    return Reading(reading.found, list(dict.fromkeys(reading.gaps)))


@functools.lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    """Name, whether it may be missing, and whether each item is meant, of each step; none when it is no path."""
    if not PATH.fullmatch(path):
        return ()
    return tuple((m[1], bool(m[2]), bool(m[3])) for m in STEP.finditer(path))


def value_at(data: Any, path: str) -> Any:
    """The value at a dotted path of names and indices (`after.tags.0.key`), or ABSENT."""
    for name in path.split("."):
        data = _step(data, name)
    return data


def _step(data: Any, name: str) -> Any:
    if isinstance(data, dict):
        return data.get(name, ABSENT)
    if isinstance(data, (list, tuple)) and name.isdecimal() and int(name) < len(data):
        return data[int(name)]
    return ABSENT


def _walk(data: Any, marks: Any, steps: tuple[Step, ...], walked: str, reading: Reading) -> None:
    """One step down, or a value at the end. Terraform marks an unknown value, or a whole unknown tree, with true."""
    if not steps:
        if any_true(marks):
            reading.gaps.append(f"{walked} is known only after apply")
        else:
            reading.found.append(Found(walked, data))
        return
    (name, optional, each), rest = steps[0], steps[1:]
    if name == "*":
        if not isinstance(data, dict):
            reading.gaps.append(f"{walked} is no map")
            return
        names = [*data, *(set(marks) - set(data) if isinstance(marks, dict) else ())]
    else:
        names = [name]
    for inner in names:
        place = f"{walked}.{inner}" if walked else inner
        value, mark = _step(data, inner), _mark(marks, inner)
        if mark is True:
            reading.gaps.append(f"{place} is known only after apply")
        elif value is ABSENT or value is None:
            if not rest and not each and any_true(mark):
                reading.gaps.append(f"{place} is known only after apply")
            elif not optional:
                reading.gaps.append(f"{place} is {'absent' if value is ABSENT else 'null'}")
        elif not each:
            _walk(value, mark, rest, place, reading)
        elif not isinstance(value, (list, tuple)):
            reading.gaps.append(f"{place} is no list")
        else:
            for index, entry in enumerate(value):
                _item(entry, _mark(mark, str(index)), rest, f"{place}[{index}]", reading)


def _item(value: Any, mark: Any, rest: tuple[Step, ...], place: str, reading: Reading) -> None:
    if mark is True:
        reading.gaps.append(f"{place} is known only after apply")
    elif value is None:
        reading.gaps.append(f"{place} is null")
    else:
        _walk(value, mark, rest, place, reading)


def _mark(marks: Any, name: str) -> Any:
    """The marks of what is one step down; a tree that is marked as a whole is marked in each part."""
    if marks is True:
        return True
    found = _step(marks, name) if marks is not None else None
    return None if found is ABSENT else found
