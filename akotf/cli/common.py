"""Steps that several commands share."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from akotf.cli.view import View
from akotf.errors import UsageError
from akotf.model.run import Run
from akotf.run import attempts
from akotf.wiring.binding import open_session, user

if TYPE_CHECKING:
    from akotf.pipeline.provisioning import Approver, Proposal
    from akotf.pipeline.session import Session


def approver(arguments: argparse.Namespace) -> Approver:
    """Asks on a terminal; without one only -y approves."""

    def approve(_: Proposal) -> str:
        if arguments.auto_approve:
            return f"{user()} (--auto-approve)"
        if not sys.stdin.isatty():
            return ""
        print("Apply this? Only 'yes' is accepted: ", end="", file=sys.stderr, flush=True)
        return user() if sys.stdin.readline().strip() == "yes" else ""

    return approve


def session_of(arguments: argparse.Namespace, view: View) -> Session:
    """The session of the command's environment."""
    return open_session(
        arguments.environment, view.emit, policy_approver=getattr(arguments, "policy_approver", "")
    )


def run_of(session: Session, run_id: str = "") -> Run:
    """A run by id, or the latest."""
    run = attempts.load_run(session.layout, run_id) if run_id else attempts.latest(session.layout)
    if run is None:
        raise UsageError(
            "this environment has no run yet", where=str(session.layout.environment),
            remedy=f"akotf apply {session.layout.environment}",
        )  # fmt: skip
    return run


def run_json(run: Run) -> dict[str, Any]:
    """A run as JSON."""
    data: dict[str, Any] = run.to_json()
    return data
