"""The report of `akotf validate`: what every reporter shows, and the JSON that `akotf schema report` publishes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from akotf.model.base import Frozen
from akotf.model.finding import Finding, Severity
from akotf.model.policy import Judgement, Level, Stage

#: denied: stops the change; failed and unknown: told only; overridden: an approver accepts it; waived: a waiver does.
RulingWord = Literal["denied", "unknown", "failed", "overridden", "waived"]


class Ruling(Frozen):
    """What policy says in a finding whose rule is `policy/RULE`."""

    stage: Stage
    level: Level
    outcome: RulingWord
    object: str  # name or address of what was judged
    why: str  # why the rule is there
    waiver: str  # who lets it pass, on which ticket, until when; empty when nobody does


class ReportedFinding(Finding):
    """A finding with its fingerprint, which stays the same when lines move; `policy` when a policy rule speaks."""

    fingerprint: str  # of rule, file relative to the environment, and path (or message without figures)
    policy: Ruling | None = None


class EnvironmentReport(Frozen):
    """One environment, loaded or not."""

    environment: str  # its name; the folder's name when it can't be loaded
    folder: str  # relative to where akotf ran, when it lies below
    valid: bool  # no error, and nothing denied
    exit_code: int  # what a call on this environment alone ends with
    template: str | None  # NAME@VERSION; null when it can't be loaded, as revision and baseline
    revision: str | None
    baseline: str | None
    findings: tuple[ReportedFinding, ...]
    policy: Judgement | None  # every verdict of stage config, passes too; null when nothing was judged


class Tool(Frozen):
    """Who wrote the report."""

    name: Literal["akotf"] = "akotf"
    version: str


class Counts(Frozen):
    """Findings by severity."""

    error: int
    warning: int
    note: int


class ValidationReport(Frozen):
    """The report over all environments of one call."""

    schema_number: Literal[1] = Field(1, alias="schema")
    tool: Tool
    valid: bool  # all environments are
    exit_code: int
    counts: Counts
    environments: tuple[EnvironmentReport, ...]


def counts(environments: tuple[EnvironmentReport, ...]) -> Counts:
    """How many findings of each severity."""
    found = [finding.severity for one in environments for finding in one.findings]
    return Counts(**{severity.value: found.count(severity) for severity in Severity})
