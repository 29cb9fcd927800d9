"""Markdown for a comment on a pull request: what fails first, and never more than GitHub takes."""

from __future__ import annotations

import html
import re
from pathlib import Path

from akotf.model.finding import Severity
from akotf.model.report import EnvironmentReport, ReportedFinding, ValidationReport
from akotf.report.ansi import clean
from akotf.report.sources import below, place_of

#: What GitHub takes as the body of a comment, in characters; counted here in bytes, which are never fewer.
LIMIT = 65_536
#: By which a workflow finds its earlier comment, to write over it.
MARK = "<!-- akotf validate -->"
_ROOM = 200  # for the line that says what is left out
_MARKS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.NOTE: "ℹ️"}
_SPECIAL = re.compile(r"([\\`*_\[\]~|!])")


def render(report: ValidationReport, root: Path) -> str:
    """A headline, a table of findings an environment (the broken ones first), and the valid ones in one line."""
    number, valid = len(report.environments), sum(one.valid for one in report.environments)
    counts = report.counts
    head = [
        MARK,
        f"### akotf validate: {valid} of {number} {'environment is' if number == 1 else 'environments are'} valid",
        "",
        f"{counts.error} errors, {counts.warning} warnings, {counts.note} notes; akotf {report.tool.version}",
    ]
    told = sorted(
        (one for one in report.environments if one.findings or _waivers(one)), key=lambda one: one.valid
    )
    rows: list[str] = []
    for one in told:
        rows += ["", f"**{cell(one.environment)}** (<code>{cell(one.folder)}</code>)", ""]
        if one.findings:
            rows += ["| | what | where | rule |", "|---|---|---|---|"]
            rows += [_row(finding, one, root) for finding in one.findings]
        rows += ["", *(f"- {cell(waiver)}" for waiver in _waivers(one))]
    if plain := [cell(one.environment) for one in report.environments if not (one.findings or _waivers(one))]:
        rows += ["", f"<details><summary>{len(plain)} without findings</summary>", "", ", ".join(plain)]
        rows += ["", "</details>"]
    return _cut([*head, *rows])


def _waivers(one: EnvironmentReport) -> tuple[str, ...]:
    return one.policy.waivers if one.policy else ()


def cell(text: str) -> str:
    """Text of others as text: no markup, no HTML, no way out of a table's cell, nobody and nothing mentioned."""
    text = html.escape(" ".join(clean(text).split()), quote=False)
    text = _SPECIAL.sub(r"\\\1", text)
    return re.sub(r"([@#])(?=\w)", r"\1&#8203;", text)


def _row(finding: ReportedFinding, one: EnvironmentReport, root: Path) -> str:
    place = place_of(finding.position, one.folder)
    where = f"{below(place.file, root) or place.file}" + (f":{place.line}" if place.line else "")
    what = cell(finding.message)
    ruling = finding.policy
    if ruling:
        what = f"{ruling.outcome}: {what}" + (f"<br>Waiver: {cell(ruling.waiver)}" if ruling.waiver else "")
    if finding.remedy:
        what += f"<br>Remedy: {cell(finding.remedy)}"
    rule = cell(finding.rule)
    return f"| {_MARKS[finding.severity]} | {what} | <code>{cell(where)}</code> | <code>{rule}</code> |"


def _cut(lines: list[str]) -> str:
    """As many whole lines as fit; what is left out is counted."""
    size, kept = 0, 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > LIMIT - _ROOM:
            break
        kept += 1
    if size <= LIMIT - _ROOM:
        return "\n".join(lines) + "\n"
    left = sum(line.startswith("| ") and "<code>" in line for line in lines[kept:])
    return "\n".join([*lines[:kept], "", f"… and {left} more findings, which the other reports hold."]) + "\n"
