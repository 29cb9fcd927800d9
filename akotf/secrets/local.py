"""`env:` and `file:`: secrets that are on this machine."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from akotf.model.secret import Reference
from akotf.secrets.reading import Surroundings, Unresolved

LARGEST = 64 * 1024  # bytes; an environment variable with more is refused by Linux from 128 KiB on


@dataclass(frozen=True)
class EnvReader:
    """A variable of akotf's own environment, as a CI system sets it."""

    around: Surroundings

    def read(self, reference: Reference) -> bytes:
        """Its bytes. A variable that is not set is missing; one that is empty is told by the caller, as everywhere."""
        value = self.around.variables.get(reference.location)
        if value is None:
            raise Unresolved(
                f"the variable {reference.location} is not set", f"export {reference.location} before this"
            )
        return value.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class FileReader:
    """A regular file that others can't read: relative to the environment folder and inside it, or absolute."""

    around: Surroundings

    def read(self, reference: Reference) -> bytes:
        """Its bytes but for one line end at its end, which editors and `echo` leave."""
        path = self._path(reference.location)
        try:
            # O_NONBLOCK: a pipe in its place must not hang akotf
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                self._check(path, os.fstat(descriptor))
                data = os.read(
                    descriptor, LARGEST + 3
                )  # of a regular file, this is all there is up to that size
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise Unresolved(f"there is no file {path}", "write the secret into it, mode 0600") from None
        except OSError as error:
            raise Unresolved(
                f"{path} can't be read: {error.strerror}", "let akotf's user read it, and nobody else"
            ) from None
        return data[:-2] if data.endswith(b"\r\n") else data.removesuffix(b"\n")

    def _path(self, location: str) -> Path:
        path, folder = Path(location), self.around.folder
        if path.is_absolute():
            return path
        if ".." in path.parts or not (folder / path).resolve().is_relative_to(folder.resolve()):
            raise Unresolved(
                "the path leaves the environment folder", "write an absolute path for a file outside"
            )
        return folder / path

    def _check(self, path: Path, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise Unresolved(f"{path} is not a regular file", "name the file that holds the secret")
        if status.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
            who = "read by everybody" if status.st_mode & stat.S_IROTH else "changed or used by others"
            raise Unresolved(
                f"{path} can be {who} (mode {stat.S_IMODE(status.st_mode):04o})",
                f"chmod 600 {shlex.quote(str(path))}, and make a new secret if others could have read this one",
            )
