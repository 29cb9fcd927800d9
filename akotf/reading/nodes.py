"""A YAML document as read: text with its place. What a scalar means is decided by the field that takes it.

Nodes are values: nobody changes one. `frozen=True` would say so, but costs a call for each field of each of the
100,000 nodes of a large file: two thirds of the time they take.
"""

from __future__ import annotations

from dataclasses import dataclass

from akotf.model.finding import Position


@dataclass(slots=True, unsafe_hash=True)
class Mark:
    """A place in a file; line and column count from 1, 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def position(self) -> Position:
        """The same place as a model value."""
        return Position(file=self.file, line=self.line, column=self.column)


@dataclass(slots=True, unsafe_hash=True)
class TextNode:
    """A scalar as written. `plain` is false when quotes, a block style or `!!str` say that it is text."""

    text: str
    plain: bool
    mark: Mark


@dataclass(slots=True, unsafe_hash=True)
class ValueNode:
    """A value that was computed (a rendered expression, an override given in code): None, bool, int, float or str."""

    value: bool | int | float | str | None
    mark: Mark


@dataclass(slots=True, unsafe_hash=True)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    mark: Mark


@dataclass(slots=True, unsafe_hash=True)
class Entry:
    """One `key: value` of a mapping; `mark` is the key's place."""

    mark: Mark
    value: Node


@dataclass(slots=True, unsafe_hash=True)
class MapNode:
    """A mapping with its merge keys resolved; keys are text as written, in the order of the file."""

    entries: dict[str, Entry]
    mark: Mark

    def get(self, key: str) -> Node | None:
        """The value of `key`, if it is there."""
        entry = self.entries.get(key)
        return entry.value if entry else None


Node = TextNode | ValueNode | ListNode | MapNode


def dotted(path: tuple[str | int, ...]) -> str:
    """`scopes.aws.regions.0` from its parts."""
    return ".".join(map(str, path))


def replaced(node: Node, path: tuple[str, ...], value: Node) -> Node:
    """A copy of `node` with `value` at `path`; mappings on the way are made when missing."""
    if not path:
        return value
    entries = dict(node.entries) if isinstance(node, MapNode) else {}
    old = entries.get(path[0])
    inner = old.value if old else MapNode({}, value.mark)
    entries[path[0]] = Entry(value.mark, replaced(inner, path[1:], value))
    return MapNode(entries, node.mark)
