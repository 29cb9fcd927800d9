"""The one HCL string that akotf writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.render.hcl import hcl_string, local_backend


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/plain", '"/plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("${x} %{y} $ %", '"$${x} %%{y} $ %"'),
        ("\n\r\t\x00\x7f\u2028", r'"\n\r\t\u0000\u007f\u2028"'),
        ("é😀", '"é😀"'),
    ],
)
def test_strings(text: str, written: str) -> None:
    assert hcl_string(text) == written


def test_a_path_cannot_end_the_block() -> None:
    lines = local_backend(Path('/a"\n}\nresource "x" "y" {')).splitlines()
    assert len(lines) == 6
    assert lines[3] == r'    path = "/a\"\n}\nresource \"x\" \"y\" {"'
