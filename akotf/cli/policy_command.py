"""`akotf policy`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from akotf.cli.arguments import project_folder
from akotf.cli.view import View
from akotf.errors import ConfigError, UsageError
from akotf.facts.files import read_json
from akotf.model.policy import Rule, Stage
from akotf.pipeline.explaining import explain_on
from akotf.policy.explain import explain, explained_text
from akotf.policy.selftest import test_rules
from akotf.wiring.binding import open_session
from akotf.wiring.surroundings import project_folders, rules

_LARGEST_PLAN = 256 * 2**20  # bytes
EXAMPLES = (
    "akotf policy list --stage tfplan",
    "akotf policy explain total-gpus",
    "akotf policy explain image-by-digest environments/quickstart",
    "akotf policy explain no-world-ingress . --tfplan tfplan.json",
    "akotf policy test",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("what", choices=("list", "explain", "test"), help="what to do")
    parser.add_argument(
        "names", nargs="*", default=[], metavar="RULE",
        help="test: the rules to test (default: all); explain: a rule, and an environment to judge by it",
    )  # fmt: skip
    parser.add_argument("-f", "--folder", default=".", help="project folder (default: this folder)")
    parser.add_argument("--stage", default="", choices=tuple(map(str, Stage)), metavar="STAGE",
                        help=f"list: rules of one stage only: {', '.join(Stage)}")  # fmt: skip
    parser.add_argument("--tfplan", default="", metavar="FILE",
                        help="explain: Terraform's plan, as `akotf plan --tfplan FILE` writes it")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """The rules that judge, whether they pass their own inputs, and what they say of an environment."""
    view = View(arguments)
    if arguments.what == "test":
        return _test(arguments, view)
    if arguments.what == "list":
        return _list(arguments, view)
    return _explain(arguments, view)


def _test(arguments: argparse.Namespace, view: View) -> int:
    start = project_folder(arguments)
    folders = project_folders("policies", start)
    for name in arguments.names:
        _rule(rules(start), name)
    findings = test_rules(folders, arguments.names)
    view.result(
        {"schema": 1, "passed": not findings, "findings": [f.to_json() for f in findings]},
        "\n".join(map(str, findings)) or "every rule passes its pass inputs and fails its fail inputs",
    )
    return ConfigError.exit_code if findings else 0


def _list(arguments: argparse.Namespace, view: View) -> int:
    if arguments.names:
        raise UsageError("`akotf policy list` takes no rule", remedy="akotf policy explain RULE")
    found = [r for r in rules(project_folder(arguments)) if arguments.stage in ("", r.stage.value)]
    width = max((len(r.id) for r in found), default=0)
    view.result(
        {"schema": 1, "rules": [r.to_json() for r in found]},
        "\n".join(f"{r.id:<{width}} {r.stage:<10} {r.level:<15} {r.title}" for r in found),
    )
    return 0


def _explain(arguments: argparse.Namespace, view: View) -> int:
    if len(arguments.names) not in (1, 2):
        raise UsageError("explain takes a rule, and may take an environment", remedy=f"{EXAMPLES[2]}")
    name, *environment = arguments.names
    start = Path(environment[0]).absolute() if environment else project_folder(arguments)
    rule = _rule(rules(start), name)
    if not environment:
        if arguments.tfplan:
            raise UsageError("--tfplan needs the environment too", remedy=EXAMPLES[3])
        view.result(rule.to_json(), explain(rule))
        return 0
    tfplan = _read_plan(arguments.tfplan) if arguments.tfplan else None
    rows = explain_on(open_session(environment[0], view.emit), rule, tfplan)
    view.result(
        {"schema": 1, "rule": rule.to_json(), "objects": [row.to_json() for row in rows]},
        f"{explain(rule)}\n\n{environment[0]}:\n{explained_text(rule, rows)}",
    )
    return 0


def _read_plan(file: str) -> Any:
    try:
        return read_json(file, _LARGEST_PLAN)
    except ValueError as error:
        raise UsageError(
            str(error), where="--tfplan", remedy="akotf plan ENVIRONMENT --tfplan FILE"
        ) from error


def _rule(found: tuple[Rule, ...], name: str) -> Rule:
    for rule in found:
        if rule.id == name:
            return rule
    raise UsageError(f"there is no rule {name!r}", remedy="akotf policy list")
