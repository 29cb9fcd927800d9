"""`akotf destroy`."""

from __future__ import annotations

import argparse

from akotf.cli.arguments import add_approval, add_environment, add_lock_timeout
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.errors import AkotfError, ApprovalError
from akotf.pipeline.provisioning import deployments, tear_down_all
from akotf.run import attempts

EXAMPLES = ("akotf destroy environments/quickstart", "akotf destroy . -y")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_approval(parser)
    add_lock_timeout(parser)


def run(arguments: argparse.Namespace) -> int:
    """Destroy every deployment of the environment; refused while a run lives."""
    view = View(arguments)
    session = session_of(arguments, view)
    latest = attempts.latest(session.layout)
    if latest and not latest.state.final:
        raise AkotfError(
            f"run {latest.id} is {latest.state}", where=str(session.layout.environment),
            remedy=f"akotf cancel {arguments.environment}",
        )  # fmt: skip
    found = deployments(session)
    if not found:
        view.line("nothing is deployed")
        view.result({"schema": 1, "destroyed": []}, "")
        return 0
    view.line("to destroy: " + ", ".join(d.id for d in found))
    if not arguments.auto_approve and not _confirmed(view):
        raise ApprovalError("nothing was destroyed", remedy="akotf destroy -y approves it")
    tear_down_all(session, lock_timeout=arguments.lock_timeout)
    view.line("destroyed: " + ", ".join(d.id for d in found), "green")
    view.result({"schema": 1, "destroyed": [d.id for d in found]}, "")
    return 0


def _confirmed(view: View) -> bool:
    import sys

    if not sys.stdin.isatty():
        return False
    view.err.print("Destroy? Only 'yes' is accepted: ", end="")
    return sys.stdin.readline().strip() == "yes"
