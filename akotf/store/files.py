"""Durable files: whole or not at all, and only where locks and shared memory work."""

from __future__ import annotations

import contextlib
from pathlib import Path

from akotf.errors import StoreError
from akotf.facts import files

#: File systems over a network: SQLite's WAL needs memory shared by all writers, and locks there may be advisory only.
_NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "lustre",
        "cifs",
        "smb3",
        "smbfs",
        "beegfs",
        "gpfs",
        "ceph",
        "afs",
        "pvfs2",
        "orangefs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.ceph",
    ]
)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace `path` by `data`, whole and durably, with `mode` less what the umask takes away. OSError."""
    files.write_atomic(path, data, mode & ~_umask())


def _umask() -> int:
    """The process's umask; asking for it any other way sets it, which other threads would notice."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def make_folder(folder: Path) -> None:
    """Make `folder` and its parents; StoreError when that can't be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error(folder, error) from error


def store_error(path: Path, error: OSError) -> StoreError:
    """A foreign OSError as a StoreError that says what to do."""
    return StoreError(
        f"can't be written: {error.strerror or error}",
        where=str(path),
        remedy="check that the folder is yours, writable and on a disk with free space; "
        "copy the environment folder to such a place if it is not",
    )


def network_filesystem(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the network file system that `path` lies on, or an empty text. Reads Linux's mountinfo."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    target = str(path.resolve())
    best, kind = "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = (
            fields[4]
            .replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\")
        )
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # the later of two mounts on one point hides the earlier
            best, kind = point, right.split(" ")[0]
    return kind if kind in _NETWORK else ""
