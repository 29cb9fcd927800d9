"""SARIF 2.1.0: valid by its schema, relative to the git root, stable where lines move, silent about secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from akotf.model.report import ValidationReport
from akotf.report import sarif
from akotf.report.sources import Sources

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_bytes())


@pytest.fixture
def run(report: ValidationReport, sources: Sources, root: Path) -> dict[str, Any]:
    log = json.loads(sarif.render(report, sources, root))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert log["version"] == "2.1.0"
    found: dict[str, Any] = log["runs"][0]
    return found


def of(run: dict[str, Any], rule: str) -> dict[str, Any]:
    (found,) = [r for r in run["results"] if r["ruleId"] == rule]
    return found


def test_the_schema_does_find_faults() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate({"version": "2.1.0", "runs": [{"results": [{}]}]})


def test_a_place_is_relative_to_the_root_of_the_repository(run: dict[str, Any]) -> None:
    place = of(run, "config/type")["locations"][0]["physicalLocation"]
    # RFC 3986: é is two bytes in UTF-8, C3 A9
    assert place["artifactLocation"] == {
        "uri": "environments/%C3%A9%C3%A9n/akotf.yaml", "uriBaseId": "%SRCROOT%",
    }  # fmt: skip
    assert place["region"] == {
        "startLine": 4, "startColumn": 22, "snippet": {"text": "parameters: {steps: 0}"},
    }  # fmt: skip
    assert "%SRCROOT%" in run["originalUriBaseIds"]
    assert run["columnKind"] == "unicodeCodePoints"


def test_what_has_no_place_stands_at_the_start_of_akotf_yaml(run: dict[str, Any]) -> None:
    place = of(run, "config/unpinned")["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "environments/%C3%A9%C3%A9n/akotf.yaml"
    assert place["region"]["startLine"] == 1


def test_a_file_outside_the_repository_has_an_absolute_address(run: dict[str, Any]) -> None:
    place = of(run, "config/template")["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///nowhere/template.yaml"}


def test_levels_are_those_of_the_findings_and_every_result_points_at_its_rule(run: dict[str, Any]) -> None:
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == list(dict.fromkeys(r["ruleId"] for r in run["results"]))
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    levels = {r["ruleId"]: r["level"] for r in run["results"]}
    assert levels == {
        "config/type": "error", "config/literal-secret": "error", "config/unknown-key": "error",
        "config/template": "error", "policy/total-gpus": "error", "config/unpinned": "warning",
        "policy/budget": "warning", "policy/advice": "warning", "policy/soft": "warning",
        "config/no-queue-wait": "note", "policy/region": "note",
    }  # fmt: skip
    about = {r["id"]: r["shortDescription"]["text"] for r in rules}
    assert about["config/unpinned"] == "No akotf.lock pins the template."
    assert about["policy/total-gpus"] == "GPUs cost money"


def test_what_was_waived_or_overridden_is_suppressed_and_says_by_whom(run: dict[str, Any]) -> None:
    suppressed = {r["ruleId"]: r["suppressions"] for r in run["results"] if "suppressions" in r}
    assert suppressed == {
        "policy/soft": [{"kind": "external", "status": "accepted", "justification": "overridden by bob"}],
        "policy/region": [
            {"kind": "external", "status": "accepted", "justification": "ann, T-7, until 2027-03-01: launch"}
        ],
    }


def test_the_line_of_a_secret_is_in_no_result(report: ValidationReport, sources: Sources, root: Path) -> None:
    said = sarif.render(report, sources, root)
    assert "hunter2" not in said
    assert "parameters: {steps: 0}" in said


def test_what_several_environments_share_is_said_once(
    report: ValidationReport, sources: Sources, root: Path
) -> None:
    one = report.environments[0]
    shared = report.model_copy(
        update={"environments": (one, one.model_copy(update={"environment": "other"}))}
    )
    log = json.loads(sarif.render(shared, sources, root))
    assert len(log["runs"][0]["results"]) == len(one.findings)


def test_fingerprints_tell_results_apart(run: dict[str, Any]) -> None:
    prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert len(set(prints)) == len(prints) == 11
    assert all(r["partialFingerprints"]["akotf/v1"] for r in run["results"])
