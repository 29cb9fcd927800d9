"""`akotf policy`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.view import View
from akotf.errors import ConfigError, UsageError
from akotf.policy.selftest import explain, test_rules
from akotf.wiring import project_folders, rules

EXAMPLES = ("akotf policy list", "akotf policy explain total-gpus", "akotf policy test")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("what", choices=("list", "explain", "test"), help="what to do")
    parser.add_argument("rule", nargs="?", default="", help="id of a rule, for explain")
    parser.add_argument("-f", "--folder", default=".", help="project folder (default: this folder)")


def run(arguments: argparse.Namespace) -> int:
    """The rules that judge, and whether they pass their own inputs."""
    view = View(arguments)
    start = Path(arguments.folder).absolute()
    if arguments.what == "test":
        if arguments.rule:
            raise UsageError("`akotf policy test` tests every rule", remedy="akotf policy test")
        findings = test_rules(project_folders("policies", start))
        view.result(
            {"schema": 1, "passed": not findings, "findings": [f.to_json() for f in findings]},
            "\n".join(map(str, findings)) or "every rule passes its pass inputs and fails its fail inputs",
        )
        return ConfigError.exit_code if findings else 0
    found = rules(start)
    if arguments.what == "list":
        view.result(
            {"schema": 1, "rules": [r.to_json() for r in found]},
            "\n".join(f"{r.id:<24} {r.stage:<10} {r.level:<15} {r.title}" for r in found),
        )
        return 0
    for rule in found:
        if rule.id == arguments.rule:
            view.result(rule.to_json(), explain(rule))
            return 0
    raise UsageError(f"there is no rule {arguments.rule!r}", remedy="akotf policy list")
