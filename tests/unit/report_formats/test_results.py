"""Findings and verdicts as one list: severities, order, fingerprints; and the published form of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from akotf.model.finding import Finding, Position, Severity
from akotf.model.policy import Judgement, Level, Outcome, Stage
from akotf.model.report import ValidationReport
from akotf.report.formats import FORMATS, as_json, render
from akotf.report.results import from_verdict, reported
from akotf.report.sources import Sources, git_root


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "config/type", "message": "steps: 3 is no text, first at line 7", "path": "parameters.steps",
        "position": Position(file="env/akotf.yaml", line=3, column=10),
    }  # fmt: skip
    return Finding(**(values | changes))


def fingerprint(one: Finding, folder: str = "env") -> str:
    return reported([one], None, Path(folder))[0].fingerprint


def at(file: str, line: int = 1) -> Position:
    return Position(file=file, line=line, column=2)


def test_a_fingerprint_stays_when_lines_folders_and_words_move() -> None:
    same = fingerprint(finding())
    assert fingerprint(finding(position=at("env/akotf.yaml", 30))) == same
    assert fingerprint(finding(message="other words")) == same
    assert fingerprint(finding(severity=Severity.WARNING, remedy="other")) == same
    assert fingerprint(finding(position=at("moved/x/akotf.yaml")), "moved/x") == same
    assert fingerprint(finding(position=at(str(Path.cwd() / "env" / "akotf.yaml")))) == same


def test_a_fingerprint_is_another_of_another_rule_file_or_path() -> None:
    prints = {
        fingerprint(finding()),
        fingerprint(finding(rule="config/value")),
        fingerprint(finding(path="parameters.layers")),
        fingerprint(finding(position=at("env/scope.yaml"))),
        fingerprint(finding(position=None)),
    }
    assert len(prints) == 5


def test_without_a_path_the_message_tells_but_not_its_figures() -> None:
    first = fingerprint(finding(path="", message="key 'a' is here twice; first at line 4"))
    assert fingerprint(finding(path="", message="key 'a' is here twice; first at line 14")) == first
    assert fingerprint(finding(path="", message="key 'b' is here twice; first at line 4")) != first


def test_two_findings_of_one_rule_and_path_are_told_apart_in_their_order() -> None:
    first, second = reported([finding(), finding(message="again")], None, Path("env"))
    assert first.fingerprint != second.fingerprint
    assert first.fingerprint == fingerprint(finding())


def test_verdicts_are_told_apart_by_what_they_judge(make: Any) -> None:
    verdicts = (make.verdict(Outcome.FAIL), make.verdict(Outcome.FAIL, object="scope b"))
    told = reported([], Judgement(stage=Stage.CONFIG, rules=1, verdicts=verdicts), Path("env"))
    assert len({f.fingerprint for f in told}) == 2


@pytest.mark.parametrize(
    ("outcome", "changes", "severity", "word"),
    [
        (Outcome.FAIL, {"denies": True}, Severity.ERROR, "denied"),
        (Outcome.UNKNOWN, {"denies": True}, Severity.ERROR, "denied"),
        (Outcome.UNKNOWN, {}, Severity.WARNING, "unknown"),
        (Outcome.FAIL, {"level": Level.ADVISORY}, Severity.WARNING, "failed"),
        (Outcome.FAIL, {"level": Level.SOFT, "waiver": "overridden by bob"}, Severity.WARNING, "overridden"),
        (Outcome.WAIVED, {"waiver": "ann, T-7"}, Severity.NOTE, "waived"),
        (
            Outcome.WAIVED,
            {"waiver": "ann, T-7", "message": "m; the waiver expires soon, in 3 d"},
            Severity.WARNING,
            "waived",
        ),
    ],
)
def test_a_verdict_has_the_severity_of_what_it_does(
    outcome: Outcome, changes: dict[str, Any], severity: Severity, word: str, make: Any
) -> None:
    told, ruling = from_verdict(make.verdict(outcome, **changes))
    assert (told.rule, told.severity, ruling.outcome) == ("policy/total-gpus", severity, word)
    assert ruling.why == "GPUs cost money"


def test_errors_come_first_whoever_found_them(report: ValidationReport) -> None:
    order = [f.severity.value for f in report.environments[0].findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)


def test_the_json_is_as_its_published_schema_says(report: ValidationReport) -> None:
    schema = ValidationReport.model_json_schema(mode="serialization")
    data = json.loads(as_json(report))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["schema"] == 1
    assert data["tool"] == {"name": "akotf", "version": "0.1.0"}
    assert data["counts"] == {"error": 5, "warning": 4, "note": 2}
    one = data["environments"][0]
    assert {"valid", "revision", "baseline", "findings", "policy"} <= set(one)
    assert {"rule", "severity", "message", "remedy", "path", "position", "fingerprint", "policy"} <= set(
        one["findings"][0]
    )
    assert [f["policy"]["outcome"] for f in one["findings"] if f["policy"]] == [
        "denied", "unknown", "failed", "overridden", "waived",
    ]  # fmt: skip
    assert [v["rule"] for v in one["policy"]["verdicts"]] == [
        "labels",
        "total-gpus",
        "budget",
        "advice",
        "soft",
        "region",
    ]
    data["environments"][0]["findings"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(data)


def test_no_format_tells_the_line_of_a_secret(report: ValidationReport, root: Path) -> None:
    for name in FORMATS:
        sources = Sources(f for one in report.environments for f in one.findings)
        said = render(name, report, sources, root)
        assert "owner looks like a key" in said
        assert "hunter2" not in said, name


def test_the_root_is_where_git_is_else_where_the_user_stands(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert git_root(root / "environments" / "één") == root
    assert git_root(tmp_path_factory.mktemp("nowhere")) == root / "environments"  # the working directory


def test_a_message_that_quotes_a_token_is_told_without_it(root: Path, make: Any) -> None:
    token = "ghp_" + "q7Zt3LmX9w" * 3 + "pK4vBn"  # the form of a GitHub token
    report = make.whole(
        make.environment(Path("een"), [finding(message=f"{token!r} is no number", remedy=f"not {token}")])
    )
    for name in FORMATS:
        said = render(name, report, Sources([]), root)
        assert "q7Zt" not in said
        assert "secret" in said


def test_people_see_every_waiver_used_or_not(root: Path, make: Any) -> None:
    one = make.environment(Path("een"), [], make.verdict(Outcome.PASS))
    waiver = "waiver of total-gpus: ann, T-7, until 2027-03-01: launch; nothing needs it now"
    judged = one.model_copy(update={"policy": one.policy.model_copy(update={"waivers": (waiver,)})})
    report = make.whole(judged, make.environment(Path("twee"), []))
    assert f"een: {waiver}\n" in render("text", report, Sources([]), root)
    assert f"- {waiver}\n" in render("markdown", report, Sources([]), root)
    assert waiver in render("json", report, Sources([]), root)
