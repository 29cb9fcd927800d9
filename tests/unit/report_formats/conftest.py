"""One report with every kind of finding, on real files."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from akotf.model.finding import Finding, Position, Severity
from akotf.model.policy import Judgement, Level, Outcome, Stage, Verdict
from akotf.model.report import EnvironmentReport, Tool, ValidationReport, counts
from akotf.report.results import reported
from akotf.report.sources import Sources

#: What a hostile pull request writes into values.
HOSTILE = "a|b `c` <img src=x> @octocat #12 **d** %0A::error::x\r\n::set-env name=P::q \x1b[2J \u202e end"
YAML = "version: 1\nname: één\nowner: sk-hunter2hunter2\nparameters: {steps: 0}\n"


def verdict(outcome: Outcome, rule: str = "total-gpus", **more: Any) -> Verdict:
    """A verdict on `scope aws`, written in line 4."""
    values: dict[str, Any] = {
        "rule": rule, "level": Level.HARD, "stage": Stage.CONFIG, "outcome": outcome, "object": "scope aws",
        "message": "72 GPUs are more than 64", "why": "GPUs cost money", "remedy": "ask for fewer",
    }  # fmt: skip
    return Verdict(**(values | more))


def environment(folder: Path, findings: list[Finding], *verdicts: Verdict, **more: Any) -> EnvironmentReport:
    """What the pipeline makes of findings and verdicts."""
    judgement = Judgement(stage=Stage.CONFIG, rules=len({v.rule for v in verdicts}), verdicts=verdicts)
    told = reported(findings, judgement if verdicts else None, folder)
    values: dict[str, Any] = {
        "environment": folder.name, "folder": str(folder), "template": "gpu-training@1.0.0", "revision": None,
        "valid": not any(f.severity is Severity.ERROR for f in told), "exit_code": 0, "baseline": "sha256:" + "0" * 64,
        "findings": told, "policy": judgement if verdicts else None,
    }  # fmt: skip
    return EnvironmentReport(**(values | more))


def whole(*environments: EnvironmentReport) -> ValidationReport:
    """A report over environments."""
    return ValidationReport(
        tool=Tool(version="0.1.0"), valid=all(e.valid for e in environments), exit_code=1, counts=counts(environments),
        environments=environments,
    )  # fmt: skip


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with two environments; who runs akotf stands in a folder below its root."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in ("één", "b c"):
        (tmp_path / "environments" / name).mkdir(parents=True)
        (tmp_path / "environments" / name / "akotf.yaml").write_text(YAML, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "environments")
    return tmp_path


@pytest.fixture
def report(root: Path) -> ValidationReport:
    """Every severity and outcome, a hostile text, a sensitive finding, one without a place, one outside the root."""
    file = "één/akotf.yaml"
    at = [Position(file=file, line=line, column=column) for line, column in ((4, 22), (3, 8), (2, 7))]
    first = environment(
        Path("één"),
        [
            Finding(rule="config/type", message=HOSTILE, position=at[0], path="parameters.steps", remedy="write 1"),
            Finding(rule="config/literal-secret", message="owner looks like a key", position=at[1], path="owner", sensitive=True),
            Finding(rule="config/unknown-key", message="another fault of that line", position=at[1], path="owner"),
            Finding(rule="config/unpinned", message="no lock", severity=Severity.WARNING, path="template"),
            Finding(rule="config/no-queue-wait", message="é", severity=Severity.NOTE, position=at[2]),
            Finding(rule="config/template", message="elsewhere", position=Position(file="/nowhere/template.yaml")),
        ],
        verdict(Outcome.PASS, "labels", message="Labels"),
        verdict(Outcome.FAIL, denies=True, position=at[0]),
        verdict(Outcome.UNKNOWN, "budget"),
        verdict(Outcome.FAIL, "advice", level=Level.ADVISORY),
        verdict(Outcome.FAIL, "soft", level=Level.SOFT, waiver="overridden by bob"),
        verdict(Outcome.WAIVED, "region", waiver="ann, T-7, until 2027-03-01: launch"),
        exit_code=1,
    )  # fmt: skip
    return whole(first, environment(Path("b c"), [], verdict(Outcome.PASS, "labels", message="Labels")))


@pytest.fixture
def sources(report: ValidationReport) -> Sources:
    """The lines of that report."""
    return Sources(f for one in report.environments for f in one.findings)


@pytest.fixture
def make() -> Any:
    """The functions above, for tests that need a report of their own."""
    return SimpleNamespace(environment=environment, whole=whole, verdict=verdict)
