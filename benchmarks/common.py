"""What the benchmarks share: timing programs side by side, and printing JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
QUICKSTART = PROJECT / "environments" / "quickstart"
PYTHON = sys.executable
#: The program as it is installed beside the interpreter.
AKOTF = str(Path(sys.executable).with_name("akotf"))


def seconds(command: Sequence[str], *, cwd: Path = PROJECT, codes: Sequence[int] = (0,)) -> float:
    """Wall time of one call; its output is thrown away. RuntimeError on another exit code than `codes`."""
    begin = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    elapsed = time.perf_counter() - begin
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return elapsed


def side_by_side(
    commands: Mapping[str, Sequence[str]], rounds: int = 10, cwd: Path = PROJECT
) -> dict[str, list[float]]:
    """Times of all commands, in turn, so that what disturbs the machine disturbs each of them; one warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            elapsed = seconds(command, cwd=cwd)
            if number:
                times[name].append(elapsed)
    return times


def summary(times: Sequence[float]) -> dict[str, float]:
    """Median, least and most, in seconds."""
    return {
        "median": round(statistics.median(times), 4),
        "min": round(min(times), 4),
        "max": round(max(times), 4),
        "rounds": len(times),
    }


def report(name: str, figures: Mapping[str, Any], limits: Mapping[str, tuple[float, float]]) -> None:
    """Print the result as JSON. `limits`: figure -> (found, at most); a figure over its limit is named, not hidden."""
    rows = {
        key: {"found": round(found, 4), "at_most": most, "met": found <= most}
        for key, (found, most) in limits.items()
    }
    machine = {
        "cpus": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
    }
    print(
        json.dumps({"schema": 1, "benchmark": name, "machine": machine, **figures, "limits": rows}, indent=2)
    )


def terraform() -> str:
    """The Terraform or OpenTofu that akotf would take."""
    local = PROJECT / ".tools" / "terraform"
    found = str(local) if local.exists() else shutil.which("terraform") or shutil.which("tofu")
    if not found:
        raise RuntimeError("there is no terraform or tofu; `./dev tools` fetches one")
    return found


def copy_of_quickstart(folder: Path) -> Path:
    """A fresh copy of the quickstart without anything that was deployed, so that the folder in git stays as it is."""
    target = folder / "quickstart"
    shutil.copytree(QUICKSTART, target, ignore=shutil.ignore_patterns(".akotf", "outputs", "screenshots"))
    return target
