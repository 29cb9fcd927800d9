"""The page on reports says what is so: its commands are run, its formats and ids are those that there are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from akotf.cli.dispatch import parser_of
from akotf.report.formats import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "reports-in-ci.md").read_text(encoding="utf-8")


def test_its_commands_do_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "akotf"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m akotf "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S):
        done = subprocess.run(
            ["sh", "-eu", "-c", block], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert {p.name for p in work.iterdir()} == {"environments", "akotf.sarif", "akotf.xml", "comment.md"}
    assert "2 of 2 environments are valid" in (work / "comment.md").read_text()


def test_every_format_is_in_its_table() -> None:
    assert tuple(re.findall(r"^\| `(\w+)` \|", PAGE, re.M)) == FORMATS


COMMANDS = [
    words
    for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    for words in re.findall(r"(?:run|script): akotf validate (.*)", block)
]


@pytest.mark.parametrize("words", COMMANDS)
def test_the_commands_of_its_workflows_are_some(words: str) -> None:
    assert parser_of("validate").parse_args(words.split()).report
