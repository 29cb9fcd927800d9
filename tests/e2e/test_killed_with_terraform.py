"""kill -9 of the real akotf before and after entries of its journal, with real Terraform, provider, agent and training.

Then `akotf recover` and `akotf apply`: one run in the end, one record of everything, nothing left running or locked.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.terraform]

#: akotf in a process that kills itself before or after it writes the first journal entry of a kind.
DYING = """
import os, signal, sys
from akotf.store.journal import SqliteJournal

when, kind = sys.argv[1:3]
append = SqliteJournal.append

def dying(self, entry, *args, **more):
    if (when, kind) == ("before", entry):
        os.kill(os.getpid(), signal.SIGKILL)
    found = append(self, entry, *args, **more)
    if (when, kind) == ("after", entry):
        os.kill(os.getpid(), signal.SIGKILL)
    return found

SqliteJournal.append = dying
from akotf.cli import main
sys.exit(main(sys.argv[3:]))
"""
POINTS = [
    ("before", "plan.made"), ("after", "plan.made"), ("after", "approval.given"),
    ("before", "apply.intent"), ("after", "apply.intent"), ("before", "apply.done"), ("after", "apply.done"),
    ("before", "run.intent"), ("after", "run.intent"), ("before", "run.submitted"), ("after", "run.submitted"),
    ("after", "attempt.started"), ("before", "attempt.ended"), ("after", "attempt.ended"), ("after", "run.ended"),
    ("after", "prediction.recorded"), ("before", "evidence.written"), ("after", "evidence.written"),
    ("after", "destroy.intent"), ("before", "destroy.done"),
]  # fmt: skip
ONCE = (
    "run.submitted",
    "attempt.started",
    "attempt.ended",
    "run.ended",
    "prediction.recorded",
    "evidence.written",
)


def of(project: Any) -> list[int]:
    """Processes that work for this project: its training, supervisor, agent, Terraform, provider."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            folder = os.readlink(entry / "cwd") if command else ""
        except OSError:
            continue
        if str(project.folder) in command.decode(errors="replace") + folder:
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(("when", "kind"), POINTS, ids=[f"{w}-{k}" for w, k in POINTS])
def test_a_kill_leaves_one_whole_run(new_project: Callable[..., Any], when: str, kind: str) -> None:
    project = new_project(steps=20, checkpoint_interval=10)
    env = str(project.environment)
    killed = subprocess.run(
        [sys.executable, "-c", DYING, when, kind, "apply", env, "-y"], cwd=project.folder, env=project.variables,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    account = project.json("recover", env)
    again = project.json("recover", env)
    # What was settled is not found again; the run may have come to its end in between.
    assert not [found for found in again["found"] if found["settled"] and found in account["found"]], (
        account,
        again,
    )
    project.akotf("apply", env, "-y")

    runs = project.runs()
    assert [(run["state"], len(run["attempts"])) for run in runs] == [("succeeded", 1)], account
    entries = project.json("audit", "log", env)["entries"]
    counts = Counter(entry["kind"] for entry in entries if entry["subject"] == runs[0]["id"])
    assert {name: counts[name] for name in ONCE} == dict.fromkeys(ONCE, 1), account
    assert Counter(entry["kind"] for entry in entries)["approval.given"] >= 1
    project.akotf("audit", "verify", env)
    project.akotf("verify", str(project.environment / ".akotf" / "evidence" / runs[0]["id"]))
    for state in project.environment.glob(".akotf/state/*/*/terraform.tfstate"):
        assert json.loads(state.read_bytes()).get("resources") == []  # teardown: on-success
    assert project.json("recover", env)["found"] == []
    agents = {
        json.loads(note.read_bytes())["pid"]
        for note in project.environment.glob(".akotf/state/*/*/node/agent.json")
    }
    assert set(of(project)) <= agents, "more than the node's agent runs, which leaves by itself"
