"""Fetching from real repositories: exactly one commit, plain files only, and nothing of the repository runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError, IntegrityError, MissingDependency
from akotf.gitsource import fetch as fetching
from akotf.gitsource.address import parse_address
from akotf.gitsource.fetch import fetch, resolve

FILES = {"run.yaml", "template.yaml", "terraform/local/main.tf"}


def test_a_tag_names_a_commit_and_gives_its_files(repository: Any) -> None:
    commit = repository.commit("v1")
    (repository.template / "run.yaml").write_text("later\n")
    repository.commit()
    address = parse_address(repository.reference("v1"))
    assert resolve(address) == commit
    found = fetch(address, commit)
    assert found.commit == commit
    assert set(found.files) == FILES
    assert found.files["terraform/local/main.tf"] == b"# root\n"
    assert found.files["run.yaml"].startswith(b"image:")


def test_an_annotated_tag_names_its_commit_not_itself(repository: Any) -> None:
    commit = repository.commit("v1", "--annotate", "--message=first")
    assert repository.git("rev-parse", "v1") != commit
    address = parse_address(repository.reference("v1"))
    assert resolve(address) == commit
    assert set(fetch(address, commit).files) == FILES


def test_a_full_commit_id_is_taken_as_it_is_even_one_that_no_ref_names(repository: Any) -> None:
    commit = repository.commit()
    repository.git("commit", "--quiet", "--amend", "-m", "other")
    address = parse_address(repository.reference(commit))
    assert resolve(address) == commit
    assert set(fetch(address, commit).files) == FILES


def test_the_template_may_be_the_whole_repository(repository: Any) -> None:
    commit = repository.commit("v1")
    found = fetch(parse_address(repository.reference("v1", "")), commit)
    assert set(found.files) == {f"iac/tiny/{name}" for name in FILES}


def test_a_branch_is_refused_with_the_commit_it_is_at(repository: Any) -> None:
    commit = repository.commit("v1")
    with pytest.raises(ConfigError, match="main is a branch") as caught:
        resolve(parse_address(repository.reference("main")))
    assert f"?ref={commit}" in caught.value.remedy


@pytest.mark.parametrize("ref", ["v2", "HEAD", "refs/tags/v1", "tags/v1", "v"])
def test_a_ref_that_is_no_tag_is_refused(repository: Any, ref: str) -> None:
    repository.commit("v1")
    with pytest.raises(ConfigError, match=f"has no tag {ref}") as caught:
        resolve(parse_address(repository.reference(ref)))
    assert "tag" in caught.value.remedy


def test_what_is_not_there_is_told(repository: Any) -> None:
    commit = repository.commit("v1")
    with pytest.raises(ConfigError, match="has no folder iac/none at v1"):
        fetch(parse_address(repository.reference("v1", "//iac/none/x")), commit)
    with pytest.raises(ConfigError, match="git can't read") as caught:
        fetch(parse_address(repository.reference("v1")), "0" * 39 + "1")
    assert "not our ref" in caught.value.message
    gone = parse_address(f"git+file://{repository.folder}-gone//iac/tiny?ref=v1")
    with pytest.raises(ConfigError, match="git can't read"):
        resolve(gone)
    tree = repository.git("rev-parse", "HEAD^{tree}")
    with pytest.raises((ConfigError, IntegrityError)):
        fetch(parse_address(repository.reference(tree)), tree)


def test_links_are_refused(repository: Any) -> None:
    (repository.template / "password").symlink_to("/etc/passwd")
    commit = repository.commit("v1")
    with pytest.raises(IntegrityError, match="password is a link"):
        fetch(parse_address(repository.reference("v1")), commit)


def test_a_link_in_the_place_of_a_folder_is_refused(repository: Any) -> None:
    (repository.folder / "alias").symlink_to("iac")
    commit = repository.commit("v1")
    with pytest.raises(ConfigError, match="has no folder alias"):
        fetch(parse_address(repository.reference("v1", "//alias/tiny")), commit)


def test_submodules_are_refused_and_never_fetched(repository: Any, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    subprocess.run(
        ["git", "init", "--quiet", str(inner)],
        check=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    commit = repository.commit()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},iac/tiny/sub")
    (repository.folder / ".gitmodules").write_text(
        f'[submodule "sub"]\n\tpath = iac/tiny/sub\n\turl = {inner}\n'
    )
    repository.git("add", ".gitmodules")
    repository.git("commit", "--quiet", "-m", "with a submodule")
    tip = repository.git("rev-parse", "HEAD")
    with pytest.raises(IntegrityError, match="sub is a submodule"):
        fetch(parse_address(repository.reference(tip)), tip)


def test_files_that_lfs_keeps_are_refused(repository: Any) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    (repository.template / "weights.bin").write_text(pointer)
    commit = repository.commit("v1")
    with pytest.raises(IntegrityError, match="kept in LFS"):
        fetch(parse_address(repository.reference("v1")), commit)


def test_nothing_of_a_repository_runs(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks, filters, the user's settings and inherited variables: each would leave a file behind."""
    touched = tmp_path / "touched"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {touched}\nexit 1\n")
    program.chmod(0o755)
    (repository.template / ".gitattributes").write_text("* filter=evil\n")
    commit = repository.commit("v1")
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-merge"):
        path = repository.folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(program.read_text())
        path.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {repository.folder}/.git/hooks\n\tfsmonitor = {program}\n\tsshCommand = {program}\n'
        f'[filter "evil"]\n\tsmudge = {program}\n[init]\n\ttemplateDir = {repository.folder}/.git\n'
        f'[uploadpack]\n\tpackObjectsHook = {program}\n[credential]\n\thelper = "!{program}"\n'
        f'[url "file:///nowhere/"]\n\tinsteadOf = file://\n'
    )  # fmt: skip
    for name, value in {
        "HOME": str(home), "GIT_SSH_COMMAND": str(program), "GIT_EXTERNAL_DIFF": str(program), "GIT_DIR": "/nowhere",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(program),
        "GIT_PROXY_COMMAND": str(program), "GIT_ASKPASS": str(program), "GIT_OBJECT_DIRECTORY": "/nowhere",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    address = parse_address(repository.reference("v1"))
    assert resolve(address) == commit
    assert set(fetch(address, commit).files) == FILES | {".gitattributes"}
    assert not touched.exists()


def test_a_protocol_that_the_address_does_not_name_is_not_spoken(repository: Any) -> None:
    """A file address reaches git with only `file` allowed, an https one with only `https`."""
    for reference, scheme in (
        (repository.reference("v1"), "file"),
        ("git+https://h.example/o/r?ref=v1", "https"),
        ("git+ssh://h.example/o/r?ref=v1", "ssh"),
    ):
        environment = fetching._environment(parse_address(reference), "/empty")
        assert environment["GIT_ALLOW_PROTOCOL"] == scheme
        assert environment["GIT_TERMINAL_PROMPT"] == "0"
        assert environment["GIT_CONFIG_GLOBAL"] == os.devnull
        assert environment["GIT_CONFIG_NOSYSTEM"] == environment["GIT_ATTR_NOSYSTEM"] == "1"
        assert environment["HOME"] == "/empty"
        assert not {"GIT_DIR", "AKOTF_USER", "USER"} & environment.keys()


def test_too_much_is_refused(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (repository.template / f"file-{number}").write_bytes(bytes(1000))
    commit = repository.commit("v1")
    address = parse_address(repository.reference("v1"))
    monkeypatch.setattr(fetching, "MAX_FILES", 6)
    with pytest.raises(IntegrityError, match="more than 6 files"):
        fetch(address, commit)
    monkeypatch.setattr(fetching, "MAX_FILES", 7)
    assert len(fetch(address, commit).files) == 7
    monkeypatch.setattr(fetching, "MAX_BYTES", 4000)
    with pytest.raises(IntegrityError, match="more than"):
        fetch(address, commit)


def test_a_repository_that_does_not_answer_in_time_is_given_up(
    repository: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    (programs / "git").chmod(0o755)
    commit = repository.commit("v1")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(fetching, "SECONDS", 1.0)
    with pytest.raises(ConfigError, match="time limit"):
        fetch(parse_address(repository.reference("v1")), commit)
    command = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    end = time.monotonic() + 10
    while command.exists() and command.read_bytes():  # empty: dead, and not yet waited for by init
        assert time.monotonic() < end, "git lives on"
        time.sleep(0.01)


def test_what_is_missing_is_named(repository: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = parse_address(repository.reference("v1"))
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingDependency, match="program git"):
            resolve(address)
    monkeypatch.setattr(fetching.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingDependency) as caught:
        resolve(address)
    assert caught.value.remedy == "pip install 'akotf[git]'"


def test_gitpython_is_loaded_in_the_child_only(repository: Any) -> None:
    resolve(parse_address(repository.reference(repository.commit("v1"))))
    assert "git" not in sys.modules


def test_a_file_name_that_is_no_text_is_refused(repository: Any) -> None:
    Path(os.fsdecode(os.fsencode(repository.template) + b"/\xff.tf")).write_text("")
    commit = repository.commit("v1")
    with pytest.raises(IntegrityError, match="can't be a file of a template"):
        fetch(parse_address(repository.reference("v1")), commit)
