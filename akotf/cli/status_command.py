"""`akotf status`."""

from __future__ import annotations

import argparse
import time
from typing import Any

from akotf.cli.arguments import add_environment, add_run
from akotf.cli.common import run_of, session_of
from akotf.cli.view import View
from akotf.pipeline.standing import standing

EXAMPLES = ("akotf status environments/quickstart", "akotf status . --json", "akotf status . --watch")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_run(parser)
    parser.add_argument("--watch", action="store_true", help="again every 2 s until the run has ended")


def run(arguments: argparse.Namespace) -> int:
    """Show the latest run, or the one named."""
    view = View(arguments)
    session = session_of(arguments, view)
    while True:
        data = standing(session, run_of(session, arguments.run))
        view.result(data, text(data))
        if not arguments.watch or data["state"] in {"succeeded", "failed", "cancelled"}:
            return 0
        time.sleep(2)


def text(data: dict[str, Any]) -> str:
    """A few lines for people."""
    drift = data["drift"]
    lines = [f"run         {data['run']}  attempt {data['attempt']}  {data['state']}",
             f"deployment  {data['deployment']} ({data['backend']})"]  # fmt: skip
    if data["step"] is not None:
        loss = f"  loss {data['loss']:.3f}" if data["loss"] is not None else ""
        lines.append(f"progress    step {data['step']}/{data['total_steps'] or '?'}{loss}")
    lines.append(f"checkpoints {', '.join(map(str, data['checkpoints'])) or 'none'}")
    open_fields = f": {', '.join(drift['open'])}" if drift["open"] else ""
    lines.append(
        f"drift       {len(drift['seen'])} seen, {len(drift['healed'])} healed, {len(drift['open'])} open{open_fields}"
    )
    if data["evidence"]:
        lines.append(f"evidence    {data['evidence']}")
    return "\n".join(lines)
