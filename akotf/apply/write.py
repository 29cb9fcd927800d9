"""A rendered tree on disk: what was there before and is not ours is held aside, never lost and never applied."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from akotf.errors import IntegrityError
from akotf.facts.files import write_atomic
from akotf.model.tree import FileTree
from akotf.ports import Event

OnEvent = Callable[[Event], None]

#: Written last: the digest of each file as akotf wrote it, so that an edit by someone else is recognised.
MANIFEST = ".akotf-tree.json"
#: Where a root keeps what somebody else put into it; Terraform does not look there.
ASIDE = "unapproved"
_READ_BY_TERRAFORM = (".tf", ".tf.json", ".tofu", ".tofu.json", ".auto.tfvars", ".auto.tfvars.json")
_ALSO_READ = ("terraform.tfvars", "terraform.tfvars.json")
_OURS_ENTIRELY = ("modules", "terraform.d")  # folders of which Terraform may read every file


def write_tree(root: Path, tree: FileTree) -> tuple[str, ...]:
    """Make `root` hold the tree; returns the paths that were held aside under `unapproved/`.

    Held aside: a managed file that someone edited since it was written, and a foreign file that Terraform would read.
    Managed files that the tree no longer has are removed. `.terraform`, the lock file and other files stay. Each file
    is replaced in one step. IntegrityError when a path leaves the root or goes through a symbolic link.
    """
    for name in tree.files:
        _check(root, name)
    root.mkdir(parents=True, exist_ok=True)
    before = _manifest(root)
    aside = [name for name in sorted(_present(root)) if _is_foreign(root, name, tree, before)]
    for name in aside:
        _hold_aside(root, name)
    for name in sorted(set(before) - set(tree.files)):
        _check(root, name)
        (root / name).unlink(missing_ok=True)
    for name, data in sorted(tree.files.items()):
        _write(root / name, data, executable=name in tree.executable)
    digests = {name: _sha256(data) for name, data in tree.files.items()}
    manifest = json.dumps({"schema": 1, "files": digests}, indent=1, sort_keys=True) + "\n"
    _write(root / MANIFEST, manifest.encode(), executable=False)
    return tuple(aside)


def write_root(root: Path, tree: FileTree, on_event: OnEvent | None) -> None:
    """`write_tree`, telling what was held aside as an event of type `held_aside` with `files`."""
    aside = write_tree(root, tree)
    if aside and on_event is not None:
        message = f"not approved, held aside in {root / ASIDE}: {', '.join(aside)}"
        on_event({"type": "held_aside", "@level": "warn", "@message": message, "files": list(aside)})


def _present(root: Path) -> set[str]:
    """Files of the root that Terraform would read, and those that akotf manages."""
    found = {
        p.name for p in root.iterdir()
        if (p.name.endswith(_READ_BY_TERRAFORM) or p.name in _ALSO_READ) and (p.is_symlink() or not p.is_dir())
    }  # fmt: skip
    for folder in _OURS_ENTIRELY:
        if not (root / folder).is_symlink():
            found |= {p.relative_to(root).as_posix() for p in (root / folder).rglob("*") if not p.is_dir()}
    managed = {name for name in _manifest(root) if (root / name).exists()}
    return found | managed


def _is_foreign(root: Path, name: str, tree: FileTree, before: Mapping[str, str]) -> bool:
    path = root / name
    if path.is_symlink():
        return True
    data = path.read_bytes()
    return data != tree.files.get(name) and _sha256(data) != before.get(name)


def _hold_aside(root: Path, name: str) -> None:
    target = root / ASIDE / name
    _check(root, f"{ASIDE}/{name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    (root / name).replace(target)


def _manifest(root: Path) -> dict[str, str]:
    try:
        recorded = json.loads((root / MANIFEST).read_bytes())
        return {str(k): str(v) for k, v in recorded["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # none yet, or spoilt: then every file that differs counts as somebody else's and is kept aside


def _check(root: Path, name: str) -> None:
    """Refuse names that would write elsewhere."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise IntegrityError(
            f"{name!r} is no path inside a Terraform root",
            where=str(root),
            remedy="mend the template's file names",
        )
    for depth in range(len(parts)):
        folder = root.joinpath(*parts[:depth])
        if folder.is_symlink() and depth:
            raise IntegrityError(
                "a folder of a Terraform root is a symbolic link", where=str(folder), remedy="remove the link"
            )


def _write(path: Path, data: bytes, *, executable: bool) -> None:
    mode = 0o755 if executable else 0o644
    if not path.is_symlink() and path.is_file() and path.read_bytes() == data:
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data, mode, durable=False)  # a root can be rendered again at any time


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
