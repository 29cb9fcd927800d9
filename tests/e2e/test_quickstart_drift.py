"""The main job on a copy of the quickstart: planned, approved, trained, knocked off its baseline, healed, recorded.

One long test in steps that build on each other. The training waits a fifth of a second a step, in a phase that counts in no
step time, until the test lets it go: so the drifts come while it trains, on a fast machine and on a slow one.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.facts.files import write_json_atomic
from akotf.model.journal import Actor, Entry
from akotf.model.layout import Layout
from akotf.store.journal import SqliteJournal
from akotf.wiring.binding import SystemClock

pytestmark = [pytest.mark.training, pytest.mark.terraform, pytest.mark.timeout(600)]

TELEMETRY = 1.0  # s, as the copy's akotf.yaml says
SLACK = 15.0  # s: two shared cores, on which a look may have to wait for Terraform, another test, a slow disk
RATE = 0.002
SMALL = {
    "steps": 700, "checkpoint_interval": 20, "layers": 2, "hidden": 32, "heads": 2, "sequence": 32, "batch": 16,
    "learning_rate": RATE,
}  # fmt: skip
FILE = "hyperparameters.file.learning_rate"
LIMIT = "limits.open_files"
IN_USE = "hyperparameters.in_use.learning_rate"
WAITS = """\
        if not (TEXT.parents[1] / "go").exists():
            with training.phase("evaluate"):
                __import__("time").sleep(0.2)
