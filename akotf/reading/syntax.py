"""PyYAML's errors in words that say what to write, the same words for its C and its Python parser."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml as pyyaml

from akotf.model.finding import Finding
from akotf.reading.characters import hidden_in, invisible
from akotf.reading.nodes import Mark
from akotf.reading.scalars import shown
from akotf.reading.source import fault, split_lines

MAX_DEPTH = 64
TAG_REMEDY = "remove the tag; put a value that starts with ! in quotes"


class _Meaning(NamedTuple):
    """`needles` stand in PyYAML's problem (C parser first); `at_start`: the place is where the broken thing begins."""

    needles: tuple[str, ...]
    message: str
    remedy: str
    at_start: bool = False
    rule: str = "syntax"


_MEANINGS = (
    _Meaning(("mapping values are not allowed",), "a second ': ' can't stand here",
             "put the value in quotes if it holds ': ', or mend the indentation"),
    _Meaning(("could not find expected ':'",), "a line without 'key: '",
             "write 'key: value', with a space after the colon; indent a text's further lines", at_start=True),
    _Meaning(("cannot start any token",), "a value can't start with {found}", "put the value in quotes"),
    _Meaning(("unexpected end of stream", "unexpected document"), "this quote is never closed",
             "close the quote", at_start=True),
    _Meaning(("',' or ']'", "',' or '}'"), "a comma or the closing bracket is missing",
             "close the bracket, or put what holds brackets or commas in quotes"),
    _Meaning(("found unexpected ':'",), "a ':' can't stand here", "put the value in quotes"),
    _Meaning(("expected node content", "expected the node content"), "a value is missing",
             "write the value, or close the bracket before this"),
    _Meaning(("did not find expected key", "expected '-' indicator", "expected <block end>"),
             "this does not fit what stands above it",
             "mend the indentation, or close the bracket or quote before this line"),
    _Meaning(("document start>",), "text that belongs to nothing above it",
             "mend the indentation: the keys of a mapping start in one column"),
    _Meaning(("sequence entries are not allowed",), "a '- ' can't stand here",
             "start the list on a line of its own, or put the value in quotes"),
    _Meaning(("mapping keys are not allowed",), "a '? ' can't stand here", "put the value in quotes"),
    _Meaning(("undefined tag handle", "URI", "whitespace or line break", "expected ' ', but found", "expected '!'"),
             "the tag {tag} is not allowed", TAG_REMEDY, True, "tag"),
    _Meaning(("directive",), "a line that starts with % is a directive, and none may stand here",
             "put a value that starts with % in quotes"),
    _Meaning(("alphabetic or numeric", "non-alphabetical"), "& and * begin anchors, and no name follows",
             "put a value that starts with & or * in quotes", at_start=True),
    _Meaning(("comment or line break", "comment or a line break", "chomping or indentation", "indentation indicator"),
             "nothing may follow | or > on its line", "start the text on the next line"),
    _Meaning(("unknown escape character", "hexdecimal number", "hexadecimal numbers"),
             "a backslash in double quotes begins an escape, and this is none",
             "double the backslash, or use single quotes", at_start=True, rule="escape"),
    _Meaning(("invalid Unicode character escape",), "half of a character is no text", "", True, "escape"),
    _Meaning(("tab character",), "a tab indents this line", "indent with spaces", rule="tab"),
    _Meaning(("max depth", "nesting"), f"nested deeper than {MAX_DEPTH} levels", "flatten it", rule="too-deep"),
)  # fmt: skip
# Go templates begin so, Jinja's statements too.
_GO = re.compile(
    r"\{\{-?\s*(if|range|with|define|include|template|block|end|else|toYaml|/\*|\.[A-Za-z]|\$)|-\}\}"
)
_STATEMENT = re.compile(r"\{%|\{#")
PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def syntax(error: pyyaml.YAMLError, text: str, file: str) -> Finding:
    """The fault that an error of PyYAML's parser stands for."""
    problem = str(getattr(error, "problem", None) or str(error).splitlines()[0])
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return fault("syntax", problem, Mark(file, 1, 1), "mend the syntax")
    context = getattr(error, "context_mark", None) or mark
    lines = split_lines(text)
    line = lines[mark.line] if mark.line < len(lines) else ""
    at = Mark(file, mark.line + 1, mark.column + 1)
    return (
        _template(lines, context.line, mark.line, file)
        or _tab(line, mark.column, at)
        or _hidden(lines, context.line, mark.line, file)
        or _meaning(problem, text, line, mark, context, at)
    )


