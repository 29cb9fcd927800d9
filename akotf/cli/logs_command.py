"""`akotf logs`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from akotf.cli.arguments import add_environment, add_run
from akotf.cli.common import run_of, session_of
from akotf.cli.view import View
from akotf.errors import SecretError
from akotf.pipeline.guarding import secret_values
from akotf.pipeline.live import Live, live_of
from akotf.pipeline.session import Session
from akotf.secrets.redaction import Redactor

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
    """Write the training's bytes to stdout, without its secrets; with --json as the text of one document."""
    view = View(arguments)
    session = session_of(arguments, view)
    live = live_of(session, run_of(session, arguments.run), attempt=arguments.attempt)
    parts = _redactor(session, live).chunks(_chunks(session, live, arguments.stream, follow=arguments.follow))
    if not arguments.json:
        for data in parts:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return 0
    whole = b"".join(parts)
    where = {"run": live.run.id, "attempt": live.request.attempt, "stream": arguments.stream}
    view.result({"schema": 1, **where, "text": whole.decode(errors="replace")}, "")
    return 0


def _redactor(session: Session, live: Live) -> Redactor:
    """Takes the values of the run's secrets out. SecretError when one is not known: the log may hold it."""
    values, unknown = secret_values(session, live)
    if unknown:
        raise SecretError(
            f"the log may hold a secret that is not known here, and so can't be taken out: {unknown}",
            where=live.request.attempt_directory,
            remedy="let akotf find the secret as `akotf apply` did, or read the log's file in that folder yourself",
        )
    return Redactor(values)


def _chunks(session: Session, live: Live, stream: str, *, follow: bool) -> Iterator[bytes]:
    backend = session.backend(live.run.backend)
    cursor = 0
    while True:
        # The state is asked before the log is read: what was written until the end is then always printed.
        over = live.run.state.final or backend.status(live.request, live.handle).state.final
        while (chunk := backend.logs(live.request, live.handle, stream, cursor)).data:
            yield chunk.data
            cursor = chunk.cursor
        if over or not follow:
            return
        session.clock.sleep(0.5)
