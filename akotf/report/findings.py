"""Findings as text with the line they are about, and as JSON."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from akotf.model.finding import Finding, Severity
from akotf.report.ansi import clean, paint

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_LARGEST = 4 * 2**20  # bytes of a source that is worth reading for an excerpt
_WIDTH = 100  # columns of an excerpt

Source = Callable[[str], "str | None"]


def read_file(path: str) -> str | None:
    """A file's text, or None when there is nothing to show of it."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def text(findings: Iterable[Finding], read_source: Source = read_file, *, color: bool = False) -> str:
    """One block a finding: place, what is wrong, the line with a caret, and what to do.

    `read_source` gives a file's text by the name that the findings use, or None.
    """
    sources: dict[str, list[str]] = {}

    def line_of(file: str, number: int) -> str | None:
        if file not in sources:
            sources[file] = (read_source(file) or "").split("\n")
        lines = sources[file]
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else None

    return "\n".join(_block(finding, line_of, color) for finding in findings)


def to_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Plain JSON data, one object a finding."""
    return [finding.to_json() for finding in findings]


def _block(finding: Finding, line_of: Callable[[str, int], str | None], color: bool) -> str:
    place = finding.position
    head = paint(f"{clean(str(place))}: ", "bold", color) if place else ""
    severity = paint(str(finding.severity), _STYLES[finding.severity], color)
    lines = [f"{head}{severity}: {clean(finding.message)} {paint(f'[{finding.rule}]', 'dim', color)}"]
    line = line_of(place.file, place.line) if place and place.line else None
    if place and line is not None and line.strip():
        lines += _excerpt(line, place.line, place.column, color)
    if finding.remedy:
        lines.append(f"  {paint('remedy:', 'green', color)} {clean(finding.remedy)}")
    return "\n".join(lines)


def _excerpt(line: str, number: int, column: int, color: bool) -> list[str]:
    """The line and a caret under the column; of a long line, the part around it."""
    start = max(0, column - 1 - _WIDTH * 2 // 3) if len(line) > _WIDTH else 0
    shown = clean(line[start : start + _WIDTH].replace("\t", " "))
    margin = f"{number:>5} | "
    rows = [paint(margin, "dim", color) + shown]
    if 0 < column <= len(line) + 1:
        before = "".join(" " * _columns(c) for c in shown[: column - 1 - start])
        rows.append(paint(" " * (len(margin) - 2) + "| ", "dim", color) + before + paint("^", "red", color))
    return rows


def _columns(character: str) -> int:
    """Columns that a terminal gives a character."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
