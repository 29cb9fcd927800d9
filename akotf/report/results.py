"""Findings and policy verdicts as one list: what all reporters take."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from akotf.model.finding import Finding, Severity
from akotf.model.policy import Judgement, Outcome, Verdict
from akotf.model.report import ReportedFinding, Ruling
from akotf.report.verdicts import word

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_FIGURES = re.compile(r"\d+")


def reported(
    findings: Iterable[Finding], judgement: Judgement | None, folder: Path
) -> tuple[ReportedFinding, ...]:
    """Findings and every verdict that is no pass, errors first, each with its fingerprint."""
    pairs: list[tuple[Finding, Ruling | None]] = [(finding, None) for finding in findings]
    if judgement is not None:
        pairs += [from_verdict(v) for v in judgement.verdicts if v.outcome is not Outcome.PASS]
        pairs += [
            (Finding(rule="policy/waiver", message=text, severity=Severity.NOTE, path="waivers"), None)
            for text in judgement.waivers
        ]
    pairs.sort(key=lambda pair: _ORDER[pair[0].severity])
    seen: Counter[str] = Counter()
    result = []
    for finding, ruling in pairs:
        key = _identity(finding, ruling, folder)
        seen[key] += 1
        result.append(
            ReportedFinding(**dict(finding), policy=ruling, fingerprint=_digest(f"{key}\0{seen[key]}"))
        )
    return tuple(result)


def from_verdict(verdict: Verdict) -> tuple[Finding, Ruling]:
    """A verdict as a finding of rule `policy/RULE`; what denies is an error, what is waived a note."""
    outcome = word(verdict)
    assert outcome != "passed"
    severity = Severity.WARNING
    if verdict.denies:
        severity = Severity.ERROR
    elif outcome == "waived" and "expires soon" not in verdict.message:
        severity = Severity.NOTE
    finding = Finding(
        rule=f"policy/{verdict.rule}", message=f"{verdict.object}: {verdict.message}", severity=severity,
        position=verdict.position, remedy="" if outcome == "waived" else verdict.remedy,
    )  # fmt: skip
    ruling = Ruling(
        stage=verdict.stage, level=verdict.level, outcome=outcome, object=verdict.object, why=verdict.why,
        waiver=verdict.waiver,
    )  # fmt: skip
    return finding, ruling


def _identity(finding: Finding, ruling: Ruling | None, folder: Path) -> str:
    """What makes a finding itself, whatever moves around it: no line, no column, no figure of its message."""
    file = finding.position.file if finding.position else ""
    if file:
        file = os.path.relpath(file, folder)
    what = ruling.object if ruling else finding.path
    return "\0".join((finding.rule, file, what or _FIGURES.sub("#", finding.message)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
