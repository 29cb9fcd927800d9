"""Characters that nobody sees, that reorder what is seen, or that look like others: what is read is what is meant."""

from __future__ import annotations

import re
import unicodedata

from akotf.model.finding import Finding
from akotf.reading.nodes import Mark
from akotf.reading.scalars import shown
from akotf.reading.source import fault

# Unicode 16: spaces (Zs), format characters (Cf) that have no look of their own, private use (Co), noncharacters, and
# letters or marks that are blank by design (Hangul fillers, Braille blank, grapheme joiner, Khmer and Mongolian).
_HIDDEN = re.compile(
    "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ue000-\uf8ff\U000f0000-\U0010ffff\ufdd0-\ufdef"
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\uffa0]"
    "|(?<=[A-Za-z0-9_-])[\ufe00-\ufe0f](?!\u20e3)"  # a variant of a letter; of an emoji it is seen
)
_LATIN = re.compile("[A-Za-z]")
# Cyrillic and Greek letters that print like Latin ones (Unicode's confusables, the identical ones).
_LOOKALIKE = re.compile("[\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03f2\u03f3"
                        "\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u04ae\u04bb"
                        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u051b\u051d]")  # fmt: skip
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_WORD = re.compile(r"[^\W\d_]+")


def hidden_in(text: str) -> str:
    """The first character that looks like a space or like nothing, or ""."""
    if text.isascii():
        return ""
    match = _HIDDEN.search(text)
    return match[0] if match else ""


def lookalike_in(text: str) -> str:
    """The first Cyrillic or Greek letter that passes for a Latin one in a word of Latin letters, or ""."""
    if text.isascii() or not _LOOKALIKE.search(text):
        return ""
    for word in _WORD.findall(text):
        foreign = _FOREIGN.findall(word)
        if foreign and _LATIN.search(word) and all(map(_LOOKALIKE.match, foreign)):
            return str(foreign[0])
    return ""


def invisible(text: str, character: str, mark: Mark) -> Finding:
    """The fault of a character that looks like a space or like nothing."""
    return fault("invisible-character", f"{shown(text)} holds {named(character)}", mark,
                 "retype it with plain spaces, or put it in quotes if it is meant")  # fmt: skip


def lookalike(text: str, character: str, mark: Mark) -> Finding:
    """The fault of a letter that passes for a Latin one."""
    return fault("lookalike-character", f"{shown(text)} holds {named(character)} among Latin letters", mark,
                 "retype the word, or put it in quotes if it is meant")  # fmt: skip


def named(character: str) -> str:
    """`U+00A0 (NO-BREAK SPACE)`."""
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'unnamed')})"
