"""`akotf records`."""

from __future__ import annotations

import argparse
from typing import Any

from akotf.cli.arguments import add_environment
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.pipeline.recording import records

TITLES = (
    "run", "state", "attempts", "time: predicted", "observed", "step: predicted", "observed", "cost", "drift",
)  # fmt: skip
LEFT = 2  # columns of words

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
    if not rows:
        view.line("this environment has no run yet")
        return 0
    lines = [TITLES, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(TITLES))]
    for line in lines:  # as wide as it is: a run's name is there to be copied
        cells = (
            c.ljust(w) if i < LEFT else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
    return 0


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["run"], row["state"], str(row["attempts"]),
        _seconds(row["predicted_time"]), _seconds(row["observed_time"]) + _error(row["time_error"]),
        _seconds(row["predicted_step_time"]), _seconds(row["observed_step_time"]) + _error(row["step_time_error"]),
        row["observed_cost"] or "-", f"{len(row['drift']['seen'])} seen, {len(row['drift']['healed'])} healed",
    )  # fmt: skip


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _error(value: float | None) -> str:
    return "" if value is None else f" ({value:+.0%})"
