"""`akotf drift`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from akotf.cli.arguments import add_environment, add_run
from akotf.cli.common import run_of, session_of
from akotf.cli.view import View, progress_text
from akotf.controller import Look, controller_for
from akotf.errors import TelemetryUnavailable
from akotf.model.drift import Action
from akotf.pipeline.live import live_of

EXAMPLES = (
    "akotf drift environments/quickstart",
    "akotf drift . --detailed-exitcode --json",
    "akotf drift . --heal",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_run(parser)
    parser.add_argument("--heal", action="store_true", help="carry out what is decided")
    parser.add_argument("--detailed-exitcode", action="store_true", help="2 when there is drift")


def run(arguments: argparse.Namespace) -> int:
    """One look at the live run: agent and Terraform."""
    view = View(arguments)
    session = session_of(arguments, view)
    found = run_of(session, arguments.run)
    live = live_of(session, found)
    controller = controller_for(session, live, heal=True if arguments.heal else None)
    # One look must do: a person or a pipeline asked for it now.
    controller.policy = replace(controller.policy, sightings=1)
    look = controller.look(live, refresh=True)
    if arguments.heal:
        controller.act(look)
    view.result(
        {
            "schema": 1,
            "run": found.id,
            "state": look.status.state.value,
            "observed": look.observation is not None,
            "drift": [d.to_json() for d in look.drifts],
            "decisions": [d.to_json() for d in look.decisions],
        },
        told(look),
    )
    if not arguments.heal:
        for decision in look.decisions:
            if decision.action not in {Action.IGNORE, Action.ALERT}:
                view.line(
                    f"would  {decision.action}: {', '.join(d.field for d in decision.drifts)}; heal with --heal"
                )
    if look.drifts:
        return 2 if arguments.detailed_exitcode else 0
    # What could not be looked at is never "no drift".
    return 0 if look.observation is not None or look.status.state.final else TelemetryUnavailable.exit_code


def told(look: Look) -> str:
    """The look in a line or two for people."""
    run = look.live.run.id
    if look.status.state.final:
        return f"run {run} is {look.status.state}: nothing is live to compare"
    if look.drifts:
        return progress_text(look)
    if look.observation is None:
        return f"run {run} is {look.status.state}, and its node can't be read: not known whether it drifted"
    return f"{progress_text(look)}\nno drift"
