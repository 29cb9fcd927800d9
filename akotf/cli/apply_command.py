"""`akotf apply`."""

from __future__ import annotations

import argparse

from akotf.cli.arguments import (
    add_approval,
    add_environment,
    add_lock_timeout,
    add_parameters,
    add_policy_approver,
    parameters_of,
)
from akotf.cli.common import approver, run_json, session_of
from akotf.cli.view import View
from akotf.controller import controller_for
from akotf.errors import Interrupted, RunFailed
from akotf.model.run import Run, RunState
from akotf.pipeline.live import live_of
from akotf.pipeline.provisioning import up
from akotf.pipeline.recovery import recover
from akotf.pipeline.session import Session
from akotf.run import attempts

EXAMPLES = (
    "akotf apply environments/quickstart",
    "akotf apply . -y --scope workstation",
    "akotf apply . -y --detach",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_parameters(parser)
    add_approval(parser)
    add_policy_approver(parser)
    add_lock_timeout(parser)
    parser.add_argument("--scope", default="", help="choose among this scope's candidates only")
    parser.add_argument("--detach", action="store_true", help="return when the run is submitted")


def run(arguments: argparse.Namespace, *, new_run: bool = False) -> int:
    """The whole pass; follows the run to its end unless --detach."""
    view = View(arguments)
    view.brief = bool(arguments.auto_approve)
    session = session_of(arguments, view)
    try:
        for found in recover(session)[0]:
            session.emit("note", f"a crash left {found.what}: {found.done}")
        live = up(
            session,
            approve=approver(arguments),
            scope=arguments.scope,
            overrides=parameters_of(arguments),
            new_run=new_run,
            lock_timeout=arguments.lock_timeout,
        )
        if live is None:
            view.result({"schema": 1, "run": None, "changed": False}, "")
            return 0
        if arguments.detach:
            view.line(
                f"run {live.id} goes on by itself; watch and heal it with: akotf monitor {arguments.environment}"
            )
            view.result(run_json(live), live.id)
            return 0
        return follow(session, view, live)
    except KeyboardInterrupt:
        # Between the submission and the watch: the run is there already, and goes on.
        started = attempts.latest(session.layout)
        if started is None or started.state.final:
            raise
        say_it_goes_on(session, view, started)
        return Interrupted.exit_code
    finally:
        view.close()


def follow(session: Session, view: View, run: Run) -> int:
    """Watch and heal to the end, and say how it ended."""
    ended = watch(session, view, run)
    if ended is None:
        return Interrupted.exit_code
    if ended.state is RunState.SUCCEEDED:
        view.result(run_json(ended), "")
        return 0
    raise failure(session, ended)


def watch(session: Session, view: View, run: Run) -> Run | None:
    """Watch and heal to the end. None when Ctrl-C stopped the watching: the run goes on, and it says how to come back."""
    live = live_of(session, run)
    try:
        return controller_for(session, live).follow(live).run
    except KeyboardInterrupt:
        say_it_goes_on(session, view, run)
        return None


def say_it_goes_on(session: Session, view: View, run: Run) -> None:
    """How to come back to a run that is not watched any more, and how to end it."""
    submitted = bool(run.attempts) and run.attempts[-1].handle is not None
    back = "monitor" if submitted else "apply"  # apply settles a submission that was cut off
    view.close()
    view.line(
        f"stopped watching; run {run.id} goes on. Watch: akotf {back} {session.layout.environment}  "
        f"Stop: akotf cancel {session.layout.environment}",
        "bold yellow",
    )


def failure(session: Session, run: Run) -> RunFailed:
    """The error of a run that ended without success."""
    return RunFailed(
        f"run {run.id} {run.state}: {run.attempts[-1].reason or 'see its logs'}",
        run,
        remedy=f"akotf logs {session.layout.environment} --stream stderr",
    )
