"""What YAML's text may look like beyond what a parser of PyYAML says, so that its C and its Python parser agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from akotf.reading.nodes import Mark
from akotf.reading.source import Unreadable, place

# Possessive repeats (`*+`): nothing is kept to go back to, which for a file of empty lines would be 400 MB.
_SKIP = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?(?:\r\n|\r|\n))*+")
_LINE = re.compile(r"[^\r\n]*")
_COMMENT_OR_TAB = re.compile(r"(?:(?<=\s)|\A)#[^\r\n]*+|\t")
_HEADER = re.compile(r"[|>][^\r\n#]*")
_FIRST_INDENT = re.compile(r"[^\r\n]*+[\r\n][ \r\n]*+")
_GLUED = re.compile(r"[|>][-+0-9]*#")
_END = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?(?:\r\n|\r|\n)|(?m:^)\.\.\.(?=\s|\Z))*+[ \t]*+(?:#[^\r\n]*+\Z)?")


class Span(NamedTuple):
    """Where a scalar is written: its first character (of its anchor or tag, where it has one), its end, its style."""

    start: int
    end: int
    style: str


class Layout(NamedTuple):
    """A fault of the text's layout; `at` is the index of its character."""

    rule: str
    message: str
    at: int
    remedy: str


def is_plain_layout(text: str) -> bool:
    """True when `faults` has nothing to look for: no tab, and no `#` right behind a block scalar's indicator."""
    return "\t" not in text and not _GLUED.search(text)


def directives(text: str, file: str) -> None:
    """Only `%YAML 1.1` and `%YAML 1.2` may stand before a document. Unreadable for others.

    A parser reads all directives before its first event and compares each with all others: 60,000 of them (0.9 MB)
    take it 11 s.
    """
    at, seen = _skipped(text, 0), False
    while text.startswith("%", at):
        line = _LINE.match(text, at)
        said = line[0].rstrip() if line else ""
        words = said.partition(" #")[0].split()
        if seen or words not in (["%YAML", "1.1"], ["%YAML", "1.2"]):
            what = "a second directive" if seen else f"the directive {said[:40]!r}"
            raise Unreadable("directive", f"{what} is not allowed", place(text, at, file),
                             "remove the line; to begin a value with %, put it in quotes")  # fmt: skip
        seen = True
        at = _skipped(text, line.end() if line else at)


def _skipped(text: str, at: int) -> int:
    match = _SKIP.match(text, at)
    return match.end() if match else at


def after_document(text: str, index: int, is_ended: bool, file: str) -> Mark | None:
    """The place of a second document behind the index where the first one ended; `is_ended`: by `...`.

    Told from the text: a parser would read all directives of a second document first.
    """
    match = _END.match(text, index)
    at = match.end() if match else index
    if at >= len(text):
        return None
    is_second = is_ended or text.startswith(("---", "%"), at)
    return place(text, at, file) if is_second else None


def faults(text: str, spans: list[Span]) -> Iterator[Layout]:
    """Tabs that PyYAML's Python parser refuses and its C parser takes, or the other way around; one a line."""
    told = -1
    for index in sorted({*_between(text, spans), *_within(text, spans)}):
        end = text.find("\n", index)
        if index <= told:
            continue
        told = end if end >= 0 else len(text)
        if text[index] == "#":
            yield Layout(
                "syntax",
                "nothing may follow | or > on its line",
                index,
                "start the text on the next line",
            )
            continue
        begin = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
        if text[begin:index].strip(" \t"):
            yield Layout(
                "tab", "a tab stands outside quotes", index, "write spaces, or put the value in quotes"
            )
        else:
            yield Layout("tab", "a tab indents this line", index, "indent with spaces")


def _between(text: str, spans: list[Span]) -> Iterator[int]:
    """Tabs between scalars, comments apart."""
    at = 0
    for span in [*spans, Span(len(text), len(text), "")]:
        if text.find("\t", at, span.start) >= 0:
            for match in _COMMENT_OR_TAB.finditer(text, at, span.start):
                if match[0] == "\t":
                    yield match.start()
        at = max(at, span.end)


def _within(text: str, spans: list[Span]) -> Iterator[int]:
    """Tabs in plain scalars, before the quote or indicator of others, and where a block's indentation is looked for."""
    for start, end, style in spans:
        content = text.find(style, start, end) if style else end
        if style in ("|", ">") and (header := _HEADER.match(text, content, end)):
            content = header.end()
            if text.startswith("#", content, end) and not header[0].endswith((" ", "\t")):
                yield content
            if not re.search(r"\d", header[0]):
                yield from _block_indent(text, content, end)
        at = text.find("\t", start, content)
        while at >= 0:
            yield at
            at = text.find("\t", at + 1, content)


def _block_indent(text: str, start: int, end: int) -> Iterator[int]:
    """The tab that the first line of a block scalar starts with, when its indentation is found from that line."""
    if (match := _FIRST_INDENT.match(text, start, end)) and text.startswith("\t", match.end(), end):
        yield match.end()
