"""`akotf activity`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.apply_command import failure, watch
from akotf.cli.arguments import add_approval, add_lock_timeout, add_policy_approver
from akotf.cli.common import approver, session_of
from akotf.cli.view import View
from akotf.errors import Interrupted, UsageError
from akotf.model.run import RunState
from akotf.pipeline.activities import ACTIVITIES, perform, publish_run, train
from akotf.pipeline.healing import settle
from akotf.pipeline.session import Session

EXAMPLES = (
    "akotf activity profile-workload environments/quickstart --in work --out work",
    "akotf activity train environments/quickstart --in work --out work -y",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("name", help="one of: " + ", ".join(ACTIVITIES))
    parser.add_argument("environment", help="folder of the environment")
    parser.add_argument(
        "--in", dest="inputs", required=True, metavar="DIR", help="what upstream activities published"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="where this activity publishes")
    add_approval(parser)
    add_policy_approver(parser)
    add_lock_timeout(parser)


def run(arguments: argparse.Namespace) -> int:
    """One step of the pass: reads what upstream published, publishes its declared outputs."""
    if arguments.name not in ACTIVITIES:
        raise UsageError(
            f"there is no activity {arguments.name!r}", remedy="one of: " + ", ".join(ACTIVITIES)
        )
    view = View(arguments)
    session = session_of(arguments, view)
    inputs, out = Path(arguments.inputs), Path(arguments.out)
    try:
        if arguments.name == "train":
            return _train(arguments, view, session, inputs, out)
        _result(view, perform(session, arguments.name, inputs, out))
        return 0
    finally:
        view.close()


def _train(arguments: argparse.Namespace, view: View, session: Session, inputs: Path, out: Path) -> int:
    """Train to the end and publish the run, whatever its end; a revision that has succeeded is published again."""
    before = settle(session)
    run = train(
        session, inputs, approver(arguments), lock_timeout=arguments.lock_timeout
    ) or before  # fmt: skip
    assert run is not None  # there is nothing to do only where a run has succeeded before
    ended = run if run.state.final else watch(session, view, run)
    if ended is None:
        return Interrupted.exit_code
    written = publish_run(session, ended, out)
    if ended.state is RunState.SUCCEEDED:
        _result(view, written)
        return 0
    raise failure(session, ended)


def _result(view: View, written: list[Path]) -> None:
    view.result({"schema": 1, "outputs": [str(p) for p in written]}, "\n".join(str(p) for p in written))
