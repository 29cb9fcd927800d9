"""SARIF 2.1.0 (OASIS), as code scanning reads it.

Files are relative to `%SRCROOT%`, the root of the git repository. What a waiver or an approver lets pass is a
suppressed result. Columns count code points, as editors and our own messages do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from akotf.model.report import EnvironmentReport, ReportedFinding, ValidationReport
from akotf.report.rules import meaning
from akotf.report.sources import Sources, place_of, uri

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"


def render(report: ValidationReport, sources: Sources, root: Path) -> str:
    """The log, with one run."""
    rules: dict[str, dict[str, Any]] = {}
    results: dict[str, dict[str, Any]] = {}
    for one in report.environments:
        for finding in one.findings:
            rules.setdefault(finding.rule, _rule(finding))
            result = _result(finding, one, sources, root, list(rules).index(finding.rule))
            results.setdefault(json.dumps(result), result)  # what several environments share is said once
    run = {
        "tool": {
            "driver": {
                "name": report.tool.name,
                "version": report.tool.version,
                "semanticVersion": report.tool.version,
                "rules": list(rules.values()),
            }
        },
        "automationDetails": {"id": "akotf-validate/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "Root of the git repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "exitCode": report.exit_code}],
        "results": list(results.values()),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(finding: ReportedFinding) -> dict[str, Any]:
    """What a rule is about; of a policy rule, why it is there."""
    about = finding.policy.why if finding.policy and finding.policy.why else meaning(finding.rule)
    remedy = finding.remedy if finding.policy else ""
    return {
        "id": finding.rule,
        "shortDescription": {"text": about},
        "help": {"text": remedy or about},
        "defaultConfiguration": {"level": finding.severity.value},
        "properties": {"tags": [finding.rule.partition("/")[0]]},
    }


def _result(
    finding: ReportedFinding, one: EnvironmentReport, sources: Sources, root: Path, index: int
) -> dict[str, Any]:
    remedy = f"\nRemedy: {finding.remedy}" if finding.remedy else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": finding.message + remedy},
        "locations": [_location(finding, one, sources, root)],
        # GitHub tells results of one rule in one file apart by primaryLocationLineHash, and reads no other name.
        "partialFingerprints": {
            "akotf/v1": finding.fingerprint,
            "primaryLocationLineHash": f"{finding.fingerprint}:1",
        },
    }
    if finding.policy and finding.policy.waiver:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": finding.policy.waiver}
        ]
    return result


def _location(
    finding: ReportedFinding, one: EnvironmentReport, sources: Sources, root: Path
) -> dict[str, Any]:
    place = place_of(finding.position, one.folder)
    address, relative = uri(place.file, root)
    physical: dict[str, Any] = {"artifactLocation": {"uri": address}}
    if relative:
        physical["artifactLocation"]["uriBaseId"] = _ROOT
    if place.line:
        region: dict[str, Any] = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        line = sources.line(finding)
        if line is not None:
            region["snippet"] = {"text": line}
        physical["region"] = region
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path, "kind": "member"}]
    return location
