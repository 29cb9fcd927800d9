"""Memory and CPU time of `akotf monitor` at a 5 s interval, while a real training runs."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil
from common import AKOTF, PYTHON, copy_of_quickstart, report

#: Long and light: it outlasts the measurement and leaves a CPU free.
SMALL = (
    "layers=1",
    "hidden=32",
    "heads=2",
    "sequence=16",
    "batch=4",
    "steps=200000",
    "checkpoint_interval=20000",
)
WARM_UP = 15.0  # seconds: imports and the first look do not belong to the steady state


def status(environment: Path) -> dict[str, object]:
    """`akotf status --json`."""
    done = subprocess.run(
        [AKOTF, "status", str(environment), "--json"], capture_output=True, text=True, check=False
    )
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def call(*arguments: str) -> None:
    """One akotf command that must succeed."""
    done = subprocess.run(
        [AKOTF, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise RuntimeError(f"akotf {' '.join(arguments)}: {done.stdout}{done.stderr}")


def measure(process: psutil.Process, duration: float) -> tuple[list[int], float]:
    """Resident bytes by the second, of the monitor and what it starts, and CPU seconds in all."""
    resident, begin = [], cpu_seconds(process)
    end = time.monotonic() + duration
    while time.monotonic() < end:
        resident.append(sum(p.memory_info().rss for p in family(process)))
        time.sleep(1)
    return resident, cpu_seconds(process) - begin


def family(process: psutil.Process) -> list[psutil.Process]:
    """The process and its children that live now."""
    return [process, *process.children(recursive=True)]


def cpu_seconds(process: psutil.Process) -> float:
    """User and system time of the process and of its children that have ended."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def main() -> None:
    """Train a long run, watch it for `--seconds`, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to measure (default: 60)")
    duration = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as work:
        environment = copy_of_quickstart(Path(work))
        text = (environment / "akotf.yaml").read_text()
        (environment / "akotf.yaml").write_text(text.replace("telemetry: 2s", "telemetry: 5s"))
        parameters = [word for pair in SMALL for word in ("-p", pair)]
        call("apply", str(environment), "-y", "--detach", "--scope", "workstation", *parameters)
        monitor = subprocess.Popen(
            [AKOTF, "monitor", str(environment)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            time.sleep(WARM_UP)
            resident, cpu = measure(psutil.Process(monitor.pid), duration)
            progress = status(environment)
        finally:
            monitor.send_signal(signal.SIGINT)
            monitor.wait(timeout=60)
            call("cancel", str(environment))
            call("destroy", str(environment), "-y")
    bare = subprocess.run(
        [PYTHON, "-c", "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    megabytes = max(resident) / 1e6
    share = cpu / duration
    report(
        "monitor_footprint",
        {
            "interval_seconds": 5,
            "measured_seconds": duration,
            "training_step": progress.get("step"),
            "resident_megabytes": {"most": round(megabytes, 1), "last": round(resident[-1] / 1e6, 1)},
            "cpu_seconds": round(cpu, 3),
            "bare_python_megabytes": round(int(bare.stdout) / 1e6, 1),
            "over_bare_python": round(max(resident) / int(bare.stdout), 2),
        },
        {"resident_megabytes": (megabytes, 120.0), "share_of_a_core": (share, 0.02)},
    )


if __name__ == "__main__":
    main()
