"""Which texts Terraform keeps as they are."""

from __future__ import annotations

import unicodedata

from akotf.model.written import has_half_characters

REMEDY = "write it in Unicode's composed form (NFC), without half characters"


def keeps(text: str) -> bool:
    """False for what Terraform would change: it normalises Unicode to NFC (tested), and has no half characters."""
    return unicodedata.is_normalized("NFC", text) and not has_half_characters(text)
