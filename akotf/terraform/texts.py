"""Which texts Terraform keeps as they are."""

from __future__ import annotations

import unicodedata

REMEDY = "write it in Unicode's composed form (NFC), without half characters"


def keeps(text: str) -> bool:
    """False for what Terraform would change: it normalises Unicode to NFC (tested), and has no half characters."""
    return unicodedata.is_normalized("NFC", text) and not has_half_characters(text)


def has_half_characters(text: str) -> bool:
    """True when a text holds half of a UTF-16 pair: bytes of such a text exist in no encoding."""
    return any(0xD800 <= ord(character) <= 0xDFFF for character in text) if not text.isascii() else False
