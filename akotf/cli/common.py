"""Arguments and steps that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akotf.cli.view import View
from akotf.errors import UsageError
from akotf.model.run import Run
from akotf.model.units import parse_duration
from akotf.run import attempts
from akotf.wiring import open_session, user

if TYPE_CHECKING:
    from akotf.pipeline.provisioning import Approver, Proposal
    from akotf.pipeline.session import Session


def add_environment(parser: argparse.ArgumentParser) -> None:
    """The environment folder, `.` by default."""
    parser.add_argument(
        "environment", nargs="?", default=".", help="folder of the environment (default: this folder)"
    )


def project_folder(arguments: argparse.Namespace) -> Path:
    """The absolute folder of `--folder`. UsageError when there is none."""
    folder = Path(arguments.folder).absolute()
    if not folder.is_dir():
        raise UsageError(
            "there is no such folder", where=arguments.folder, remedy="name the project's folder"
        )
    return folder


def duration(text: str) -> float:
    """Seconds of an option's duration; a fault says what to write instead."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_lock_timeout(parser: argparse.ArgumentParser) -> None:
    """How long to wait for somebody else's lease."""
    parser.add_argument(
        "--lock-timeout",
        type=duration,
        default="0s",
        metavar="DURATION",
        help="wait for a lease, e.g. 2m (default: 0s)",
    )


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Parameters given on the command line."""
    parser.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a template parameter",
    )


def parameters_of(arguments: argparse.Namespace) -> dict[str, str]:
    """`NAME=VALUE` pairs; the template types the values."""
    pairs = {}
    for text in arguments.parameter:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not NAME=VALUE", where="--parameter", remedy="-p steps=600")
        pairs[f"parameters.{name}"] = value
    return pairs


def add_approval(parser: argparse.ArgumentParser) -> None:
    """Flags of everything that changes something."""
    parser.add_argument("-y", "--auto-approve", action="store_true", help="do not ask")


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


def add_policy_approver(parser: argparse.ArgumentParser) -> None:
    """Who accepts what a soft-mandatory rule refuses."""
    parser.add_argument(
        "--policy-approver",
        default="",
        metavar="NAME",
        help="accept failures of soft-mandatory rules, on record as NAME",
    )


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


def add_run(parser: argparse.ArgumentParser) -> None:
    """Which run is meant."""
    parser.add_argument("--run", default="", metavar="ID", help="a run's id (default: the latest)")


def run_json(run: Run) -> dict[str, Any]:
    """A run as JSON."""
    data: dict[str, Any] = run.to_json()
    return data
