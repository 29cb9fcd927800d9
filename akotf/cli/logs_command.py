"""`akotf logs`."""

from __future__ import annotations

import argparse
import sys
import time

from akotf.cli.common import add_environment, add_run, run_of, session_of
from akotf.cli.view import View
from akotf.pipeline.live import live_of

EXAMPLES = (
    "akotf logs environments/quickstart",
    "akotf logs . --follow",
    "akotf logs . --stream stderr --attempt 1",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_run(parser)
    parser.add_argument("--stream", choices=("stdout", "stderr"), default="stdout", help="which stream")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the attempt has ended")
    parser.add_argument("--attempt", type=int, default=0, help="attempt number (default: the latest)")


def run(arguments: argparse.Namespace) -> int:
    """Write the training's bytes to stdout as they are."""
    session = session_of(arguments, View(arguments))
    live = live_of(session, run_of(session, arguments.run), attempt=arguments.attempt)
    backend = session.backend(live.run.backend)
    cursor = 0
    while True:
        # The state is asked before the log is read: what was written until the end is then always printed.
        over = live.run.state.final or backend.status(live.request, live.handle).state.final
        while (chunk := backend.logs(live.request, live.handle, arguments.stream, cursor)).data:
            sys.stdout.buffer.write(chunk.data)
            cursor = chunk.cursor
        sys.stdout.buffer.flush()
        if over or not arguments.follow:
            return 0
        time.sleep(0.5)
