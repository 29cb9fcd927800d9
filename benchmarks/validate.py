"""How long `akotf validate environments/quickstart` takes, with the start of Python and of akotf beside it."""

from __future__ import annotations

import statistics

from common import AKOTF, PYTHON, QUICKSTART, report, side_by_side, summary


def main() -> None:
    """Median of ten, in turn."""
    times = side_by_side(
        {
            "python": [PYTHON, "-c", "pass"],
            "version": [AKOTF, "--version"],
            "validate": [AKOTF, "validate", str(QUICKSTART)],
        }
    )
    middle = {name: statistics.median(values) for name, values in times.items()}
    report(
        "validate",
        {
            "seconds": {name: summary(values) for name, values in times.items()},
            "over_version": round(middle["validate"] / middle["version"], 2),
        },
        {"validate": (middle["validate"], 0.5)},
    )


if __name__ == "__main__":
    main()
