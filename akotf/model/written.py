"""What those who read texts share: how a number is written, how a refused value is shown, and what no encoding has."""

from __future__ import annotations

from typing import Any

#: A number without sign or exponent, in a group. Its length is bounded, so that reading it takes no time.
NUMBER = r"([0-9]{1,30}(?:\.[0-9]{1,18})?)"


def shown(value: Any) -> str:
    """A value for a message, cut when long."""
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return repr(text) if isinstance(value, str) else text


def has_half_characters(text: str) -> bool:
    """True when a text holds half of a UTF-16 pair: bytes of such a text exist in no encoding."""
    return any(0xD800 <= ord(character) <= 0xDFFF for character in text) if not text.isascii() else False
