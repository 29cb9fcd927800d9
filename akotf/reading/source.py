"""The text of a YAML file: decoded, checked for characters nobody sees, and syntax errors in words."""

from __future__ import annotations

import re
import unicodedata

import yaml as pyyaml

from akotf.model.finding import Finding
from akotf.reading.nodes import Mark
from akotf.reading.scalars import shown

MAX_BYTES = 2**20
# Control characters and line separators: YAML 1.1 folds or drops them, so they are refused as written.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Unreadable(Exception):
    """A fault after which the rest of the document can't be read."""

    def __init__(self, rule: str, message: str, mark: Mark, remedy: str = "") -> None:
        super().__init__(message)
        self.finding = fault(rule, message, mark, remedy)


def fault(rule: str, message: str, mark: Mark, remedy: str = "", path: str = "") -> Finding:
    """An error finding of this stage."""
    return Finding(rule=f"config/{rule}", message=message, position=mark.position(), remedy=remedy, path=path)


def decode(data: bytes, file: str) -> str:
    """The text of a file without its byte order mark. Unreadable for other encodings and control characters."""
    start = Mark(file, 1, 1)
    if len(data) > MAX_BYTES:
        raise Unreadable("too-large", f"the file is larger than {MAX_BYTES // 2**20} MiB", start,
                         "keep data in files of its own and name them here")  # fmt: skip
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[:2].count(0):
        raise Unreadable("encoding", "the file is UTF-16 or UTF-32, not UTF-8", start, "save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        mark = Mark(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise Unreadable("encoding", message, mark, "save the file as UTF-8 (it may be Latin-1)") from error
    if match := _CONTROL.search(text):
        before = text[: match.start()]
        mark = Mark(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        code = ord(match[0])
        escape = f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}"
        raise Unreadable("control-character", f"the file holds the control character U+{code:04X}", mark,
                         f'remove it, or write "{escape}" in double quotes')  # fmt: skip
    return text


def split_lines(text: str) -> list[str]:
    """Lines as YAML counts them."""
    return re.split(r"\r\n|\r|\n", text)


def hidden_in(text: str) -> str:
    """The first character that looks like a space or like nothing, or ""."""
    if text.isascii():
        return ""
    return next((c for c in text if c != " " and unicodedata.category(c) in ("Cf", "Zs", "Co", "Cn")), "")


def invisible(text: str, character: str, mark: Mark) -> Finding:
    """The fault of a character that looks like a space or like nothing."""
    name = unicodedata.name(character, "unnamed")
    return fault("invisible-character", f"{shown(text)} holds U+{ord(character):04X} ({name})", mark,
                 "retype it with plain spaces, or put it in quotes if it is meant")  # fmt: skip


def syntax(error: pyyaml.YAMLError, text: str, file: str) -> Finding:
    """PyYAML's error in words that say what to write."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return fault("syntax", problem, Mark(file, 1, 1))
    place = Mark(file, mark.line + 1, mark.column + 1)
    lines = split_lines(text)
    line = lines[mark.line] if mark.line < len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        tab = Mark(file, mark.line + 1, indent.index("\t") + 1)
        return fault("tab", "a tab indents this line", tab, "indent with spaces")
    context = getattr(error, "context_mark", None) or mark
    for number in range(min(context.line, mark.line), min(mark.line + 1, len(lines))):
        if hidden := hidden_in(lines[number]):
            place = Mark(file, number + 1, lines[number].index(hidden) + 1)
            return invisible(lines[number].strip(), hidden, place)
    if "{{" in line or "{%" in line:
        return fault(
            "syntax", problem, place, "put a {{ expression }} in quotes; templates with {% %} are not YAML"
        )
    remedies = {
        "mapping values are not allowed": "put the value in quotes if it holds ': ', or mend the indentation",
        "could not find expected ':'": "write 'key: value', with a space after the colon",
        "cannot start any token": f"put the value in quotes: it starts with {line[mark.column : mark.column + 1]!r}",
        "did not find expected key": "mend the indentation, or close the bracket or quote before this line",
        "expected <block end>": "mend the indentation",
        "unexpected end of stream": "close the quote or bracket",
        "unexpected document separator": "close the quote or bracket",
        "undefined tag handle": "remove the tag",
        "invalid Unicode character escape": "write the character itself, or \\U and eight hexadecimal digits",
    }
    remedy = next((text for start, text in remedies.items() if start in problem), "")
    return fault("syntax", problem, place, remedy)
