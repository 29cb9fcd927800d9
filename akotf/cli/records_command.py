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
        "time: predicted",
        "observed",
        "step: predicted",
        "observed",
        "cost",
        "drift",
    ):
        table.add_column(title, no_wrap=True, justify="left" if title in {"run", "state"} else "right")
    for row in rows:
        drift = row["drift"]
        table.add_row(
            row["run"], row["state"], str(row["attempts"]),
            _seconds(row["predicted_time"]), _seconds(row["observed_time"]) + _error(row["time_error"]),
            _seconds(row["predicted_step_time"]), _seconds(row["observed_step_time"]) + _error(row["step_time_error"]),
            row["observed_cost"] or "-", f"{len(drift['healed'])} of {len(drift['seen'])} healed",
        )  # fmt: skip
    view.out.print(table, soft_wrap=True)
    return 0


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _error(value: float | None) -> str:
    return "" if value is None else f" ({value:+.0%})"
