"""`akotf upgrade`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from akotf.cli.arguments import add_approval
from akotf.cli.common import session_of
from akotf.cli.template_command import change_lines, parameter_lines, section
from akotf.cli.view import View
from akotf.errors import ConfigError
from akotf.load.upgrade import Upgrade, prepare, write
from akotf.model.finding import Finding, has_errors
from akotf.pipeline.session import Session
from akotf.validate.check import check

EXAMPLES = (
    "akotf upgrade environments/quickstart gpu-training@1.1.0",
    "akotf upgrade . gpu-training@1.1.0 -y",
    "akotf upgrade . 'git+https://git.example.com/platform/templates//gpu-training?ref=v1.1.0' --detailed-exitcode",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("environment", help="folder of the environment")
    parser.add_argument("template", help="NAME@VERSION, or git+URL//path?ref=TAG")
    add_approval(parser)
    parser.add_argument(
        "--accept-moved", action="store_true", help="take a tag that names another commit than the one locked"
    )
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="2 when there is something to upgrade, and it was not done",
    )


def run(arguments: argparse.Namespace) -> int:
    """Show what another template would change, ask, and then change it."""
    view = View(arguments)
    session = session_of(arguments, view)
    folder = session.layout.environment
    upgrade = prepare(
        folder, arguments.template, session.catalogues, session.cache, accept_moved=arguments.accept_moved
    )
    findings = check(upgrade.new) if upgrade.new else ()
    if not arguments.json:
        _show(upgrade, view)
    if upgrade.error is not None:
        raise upgrade.error
    if has_errors(findings):
        raise ConfigError(f"with {upgrade.reference} the environment has faults", findings, where=str(folder))
    done = False
    if not upgrade.nothing and _accepted(arguments):
        write(upgrade)
        _record(session, upgrade)
        done = True
    if arguments.json:
        view.result(_data(upgrade, findings, done=done), "")
    elif done:
        view.line(f"upgraded to {upgrade.reference}", "bold green")
    elif upgrade.nothing:
        view.line(f"nothing to do: the environment has {upgrade.reference}, pinned", "bold green")
    else:
        view.line("nothing was written; -y upgrades", "bold")
    return 2 if arguments.detailed_exitcode and not (done or upgrade.nothing) else 0


def _accepted(arguments: argparse.Namespace) -> bool:
    if arguments.auto_approve:
        return True
    if arguments.json or not sys.stdin.isatty():
        return False
    print("Upgrade? Only 'yes' is accepted: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def _show(upgrade: Upgrade, view: View) -> None:
    """From the templates' parameters to what the run would be held to."""
    lines = [f"template: {upgrade.before} -> {upgrade.reference}"]
    if upgrade.template.ref.commit:
        lines.append(f"commit: {upgrade.template.ref.commit}")
    if upgrade.trouble:
        lines.append(
            f"the environment does not load as it is ({upgrade.trouble}); all that the new one says is new"
        )
    lines += section("parameters of the templates", parameter_lines(upgrade.parameters))
    effects = upgrade.effects
    if effects:
        lines += section("values of the parameters", change_lines(effects["parameters"]))
        lines += section("baseline", change_lines(effects["baseline"])) or ["baseline: the same"]
        lines += section("run", change_lines(effects["run"]))
    view.result({}, "\n".join(lines))


def _data(upgrade: Upgrade, findings: Any, *, done: bool) -> dict[str, Any]:
    assert upgrade.new is not None
    return {
        "schema": 1,
        "environment": upgrade.new.environment.name,
        "from": upgrade.before,
        "to": upgrade.reference,
        "template": upgrade.template.ref.to_json(),
        "upgraded": done,
        "nothing": upgrade.nothing and not done,
        "baseline": {
            "old": upgrade.old.baseline().digest() if upgrade.old else None,
            "new": upgrade.new.baseline().digest(),
        },
        "parameters": [p.to_json() for p in upgrade.parameters],
        "changes": {group: [c.to_json() for c in changes] for group, changes in upgrade.effects.items()},
        "findings": [f.to_json() for f in findings if isinstance(f, Finding)],
    }


def _record(session: Session, upgrade: Upgrade) -> None:
    """In the journal, where the environment has one."""
    if not session.layout.journal.is_file() or upgrade.new is None:
        return
    body = {
        "from": upgrade.before,
        "to": upgrade.reference,
        "template": upgrade.template.ref.to_json(),
        "baseline": upgrade.new.baseline().digest(),
        "revision": upgrade.new.revision(),
    }
    session.journal.append("environment.upgraded", body, environment=upgrade.new.environment.name)
