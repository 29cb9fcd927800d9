"""Finding a Terraform or OpenTofu that will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.errors import MissingDependency
from akotf.terraform.binary import find_binary, is_supported, version_of
from akotf.terraform.runner import TerraformRunner


def program(path: Path, answer: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return path


def speaks(version: str) -> str:
    return f'{{"terraform_version": "{version}", "type": "version", "terraform": "{version}"}}'


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


def test_one_without_a_rival_is_judged_when_it_works(tmp_path: Path) -> None:
    old = program(tmp_path / "terraform", speaks("1.5.7"))
    assert find_binary(environment={"PATH": str(tmp_path)}) == old
    (tmp_path / "root").mkdir()
    with pytest.raises(MissingDependency, match=r"terraform is 1\.5\.7"):
        TerraformRunner(old, environment={}).init(tmp_path / "root")  # by an event of its own
    with pytest.raises(MissingDependency):
        TerraformRunner(old, environment={}).version()
    old.write_text(
        "#!/bin/sh\ncase \"$*\" in\n'version -json') echo '"
        + speaks("1.5.7")
        + "';;\n*) echo 'flag provided but not defined: -json' >&2; exit 1;;\nesac\n"
    )
    with pytest.raises(MissingDependency, match=r"terraform is 1\.5\.7"):
        TerraformRunner(old, environment={}).init(tmp_path / "root")  # by asking, after it failed


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="no Terraform or OpenTofu"):
        find_binary(environment={"PATH": str(tmp_path)})
    assert version_of(tmp_path / "absent") == ""
