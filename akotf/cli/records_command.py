"""`akotf records`."""

from __future__ import annotations

import argparse

from rich.table import Table

from akotf.cli.common import add_environment, session_of
from akotf.cli.view import View
from akotf.pipeline.recording import records

EXAMPLES = ("akotf records environments/quickstart", "akotf records . --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)


def run(arguments: argparse.Namespace) -> int:
    """All runs of an environment: predicted against observed, drift and heals."""
    view = View(arguments)
    rows = records(session_of(arguments, view))
    if arguments.json:
        view.result({"schema": 1, "runs": rows}, "")
        return 0
    table = Table(box=None, pad_edge=False)
    for title in (
        "run",
        "state",
        "attempts",
        "predicted s",
        "observed s",
        "time error",
        "cost",
        "drift",
        "healed",
        "inputs",
    ):
        table.add_column(title, no_wrap=title in {"run", "inputs"}, overflow="fold")
    for row in rows:
        table.add_row(
            row["run"], row["state"], str(row["attempts"]), _number(row["predicted_time"]), _number(row["observed_time"]),
            "-" if row["time_error"] is None else f"{row['time_error']:+.1%}", row["observed_cost"] or "-",
            str(len(row["drift"]["seen"])), str(len(row["drift"]["healed"])), row["inputs"][:19],
        )  # fmt: skip
    view.out.print(table)
    return 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
