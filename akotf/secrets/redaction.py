"""Known values out of bytes that leave akotf: as they are, and in the forms that programs write them in."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MARKER = b"[secret]"
#: Fewer bytes than this are no secret, and taking them out would take words out of every line of a log.
SHORTEST = 4
#: The same for akotf's own records, where a word taken out by chance would break a digest.
SHORTEST_ON_RECORD = 8
#: An encoded form is looked for from this many bytes on: the base64 of less is found in anything.
_ENCODED = 8


class Redactor:
    """Replaces secrets of at least `shortest` bytes by MARKER."""

    def __init__(self, values: Iterable[bytes], shortest: int = SHORTEST) -> None:
        forms = {form for value in values if len(value) >= shortest for form in _forms(value)}
        # The longest first: a form inside another must not leave the rest of it standing.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if forms else None

    def __call__(self, data: bytes) -> bytes:
        """The same bytes without the values."""
        return self._pattern.sub(MARKER, data) if self._pattern else data

    def data(self, value: Any) -> Any:
        """The same JSON data without the values, in keys and texts."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self(value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        if isinstance(value, dict):
            return {self.data(key): self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def found(self, data: bytes) -> bool:
        """Whether a value is in it."""
        return self._pattern is not None and self._pattern.search(data) is not None

    def chunks(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """A stream without the values, also where one lies across parts: what may begin a value waits for what follows."""
        if self._pattern is None:
            yield from parts
            return
        held = b""
        for part in parts:
            held += part
            end = self._safe(held)
            if end:
                yield self(held[:end])
                held = held[end:]
        if held:
            yield self(held)

    def _safe(self, data: bytes) -> int:
        """How many bytes no later byte can make part of a value."""
        assert self._pattern is not None
        waiting = max((_begun(form, data) for form in self._forms), default=0)
        end = len(data) - waiting
        for match in self._pattern.finditer(data):
            if match.start() < end < match.end():
                end = match.end()
        return end


def _begun(form: bytes, data: bytes) -> int:
    """Length of the longest end of `data` that `form` begins with, without being all of it."""
    return next((n for n in range(min(len(form) - 1, len(data)), 0, -1) if data.endswith(form[:n])), 0)


def _forms(value: bytes) -> Iterator[bytes]:
    """The value, and how JSON, Python's repr, URLs and base64 (at each of the three alignments) spell it."""
    yield value
    text = value.decode("utf-8", "surrogateescape")
    for spelt in (
        json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1], repr(value)[2:-1],
    ):  # fmt: skip
        yield spelt.encode("utf-8", "surrogateescape")
    if len(value) < _ENCODED:
        return
    for spelt in (quote(value, safe=""), quote_plus(value), quote(value)):
        yield spelt.encode()
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), spelt).encode()
    yield value.hex().encode()
    yield value.hex().upper().encode()
    for before in range(3):
        # Of `user:VALUE` too: only the digits that hold nothing but bits of the value.
        whole = base64.b64encode(b"\0" * before + value)
        first = -(-before * 8 // 6)  # digits that hold bits of what stands before
        core = whole[first : (before + len(value)) * 8 // 6]
        yield core
        yield core.translate(bytes.maketrans(b"+/", b"-_"))
