"""Writing a tree: what is ours is replaced, what is not is held aside, nothing leaves the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from akotf.apply.write import MANIFEST, write_tree
from akotf.errors import IntegrityError
from akotf.model.tree import FileTree


def tree(**files: str) -> FileTree:
    names = {name.replace("__", "/").replace("_tf", ".tf"): text.encode() for name, text in files.items()}
    return FileTree(names)


def files(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()} - {MANIFEST}


def test_contents_and_modes(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    write_tree(root, FileTree({"a/b": b"1", "run": b"2"}, frozenset({"run"})))
    assert (root / "a" / "b").read_bytes() == b"1"
    assert os.access(root / "run", os.X_OK) and not os.access(root / "a" / "b", os.X_OK)
    write_tree(root, FileTree({"a/b": b"1", "run": b"2"}, frozenset({"a/b"})))
    assert os.access(root / "a" / "b", os.X_OK) and not os.access(root / "run", os.X_OK)


def test_managed_files_that_are_no_longer_wanted_go_and_others_stay(tmp_path: Path) -> None:
    write_tree(tmp_path, tree(main_tf="1", modules__old__main_tf="2"))
    for kept in (".terraform/providers/x", ".terraform.lock.hcl", "notes.txt", "p.tfplan"):
        (tmp_path / kept).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / kept).write_text("kept")
    assert write_tree(tmp_path, tree(main_tf="1b")) == ()
    assert files(tmp_path) == {
        "main.tf",
        ".terraform/providers/x",
        ".terraform.lock.hcl",
        "notes.txt",
        "p.tfplan",
    }
    assert (tmp_path / "main.tf").read_text() == "1b"


@pytest.mark.parametrize(
    "name",
    ["evil.tf", "main_override.tf", "x.tf.json", "zz.auto.tfvars", "zz.auto.tfvars.json", "terraform.tfvars",
     "terraform.tfvars.json", "x.tofu", "modules/m/evil.tf", "modules/other/data.txt", "terraform.d/plugins/p"],
)  # fmt: skip
def test_foreign_files_that_terraform_would_read_are_held_aside(tmp_path: Path, name: str) -> None:
    ours = tree(main_tf="1", modules__m__main_tf="2")
    write_tree(tmp_path, ours)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("foreign")
    assert write_tree(tmp_path, ours) == (name,)
    assert files(tmp_path) == {"main.tf", "modules/m/main.tf", f"unapproved/{name}"}
    assert (tmp_path / "unapproved" / name).read_text() == "foreign"


def test_an_edit_of_a_managed_file_is_kept_aside_and_an_older_rendering_is_not(tmp_path: Path) -> None:
    write_tree(tmp_path, tree(main_tf="old"))
    assert write_tree(tmp_path, tree(main_tf="new")) == ()
    (tmp_path / "main.tf").write_text("edited by hand")
    assert write_tree(tmp_path, tree(main_tf="newer")) == ("main.tf",)
    assert (tmp_path / "unapproved" / "main.tf").read_text() == "edited by hand"
    assert (tmp_path / "main.tf").read_text() == "newer"


def test_a_spoilt_manifest_loses_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, tree(main_tf="old"))
    (tmp_path / MANIFEST).write_text("not json")
    assert write_tree(tmp_path, tree(main_tf="new")) == ("main.tf",)


def test_equal_files_are_not_written_again(tmp_path: Path) -> None:
    write_tree(tmp_path, tree(main_tf="1"))
    before = (tmp_path / "main.tf").stat()
    write_tree(tmp_path, tree(main_tf="1"))
    assert (tmp_path / "main.tf").stat().st_ino == before.st_ino


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", ""])
def test_paths_that_leave_the_root_are_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    with pytest.raises(IntegrityError):
        write_tree(root, FileTree({name: b"x"}))
    assert not root.exists()


def test_a_linked_folder_is_refused_and_nothing_is_written_through_it(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "modules").symlink_to(outside)
    with pytest.raises(IntegrityError, match="symbolic link"):
        write_tree(root, tree(modules__m__main_tf="x"))
    assert list(outside.iterdir()) == []


def test_a_linked_file_is_replaced_never_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "precious", tmp_path / "root"
    outside.write_text("precious")
    root.mkdir()
    (root / "main.tf").symlink_to(outside)
    write_tree(root, tree(main_tf="ours"))
    assert outside.read_text() == "precious"
    assert not (root / "main.tf").is_symlink()


@pytest.mark.parametrize("target", ["/etc", "/nowhere"])
def test_a_foreign_link_is_held_aside_as_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "evil.tf").symlink_to(target)
    (tmp_path / "folder.tf").mkdir()  # Terraform does not read it
    assert write_tree(tmp_path, tree(main_tf="1")) == ("evil.tf",)
    assert (tmp_path / "unapproved" / "evil.tf").is_symlink()


def test_removal_does_not_follow_a_manifest_out_of_the_root(tmp_path: Path) -> None:
    outside, root = tmp_path / "precious", tmp_path / "root"
    outside.write_text("precious")
    write_tree(root, tree(main_tf="1"))
    (root / MANIFEST).write_text('{"schema": 1, "files": {"../precious": "00"}}')
    with pytest.raises(IntegrityError):
        write_tree(root, tree(main_tf="1"))
    assert outside.read_text() == "precious"
