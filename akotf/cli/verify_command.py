"""`akotf verify`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml

from akotf.cli.view import View
from akotf.errors import IntegrityError, UsageError
from akotf.model.finding import has_errors
from akotf.pipeline.planning import replay_evidence
from akotf.record import contract
from akotf.record.verify import verify

EXAMPLES = (
    "akotf verify environments/quickstart/.akotf/evidence/RUN",
    "akotf verify EVIDENCE --key team.pub",
    "akotf verify EVIDENCE --contract environments/quickstart/validation.yaml",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("folder", help="an evidence folder")
    parser.add_argument(
        "--key", default="", metavar="FILE", help="public key (PEM) pinned from outside the folder"
    )
    parser.add_argument("--contract", default="", metavar="FILE", help="also check a validation contract")


def run(arguments: argparse.Namespace) -> int:
    """Digests, chain, provenance and signature, offline; replay of the plan; the validation contract."""
    view = View(arguments)
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise UsageError("there is no such evidence folder", where=str(folder), remedy="akotf records ENV")
    report = verify(folder, public_key=Path(arguments.key) if arguments.key else None)
    findings = (*report.findings, *(replay_evidence(folder) if not report.findings else ()))
    intact = not has_errors(findings)
    checks = (
        contract.check(_contract(Path(arguments.contract)), folder, bundle=Path(arguments.contract).parent)
        if arguments.contract
        else []
    )
    lines = [str(f) for f in findings]
    if intact:
        lines.append(f"evidence is intact: {report.level}")
    lines += [f"{'passed' if c.passed else 'FAILED'}  {c.name}: {c.detail}" for c in checks]
    if checks:
        lines.append(f"validation contract: {'passed' if all(c.passed for c in checks) else 'FAILED'}")
    view.result(
        {
            "schema": 1,
            "intact": intact,
            "level": report.level,
            "findings": [f.to_json() for f in findings],
            "contract": [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in checks],
        },
        "\n".join(lines),
    )
    return 0 if intact and all(c.passed for c in checks) else IntegrityError.exit_code


def _contract(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"the contract can't be read: {error}", where=str(path)) from error
    if not isinstance(document, dict):
        raise UsageError("the contract is not a mapping with version and checks", where=str(path))
    return document