"""


class Trial:
    """The copy, and its journal as it grows."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.env = str(project.environment)
        self.layout = Layout(project.environment)
        self.journal = SqliteJournal(
            self.layout.journal, clock=SystemClock(), actor=Actor(user="test", host="test")
        )
        script = project.environment / "train.py"
        loop = "        # Data order and dropout follow"
        assert script.read_text().count(loop) == 1
        script.write_text(script.read_text().replace(loop, WAITS + loop))

    def entry(self, kind: str, field: str, after: int = 0) -> Callable[[], Entry | None]:
        """The first entry of a kind about a field, after another entry."""

        def find() -> Entry | None:
            entries = self.journal.entries(kind=kind, after=after)
            return next((e for e in entries if e.body.get("field") == field), None)

        return find

    def drifts(
        self, field: str, tamper: Callable[[], Any], watch: subprocess.Popen[str]
    ) -> tuple[Entry, Entry]:
        """Change something; wait until it was seen and is healed. The two entries; the first in time."""
        begun, last = time.time(), list(self.journal.entries())[-1].sequence
        tamper()
        seen = self.project.until(f"{field} was seen", self.entry("drift.seen", field, last), watch)
        healed = self.project.until(
            f"{field} was healed", self.entry("drift.cleared", field, seen.sequence), watch
        )
        assert moment(seen) - begun <= 2 * TELEMETRY + SLACK
        return seen, healed

    def terraform(self, root: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Terraform (or OpenTofu) as somebody types it in the rendered root."""
        program = shutil.which("terraform") or shutil.which("tofu") or "terraform"
        return subprocess.run(
            [program, *arguments, "-input=false", "-no-color"], cwd=root, capture_output=True, text=True, check=False,
            env={**self.project.variables, "CHECKPOINT_DISABLE": "1"}, timeout=180,
        )  # fmt: skip


def moment(entry: Entry) -> float:
    return dt.datetime.fromisoformat(entry.time).timestamp()


def edited(file: Path, **values: Any) -> None:
    write_json_atomic(file, {**json.loads(file.read_bytes()), **values})


def lower_open_files(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (512, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


def ask_for_approval(trial: Trial) -> tuple[subprocess.Popen[str], int]:
    """`akotf apply --detach` with somebody at a terminal, at the moment it asks."""
    ours, theirs = pty.openpty()
    log = trial.project.folder / "asked.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "akotf", "apply", trial.env, "--detach"], cwd=trial.project.folder, text=True,
            env=trial.project.variables, stdin=theirs, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    os.close(theirs)
    trial.project.started.append(process)
    end = time.monotonic() + 180
    while "Only 'yes' is accepted" not in log.read_text():
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return process, ours


def test_the_run_is_knocked_off_its_baseline_three_times_and_healed(new_project: Any) -> None:
    trial = Trial(new_project(quickstart=True, **SMALL))
    project, env = trial.project, trial.env

    # Somebody is asked for approval, and holds the lease meanwhile: a second apply says who, since when, for what.
    process, terminal = ask_for_approval(trial)
    try:
        assert project.runs() == []
        error = project.json("apply", env, "-y", code=5)["error"]
        assert f"(process {process.pid}) for apply, since" in error["message"]
        os.write(terminal, b"yes\n")
        assert project.wait(process) == 0
    finally:
        os.close(terminal)
    status = project.json("status", env)
    node, root = Path(status["node_directory"]), status["root"]
    file = node / "hyperparameters.json"

    # Nobody watches yet. A plain `terraform plan` shows drift, and `terraform apply` heals it.
    project.until("it trains", project.training_at(5))
    assert trial.terraform(root, "plan", "-detailed-exitcode").returncode == 0
    edited(file, learning_rate=0.9)
    planned = trial.terraform(root, "plan", "-detailed-exitcode")
    assert planned.returncode == 2, planned.stderr
    assert "akotf_baseline" in planned.stdout
    assert "0.9" in planned.stdout
    found = project.json("drift", env, "--detailed-exitcode", code=2)
    assert configuration(found["drift"]) == [(FILE, RATE, 0.9)]
    assert "heal-in-place" in [d["action"] for d in found["decisions"]]
    applied = trial.terraform(root, "apply", "-auto-approve")
    assert applied.returncode == 0, applied.stderr
    assert json.loads(file.read_bytes())["learning_rate"] == RATE
    assert trial.terraform(root, "plan", "-detailed-exitcode").returncode == 0
    looked = project.akotf("drift", env, "--detailed-exitcode", "--json", code=None)
    found = json.loads(looked.stdout)["drift"]
    assert configuration(found) == []
    assert looked.returncode == (2 if found else 0)
    before = next(e for e in reversed(list(trial.journal.entries())) if e.kind == "drift.cleared").sequence

    # Now somebody watches: apply comes back to the run of its revision and follows it.
    watch = project.start("apply", env, "-y")
    project.until("its first checkpoint", lambda: project.json("status", env)["checkpoints"], watch)
    pid = project.json("status", env)["pid"]

    seen, healed = trial.drifts(FILE, lambda: edited(file, learning_rate=3 * RATE), watch)
    assert (seen.body["approved"], seen.body["observed"]) == (RATE, 3 * RATE)
    assert json.loads(file.read_bytes())["learning_rate"] == RATE
    assert in_place(trial, seen, healed) == [FILE]

    seen, healed = trial.drifts(LIMIT, lambda: lower_open_files(pid), watch)
    assert (seen.body["approved"], seen.body["observed"]) == (4096, 512)
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 4096
    assert in_place(trial, seen, healed) == [LIMIT]
    assert project.json("status", env)["attempt"] == 1

    seen, healed = trial.drifts(IN_USE, lambda: os.kill(pid, signal.SIGUSR2), watch)
    assert seen.body["observed"] == pytest.approx(10 * RATE)
    assert restarted(trial, seen, healed) == [IN_USE]
    assert not os.path.exists(f"/proc/{pid}")

    # Let go, it ends by itself.
    (project.environment / "go").touch()
    assert project.wait(watch) == 0, project.said(watch)
    (run,) = project.runs()
    assert run["state"] == "succeeded"
    first, second = run["attempts"]
    assert (first["outcome"], second["outcome"]) == ("restarted", "succeeded")
    assert Path(second["resumed_from"]).parent == Path(run["directory"]) / "checkpoints"

    # Exactly these three were healed while it was watched. (A busy machine may make it slow: that is told, not healed.)
    fields = [e.body["field"] for e in trial.journal.entries(kind="drift.cleared", after=before)]
    assert [f for f in fields if not f.startswith("performance.")] == [FILE, LIMIT, IN_USE]
    status = project.json("status", env)
    assert [f for f in status["drift"]["open"] if not f.startswith("performance.")] == []
    report = project.json("verify", status["evidence"])
    assert report["intact"] is True, report
    assert project.json("audit", "verify", env)["intact"] is True
    metrics = json.loads((Path(run["directory"]) / "outputs" / "metrics.json").read_text())
    assert metrics["validation_loss"] < metrics["unigram_entropy"]
    row = project.json("records", env)["runs"][0]
    assert row["observed_time"] > 0 and row["step_time_error"] is not None
    # on success the machines are given back
    assert project.json("destroy", env, "-y")["destroyed"] == []


def configuration(drifts: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    """All drift but that a busy machine makes the training slow."""
    return [(d["field"], d["approved"], d["observed"]) for d in drifts if d["kind"] != "performance"]


def in_place(trial: Trial, seen: Entry, healed: Entry) -> list[str]:
    """The fields of the one heal between seen and healed: through Terraform, on the baseline only."""
    done = [
        e
        for e in trial.journal.entries(kind="heal.done", after=seen.sequence)
        if e.sequence < healed.sequence
    ]
    (heal,) = done
    assert heal.body["addresses"] == ["module.local_gpu.akotf_baseline.this"]
    assert [c["address"] for c in heal.body["changes"] if c["actions"] != ["no-op"]] == heal.body["addresses"]
    return [drift["field"] for drift in heal.body["drifts"]]


def restarted(trial: Trial, seen: Entry, healed: Entry) -> list[str]:
    """The fields of the one restart between seen and healed: from the newest checkpoint there was."""
    done = [
        e
        for e in trial.journal.entries(kind="heal.done", after=seen.sequence)
        if e.sequence < healed.sequence
    ]
    (heal,) = done
    assert heal.body["action"] == "restart-from-checkpoint"
    assert heal.body["attempt"] == 2
    folder = Path(heal.body["resumed_from"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert folder.name == f"step-{manifest['step']:08d}"
    assert manifest["step"] > 0
    return [drift["field"] for drift in heal.body["drifts"]]
