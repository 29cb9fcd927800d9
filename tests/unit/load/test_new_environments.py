"""`init`: a new environment validates at once, its training keeps the contract, nothing is overwritten."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from akotf.errors import ConfigError, UsageError
from akotf.load.environment import load
from akotf.load.init import TEMPLATE, init
from akotf.model.run import Progress

CATALOGUE = Path(__file__).parents[3] / "iac"


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    init(tmp_path / "fresh", "fresh", [CATALOGUE])
    return tmp_path / "fresh"


def test_the_skeleton_names_the_template_that_is_pinned(fresh: Path) -> None:
    assert f"template: {TEMPLATE} " in (fresh / "akotf.yaml").read_text()


def test_a_new_environment_loads_and_is_pinned(fresh: Path) -> None:
    state = load(fresh, catalogues=[CATALOGUE])
    assert state.environment.name == "fresh"
    assert state.template.content in (fresh / "akotf.lock").read_text()
    assert state.run.outputs == ("model.json", "metrics.json", "sample.txt")
    assert "@NAME@" not in "".join(p.read_text() for p in fresh.iterdir())


@pytest.mark.parametrize("name", ["null", "yes", "off", "true", "n"])
def test_a_name_that_yaml_takes_for_something_else_is_written_as_text(name: str, tmp_path: Path) -> None:
    init(tmp_path / "x", name, [CATALOGUE])
    assert load(tmp_path / "x", catalogues=[CATALOGUE]).environment.name == name
    assert yaml.safe_load((tmp_path / "x" / "akotf.yaml").read_text())["name"] == name


def test_nothing_is_overwritten(fresh: Path) -> None:
    (fresh / "akotf.yaml").unlink()
    before = {p: p.read_bytes() for p in fresh.iterdir()}
    with pytest.raises(UsageError, match=r"train\.py"):
        init(fresh, "fresh", [CATALOGUE])
    assert {p: p.read_bytes() for p in fresh.iterdir()} == before


@pytest.mark.parametrize(
    ("name", "better"), [("My_Training", "my-training"), ("9", "my-training"), ("", "my-training")]
)
def test_a_name_that_can_not_be_is_answered_with_one_that_can(name: str, better: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        init(tmp_path / "x", name, [CATALOGUE])
    assert caught.value.remedy.endswith(f"--name {better}")
    assert not (tmp_path / "x").exists()


def test_without_the_template_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no template gpu-training"):
        init(tmp_path / "x", "x", [tmp_path])
    assert not (tmp_path / "x").exists()


def run_training(folder: Path, run: Path, **more: str) -> subprocess.Popen[bytes]:
    hyperparameters = run / "hyperparameters.json"
    if not hyperparameters.exists():
        run.mkdir(parents=True, exist_ok=True)
        hyperparameters.write_text(json.dumps({"steps": 60, "checkpoint_interval": 20, "learning_rate": 0.1}))
    environment = {
        "PATH": os.environ["PATH"], "AKOTF_HYPERPARAMETERS": str(hyperparameters), "AKOTF_BASELINE": "sha256:b",
        "AKOTF_HEARTBEAT": str(run / "heartbeat.json"), "AKOTF_CHECKPOINTS": str(run / "checkpoints"),
        "AKOTF_OUTPUTS": str(run / "outputs"), **more,
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "train.py"], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )


def test_its_training_learns_and_keeps_the_contract(fresh: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert run_training(fresh, run).wait() == 0
    beat = json.loads((run / "heartbeat.json").read_text())
    assert beat.pop("schema") == 1
    progress = Progress.model_validate(beat)
    assert (progress.step, progress.total_steps, progress.phase) == (60, 60, "done")
    assert progress.hyperparameters["learning_rate"] == 0.1
    assert progress.loss < 2.7  # a guess that knows nothing of 27 letters costs ln 27 = 3.3 nats
    folders = sorted(p.name for p in (run / "checkpoints").iterdir())
    assert folders == ["step-00000020", "step-00000040", "step-00000060"]
    manifest = json.loads((run / "checkpoints" / folders[0] / "manifest.json").read_text())
    data = (run / "checkpoints" / folders[0] / "model.json").read_bytes()
    assert manifest == {
        "schema": 1, "step": 20, "baseline": "sha256:b",
        "files": {"model.json": {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}},
    }  # fmt: skip
    assert {p.name for p in (run / "outputs").iterdir()} == {"model.json", "metrics.json", "sample.txt"}


def test_a_resumed_training_ends_like_one_that_was_never_stopped(fresh: Path, tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    assert run_training(fresh, whole).wait() == 0
    start = str(whole / "checkpoints" / "step-00000020")
    assert run_training(fresh, resumed, AKOTF_RESUME_FROM=start).wait() == 0
    assert (resumed / "outputs" / "model.json").read_bytes() == (
        whole / "outputs" / "model.json"
    ).read_bytes()


def test_asked_to_stop_it_saves_and_leaves(fresh: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "hyperparameters.json").write_text('{"steps": 1000000, "checkpoint_interval": 1000000}')
    process = run_training(fresh, run)
    try:
        while not (run / "heartbeat.json").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    (checkpoint,) = (run / "checkpoints").iterdir()
    assert json.loads((checkpoint / "manifest.json").read_text())["step"] >= 1
