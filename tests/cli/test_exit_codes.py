"""Each exit code of the design, produced for real."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from akotf.model.journal import Actor
from akotf.model.layout import Layout
from akotf.store.leases import FileLeases
from akotf.wiring.binding import SystemClock

CAMPUS = (
    "  campus: {kind: hpc, backend: slurm, partition: gpu, price: 0.01 USD/gpu/h, queue_wait: 1m, nodes: "
    "{count: 2, gpu: A100-80GB, gpus: 8, cpus: 64, memory: 512 GiB}}"
)


def edit(project: Any, old: str, new: str) -> None:
    file = project.environment / "akotf.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.fixture
def project(new_project: Any) -> Any:
    return new_project(steps=40, checkpoint_interval=20)


def test_0_and_nothing_to_do_the_second_time(applied: Any) -> None:
    assert applied.result["state"] == "succeeded"
    again = applied.json("apply", str(applied.environment), "-y")
    assert again == {"schema": 1, "run": None, "changed": False}
    assert len(applied.runs()) == 1


def test_1_for_faults_and_for_what_is_not_there(project: Any) -> None:
    edit(project, "template: gpu-training@1.0.0", "template: gpu-training@9.9.9")
    assert "9.9.9" in project.akotf("plan", str(project.environment), code=1).stderr
    assert "no run yet" in project.akotf("status", str(project.environment), code=1).stderr


@pytest.mark.terraform
def test_2_when_applying_would_change_something(project: Any) -> None:
    env = str(project.environment)
    assert project.json("plan", env, "--detailed-exitcode", code=2)["terraform"]["changes"]
    project.akotf("plan", env)  # without the flag a plan is a success


def test_3_denied_by_policy_of_the_configuration(project: Any) -> None:
    edit(project, "budget: 10 USD", "budget: 0.00 USD")
    done = project.akotf("apply", str(project.environment), "-y", code=3)
    assert "budget-present" in done.stderr
    assert "budget: 25 USD" in done.stderr  # the remedy
    assert project.json("validate", str(project.environment), code=3)["valid"] is False
    assert project.runs() == []


def test_3_denied_by_policy_of_the_selection(project: Any) -> None:
    """8 GPUs of the final choice are more than the 4 of the project's own total-gpus."""
    rule = project.folder / "policies" / "total-gpus" / "rule.yaml"
    rule.write_text(rule.read_text().replace("max: 64", "max: 4"))
    edit(project, "  workstation: {kind: local}", CAMPUS)
    edit(project, "parameters:", "parameters:\n  gpus: 8\n  gpus_optional: false")
    done = project.akotf("plan", str(project.environment), code=3)
    assert "8 GPUs (1 nodes x 8) are more than the 4" in done.stderr
    error = project.json("plan", str(project.environment), code=3)["error"]
    assert [v["rule"] for v in error["findings"]] == ["total-gpus"]


@pytest.mark.terraform
def test_3_when_nobody_approved(project: Any) -> None:
    """Without a terminal only -y approves; nothing is applied."""
    done = project.akotf("apply", str(project.environment), code=3)
    assert "not approved" in done.stderr
    assert project.runs() == []
    assert not list(project.environment.glob(".akotf/state/*/*/terraform.tfstate"))


def test_4_nothing_is_feasible(project: Any) -> None:
    edit(project, "deadline: 2h", "deadline: 1s")
    done = project.akotf("plan", str(project.environment), code=4)
    assert "deadline" in done.stderr
    assert "raise objective.deadline to " in done.stderr
    selection = project.json("plan", str(project.environment), code=4)["error"]["selection"]
    assert selection["winner"] is None
    assert selection["relaxation"]["limit"] == "deadline"


def test_4_no_machine_is_large_enough(project: Any) -> None:
    error = project.json("apply", str(project.environment), "-y", "-p", "memory=64 TiB", code=4)["error"]
    assert "memory" in error["message"]
    assert error["selection"]["losers"][0]["reason"]
    assert project.runs() == []


def test_5_locked_says_who_since_when_doing_what(project: Any) -> None:
    layout = Layout(project.environment)
    grace = Actor(user="grace", host=socket.gethostname())
    with FileLeases(layout.locks, clock=SystemClock(), identity=grace).acquire("trial", "destroy"):
        done = project.akotf("apply", str(project.environment), "-y", code=5)
        assert "locked by grace@" in done.stderr
        assert "for destroy, since " in done.stderr
        assert "--lock-timeout" in done.stderr
        error = project.json("apply", str(project.environment), "-y", "--lock-timeout", "1s", code=5)["error"]
        assert (error["code"], error["retryable"]) == ("locked", True)
        assert "waited 1s" in error["message"]
    assert project.runs() == []


@pytest.mark.terraform
def test_6_the_run_failed_and_left_evidence(project: Any) -> None:
    (project.environment / "train.py").write_text(
        'import sys\nprint("no luck", file=sys.stderr)\nsys.exit(1)\n'
    )
    done = project.akotf("apply", str(project.environment), "-y", "--json", code=6)
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["run"]["state"]) == ("run-failed", "failed")
    assert error["run"]["attempts"][0]["exit_code"] == 1
    assert "akotf logs" in error["remedy"]
    assert project.akotf("logs", str(project.environment), "--stream", "stderr").stdout == "no luck\n"
    status = project.json("status", str(project.environment))
    assert status["state"] == "failed"
    assert project.json("verify", status["evidence"])["intact"] is True
    # a failed run's machines stay to be looked at (teardown: on-success); destroy takes them
    assert project.json("destroy", str(project.environment), "-y")["destroyed"]
    assert project.json("destroy", str(project.environment), "-y")["destroyed"] == []
