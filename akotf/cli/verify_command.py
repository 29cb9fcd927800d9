"""`akotf verify`."""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from akotf.cli.view import View
from akotf.errors import IntegrityError, UsageError
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
    checks = []
    if arguments.contract:
        document = yaml.safe_load(Path(arguments.contract).read_text())
        checks = contract.check(document, folder, bundle=Path(arguments.contract).parent)
    good = not report.findings and all(c.passed for c in checks)
    lines = [str(f) for f in report.findings] or [f"evidence is intact: {report.level}"]
    lines += [f"{'passed' if c.passed else 'FAILED'}  {c.name}: {c.detail}" for c in checks]
    if checks:
        lines.append(f"validation contract: {'passed' if all(c.passed for c in checks) else 'FAILED'}")
    view.result(
        {
            "schema": 1,
            "intact": not report.findings,
            "level": report.level,
            "findings": [f.to_json() for f in report.findings],
            "contract": [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in checks],
        },
        "\n".join(lines),
    )
    return 0 if good else IntegrityError.exit_code
