"""`akotf activity`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.common import add_approval, add_lock_timeout, session_of
from akotf.cli.view import View
from akotf.errors import UsageError
from akotf.pipeline.activities import ACTIVITIES, perform

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
    add_lock_timeout(parser)


def run(arguments: argparse.Namespace) -> int:
    """One step of the pass: reads what upstream published, publishes its declared outputs."""
    if arguments.name not in ACTIVITIES:
        raise UsageError(
            f"there is no activity {arguments.name!r}", remedy="one of: " + ", ".join(ACTIVITIES)
        )
    view = View(arguments)
    try:
        written = perform(
            session_of(arguments, view), arguments.name, Path(arguments.inputs), Path(arguments.out)
        )
    finally:
        view.close()
    view.result({"schema": 1, "outputs": [str(p) for p in written]}, "\n".join(str(p) for p in written))
    return 0
