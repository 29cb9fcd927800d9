"""The text of a YAML file: decoded, and free of characters that YAML drops or that reorder what a reader sees."""

from __future__ import annotations

import re

from akotf.model.finding import Finding
from akotf.reading.nodes import Mark

MAX_BYTES = 2**20
MAX_FAULTS = 50  # of a file; nobody reads more at once
_BREAK = re.compile(r"\r\n|\r|\n")
# Control characters and line separators: YAML 1.1 folds or drops them, so they are refused as written. So are the
# marks that turn the direction of text: a reviewer would see another order than the one that is read
# (CVE-2021-42574).
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_BOMS = {b"\xff\xfe\x00\x00": "UTF-32LE", b"\x00\x00\xfe\xff": "UTF-32BE", b"\xff\xfe": "UTF-16LE", b"\xfe\xff": "UTF-16BE"}  # fmt: skip
_SAMPLE = 256  # bytes that show whether a file is of 16 or 32 bits a character


class Unreadable(Exception):
    """A fault after which the rest of the document can't be read."""

    def __init__(self, rule: str, message: str, mark: Mark, remedy: str = "") -> None:
        super().__init__(message)
        self.finding = fault(rule, message, mark, remedy)


def fault(rule: str, message: str, mark: Mark, remedy: str = "", path: str = "") -> Finding:
    """An error finding of this stage."""
    return Finding(rule=f"config/{rule}", message=message, position=mark.position(), remedy=remedy, path=path)


def decode(data: bytes, file: str) -> str:
    """The text of a file without its byte order mark. Unreadable for other encodings and refused characters."""
    start = Mark(file, 1, 1)
    if len(data) > MAX_BYTES:
        raise Unreadable("too-large", f"the file is larger than {MAX_BYTES // 2**20} MiB", start,
                         "keep data in files of its own and name them here")  # fmt: skip
    if wide := _wide(data):
        raise Unreadable("encoding", f"the file is {wide}, not UTF-8", start,
                         f"save it as UTF-8: iconv -f {wide} -t UTF-8 {file}")  # fmt: skip
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise Unreadable("encoding", f"byte 0x{data[error.start]:02x} is not UTF-8", place(before, len(before), file),
                         "save the file as UTF-8 (it may be Latin-1)") from error  # fmt: skip
    if match := _REFUSED.search(text):
        raise _refusal(match[0], place(text, match.start(), file))
    return text


def _wide(data: bytes) -> str:
    """The encoding of more than eight bits a unit that the bytes show, or ""."""
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return name
    sample = data[:_SAMPLE]
    zeros = [sample[part::4].count(0) * 4 / max(len(sample), 4) for part in range(4)]
    shape = "".join("0" if share > 0.5 else "x" for share in zeros)
    return {"x000": "UTF-32LE", "000x": "UTF-32BE", "x0x0": "UTF-16LE", "0x0x": "UTF-16BE"}.get(shape, "")


def _refusal(character: str, mark: Mark) -> Unreadable:
    code = ord(character)
    escape = f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}"
    what = f"the control character U+{code:04X}"
    if character == "\ufeff":
        what = "a byte order mark (U+FEFF) after its beginning, as joined files do"
    elif "\u202a" <= character <= "\u2069":
        what = f"U+{code:04X}, which turns the direction of what a reader sees"
    return Unreadable("control-character", f"the file holds {what}", mark,
                      f'remove it, or write "{escape}" in double quotes')  # fmt: skip


def place(text: str, index: int, file: str) -> Mark:
    """Where the character `index` of a text stands."""
    line, begin = 1, 0
    for match in _BREAK.finditer(text, 0, index):
        line, begin = line + 1, match.end()
    return Mark(file, line, index - begin + 1)


def split_lines(text: str) -> list[str]:
    """Lines as YAML counts them."""
    return _BREAK.split(text)
