"""Lines that findings are about, and where files lie for those who read a report elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

from akotf.model.finding import Finding, Position
from akotf.model.literals import literals

_LARGEST = 4 * 2**20  # bytes of a source that is worth reading for an excerpt

Read = Callable[[str], "str | None"]


def read_file(path: str) -> str | None:
    """A file's text, or None when there is nothing to show of it."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


class Sources:
    """The lines of a report's findings, without what looks like a secret.

    A line that a sensitive finding is about is given to no finding.
    """

    def __init__(self, findings: Iterable[Finding], read: Read = read_file) -> None:
        self._read = read
        self._lines: dict[str, list[str]] = {}
        self._hidden = {
            (Path(p.file).absolute(), p.line) for f in findings if f.sensitive and (p := f.position)
        }

    def line(self, finding: Finding) -> str | None:
        """The line that a finding is about; None when there is none to show."""
        place = finding.position
        if place is None or not place.line or finding.sensitive:
            return None
        if (Path(place.file).absolute(), place.line) in self._hidden:
            return None
        if place.file not in self._lines:
            self._lines[place.file] = (self._read(place.file) or "").split("\n")
        lines = self._lines[place.file]
        line = lines[place.line - 1].rstrip("\r") if place.line <= len(lines) else ""
        return (
            line if line.strip() and not literals(line) else None
        )  # whatever the finding: a token stands there


def git_root(folder: Path) -> Path:
    """The folder that holds `.git`, from `folder` upwards; where the user stands when there is none."""
    start = folder.resolve()
    return next((f for f in (start, *start.parents) if os.path.exists(f / ".git")), Path.cwd())  # noqa: PTH110 - False where it may not be looked into


def below(file: str, root: Path) -> str | None:
    """The path of a file relative to `root`, with `/`; None when it lies elsewhere or is no path of this machine."""
    try:
        path = Path(os.path.normpath(Path.cwd() / file))
        return path.relative_to(root).as_posix()
    except ValueError:
        return None


def uri(file: str, root: Path) -> tuple[str, bool]:
    """The URI of a file, and whether it is relative to `root`."""
    inside = below(file, root)
    if inside is not None:
        return quote(inside), True
    return "file://" + quote(os.path.normpath(Path.cwd() / file)), False


def place_of(position: Position | None, folder: str) -> Position:
    """Where a reader is sent: the finding's place, else the first line of the environment's akotf.yaml."""
    return position or Position(file=str(Path(folder) / "akotf.yaml"), line=1, column=1)
