"""Finding a Terraform or OpenTofu that will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.errors import MissingDependency
from akotf.terraform.binary import find_binary, is_supported, version_of


def program(path: Path, answer: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return path


def speaks(version: str) -> str:
    return f'{{"terraform_version": "{version}"}}'


@pytest.mark.parametrize(
    ("version", "good"),
    [("1.10.0", True), ("1.9.8", False), ("1.11.4", True), ("2.0.0", True), ("0.15.3", False), ("1.10.0-beta1", True), ("", False)],
)  # fmt: skip
def test_versions(version: str, good: bool) -> None:
    assert is_supported(version) is good


def test_the_projects_own_comes_first(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "terraform", speaks("1.11.4"))
    ours = program(tmp_path / "tools" / "tofu", speaks("1.10.1"))
    environment = {"PATH": str(tmp_path / "bin")}
    assert find_binary(tmp_path / "tools", environment=environment) == ours
    assert find_binary(environment=environment) == tmp_path / "bin" / "terraform"


def test_an_old_terraform_is_passed_over_for_a_good_tofu(tmp_path: Path) -> None:
    program(tmp_path / "terraform", speaks("1.5.7"))
    tofu = program(tmp_path / "tofu", speaks("1.10.0"))
    assert find_binary(environment={"PATH": str(tmp_path)}) == tofu


def test_what_was_refused_is_named(tmp_path: Path) -> None:
    old = program(tmp_path / "terraform", speaks("1.5.7"))
    program(tmp_path / "tofu", "a tin of beans")
    with pytest.raises(MissingDependency) as caught:
        find_binary(environment={"PATH": str(tmp_path)})
    assert f"{old} is 1.5.7" in caught.value.message
    assert "not Terraform" in caught.value.message
    assert caught.value.remedy


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="no Terraform or OpenTofu"):
        find_binary(environment={"PATH": str(tmp_path)})
    assert version_of(tmp_path / "absent") == ""
