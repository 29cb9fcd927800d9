"""JSON files that several processes read and write: whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import Any

LARGEST = 16 * 2**20  # bytes; our files are small, so anything larger is not one of ours


def read_bytes(path: str, largest: int = LARGEST) -> bytes:
    """The bytes of a regular file of at most `largest` bytes.

    Raises FileNotFoundError and the other OSErrors as they are, ValueError for a device, a pipe or a larger file:
    a pipe in its place must not hang the reader.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is not a regular file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise ValueError(f"{path} is larger than {largest} bytes")
    return data


def read_json(path: str | os.PathLike[str], largest: int = LARGEST) -> Any:
    """The JSON data in `path`. ValueError when it is not JSON (half-written or foreign), else the OSError."""
    name = os.fspath(path)
    try:
        return json.loads(read_bytes(name, largest).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from None


def write_json_atomic(path: str | os.PathLike[str], data: Any, mode: int = 0o600) -> None:
    """`write_atomic` of the JSON of `data`: ASCII, indented, with finite numbers only (ValueError otherwise)."""
    text = json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_atomic(path, text.encode("ascii"), mode)


def write_atomic(
    path: str | os.PathLike[str], data: bytes, mode: int = 0o600, *, durable: bool = True
) -> None:
    """Replace `path` by `data` so that a reader sees the old or the new file; `durable`: also after a power cut.

    The OSError of a full disk names `path`.
    """
    name = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(name))
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(name)[:40]}.")
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, name)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = name  # the system names no file when a disk is full
        raise
    if durable:
        sync_folder(folder)


@contextlib.contextmanager
def one_writer(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes of this kind out while files of `folder` are read, changed and written back; waits.

    The lock lies on the folder itself: no file is left, and a killed holder lets go. Where a file system has no such
    lock (some network ones), nothing is kept out.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP):
                raise
        yield
    finally:
        os.close(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make renames and removals in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: str | os.PathLike[str]) -> bool:
    """Remove a file; True when it was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    sync_folder(os.path.dirname(os.path.abspath(os.fspath(path))))
    return True
