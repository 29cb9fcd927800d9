"""What a run left in its output folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from akotf.errors import IntegrityError
from akotf.model.finding import Finding
from akotf.model.statement import OutputFile, OutputManifest


def hash_outputs(folder: Path) -> OutputManifest:
    """Every file below `folder`, by path; an empty manifest when there is no such folder.

    Links are not followed, so nothing outside the folder is read. IntegrityError for what can't be read.
    """
    files = []
    try:
        for parent, folders, names in os.walk(folder, onerror=_refuse):
            links = [name for name in folders if (Path(parent) / name).is_symlink()]
            files += [_describe(Path(parent) / name, folder) for name in [*names, *links]]
    except OSError as error:
        raise IntegrityError(
            f"an output can't be read: {error.strerror}", where=str(error.filename or folder),
            remedy="make it readable, then run `akotf records` again",
        ) from error  # fmt: skip
    return OutputManifest(files=tuple(sorted(files, key=lambda file: file.path)))


def compare(manifest: OutputManifest, folder: Path) -> list[Finding]:
    """How the files now in `folder` differ from the manifest; [] when they are what the run left."""
    then = {file.path: file for file in manifest.files}
    now = {file.path: file for file in hash_outputs(folder).files}
    words = {"missing": then.keys() - now.keys(), "added": now.keys() - then.keys()}
    words["changed"] = {path for path in then.keys() & now.keys() if then[path] != now[path]}
    return [
        Finding(
            rule=f"outputs/{word}", message=f"{path} was {word} after the run", path=path,
            remedy="take the outputs from a copy, or train again",
        )
        for word, paths in sorted(words.items())
        for path in sorted(paths)
    ]  # fmt: skip


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _describe(path: Path, folder: Path) -> OutputFile:
    name = path.relative_to(folder).as_posix()
    if path.is_symlink():
        target = str(path.readlink())
        return OutputFile(
            path=name, size=len(os.fsencode(target)), sha256=hashlib.sha256(os.fsencode(target)).hexdigest(),
            link=target,
        )  # fmt: skip
    if not path.is_file():
        raise OSError(0, "it is no regular file", str(path))
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        size = stream.tell()
    return OutputFile(path=name, size=size, sha256=digest.hexdigest())
