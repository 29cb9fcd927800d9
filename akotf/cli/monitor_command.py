"""`akotf monitor`."""

from __future__ import annotations

import argparse

from akotf.cli.apply_command import follow
from akotf.cli.arguments import add_environment, add_run
from akotf.cli.common import run_json, run_of, session_of
from akotf.cli.view import View
from akotf.pipeline.healing import submitted

EXAMPLES = ("akotf monitor environments/quickstart",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Watch and heal until the run has ended; then record it."""
    view = View(arguments)
    session = session_of(arguments, view)
    found = run_of(session, arguments.run)
    if found.state.final:
        view.line(f"run {found.id} is {found.state}; there is nothing to watch")
        view.result(run_json(found), "")
        return 0
    try:
        return follow(session, view, submitted(session, found))
    finally:
        view.close()
