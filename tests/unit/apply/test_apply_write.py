"""Writing a tree: what is ours is replaced, what is not is held aside, nothing leaves the root."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from akotf.apply import folder
from akotf.apply.write import MANIFEST, STAGE, write_tree
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


@pytest.mark.parametrize(
    "name",
    [
        "../out",
        "/etc/out",
        "a/../../out",
        "",
        ".",
        "a/",
        "a//b",
        "./a",
        "a\\b",
        "a\0b",
        "x" * 256,
        MANIFEST,
        "unapproved/x",
        ".akotf-tree-new-1/x",
    ],
)
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


def test_a_file_and_a_folder_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="another has its place"):
        write_tree(tmp_path / "root", FileTree({"a": b"1", "a/b": b"2"}))
    assert not (tmp_path / "root").exists()


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").symlink_to("outside")
    with pytest.raises(IntegrityError, match="symbolic link"):
        write_tree(tmp_path / "root", tree(main_tf="1"))
    assert list((tmp_path / "outside").iterdir()) == []


def test_what_was_held_aside_before_is_kept(tmp_path: Path) -> None:
    for edit in ("first", "second", "third"):
        write_tree(tmp_path, tree(main_tf="ours"))
        (tmp_path / "main.tf").write_text(edit)
    write_tree(tmp_path, tree(main_tf="ours"))
    aside = {p.name: p.read_text() for p in (tmp_path / "unapproved").iterdir()}
    assert aside == {"main.tf.1": "first", "main.tf.2": "second", "main.tf": "third"}


def test_a_pipe_among_terraforms_files_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "evil.tf")
    os.mkfifo(tmp_path / MANIFEST)
    assert write_tree(tmp_path, tree(main_tf="1")) == ("evil.tf",)
    assert files(tmp_path) == {"main.tf"}


def test_a_folder_in_the_place_of_a_file_changes_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, tree(a_tf="1", b_tf="1"))
    (tmp_path / "c.tf" / "x").mkdir(parents=True)
    with pytest.raises(IntegrityError, match=r"a folder stands where c\.tf has to be"):
        write_tree(tmp_path, tree(a_tf="2", b_tf="2", c_tf="2"))
    assert {p.name: p.read_text() for p in tmp_path.glob("[ab].tf")} == {"a.tf": "1", "b.tf": "1"}
    assert not list(tmp_path.glob(f"{STAGE}*"))


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the second file of the new tree can't be written."""
    write_tree(tmp_path, tree(a_tf="1", b_tf="1"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(OSError, match="too large"):
            write_tree(tmp_path, tree(a_tf="2", b_tf="2" * 2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert {p.name: p.read_text() for p in tmp_path.glob("*.tf")} == {"a.tf": "1", "b.tf": "1"}
    assert not list(tmp_path.glob(f"{STAGE}*"))


class Died(BaseException):
    """A crash."""


@pytest.mark.parametrize("moves", range(8))
def test_a_crash_at_any_move_is_completed_by_the_next_call(
    tmp_path: Path, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moves of the second tree: manifest, the foreign file aside, four files into place, manifest."""
    old = {f"{n}.tf": b"old" for n in "abcd"} | {"gone.tf": b"old"}
    new = {f"{n}.tf": b"new" for n in "abc"} | {"modules/m/new.tf": b"new", "d.tf": b"old"}
    write_tree(tmp_path, FileTree(old))
    (tmp_path / "evil.tf").write_text("foreign")
    left = iter(range(moves))
    move = os.replace

    def crash(*arguments: object, **more: object) -> None:
        if next(left, None) is None:
            raise Died
        move(*arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(folder.os, "replace", crash)
        patch.setattr("akotf.apply.write.shutil.rmtree", lambda _: None)  # the dead clean nothing up
        if moves < 7:
            with pytest.raises(Died):
                write_tree(tmp_path, FileTree(new))
        else:
            write_tree(tmp_path, FileTree(new))
    for name in old.keys() & new.keys():  # each file is one tree's or the other's, never half of one
        assert (tmp_path / name).read_bytes() in (old[name], new[name])
    aside = write_tree(tmp_path, FileTree(new))
    assert aside == (("evil.tf",) if moves < 2 else ())  # ours are never taken for somebody else's
    assert files(tmp_path) == {*new, "unapproved/evil.tf"}
    assert {name: (tmp_path / name).read_bytes() for name in new} == new
    assert "before" not in (tmp_path / MANIFEST).read_text()


def test_a_link_that_comes_in_between_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    (outside / "m").mkdir(parents=True)
    write_tree(root, tree(modules__m__main_tf="old"))
    move = os.replace

    def swapped(source: str, target: str, **descriptors: int) -> None:
        if target == "main.tf" and not (root / "modules").is_symlink():
            (root / "modules").rename(tmp_path / "was")
            (root / "modules").symlink_to(outside)
        move(source, target, **descriptors)

    monkeypatch.setattr(folder.os, "replace", swapped)
    write_tree(root, tree(modules__m__main_tf="new"))
    assert list((outside / "m").iterdir()) == []
    assert (tmp_path / "was" / "m" / "main.tf").read_text() == "new"
