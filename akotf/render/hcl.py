"""The only HCL that akotf writes: the block of the state backend."""

from __future__ import annotations

from pathlib import Path

_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def hcl_string(text: str) -> str:
    """A quoted HCL string whose value is `text`: no character of it can end the string or begin an interpolation."""
    quoted = "".join(_NAMED.get(c) or (f"\\u{ord(c):04x}" if _unsafe(ord(c)) else c) for c in text)
    return '"' + quoted.replace("${", "$${").replace("%{", "%%{") + '"'


def _unsafe(point: int) -> bool:
    return point < 0x20 or 0x7F <= point < 0xA0 or point in (0x2028, 0x2029)


def local_backend(state_path: Path) -> str:
    """`backend.tf` for a state file on this machine."""
    return (
        "# Written by akotf. The state lies beside the root, so that the root can be rendered again at any time.\n"
        "terraform {\n"
        '  backend "local" {\n'
        f"    path = {hcl_string(str(state_path))}\n"
        "  }\n"
        "}\n"
    )
