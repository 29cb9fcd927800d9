"""Values given on the command line or in code, in place of what akotf.yaml says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from akotf.errors import ConfigError
from akotf.load.origins import OVERRIDE
from akotf.model.config import EnvironmentSpec
from akotf.model.finding import Finding
from akotf.reading.bind import suggest
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode, ValueNode, replaced

_PARAMETERS = "parameters."


def overridden(node: Node, overrides: Mapping[str, Any]) -> Node:
    """akotf.yaml with the overrides (dotted path or a parameter's name -> value) in place of what it says.

    What a value may be, and whether there is such a key below the first one, is told when the tree is read; its place is
    `override NAME`. ConfigError for a first key that is not there.
    """
    faults = []
    for name, value in overrides.items():
        parameter = name.removeprefix(_PARAMETERS)
        mark = Mark(f"{OVERRIDE}{parameter}")
        first = name.split(".")[0]
        if parameter != name or ("." not in name and first not in EnvironmentSpec.model_fields):
            node = replaced(node, ("parameters", parameter), _given(value, mark))
        elif first in EnvironmentSpec.model_fields:
            node = replaced(node, tuple(name.split(".")), _given(value, mark))
        else:
            faults.append(Finding(
                rule="config/unknown-key", message=f"akotf.yaml has no key {first!r}, which {name!r} would set",
                position=mark.position(), path=name, remedy=suggest(first, list(EnvironmentSpec.model_fields)),
            ))  # fmt: skip
    if faults:
        raise ConfigError(faults[0].message, faults, where=str(faults[0].position))
    return node


def _given(value: Any, mark: Mark) -> Node:
    if isinstance(value, str):
        return TextNode(value, True, mark)
    if isinstance(value, Mapping):
        return MapNode({str(k): Entry(mark, _given(v, mark)) for k, v in value.items()}, mark)
    if isinstance(value, (list, tuple)):
        return ListNode(tuple(_given(v, mark) for v in value), mark)
    if value is None or isinstance(value, (bool, int, float)):
        return ValueNode(value, mark)
    return TextNode(str(value), True, mark)
