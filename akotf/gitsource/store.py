"""Fetched templates kept by commit and content, so that a locked environment loads offline."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def kept(cache: Path, commit: str, content: str) -> Path:
    """Where the files of a commit with this content digest (`sha256:...`) lie, whether they are there or not."""
    return cache / "templates" / commit / content.removeprefix("sha256:")


def keep(cache: Path, commit: str, content: str, files: Mapping[str, bytes]) -> Path:
    """Keep the files; the folder appears whole or not at all. Another process may keep the same at the same time."""
    folder = kept(cache, commit, content)
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        for path, data in files.items():
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).write_bytes(data)
        try:
            staged.rename(folder)
        except OSError:
            if not folder.is_dir():  # else somebody else was faster; the caller checks what is there
                raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return folder


def drop(cache: Path, commit: str, content: str) -> None:
    """Forget kept files that are not what they should be."""
    shutil.rmtree(kept(cache, commit, content), ignore_errors=True)
