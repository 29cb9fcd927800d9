"""`akotf recover`."""

from __future__ import annotations

import argparse

from akotf.cli.arguments import add_environment
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.pipeline.recovery import recover

EXAMPLES = ("akotf recover environments/quickstart", "akotf recover . --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)


def run(arguments: argparse.Namespace) -> int:
    """Settle what a crash left and tell it; what needs an approval is named and left to the command that asks for it."""
    view = View(arguments)
    session = session_of(arguments, view)
    try:
        found, latest = recover(session)
    finally:
        view.close()
    lines = [f"{'settled' if one.settled else 'to do':<8} {one.what}: {one.done}" for one in found]
    if latest is not None:
        lines.append(f"run      {latest.id} is {latest.state}")
    view.result(
        {
            "schema": 1,
            "found": [one.to_json() for one in found],
            "run": None if latest is None else {"id": latest.id, "state": latest.state.value},
        },
        "\n".join(lines if found else ["no crash left anything", *lines]),
    )
    return 0
