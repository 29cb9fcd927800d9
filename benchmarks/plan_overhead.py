"""What `akotf plan` costs over the bare `terraform plan` of the same root, with a cached profile."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from common import AKOTF, copy_of_quickstart, report, seconds, summary, terraform

ROUNDS = 5


def bare_plan(root: Path) -> float:
    """`terraform plan` in the rendered root, as a person would type it, with the environment akotf gives it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TF_")} | {
        "CHECKPOINT_DISABLE": "1"
    }
    begin = time.perf_counter()
    done = subprocess.run(
        [terraform(), "plan", "-input=false", "-no-color", "-lock=false"],
        cwd=root, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"terraform plan: {done.stdout}{done.stderr}")
    return time.perf_counter() - begin


def main() -> None:
    """Median of five pairs, in turn, after one plan that measures the device and initialises the root."""
    with tempfile.TemporaryDirectory() as work:
        environment = copy_of_quickstart(Path(work))
        command = [AKOTF, "plan", str(environment), "--json"]
        first = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if first.returncode:
            raise RuntimeError(f"akotf plan: {first.stdout}{first.stderr}")
        root = Path(json.loads(first.stdout)["terraform"]["root"])
        akotf, bare = [], []
        for _ in range(ROUNDS):
            akotf.append(seconds(command))
            bare.append(bare_plan(root))
    over = statistics.median(akotf) - statistics.median(bare)
    report(
        "plan_overhead",
        {
            "seconds": {"akotf_plan": summary(akotf), "terraform_plan": summary(bare)},
            "ratio": round(statistics.median(akotf) / statistics.median(bare), 2),
        },
        {"seconds_over_terraform": (over, 0.7)},
    )


if __name__ == "__main__":
    main()
