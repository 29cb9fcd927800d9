"""How long `akotf --version` and `akotf --help` take, with a bare `python -c pass` beside them."""

from __future__ import annotations

import statistics

from common import AKOTF, PYTHON, report, side_by_side, summary


def main() -> None:
    """Median of ten, in turn."""
    times = side_by_side(
        {"python": [PYTHON, "-c", "pass"], "version": [AKOTF, "--version"], "help": [AKOTF, "--help"]}
    )
    middle = {name: statistics.median(values) for name, values in times.items()}
    report(
        "startup",
        {
            "seconds": {name: summary(values) for name, values in times.items()},
            "over_python": {name: round(middle[name] / middle["python"], 2) for name in ("version", "help")},
        },
        {"version": (middle["version"], 0.15), "help": (middle["help"], 0.20)},
    )


if __name__ == "__main__":
    main()
