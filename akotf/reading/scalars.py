"""What a plain YAML scalar means in akotf: null, true|false, a decimal integer, a finite float, or text.

Octal, hexadecimal, sexagesimal, `yes`/`no`, timestamps, underscores and `.inf` are text here; where a number or
a boolean could have been meant, `doubt` says so and the reader asks for a decision instead of guessing.
"""

from __future__ import annotations

import math
import re

from akotf.reading.nodes import TextNode, ValueNode

Plain = bool | int | float | str | None

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
INT64 = 2**63
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_BOOLEAN_LIKE = re.compile(r"yes|no|on|off|y|n|true|false", re.IGNORECASE)
_NUMBER_LIKE = re.compile(
    r"""[-+]?(
        [0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?   # underscores, leading zeros
      | 0[xob][0-9a-fA-F_]+                           # hexadecimal, octal, binary
      | [0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?       # sexagesimal
      | \.?(inf|nan|infinity)                         # not finite
      | [0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?             # 1,000
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def read_integer(text: str) -> int | None:
    """The integer that a plain scalar spells, or None. ValueError when it doesn't fit 64 bits."""
    if not _INTEGER.fullmatch(text):
        return None
    if len(text) > 20 or not -INT64 <= int(text) < INT64:
        raise ValueError(f"{shown(text)} does not fit 64 bits")
    return int(text)


def read_number(text: str) -> int | float | None:
    """The integer or finite float that a plain scalar spells (`1e-4`, `.5`, `3.e-4` too), or None.

    ValueError when the number overflows a double, or is not zero and becomes zero in one.
    """
    if (whole := read_integer(text)) is not None:
        return whole
    if len(text) > 400 or not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shown(text)} is too large for a number")
    if value == 0 and re.search(r"[1-9]", re.split(r"[eE]", text)[0]):
        raise ValueError(f"{shown(text)} is too small for a number: it would become 0")
    return value


def resolve(node: TextNode | ValueNode) -> Plain:
    """The value of a scalar whose field doesn't fix a type."""
    if isinstance(node, ValueNode):
        return node.value
    if not node.plain:
        return node.text
    if node.text in NULLS:
        return None
    if node.text in ("true", "false"):
        return node.text == "true"
    number = read_number(node.text)
    return node.text if number is None else number


def doubt(text: str) -> str:
    """What else a plain scalar that is text here may have been meant to be: a remedy, or "" when it is clear."""
    if _BOOLEAN_LIKE.fullmatch(text):
        return f"write true or false; to mean text, quote it: '{text}'"
    if _NUMBER_LIKE.fullmatch(text):
        return f"write a decimal number such as 1000 or 1e-4; to mean text, quote it: '{text}'"
    return ""


def shown(text: str, limit: int = 60) -> str:
    """A value for a message: quoted, and cut when long."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
