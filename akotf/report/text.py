"""Findings as text, with the line they are about."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from akotf.model.finding import Finding, Severity
from akotf.model.report import EnvironmentReport, ReportedFinding, ValidationReport
from akotf.report.ansi import inert, paint
from akotf.report.sources import Read, Sources, read_file

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_WIDTH = 100  # columns of an excerpt


def text(findings: Iterable[Finding], read_source: Read = read_file, *, color: bool = False) -> str:
    """One block a finding: place, what is wrong, the line with a caret, and what to do.

    `read_source` gives a file's text by the name that the findings use, or None.
    """
    found = list(findings)
    sources = Sources(found, read_source)
    return "\n".join(_block(finding, sources, color) for finding in found)


def report(report: ValidationReport, sources: Sources, *, color: bool = False) -> str:
    """Every environment: its findings, every waiver, then one line that says what came out.

    Of several, those without findings and waivers are only counted.
    """
    blocks, several = [], len(report.environments) > 1
    for one in report.environments:
        blocks += [_block(finding, sources, color) for finding in one.findings]
        waivers = one.policy.waivers if one.policy else ()
        blocks += [f"{_word(one.environment)}: {_one_line(waiver)}" for waiver in waivers]
        if one.findings or waivers or not several:
            blocks.append(summary(one, color=color))
    if several:
        blocks.append(total(report))
    return "\n".join(blocks)


def summary(one: EnvironmentReport, *, color: bool = False) -> str:
    """`quickstart is valid; template gpu-training@1.0.0, baseline sha256:0123456789ab; policy config: 4 rules`."""
    errors = sum(f.severity is Severity.ERROR for f in one.findings)
    others = len(one.findings) - errors
    parts = []
    if not one.valid:
        parts.append(_count(errors, "error"))
    if others:
        parts.append(_count(others, "other finding"))
    if one.template and one.baseline:
        parts.append(f"template {one.template}, baseline {one.baseline[:19]}")
    if one.policy is not None:
        parts.append(f"policy {one.policy.stage}: {_count(one.policy.rules, 'rule')}")
    state = (
        paint("is valid", "green", color)
        if one.valid
        else paint("is denied by policy" if one.exit_code == 3 else "has faults", "red", color)
    )
    return _word(f"{one.environment} ") + state + "".join(f"; {inert(part)}" for part in parts)


def total(report: ValidationReport) -> str:
    """`198 of 200 environments are valid`."""
    valid = sum(one.valid for one in report.environments)
    return f"{valid} of {len(report.environments)} environments are valid"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _block(finding: Finding, sources: Sources, color: bool) -> str:
    place = finding.position
    head = paint(f"{_word(str(place))}: ", "bold", color) if place else ""
    severity = paint(str(finding.severity), _STYLES[finding.severity], color)
    ruling = finding.policy if isinstance(finding, ReportedFinding) else None
    rule = f"{finding.rule}, {ruling.level}: {ruling.outcome}" if ruling else finding.rule
    lines = [f"{head}{severity}: {_one_line(finding.message)} {paint(f'[{rule}]', 'dim', color)}"]
    line = sources.line(finding)
    if place and line is not None:
        lines += _excerpt(line, place.line, place.column, color)
    details = {"waiver": ruling.waiver, "why": ruling.why} if ruling else {}
    for name, said in {**details, "remedy": finding.remedy}.items():
        if said:
            lines.append(
                f"  {paint(f'{name}:', 'green' if name == 'remedy' else 'dim', color)} {_one_line(said)}"
            )
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """Text of which no line begins at the margin, where it would look like a line of ours."""
    return "\n    ".join(inert(line) for line in text.split("\n"))


def _word(name: str) -> str:
    """The name of a file or folder in a line: a line break in it begins no line."""
    return inert(name.replace("\n", "\N{REPLACEMENT CHARACTER}"))


def _excerpt(line: str, number: int, column: int, color: bool) -> list[str]:
    """The line and a caret under the column; of a long line, the part around it."""
    start = max(0, column - 1 - _WIDTH * 2 // 3) if len(line) > _WIDTH else 0
    shown = inert(line[start : start + _WIDTH].replace("\t", " "))
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
