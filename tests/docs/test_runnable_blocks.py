"""The blocks that readers are told to type are typed: in an empty folder, with the real Terraform and real runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.terraform.runner import find_binary

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
MARKED = re.compile(r"^<!-- test: run -->\n```sh\n(.*?)^```$", re.M | re.S)

Type = Callable[[str], str]


def is_installed() -> bool:
    """Whether a Python of its own finds akotf, as the provider and the agent must; PYTHONPATH alone is not enough."""
    asked = [sys.executable, "-E", "-P", "-c", "import akotf.tfprovider"]
    return subprocess.run(asked, cwd="/", capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.terraform,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not is_installed(), reason="akotf is on PYTHONPATH only; ./dev test installs it"),
]


@pytest.fixture
def shell(tmp_path: Path) -> Type:
    """Types a block in the folder `work`, as a stranger on this machine would; a line that fails ends the test."""
    work, programs = tmp_path / "work", tmp_path / "bin"
    work.mkdir()
    programs.mkdir()
    (programs / "akotf").write_text(f'#!/bin/sh\nexec {sys.executable} -E -P -m akotf "$@"\n')
    (programs / "akotf").chmod(0o755)
    (programs / "terraform").symlink_to(find_binary())
    environment = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
        "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **{k: v for k, v in os.environ.items() if k in {"LD_LIBRARY_PATH", "TMPDIR"}},
    }  # fmt: skip

    def run(block: str) -> str:
        done = subprocess.run(
            ["sh", "-euxc", block], cwd=work, env=environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


def typed(page: Path, shell: Type, work: Path) -> list[str]:
    """What each shell block of a page printed; the files that the page shows are written before."""
    printed = []
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            (work / block["file"]).parent.mkdir(parents=True, exist_ok=True)
            (work / block["file"]).write_text(block["body"])
        elif block["language"] == "sh":
            printed.append(shell(block["body"]))
        else:
            assert block["language"] == "text", f"a block that nobody can type: {block[0][:60]}"
    return printed


def test_the_first_environment_of_the_readme(shell: Type, tmp_path: Path) -> None:
    (block,) = MARKED.findall(README.read_text(encoding="utf-8"))
    printed = shell(block)
    assert "step 600/600" in printed
    assert "chain intact" in printed
    (state,) = (tmp_path / "work" / "my-training" / ".akotf" / "state").glob("*/*/terraform.tfstate")
    assert json.loads(state.read_text())["resources"] == []


def test_writing_an_environment_and_verifying_its_evidence(shell: Type, tmp_path: Path) -> None:
    work = tmp_path / "work"
    printed = "".join(typed(DOCS / "how-to" / "write-an-environment.md", shell, work))
    assert "every rule passes its pass inputs" in printed
    assert "nothing to do" in printed
    base = work / "slope" / ".akotf"
    assert len(list((base / "evidence").iterdir())) == 2
    for metrics in base.glob("runs/*/outputs/metrics.json"):
        assert (
            json.loads(metrics.read_text())["loss"] < 0.1
        )  # it began near 3: the mean of (3x)² over [-1, 1]
    assert "campus" in (work / "comment.md").read_text()

    if shutil.which("openssl", path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip("the page on evidence makes its keys with openssl, which is not here")
    printed = "".join(typed(DOCS / "how-to" / "verify-evidence.md", shell, work))
    assert printed.count("evidence is intact: integrity only") == 2
    assert "evidence is intact: signed by pinned key" in printed


def test_the_rule_of_the_page_stops_a_budget(shell: Type, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for block in BLOCK.finditer((DOCS / "how-to" / "write-an-environment.md").read_text(encoding="utf-8")):
        if block["file"]:
            (work / block["file"]).parent.mkdir(parents=True, exist_ok=True)
            (work / block["file"]).write_text(block["body"].replace("5 USD", "50 USD"))
    printed = shell("akotf validate slope && exit 1 || test $? = 3")
    assert "the budget is over 10" in printed


def test_the_page_on_rules_of_your_own(shell: Type, tmp_path: Path) -> None:
    printed = "".join(typed(DOCS / "how-to" / "policies.md", shell, tmp_path / "work"))
    assert printed.count("every rule passes its pass inputs") == 2
    assert "run: pass\n    limits.wall_time = " in printed
    assert "module.local_gpu.akotf_local_pool.this leases 2 CPUs, more than 1" in printed
