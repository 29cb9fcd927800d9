"""JUnit XML: valid by Jenkins's schema, a suite an environment, a case a rule."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

from akotf.model.report import ValidationReport
from akotf.report import junit

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "schemas" / "junit-10.xsd")


@pytest.fixture
def suites(report: ValidationReport) -> ElementTree.Element:
    text = junit.render(report)
    SCHEMA.validate(text)
    return ElementTree.fromstring(text.encode())


def test_the_schema_does_find_faults() -> None:
    assert not SCHEMA.is_valid("<testsuites><testsuite name='a'/></testsuites>")


def test_a_suite_counts_its_cases(suites: ElementTree.Element) -> None:
    first, second = suites
    told = {name: first.get(name) for name in ("name", "package", "tests", "failures", "errors", "skipped")}
    # 5 rules fail, of 12: 6 of akotf's own that found something, 6 of policy
    assert told == {
        "name": "één",
        "package": "één",
        "tests": "12",
        "failures": "5",
        "errors": "0",
        "skipped": "3",
    }
    assert [c.get("name") for c in second] == ["akotf", "policy/labels"]
    assert (second.get("tests"), second.get("failures")) == ("2", "0")
    assert (suites.get("tests"), suites.get("failures")) == ("14", "5")


def test_errors_fail_the_excused_are_skipped_and_the_rest_passes_with_its_text(
    suites: ElementTree.Element,
) -> None:
    cases = {c.get("name"): c for c in suites[0]}
    failed = {name for name, c in cases.items() if c.find("failure") is not None}
    assert failed == {
        "config/type", "config/literal-secret", "config/unknown-key", "config/template", "policy/total-gpus",
    }  # fmt: skip
    skipped = {name: s.get("message") for name, c in cases.items() if (s := c.find("skipped")) is not None}
    assert skipped == {
        "policy/budget": "unknown", "policy/soft": "overridden overridden by bob",
        "policy/region": "waived ann, T-7, until 2027-03-01: launch",
    }  # fmt: skip
    assert len(cases["policy/labels"]) == 0
    said = cases["config/unpinned"].findtext("system-out")
    assert said == "warning: no lock"
    failure = cases["policy/total-gpus"].find("failure")
    assert failure is not None
    assert failure.get("message") == "scope aws: 72 GPUs are more than 64"
    assert failure.text == (
        "één/akotf.yaml:4:22: error: scope aws: 72 GPUs are more than 64\nwhy: GPUs cost money\nremedy: ask for fewer"
    )


def test_what_xml_can_not_hold_is_replaced(report: ValidationReport) -> None:
    one = report.environments[0]
    bad = one.findings[0].model_copy(update={"message": "a\x00b\x1fc\ud800d\uffffe"})
    text = junit.render(
        report.model_copy(update={"environments": (one.model_copy(update={"findings": (bad,)}),)})
    )
    ElementTree.fromstring(text.encode())
    assert "a\ufffdb\ufffdc\ufffdd\ufffde" in text


def test_nothing_of_a_secret_is_said(report: ValidationReport) -> None:
    assert "hunter2" not in junit.render(report)