def _template(lines: list[str], first: int, last: int, file: str) -> Finding | None:
    """Templates of Helm, and Jinja's statements, are no YAML."""
    for number in range(min(first, last), min(last + 1, len(lines))):
        line = lines[number]
        where = Mark(file, number + 1, max(line.find("{{"), line.find("{%"), line.find("{#"), 0) + 1)
        if _GO.search(line):
            return fault("not-yaml", "this is a template of Helm (or another of Go), not YAML", where,
                         "render it first, with `helm template`, and take what it prints")  # fmt: skip
        if _STATEMENT.search(line):
            return fault("not-yaml", "{% %} and {# #} are not YAML, and akotf runs no statements", where,
                         "write plain YAML; a value may be '{{ expression }}' in quotes")  # fmt: skip
        if number == last and "{{" in line:
            return fault("not-yaml", "an expression outside quotes is not YAML", where,
                         "put it in quotes: '{{ expression }}'")  # fmt: skip
    return None


def _tab(line: str, column: int, at: Mark) -> Finding | None:
    """A tab that indents the line, or that PyYAML stumbled over."""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        return fault("tab", "a tab indents this line", Mark(at.file, at.line, indent.index("\t") + 1),
                     "indent with spaces")  # fmt: skip
    if line[column : column + 1] == "\t":
        return fault("tab", "a tab stands outside quotes", at, "write spaces, or put the value in quotes")
    return None


def _hidden(lines: list[str], first: int, last: int, file: str) -> Finding | None:
    """A character that nobody sees on the lines of the error is most likely its cause."""
    for number in range(min(first, last), min(last + 1, len(lines))):
        if character := hidden_in(lines[number]):
            where = Mark(file, number + 1, lines[number].index(character) + 1)
            return invisible(lines[number].strip(), character, where)
    return None


def _meaning(
    problem: str, text: str, line: str, mark: pyyaml.Mark, context: pyyaml.Mark, at: Mark
) -> Finding:
    meaning = next((m for m in _MEANINGS if any(needle in problem for needle in m.needles)), None)
    if meaning is None:
        return fault("syntax", problem, at, "mend the syntax, or put the value in quotes")
    is_over = not text[mark.index :].strip()  # the end of the file: what began is never ended
    start = Mark(at.file, context.line + 1, context.column + 1)
    tag = re.compile(r"\S*").match(text, context.index)
    message = meaning.message.replace("{found}", shown(line[mark.column : mark.column + 1]))
    message = message.replace("{tag}", shown(tag[0] if tag else ""))
    remedy = meaning.remedy or _escape_remedy(text, context.index)
    return fault(meaning.rule, message, start if meaning.at_start or is_over else at, remedy)


def half_character(text: str, index: int, mark: Mark) -> Finding:
    """The fault of `\\ud83d` in the double quotes that begin at `index`."""
    return fault("escape", "half of a character is no text", mark, _escape_remedy(text, index))


def _escape_remedy(text: str, index: int) -> str:
    """What to write for a pair of surrogates, as JSON has it."""
    pair = PAIR.search(text, index, index + 100_000)
    if pair is None:
        return "write the character itself, or \\U and eight hexadecimal digits"
    code = 0x10000 + (int(pair[1], 16) - 0xD800) * 0x400 + int(pair[2], 16) - 0xDC00
    return f"write \\U{code:08X} for {pair[0]}, or the character itself"
