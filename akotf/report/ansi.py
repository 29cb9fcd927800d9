"""Colours for terminals, and text of others made safe to print."""

from __future__ import annotations

import re

_CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
#: By which GitHub's runner finds a command in a log: `::` at the start of a line, white space before it passed over, and
#: `##[` anywhere (actions/runner, `ActionCommand`).
_COMMAND = re.compile(r"(?m)(?:^(\s*):(?=:)|#(?=#\[))")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def paint(text: str, style: str, color: bool) -> str:
    """`text` in a style (red, green, yellow, blue, dim, bold) when `color` is wanted."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and text else text


def clean(text: str) -> str:
    """Text without control characters and direction marks: what a file or a label holds can't drive a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def inert(text: str) -> str:
    """`clean`, and as long as before, without what a build server takes for a command in the middle of our own text."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}\N{REPLACEMENT CHARACTER}", clean(text))
