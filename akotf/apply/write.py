"""A rendered tree on disk: what was there before and is not ours is held aside, never lost and never applied."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from akotf.apply.folder import Folder, check_name
from akotf.errors import IntegrityError
from akotf.model.tree import FileTree
from akotf.ports import Event

OnEvent = Callable[[Event], None]

#: Written last: the digest of each file as akotf wrote it, so that an edit by someone else is recognised.
MANIFEST = ".akotf-tree.json"
#: Where a root keeps what somebody else put into it; Terraform does not look there.
ASIDE = "unapproved"
#: Where the new files of a tree are made whole before the first one takes its place.
STAGE = ".akotf-tree-new-"
_READ_BY_TERRAFORM = (".tf", ".tf.json", ".tofu", ".tofu.json", ".auto.tfvars", ".auto.tfvars.json")
_ALSO_READ = ("terraform.tfvars", "terraform.tfvars.json")
_OURS_ENTIRELY = ("modules", "terraform.d")  # folders of which Terraform may read every file


def write_tree(root: Path, tree: FileTree) -> tuple[str, ...]:
    """Make `root` hold the tree; returns the paths that were held aside under `unapproved/`.

    Held aside: a managed file that someone edited since it was written, and a foreign file that Terraform would read.
    Managed files that the tree no longer has are removed. `.terraform`, the lock file and other files stay. All new
    files are on disk before the first takes its place, so a full disk changes nothing; where a crash cuts off the
    moves that follow, the next call knows the files of both trees as akotf's own and completes the root.
    IntegrityError when a path leaves the root or goes through a symbolic link; OSError leaves the root as it was.
    """
    _check_names(root, tree)
    if root.is_symlink():
        raise IntegrityError(
            "the Terraform root is a symbolic link", where=str(root), remedy="remove the link"
        )
    root.mkdir(parents=True, exist_ok=True)
    folder = Folder(root)
    for left in root.glob(f"{STAGE}*"):
        shutil.rmtree(left)  # of a call that a crash cut off
    before = _manifest(folder)
    stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=root))
    try:
        staged = _stage(folder, stage.name, tree)
        aside = [name for name in sorted(_present(folder, before)) if _is_foreign(folder, name, tree, before)]
        gone = sorted(set(before) - set(tree.files))
        _write_manifest(folder, stage.name, before, tree)
        for name in aside:
            _hold_aside(folder, name)
        for name in gone:
            folder.remove(name)
        for name, made in staged.items():
            folder.move(made, name)
        _write_manifest(folder, stage.name, {}, tree)
    finally:
        shutil.rmtree(stage)
    return tuple(aside)


def write_root(root: Path, tree: FileTree, on_event: OnEvent | None) -> None:
    """`write_tree`, telling what was held aside as an event of type `held_aside` with `files`."""
    aside = write_tree(root, tree)
    if aside and on_event is not None:
        message = f"not approved, held aside in {root / ASIDE}: {', '.join(aside)}"
        on_event({"type": "held_aside", "@level": "warn", "@message": message, "files": list(aside)})


def _check_names(root: Path, tree: FileTree) -> None:
    """Every name is a path below the root, and no file stands where another needs a folder."""
    for name in tree.files:
        check_name(root, name)
        above = [name[:i] for i, character in enumerate(name) if character == "/"]
        if (
            any(folder in tree.files for folder in above)
            or name == MANIFEST
            or name.startswith((STAGE, f"{ASIDE}/"))
        ):
            raise IntegrityError(
                f"{name!r} can't be a file of a Terraform root: another has its place", where=str(root),
                remedy="mend the template's file names",
            )  # fmt: skip


def _stage(folder: Folder, stage: str, tree: FileTree) -> dict[str, str]:
    """Write what differs from the root into the stage; the file there by its name in the root."""
    staged: dict[str, str] = {}
    for number, (name, data) in enumerate(sorted(tree.files.items())):
        mode = 0o755 if name in tree.executable else 0o644
        found = folder.mode(name)
        if found is not None and stat.S_ISDIR(found):
            raise IntegrityError(
                f"a folder stands where {name} has to be", where=str(folder.path), remedy="remove the folder"
            )
        if folder.read(name) == data:
            if found is not None and stat.S_IMODE(found) != mode:
                folder.chmod(name, mode)
            continue
        staged[name] = f"{stage}/{number}"
        folder.create(staged[name], data, mode)
    return staged


def _present(folder: Folder, before: Mapping[str, frozenset[str]]) -> set[str]:
    """Files of the root that Terraform would read, and those that akotf manages."""
    root = folder.path
    found = {
        p.name for p in root.iterdir()
        if (p.name.endswith(_READ_BY_TERRAFORM) or p.name in _ALSO_READ) and (p.is_symlink() or not p.is_dir())
    }  # fmt: skip
    for name in _OURS_ENTIRELY:
        if not (root / name).is_symlink():
            inside = (p for p in (root / name).rglob("*") if p.is_symlink() or not p.is_dir())
            found |= {p.relative_to(root).as_posix() for p in inside}
    return found | {name for name in before if folder.mode(name) is not None}


def _is_foreign(folder: Folder, name: str, tree: FileTree, before: Mapping[str, frozenset[str]]) -> bool:
    data = folder.read(name)
    if data is None:  # a link, a pipe
        return True
    return data != tree.files.get(name) and _sha256(data) not in before.get(name, ())


def _hold_aside(folder: Folder, name: str) -> None:
    """Move a file to `unapproved/`; what was held there under its name goes to the first free `NAME.N`."""
    target = f"{ASIDE}/{name}"
    if folder.mode(target) is not None:
        number = 1
        while folder.mode(f"{target}.{number}") is not None:
            number += 1
        folder.move(target, f"{target}.{number}")
    folder.move(name, target)


def _manifest(folder: Folder) -> dict[str, frozenset[str]]:
    """The digests that each file may have as akotf wrote it: several after a call that a crash cut off."""
    try:
        recorded = json.loads(folder.read(MANIFEST) or b"{}")
        known = {str(name): {str(digest)} for name, digest in recorded["files"].items()}
        for name, digests in recorded.get("before", {}).items():
            known.setdefault(str(name), set()).update(map(str, digests))
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # none yet, or spoilt: then every file that differs counts as somebody else's and is kept aside
    return {name: frozenset(digests) for name, digests in known.items()}


def _write_manifest(folder: Folder, stage: str, before: Mapping[str, frozenset[str]], tree: FileTree) -> None:
    """The tree's digests; while its files are being moved into place, those of the tree before too."""
    record: dict[str, object] = {
        "schema": 1,
        "files": {name: _sha256(data) for name, data in tree.files.items()},
    }
    if before:
        record["before"] = {name: sorted(digests) for name, digests in before.items()}
    made = f"{stage}/{MANIFEST}"
    folder.create(made, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode(), 0o644)
    folder.move(made, MANIFEST)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
