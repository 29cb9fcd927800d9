"""Catalogues of templates: folders `NAME/VERSION/` and one `index.lock` with the digest of each published version."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from akotf.errors import ConfigError, IntegrityError
from akotf.facts.files import write_atomic
from akotf.model.base import Frozen, digest
from akotf.model.config import TemplateRef
from akotf.model.written import has_half_characters
from akotf.reading import yaml
from akotf.reading.bind import bind

INDEX = "index.lock"
LOCK = "akotf.lock"
REFERENCE = re.compile(r"([a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)@([0-9]+\.[0-9]+\.[0-9]+(?:-[0-9a-z.-]+)?)")
Document = TypeVar("Document", bound=Frozen)


class IndexFile(Frozen):
    """`index.lock`: `NAME@VERSION` -> digest of the version's folder as published."""

    schema_number: Literal[1] = Field(alias="schema")
    templates: dict[str, str]


class LockFile(Frozen):
    """`akotf.lock` of an environment: the template as pinned."""

    schema_number: Literal[1] = Field(alias="schema")
    template: TemplateRef


def split_reference(reference: str) -> tuple[str, str]:
    """Name and version of `NAME@VERSION`. ConfigError for anything else."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise ConfigError(
            f"{reference!r} is not a template reference",
            remedy="write NAME@VERSION, such as gpu-training@1.0.0, or git+URL//path?ref=TAG",
        )
    return match[1], match[2]


def plain_files(folder: Path, *, skip: Callable[[str], bool] = lambda _: False) -> dict[str, Path]:
    """Relative POSIX path -> file, of every file below `folder`, sorted; `skip` leaves out names, folders too.

    IntegrityError for links, special files, and names that are no text.
    """
    files: dict[str, Path] = {}
    if folder.is_symlink():
        raise IntegrityError(f"{folder} is a link", remedy="a template holds plain files only")
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            if skip(path.name):
                continue
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise IntegrityError(
                    f"{path} is a link or a special file", remedy="a template holds plain files only"
                )
            if has_half_characters(path.name):
                raise IntegrityError(f"{str(path)!r} has a name that is not UTF-8", remedy="rename it")
            if path.is_dir():
                waiting.append(path)
            else:
                files[path.relative_to(folder).as_posix()] = path
    return dict(sorted(files.items()))


def file_digests(folder: Path, *, skip: Callable[[str], bool] = lambda _: False) -> dict[str, str]:
    """Relative POSIX path -> SHA-256 of every file below `folder`. IntegrityError for links and special files."""
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in plain_files(folder, skip=skip).items()
    }


def content_digest(folder: Path) -> str:
    """`sha256:` digest over the relative paths and bytes of all files below `folder`."""
    return digest(file_digests(folder))


def digest_of(files: Mapping[str, bytes]) -> str:
    """The content digest of files in memory."""
    return digest({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})


def read_index(catalogue: Path) -> dict[str, str]:
    """The published digests; empty when the catalogue has no index."""
    path = catalogue / INDEX
    return read_document(path, IndexFile).templates if _is_there(path) else {}


def write_index(catalogue: Path, templates: dict[str, str]) -> None:
    """Replace the index."""
    write_json(catalogue / INDEX, {"schema": 1, "templates": dict(sorted(templates.items()))})


def read_lock(folder: Path) -> TemplateRef | None:
    """What `akotf.lock` pins; None when there is none."""
    path = folder / LOCK
    return read_document(path, LockFile).template if _is_there(path) else None


def _is_there(path: Path) -> bool:
    """Whether there is anything: a folder, a pipe or a broken link in a lock's place is a fault, not an absence."""
    return path.is_symlink() or path.exists()


def write_lock(folder: Path, ref: TemplateRef) -> Path:
    """Pin a template for an environment."""
    write_json(folder / LOCK, {"schema": 1, "template": ref.model_dump(exclude_defaults=True)})
    return folder / LOCK


def read_document(path: Path, model: type[Document]) -> Document:
    """A lock file as its model. ConfigError with all faults."""
    bound = bind(yaml.read(path), model)
    if bound.value is None:
        raise ConfigError(f"{path} can't be read", bound.findings, where=str(path))
    return bound.value


def write_json(path: Path, data: Any) -> None:
    """Write readable JSON in one step: a reader sees the old file or the new one."""
    write_atomic(path, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode(), 0o644)
