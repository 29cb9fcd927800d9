"""Files below one folder, reached by descriptors: a link put in the way, even in between, is never followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from akotf.errors import IntegrityError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_PART = 255  # bytes (NAME_MAX)


class Folder:
    """Names are relative POSIX paths. IntegrityError for one that leads elsewhere, or through a link."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def parent(self, name: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that holds `name`, and the name in it. FileNotFoundError when there is none."""
        check_name(self.path, name)
        *parts, last = PurePosixPath(name).parts
        descriptor = self._open(str(self.path), None)
        try:
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = self._open(part, descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, last
        finally:
            os.close(descriptor)

    def _open(self, name: str, within: int | None) -> int:
        try:
            return os.open(name, _FOLDER, dir_fd=within)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise IntegrityError(
                    f"{name} is a symbolic link or a file where a Terraform root has a folder", where=str(self.path),
                    remedy="remove it",
                ) from error  # fmt: skip
            raise

    def read(self, name: str) -> bytes | None:
        """The bytes of a plain file; None for what is none (nothing, a link, a pipe, a folder)."""
        try:
            with self.parent(name) as (folder, last):
                if not stat.S_ISREG(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                    return None
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(last, flags, dir_fd=folder), "rb") as file:
                    return file.read()
        except FileNotFoundError:
            return None

    def mode(self, name: str) -> int | None:
        """`st_mode`, of a link itself; None when there is nothing."""
        try:
            with self.parent(name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def chmod(self, name: str, mode: int) -> None:
        """Set the permissions of a plain file."""
        with self.parent(name) as (folder, last):
            descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)

    def move(self, name: str, target: str) -> None:
        """Put `name` in the place of `target`, in one step; a link is moved or replaced itself."""
        with self.parent(name) as (source, last), self.parent(target, create=True) as (folder, new):
            os.replace(last, new, src_dir_fd=source, dst_dir_fd=folder)

    def create(self, name: str, data: bytes, mode: int) -> None:
        """Write a new file; FileExistsError when there is one."""
        with self.parent(name, create=True) as (folder, last):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(last, flags, 0o600, dir_fd=folder), "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)

    def remove(self, name: str) -> None:
        """Remove a file or link, if it is there."""
        with suppress(FileNotFoundError), self.parent(name) as (folder, last):
            os.unlink(last, dir_fd=folder)


def check_name(root: Path, name: str) -> None:
    """IntegrityError for a name that is no path below a root."""
    parts = name.split("/")
    wrong = any(part in ("", ".", "..") or len(os.fsencode(part)) > _LONGEST_PART for part in parts)
    if wrong or "\0" in name or "\\" in name:
        raise IntegrityError(
            f"{name!r} is no path inside a Terraform root",
            where=str(root),
            remedy="mend the template's file names",
        )
