"""Immutable objects in a folder, named by the SHA-256 of their bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from akotf.errors import IntegrityError, StoreError
from akotf.model.base import canonical_json, digest
from akotf.store.files import make_folder, store_error, write_atomic

_DIGEST = re.compile(r"^sha256:([0-9a-f]{2})([0-9a-f]{62})$")


class FolderObjects:
    """`ports.ObjectStore` as `sha256/AB/CDEF...` files. Writing the same bytes again changes nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, data: Any) -> str:
        """Store JSON data (as canonical JSON) or bytes; returns the `sha256:` digest. StoreError when it can't be written."""
        content = data if isinstance(data, bytes) else canonical_json(data)
        name = digest(content)
        path = self._file(name)
        try:
            if path.is_file() and digest(path.read_bytes()) == name:
                return name
            make_folder(path.parent)
            write_atomic(path, content, mode=0o444)
        except OSError as error:
            raise store_error(path, error) from error
        return name

    def get(self, digest: str) -> bytes:
        """The bytes; IntegrityError when they don't match the digest, StoreError when they are not there."""
        path = self._file(digest)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise StoreError(
                f"there is no object {digest}", where=str(self._path),
                remedy="it was planned elsewhere, or `.akotf` was cleaned: run `akotf plan` again",
            ) from error  # fmt: skip
        except OSError as error:
            raise StoreError(
                f"object {digest} can't be read: {error.strerror}",
                where=str(path),
                remedy="check its permissions",
            ) from error
        _check(content, digest, path)
        return content

    def _file(self, name: str) -> Path:
        match = _DIGEST.match(name)
        if match is None:
            raise StoreError(
                f"{name!r} is no digest", remedy="a digest is `sha256:` and 64 hexadecimal digits"
            )
        return self._path / "sha256" / match[1] / match[2]


def _check(content: bytes, name: str, path: Path) -> None:
    found = digest(content)
    if found != name:
        raise IntegrityError(
            f"object {name} holds bytes of {found}", where=str(path),
            remedy="it was changed on disk: delete the file and run `akotf plan` again",
        )  # fmt: skip
