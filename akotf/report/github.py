"""GitHub's workflow commands: each finding becomes an annotation at its line of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions. GitHub shows at most 10 errors, 10
warnings and 10 notices of a step; so errors come first.
"""

from __future__ import annotations

from pathlib import Path

from akotf.model.finding import Severity
from akotf.model.report import EnvironmentReport, ReportedFinding, ValidationReport
from akotf.report.ansi import clean
from akotf.report.sources import Sources, below, place_of

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: ValidationReport, sources: Sources, root: Path) -> str:
    """One line a finding; what several environments share is said once."""
    lines: dict[str, None] = {}
    for severity in Severity:
        for one in report.environments:
            lines |= dict.fromkeys(
                _annotation(f, one, sources, root) for f in one.findings if f.severity is severity
            )
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: ReportedFinding, one: EnvironmentReport, sources: Sources, root: Path) -> str:
    place = place_of(finding.position, one.folder)
    properties = {"file": below(place.file, root) or place.file}
    if place.line:
        properties["line"] = str(place.line)
    if place.line and place.column:
        properties["col"] = str(place.column)
        line = sources.line(finding)
        if line is not None and len(line.rstrip()) >= place.column:
            properties["endColumn"] = str(len(line.rstrip()) + 1)
    properties["title"] = finding.rule
    message = finding.message + (f"\n{finding.remedy}" if finding.remedy else "")
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {given}::{_data(message)}"


def _data(text: str) -> str:
    """As actions/toolkit's escapeData: what would end the command's line."""
    text = "\n".join(clean(line) for line in text.replace("\r\n", "\n").split("\n"))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """As actions/toolkit's escapeProperty: also what would end the property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
