"""Where a piece of a scalar's text stands in the file: the scalar's own place is only where it begins."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from pathlib import Path

from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode
from akotf.reading.source import Unreadable, decode, split_lines


class Places:
    """The file of a tree, read when a fault is looked for first."""

    def __init__(self, node: Node, source: Path | None) -> None:
        self.node = node
        self.source = source
        self.lines: list[str] | None = None
        self.marks: list[tuple[int, int]] = []

    def find(self, leaf: TextNode, start: int, end: int, offset: int) -> Mark:
        """The place of the character `offset` of a scalar's text; `start` and `end` bound the expression around it.

        Quotes and escapes are followed where the expression stands on one line; else the place is the expression's
        line, or, where the file spells it in another way altogether (folded, or by \\x escapes), the scalar's.
        """
        region = self._region(leaf)
        begin = max(start, leaf.text.rfind("\n", 0, offset) + 1)
        line_end = leaf.text.find("\n", offset, end)
        needle = leaf.text[begin : end if line_end < 0 else line_end]
        if not region or not needle:
            return leaf.mark
        count = leaf.text[:begin].count(needle)
        for spell in _spellings(region):
            at = _nth(region, spell(needle), count)
            if at < 0:
                continue
            at += len(spell(needle[: offset - begin]))
            before = region[:at]
            line = before.count("\n")
            column = at - before.rfind("\n") if line else leaf.mark.column + at
            return Mark(leaf.mark.file, leaf.mark.line + line, column)
        return leaf.mark

    def _region(self, leaf: TextNode) -> str:
        """The file from a scalar up to what follows it, lines joined by a line feed; "" when it can't be read."""
        if self.lines is None:
            self.lines = _lines(self.source)
            self.marks = sorted(set(_marks(self.node)))
        line, column = leaf.mark.line, leaf.mark.column
        if not 0 < line <= len(self.lines):
            return ""
        after = bisect.bisect_right(self.marks, (line, column))
        end_line, end_column = self.marks[after] if after < len(self.marks) else (len(self.lines) + 1, 1)
        rows = self.lines[line - 1 : end_line]
        if end_line <= len(self.lines):
            rows[-1] = rows[-1][: end_column - 1]
        rows[0] = rows[0][column - 1 :]
        return "\n".join(rows)


def _lines(source: Path | None) -> list[str]:
    try:
        return split_lines(decode(source.read_bytes(), str(source))) if source else []
    except (
        OSError,
        Unreadable,
    ):  # it was read a moment ago: a fault's exact column is not worth another fault
        return []


def _marks(node: Node) -> Iterator[tuple[int, int]]:
    """Where keys and values begin."""
    yield node.mark.line, node.mark.column
    if isinstance(node, MapNode):
        for entry in node.entries.values():
            yield entry.mark.line, entry.mark.column
            yield from _marks(entry.value)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from _marks(item)


class _Spelling:
    """How a quoting style writes a text on one line."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self.pairs = pairs

    def __call__(self, text: str) -> str:
        for character, written in self.pairs:
            text = text.replace(character, written)
        return text


_AS_IT_IS = _Spelling()
_SINGLE = _Spelling(("'", "''"))
_DOUBLE = _Spelling(("\\", "\\\\"), ('"', '\\"'), ("\t", "\\t"))


def _spellings(region: str) -> tuple[_Spelling, ...]:
    return {"'": (_SINGLE,), '"': (_DOUBLE, _AS_IT_IS)}.get(region[0], (_AS_IT_IS,))


def _nth(text: str, needle: str, count: int) -> int:
    """Where the `count`-th (from 0) occurrence begins; -1 when there are fewer."""
    at = text.find(needle)
    while count and at >= 0:
        at, count = text.find(needle, at + len(needle)), count - 1
    return at
