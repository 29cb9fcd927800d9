"""`akotf cancel`."""

from __future__ import annotations

import argparse

from akotf.cli.arguments import add_environment, add_run, duration
from akotf.cli.common import run_json, run_of, session_of
from akotf.cli.view import View
from akotf.errors import IntegrityError, StoreError
from akotf.pipeline import healing
from akotf.pipeline.live import live_of

EXAMPLES = ("akotf cancel environments/quickstart", "akotf cancel . --grace 2m")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_run(parser)
    parser.add_argument(
        "--grace",
        type=duration,
        default="30s",
        metavar="DURATION",
        help="time between TERM and KILL (default: 30s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Stop the run and record its end."""
    view = View(arguments)
    session = session_of(arguments, view)
    found = run_of(session, arguments.run)
    if found.state.final:
        view.line(f"run {found.id} is already {found.state}")
        view.result(run_json(found), "")
        return 0
    found = healing.submitted(session, found)
    grace: float = arguments.grace
    try:
        live = live_of(session, found)
    except (StoreError, IntegrityError) as error:
        # A training that runs must be stoppable, whatever was lost of what was approved for it.
        view.line(f"note   {error.message}; the run is stopped, and leaves no evidence", "yellow")
        view.result(run_json(healing.cancel_alone(session, found, grace=grace)), "")
        return 0
    view.result(run_json(healing.cancel(session, live, grace=grace).run), "")
    return 0
