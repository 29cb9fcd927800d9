"""The launcher that Terraform starts as akotf's provider."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from akotf.render.provider import LAUNCHER, VERSION, launcher_paths


def launch(folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "launcher"
    path.write_bytes(LAUNCHER)
    path.chmod(0o755)
    return subprocess.run([str(path)], cwd=folder, capture_output=True, text=True, check=False)


def test_its_bytes_belong_to_its_version() -> None:
    # Lock files hold the hash of these bytes for this version: other bytes need another VERSION.
    assert (VERSION, hashlib.sha256(LAUNCHER).hexdigest()) == (
        "0.1.0",
        "101e10b41521b86a6b3820314236600fe478d233636b0a4818f67f8ba119d477",
    )


def test_it_runs_the_interpreter_of_the_root_without_its_environment(tmp_path: Path) -> None:
    interpreter = tmp_path / "py thon"
    interpreter.write_text('#!/bin/sh\necho "$@"\n')
    interpreter.chmod(0o755)
    (tmp_path / ".akotf-python").write_text(f"{interpreter}\n")
    ended = launch(tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "-E -P -m akotf.tfprovider\n", "")


def test_a_missing_file_is_told_on_both_streams(tmp_path: Path) -> None:
    ended = launch(tmp_path)
    assert ended.returncode == 1
    assert f"{tmp_path}/.akotf-python is missing" in ended.stderr
    assert ended.stdout == ended.stderr and ended.stdout.count("\n") == 1


def test_an_interpreter_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / ".akotf-python").write_text("/gone/python\n")
    ended = launch(tmp_path)
    assert ended.returncode == 1
    assert "names /gone/python" in ended.stderr


def test_every_platform_has_one() -> None:
    folders = {Path(path).parent.name for path in launcher_paths()}
    assert folders == {"linux_amd64", "linux_arm64"}
