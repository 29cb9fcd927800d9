"""Validation of environments as a report: whatever happens to one of them is a finding of it, and stops no other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.errors import AkotfError, ConfigError, PolicyDenied
from akotf.load.environment import load
from akotf.load.specification import Template
from akotf.model.config import DesiredState
from akotf.model.finding import Finding, Position, Severity
from akotf.model.policy import Judgement, Rule, Stage
from akotf.model.report import EnvironmentReport, ReportedFinding
from akotf.policy.documents import config_document
from akotf.policy.engine import judge
from akotf.report.results import reported
from akotf.validate.check import check


@dataclass(frozen=True)
class Means:
    """What environments are validated with; shared by all of them."""

    catalogues: Callable[[Path], Sequence[Path]]
    rules: Callable[[Path], Sequence[Rule]]
    opener: Callable[..., Template]
    cache: Path  # of templates from git
    today: dt.date
    overrides: Mapping[str, Any]
    fail_on: frozenset[Severity]


def validate_environment(folder: Path, means: Means) -> EnvironmentReport:
    """Load, check and judge by the config rules; raises nothing deliberate."""
    state: DesiredState | None = None
    judgement: Judgement | None = None
    findings: list[Finding] = []
    try:
        state = load(
            folder, catalogues=means.catalogues(folder.resolve()), overrides=means.overrides, cache=means.cache,
            opener=means.opener,
        )  # fmt: skip
        findings += check(state)
        document, objects = config_document(state)
        judgement = judge(
            Stage.CONFIG, document, objects, means.rules(folder.resolve()), waivers=state.environment.waivers,
            today=means.today, positions=state.positions,
        )  # fmt: skip
    except (AkotfError, OSError) as error:
        findings += findings_of(error)
    told = reported(findings, judgement, folder)
    faulty = any(f.severity is Severity.ERROR for f in told if not _denial(f))
    denied = judgement is not None and bool(judgement.denied)
    failed = any(f.severity in means.fail_on for f in told if not _denial(f))
    return EnvironmentReport(
        environment=state.environment.name if state else folder.resolve().name,
        folder=str(folder),
        valid=not faulty and not denied,
        exit_code=1 if failed else PolicyDenied.exit_code if denied else 0,
        template=f"{state.template.name}@{state.template.version}" if state else None,
        revision=state.revision() if state else None,
        baseline=state.baseline().digest() if state else None,
        findings=told,
        policy=judgement,
    )


def _denial(finding: ReportedFinding) -> bool:
    return finding.policy is not None and finding.policy.outcome == "denied"


def findings_of(error: AkotfError | OSError) -> list[Finding]:
    """An error as findings: its own, else one whose rule is `error/CODE`."""
    if isinstance(error, OSError):
        return [
            Finding(
                rule="error/machine", message=f"the machine says: {error.strerror or error}",
                position=Position(file=str(error.filename)) if error.filename else None,
                remedy="check that the place is there, is yours and has free space",
            )
        ]  # fmt: skip
    if isinstance(error, ConfigError) and error.findings:
        return list(error.findings)
    where = error.where if error.where and Path(error.where).exists() else ""
    return [
        Finding(
            rule=f"error/{error.code}", message=error.message, remedy=error.remedy,
            position=Position(file=where) if where else None,
        )
    ]  # fmt: skip
