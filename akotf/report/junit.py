"""JUnit XML, as Jenkins, GitLab and others read it: a suite an environment, a case a rule.

An error is a failure; a rule that a waiver or an approver lets pass, and one that can't be told yet, is skipped; a
warning or note passes, with its text as the case's output.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from akotf.model.finding import Severity
from akotf.model.policy import Outcome
from akotf.model.report import EnvironmentReport, ReportedFinding, ValidationReport
from akotf.report.ansi import clean

#: Case of everything that akotf itself checks, so that an environment without findings has a case that passes.
OWN = "akotf"
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def render(report: ValidationReport) -> str:
    """The document."""
    suites = ElementTree.Element("testsuites", name="akotf validate")
    total: Counter[str] = Counter()
    for one in report.environments:
        total += _suite(suites, one)
    for name in ("tests", "failures", "errors"):
        suites.set(name, str(total[name]))
    ElementTree.indent(suites)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"
    )


def _suite(suites: ElementTree.Element, one: EnvironmentReport) -> Counter[str]:
    suite = ElementTree.SubElement(
        suites, "testsuite", name=_text(one.folder), package=_text(one.environment)
    )
    tally = Counter({"tests": 0, "failures": 0, "errors": 0, "skipped": 0})
    for rule, findings in _cases(one).items():
        case = ElementTree.SubElement(suite, "testcase", name=_text(rule), classname=_text(one.environment))
        tally["tests"] += 1
        failures = [f for f in findings if f.severity is Severity.ERROR]
        excused = [f for f in findings if f.policy and (f.policy.waiver or f.policy.outcome == "unknown")]
        for finding in failures:
            node = ElementTree.SubElement(case, "failure", type=_text(rule), message=_text(finding.message))
            node.text = _details(finding)
        if failures:
            tally["failures"] += 1
        elif excused:
            tally["skipped"] += 1
            said = "; ".join(f"{f.policy.outcome} {f.policy.waiver}".strip() for f in excused if f.policy)
            ElementTree.SubElement(case, "skipped", message=_text(said))
        if told := [f for f in findings if f not in failures]:
            ElementTree.SubElement(case, "system-out").text = "\n".join(_details(f) for f in told)
    for name, value in tally.items():
        suite.set(name, str(value))
    return tally


def _cases(one: EnvironmentReport) -> dict[str, list[ReportedFinding]]:
    """Every rule that was asked, those that found nothing too."""
    cases: dict[str, list[ReportedFinding]] = {OWN: []}
    if one.policy is not None:
        cases |= {f"policy/{v.rule}": [] for v in one.policy.verdicts if v.outcome is Outcome.PASS}
    for finding in one.findings:
        cases.setdefault(finding.rule, []).append(finding)
    if any(f.severity is Severity.ERROR and f.policy is None for f in one.findings):
        del cases[OWN]
    return cases


def _details(finding: ReportedFinding) -> str:
    place = f"{finding.position}: " if finding.position else ""
    lines = [f"{place}{finding.severity}: {finding.message}"]
    if finding.policy:
        lines.append(f"why: {finding.policy.why}")
    if finding.remedy:
        lines.append(f"remedy: {finding.remedy}")
    return _text("\n".join(lines))


def _text(text: str) -> str:
    """Text that XML can hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", clean(text))
