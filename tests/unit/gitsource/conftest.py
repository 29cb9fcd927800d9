"""A real git repository with a template in it, and an environment that asks for that template."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SPEC = """\
version: 1
name: tiny
release: 1.0.0
parameters:
  steps: {type: integer, default: 10, min: 1, max: 1000}
roots: {local: terraform/local}
"""
RUN = """\
image: {reference: "repo@sha256:00"}
command: [python, train.py]
hyperparameters: {steps: "{{ steps }}"}
limits: {cpus: 1, memory: 1 GiB, wall_time: 1h}
checkpoint: {interval_steps: 5}
workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: "{{ steps }}"}
"""


class Repository:
    """A git repository in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "iac" / "tiny"
        (self.template / "terraform" / "local").mkdir(parents=True)
        (self.template / "template.yaml").write_text(SPEC)
        (self.template / "run.yaml").write_text(RUN)
        (self.template / "terraform" / "local" / "main.tf").write_text("# root\n")
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        """Run git with nobody's settings; what it printed."""
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        names = {
            f"GIT_{who}_{what}": "test@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], env=own | names, capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, tag: str = "", *more: str) -> str:
        """Commit all there is, tag it (an existing tag moves), and return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", tag or "more")
        if tag:
            self.git("tag", "--force", *more, tag)
        return self.git("rev-parse", "HEAD")

    def reference(self, ref: str, inner: str = "//iac/tiny") -> str:
        """The template's address."""
        return f"git+file://{self.folder}{inner}?ref={ref}"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    return Repository(tmp_path / "upstream")


@pytest.fixture
def iac(tmp_path: Path) -> Path:
    """A project's catalogue that allows repositories below the test's folder."""
    folder = tmp_path / "project" / "iac"
    folder.mkdir(parents=True)
    (folder / "sources.yaml").write_text(f"version: 1\nallow: [file://{tmp_path}]\n")
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[str], Path]:
    """Writes an environment that asks for a template."""

    def write(reference: str) -> Path:
        folder = tmp_path / "project" / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "akotf.yaml").write_text(
            f"version: 1\nname: demo\nowner: me\ntemplate: {reference}\nscopes: {{here: {{kind: local}}}}\n"
        )
        (folder / "train.py").write_text("print('training')\n")
        return folder

    return write
