"""The blocks of the page on templates are typed, in a copy of what a project has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "how-to" / "templates.md"


@pytest.mark.skipif(
    shutil.which("git") is None, reason="the page makes a git repository, and git is not here"
)
def test_the_page_on_templates_is_run_as_it_is_written(tmp_path: Path) -> None:
    work, programs = tmp_path / "work", tmp_path / "bin"
    for kind in ("iac", "modules", "policies"):
        shutil.copytree(REPOSITORY / kind, work / kind)
    programs.mkdir()
    (programs / "akotf").write_text(f'#!/bin/sh\nexec {sys.executable} -m akotf "$@"\n')
    (programs / "akotf").chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY),
        "XDG_CACHE_HOME": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull,
    }  # fmt: skip
    printed = []
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S):
        done = subprocess.run(
            ["sh", "-euxc", block], cwd=work, env=environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        printed.append(done.stdout)
    assert len(printed) == 4
    assert "every published template is unchanged" in printed[1]
    assert "changed  batch default: 32 sequences -> 64 sequences" in printed[2]
    assert "nothing was written" in printed[2]
    assert "upgraded to gpu-training@1.1.0" in printed[2]
    assert "every lock holds" in printed[3]
    assert (work / "demo" / "akotf.lock").read_text().count(str(work / "platform")) == 1
    akotf_yaml = work / "demo" / "akotf.yaml"
    akotf_yaml.write_text(akotf_yaml.read_text().replace("heads: 1", "heads: 3"))
    done = subprocess.run(
        ["akotf", "validate", "demo"], cwd=work, env=environment, text=True, capture_output=True, check=False
    )
    assert "hidden (16) is no multiple of heads (3)" in done.stderr
    assert re.search(r"akotf\.yaml:\d+:\d+: error: hidden", done.stderr)
