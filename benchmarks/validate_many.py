"""How long `akotf validate` takes for 200 environments in one call: all valid, and with every tenth one broken.

The environments are what `akotf init` writes, each with a name of its own. Beside it stands one environment by itself:
200 calls of that are what one call saves. The last figure writes all reports to files too.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import AKOTF, report, seconds, summary

NUMBER = 200
ROUNDS = 5
#: What is wrong with the broken ones: no YAML, a wrong type, an unknown key, no such template, denied by policy.
FAULTS = (
    ("name: ", 'name: "'),
    ("steps: 300", "steps: many"),
    ("owner: ", "ownr: "),
    ("gpu-training@1.0.0", "gpu-training@9.9.9"),
    ("budget: 10 USD", "budget: 0.00 USD"),
)
FORMATS = ("sarif", "junit", "markdown", "json", "github")


def main() -> None:
    """Median of five, in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valid, faulty = folder / "valid", folder / "faulty"
        write(valid, broken=False)
        write(faulty, broken=True)
        reports = [word for f in FORMATS for word in ("--report", f"{f}={folder / f}")]
        commands = {
            "one": ([AKOTF, "validate", str(valid / "env-000")], 0),
            "valid": ([AKOTF, "validate", str(valid)], 0),
            "faulty": ([AKOTF, "validate", str(faulty)], 1),
            "faulty_all_reports": ([AKOTF, "validate", str(faulty), *reports], 1),
        }
        times: dict[str, list[float]] = {key: [] for key in commands}
        for number in range(ROUNDS + 1):
            for key, (command, code) in commands.items():
                elapsed = seconds(command, codes=(code,))
                if number:
                    times[key].append(elapsed)
    middle = {key: statistics.median(values) for key, values in times.items()}
    report(
        "validate_many",
        {
            "environments": NUMBER,
            "seconds": {key: summary(values) for key, values in times.items()},
            "milliseconds_each": {
                key: round(middle[key] / NUMBER * 1000, 2) for key in middle if key != "one"
            },
            "times_one": round(middle["valid"] / middle["one"], 1),
        },
        {"valid": (middle["valid"], 6.0), "faulty": (middle["faulty"], 6.0)},
    )


def write(folder: Path, *, broken: bool) -> None:
    """`NUMBER` environments; with `broken`, every tenth has one of the faults."""
    first = folder / "env-000"
    subprocess.run([AKOTF, "init", str(first)], check=True, capture_output=True)
    text = (first / "akotf.yaml").read_text()
    for number in range(1, NUMBER):
        name = f"env-{number:03}"
        shutil.copytree(first, folder / name)
        mine = text.replace("name: env-000", f"name: {name}")
        if broken and number % 10 == 0:
            mine = mine.replace(*FAULTS[number // 10 % len(FAULTS)])
        (folder / name / "akotf.yaml").write_text(mine)


if __name__ == "__main__":
    main()
