"""The page on secrets, typed: what it says is refused is refused, and the mended environment trains."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from akotf.load.environment import load
from akotf.model.secret import SCHEMES, is_reference
from akotf.terraform.runner import find_binary
from akotf.wiring.surroundings import PACKAGED

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "secrets.md").read_text()
BLOCKS = re.findall(r"^<!-- test: run -->\n```sh\n(.*?)^```$", PAGE, re.M | re.S)


def test_every_reference_of_the_page_is_one() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    references = re.findall(r"^  [A-Z_]+: (\S+)", block, re.M)
    assert all(map(is_reference, references))
    assert {reference.partition(":")[0] for reference in references} == set(SCHEMES)


@pytest.mark.terraform
@pytest.mark.timeout(300)
def test_the_page_is_typed(tmp_path: Path) -> None:
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    (programs / "akotf").write_text(f'#!/bin/sh\nexec {sys.executable} -E -P -m akotf "$@"\n')
    (programs / "akotf").chmod(0o755)
    (programs / "terraform").symlink_to(find_binary())
    environment = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
        "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
    }  # fmt: skip
    said = []
    for block in BLOCKS:
        done = subprocess.run(["sh", "-euc", block], cwd=work, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout
        said.append(done.stdout)
    refused, trained = said
    assert (
        f"2 secrets can't be had: HF_TOKEN (file:token): {work}/trial/token can be read by everybody (mode 0644); "
        in refused
    )
    assert "CI_TOKEN (env:CI_TOKEN): the variable CI_TOKEN is not set" in refused
    assert "succeeded after 1 attempt" in trained
    assert load(work / "trial", catalogues=(PACKAGED / "iac",)).run.secrets == {
        "HF_TOKEN": "file:token", "CI_TOKEN": "env:CI_TOKEN",
    }  # fmt: skip
    written = [p for p in (work / "trial" / ".akotf").rglob("*") if p.is_file()]
    assert [p for p in written if b"a-secret-of-mine" in p.read_bytes() or b"from-ci" in p.read_bytes()] == []
