"""A node directory with a real process in it that stands in for a training."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from akotf.facts import process
from akotf.facts.files import write_json_atomic

# Starts a child of its own, writes its heartbeat from argv, says so, and waits to be told to end.
TRAINING = """
import json, os, subprocess, sys, time
beat, values = sys.argv[1], json.loads(sys.argv[2])
child = subprocess.Popen(["sleep", "600"])
if values is not None:
    with open(beat + ".new", "w") as file:
        json.dump({"schema": 1, "step": 7, "total_steps": 100, "loss": 2.5, "phase": "train", "time": time.time(),
                   "pid": os.getpid(), "hyperparameters": values, "libraries": {"torch": "2.13.0"}}, file)
    os.rename(beat + ".new", beat)
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


class Node:
    """A node directory; `start` puts a live process into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[str]] = []
        self.leader = self.child = 0

    def baseline(self, **groups: Any) -> dict[str, Any]:
        """Write baseline.json and hyperparameters.json."""
        data = {
            "schema": 1, "deployment": "env/ws/here", "hyperparameters": {}, "environment": {}, "limits": {},
            "libraries": {}, "gpu_settings": {}, **groups,
        }  # fmt: skip
        write_json_atomic(self.folder / "baseline.json", data)
        write_json_atomic(self.folder / "hyperparameters.json", data["hyperparameters"])
        return data

    def start(self, environment: dict[str, str], in_use: dict[str, Any] | None, **more: Any) -> None:
        """Start a process with exactly this environment, reporting these values in use (None: no heartbeat)."""
        beat = self.folder / "heartbeat.json"
        started = subprocess.Popen(
            [sys.executable, "-I", "-c", TRAINING, str(beat), json.dumps(in_use)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.running.append(started)
        assert started.stdout is not None
        self.leader, self.child = started.pid, int(started.stdout.readline())
        start = process.process_start(started.pid)
        live = {
            "schema": 1, "run": "r1", "attempt": 1, "pid": started.pid, "pid_start": start,
            "boot_id": process.boot_id(), "heartbeat": str(beat), "environment_keys": sorted(environment),
            "baseline": "sha256:0", **more,
        }  # fmt: skip
        write_json_atomic(self.folder / "live.json", live)

    def stop(self) -> None:
        """End every process and collect it."""
        for started in self.running:
            started.communicate("")
        self.running.clear()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """An empty node directory whose processes end with the test."""
    built = Node(tmp_path)
    try:
        yield built
    finally:
        built.stop()
