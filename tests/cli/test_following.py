"""A run that goes on by itself: detached, followed, left with Ctrl-C, come back to, cancelled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.terraform

ENDLESS = 200_000  # steps of some milliseconds each


@pytest.fixture(scope="module")
def project(new_project: Any) -> Any:
    """A training that would go on for long, and is planned as a model so small that this fits its deadline."""
    return new_project(
        steps=ENDLESS, checkpoint_interval=50, layers=1, hidden=4, heads=1, sequence=1, vocabulary=2, batch=1,
        wall_time="6h",
    )  # fmt: skip


def test_ctrl_c_leaves_the_run_alive_and_says_how_to_come_back_and_cancel_ends_it(project: Any) -> None:
    env = str(project.environment)
    apply = project.start("apply", env, "-y")
    project.until("the training has come to step 60", project.training_at(60), apply)
    apply.send_signal(signal.SIGINT)
    assert project.wait(apply, 60) == 130
    said = project.said(apply)
    assert f"akotf monitor {env}" in said
    assert f"akotf cancel {env}" in said
    assert "Traceback" not in said

    step = project.heartbeat()["step"]
    project.until("the training goes on", project.training_at(step + 20))
    status = project.json("status", env)
    assert (status["state"], status["attempt"], status["total_steps"]) == ("running", 1, ENDLESS)
    assert status["step"] > step
    assert status["pid"] and os.path.exists(f"/proc/{status['pid']}")
    assert 50 in status["checkpoints"]

    # apply comes back to the live run of the same revision; `plan` has nothing to change; destroy keeps off it
    again = project.json("apply", env, "-y", "--detach")
    assert again["id"] == status["run"]
    assert project.json("plan", env, "--detailed-exitcode", code=0)["terraform"]["changes"] == []
    assert "akotf cancel" in project.akotf("destroy", env, "-y", code=1).stderr
    refused = project.akotf("apply", env, "-y", "-p", "learning_rate=0.2", code=1).stderr
    assert "older revision" in refused

    monitor = project.start("monitor", env)
    follow = subprocess.Popen(
        [sys.executable, "-m", "akotf", "logs", env, "--follow"], stdout=subprocess.PIPE, text=True,
        env=project.variables,
    )  # fmt: skip
    project.started.append(follow)
    assert follow.stdout is not None
    assert follow.stdout.readline().startswith("step 50/")

    ended = project.json("cancel", env, "--grace", "20s")
    assert ended["state"] == "cancelled"
    assert not os.path.exists(f"/proc/{status['pid']}")
    # the one who watched sees the same end, once; the log ends with the attempt
    assert project.wait(monitor, 60) == 6
    assert "cancelled" in project.said(monitor)
    rest = follow.communicate(timeout=60)[0].splitlines()
    assert follow.returncode == 0
    assert rest[-1].startswith("step ")  # on TERM it saved and left
    kinds = [e["kind"] for e in project.json("audit", "log", env)["entries"]]
    assert kinds.count("run.ended") == kinds.count("evidence.written") == 1
    assert project.json("verify", project.json("status", env)["evidence"])["intact"] is True
    assert "already cancelled" in project.akotf("cancel", env).stderr
    assert project.json("destroy", env, "-y")["destroyed"] == [status["deployment"]]


def test_ctrl_c_while_it_plans_ends_it_with_130_and_frees_the_lease(project: Any) -> None:
    env = str(project.environment)
    apply = project.start("apply", env)  # without a terminal nobody approves, so this changes nothing
    project.until("it says something", lambda: "Validate" in project.said(apply), apply)
    apply.send_signal(signal.SIGINT)
    assert project.wait(apply, 60) in {130, 3}  # 3: it was through before the signal came
    assert "Traceback" not in project.said(apply)
    assert not list((project.environment / ".akotf" / "locks").glob("*.lease"))


def test_watching_status_ends_with_the_run(applied: Any) -> None:
    assert applied.json("status", str(applied.environment), "--watch")["state"] == "succeeded"
