"""What akotf finds around it: the project's folders, the user's cache, whether colours are wanted. Cheap to import."""

from __future__ import annotations

import os
from pathlib import Path

from akotf.model.policy import Rule
from akotf.policy.rules import load_rules

_PACKAGE = Path(__file__).parents[1]
#: iac/, modules/ and policies/ as the wheel carries them, or of the source tree that this package runs from.
PACKAGED = _PACKAGE / "_data" if (_PACKAGE / "_data").is_dir() else _PACKAGE.parent


def project_folders(kind: str, start: Path) -> tuple[Path, ...]:
    """`iac`, `modules` or `policies`: the project's own (nearest parent that has one), then the packaged."""
    found = []
    for folder in (start, *start.parents):
        if (folder / kind).is_dir():
            found.append(folder / kind)
            break
    if (PACKAGED / kind).is_dir() and PACKAGED / kind not in found:
        found.append(PACKAGED / kind)
    return tuple(found)


def catalogues(start: Path) -> tuple[Path, ...]:
    """Template catalogues, the project's own first."""
    return project_folders("iac", start)


def rules(start: Path) -> tuple[Rule, ...]:
    """The policy rules; the project's own win over packaged ones of the same id."""
    return load_rules(project_folders("policies", start))


def cache_folder() -> Path:
    """Where measurements of this machine and fetched templates are kept, for this user."""
    base, home = Path(os.environ.get("XDG_CACHE_HOME", "")), Path(os.environ.get("HOME", ""))
    for folder in (base / "akotf", home / ".cache" / "akotf"):
        # a relative path is to be ignored (XDG base directories)
        there = next((f for f in (folder, *folder.parents) if f.exists()), folder)
        if folder.is_absolute() and there.is_dir() and os.access(there, os.W_OK):
            return folder
    return Path(f"/var/tmp/akotf-{os.getuid()}/cache")  # noqa: S108 - per user, made 0700 by its writers


def plain_output() -> bool:
    """Whether NO_COLOR asks for text without colours (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))
