"""The quickstart's training by itself: it learns, resumes exactly, stops when asked, and tells what it really uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import akotf

pytestmark = pytest.mark.training

SCRIPT = Path(__file__).resolve().parents[2] / "environments" / "quickstart" / "train.py"
SMALL = {
    "layers": 2, "hidden": 32, "heads": 2, "sequence": 32, "batch": 16, "steps": 30, "dropout": 0.1,
    "learning_rate": 1e-3, "weight_decay": 0.1, "seed": 7, "checkpoint_interval": 10,
}  # fmt: skip


class Trial:
    """One start of train.py with akotf's protocol: the files that a backend would give it."""

    def __init__(
        self, folder: Path, hyperparameters: dict[str, Any], resume_from: Path | None = None
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.file = folder / "hyperparameters.json"
        self.file.write_text(json.dumps(hyperparameters))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(Path(akotf.__file__).parents[1]),  # the package under test, from any folder
            "OMP_NUM_THREADS": "1",
            "AKOTF_RUN_ID": "trial",
            "AKOTF_DEVICES": "",
            "AKOTF_HYPERPARAMETERS": str(self.file),
            "AKOTF_HEARTBEAT": str(folder / "heartbeat.json"),
            "AKOTF_CHECKPOINTS": str(folder / "checkpoints"),
            "AKOTF_OUTPUTS": str(folder / "outputs"),
        }
        if resume_from:
            self.environment["AKOTF_RESUME_FROM"] = str(resume_from)

    def start(self, *launcher: str) -> subprocess.Popen[str]:
        """The process, with its output in a pipe."""
        return subprocess.Popen(
            [sys.executable, *launcher, str(SCRIPT)],
            env=self.environment, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *launcher: str) -> str:
        """Run to the end; the output."""
        with self.start(*launcher) as process:
            output = process.communicate(timeout=200)[0]
        assert process.returncode == 0, output
        return output

    def heartbeat(self) -> dict[str, Any]:
        """The newest heartbeat; {} before the first."""
        path = self.folder / "heartbeat.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def metrics(self) -> dict[str, Any]:
        """metrics.json."""
        return json.loads((self.folder / "outputs" / "metrics.json").read_text())

    def losses(self, output: str) -> dict[int, str]:
        """Loss by step, as printed."""
        rows = [line.split() for line in output.splitlines() if line.startswith("step ")]
        return {int(row[1].split("/")[0]): row[3] for row in rows}


def wait_for(condition: Any, process: subprocess.Popen[str]) -> None:
    """Until the condition holds; fails when the process ends before."""
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, dict[int, str]]:
    """An uninterrupted run, and its losses by step."""
    trial = Trial(tmp_path_factory.mktemp("training") / "whole", SMALL)
    return trial, trial.losses(trial.run())


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[tuple[Trial, subprocess.Popen[str]]]:
    """A training that is past its third step and would go on for long."""
    trial = Trial(tmp_path / "endless", SMALL | {"steps": 1_000_000})
    with trial.start() as process:
        try:
            wait_for(lambda: trial.heartbeat().get("step", 0) >= 3, process)
            yield trial, process
        finally:
            process.kill()
            process.communicate()


def test_it_learns_more_than_letter_frequencies(tmp_path: Path) -> None:
    """A third of the quickstart's work is enough to beat the text's unigram entropy (3.128 nats) by 0.3 nats."""
    default = {"layers": 4, "hidden": 128, "heads": 4, "sequence": 64, "batch": 32, "steps": 100}
    trial = Trial(tmp_path / "full", SMALL | default | {"dropout": 0.0, "checkpoint_interval": 50})
    del trial.environment["OMP_NUM_THREADS"]
    trial.run()
    metrics = trial.metrics()
    assert metrics["unigram_entropy"] == pytest.approx(3.128, abs=0.001)
    assert metrics["validation_loss"] < metrics["unigram_entropy"] - 0.3
    assert metrics["margin"] == metrics["unigram_entropy"] - metrics["validation_loss"]
    assert metrics["steps"] == 100
    # tied embeddings V x h + positions S x h + 4 blocks of 12 h^2 + 13 h + last norm 2 h
    assert metrics["parameters"] == 70 * 128 + 64 * 128 + 4 * (12 * 128**2 + 13 * 128) + 2 * 128
    assert (trial.folder / "outputs" / "sample.txt").read_text().startswith("Alice ")
    assert (trial.folder / "outputs" / "model.pt").stat().st_size > 4 * metrics["parameters"]


def test_a_resumed_run_repeats_the_uninterrupted_one_bit_for_bit(
    whole: tuple[Trial, dict[int, str]], tmp_path: Path
) -> None:
    """With dropout: random numbers, data order, weights and optimiser all go on where they were."""
    import torch

    first, expected = whole
    resumed = Trial(tmp_path / "resumed", SMALL, resume_from=first.folder / "checkpoints" / "step-00000010")
    got = resumed.losses(resumed.run())
    assert set(expected) == {10, 20, 30}
    assert got == {20: expected[20], 30: expected[30]}
    states = [
        torch.load(trial.folder / "checkpoints" / "step-00000030" / "state.pt", weights_only=True)
        for trial in (first, resumed)
    ]
    for name, tensor in states[0]["model"].items():
        assert torch.equal(tensor, states[1]["model"][name]), name
    for number, moments in states[0]["optimizer"]["state"].items():
        assert torch.equal(moments["exp_avg_sq"], states[1]["optimizer"]["state"][number]["exp_avg_sq"])


def test_the_seed_reaches_the_data_order(whole: tuple[Trial, dict[int, str]], tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    other = Trial(tmp_path / "other", SMALL | {"seed": 8, "steps": 10})
    assert other.losses(other.run())[10] != whole[1][10]


def test_a_restart_takes_the_approved_rate_not_the_one_a_checkpoint_carries(
    whole: tuple[Trial, dict[int, str]], tmp_path: Path
) -> None:
    """The optimiser's saved state holds the rate of its day, which somebody may have tuned."""
    checkpoint = whole[0].folder / "checkpoints" / "step-00000030"
    approved = Trial(
        tmp_path / "approved", SMALL | {"learning_rate": 2e-3, "steps": 31}, resume_from=checkpoint
    )
    approved.run()
    assert approved.heartbeat()["hyperparameters"]["learning_rate"] == 2e-3


def test_the_heartbeat_tells_the_rate_really_in_use(
    endless: tuple[Trial, subprocess.Popen[str]],
) -> None:
    """The tuning hook leaves the file alone; the heartbeat shows ten times the approved rate."""
    trial, process = endless
    before = trial.file.read_bytes()
    assert trial.heartbeat()["hyperparameters"]["learning_rate"] == 1e-3
    process.send_signal(signal.SIGUSR2)
    wait_for(lambda: trial.heartbeat()["hyperparameters"]["learning_rate"] == pytest.approx(1e-2), process)
    assert trial.file.read_bytes() == before


def test_asked_to_stop_it_saves_the_step_it_is_at(endless: tuple[Trial, subprocess.Popen[str]]) -> None:
    """TERM leads to a complete checkpoint of the last step, and to an exit that no one takes for success."""
    from akotf.runtime import read_manifest

    trial, process = endless
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 143, output
    beat = trial.heartbeat()
    manifest = read_manifest(trial.folder / "checkpoints" / f"step-{beat['step']:08d}")
    assert manifest["step"] == beat["step"]
    assert beat["phase"] != "done"
    assert not (trial.folder / "outputs" / "metrics.json").exists()


def test_two_processes_train_the_same_model_as_one(tmp_path: Path) -> None:
    """torchrun with gloo: each takes half of the batch, and the mean gradient is that of the whole batch."""
    settings = SMALL | {"dropout": 0.0}
    one, two = Trial(tmp_path / "one", settings), Trial(tmp_path / "two", settings)
    one.run()
    two.run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    assert two.metrics()["validation_loss"] == pytest.approx(one.metrics()["validation_loss"], abs=1e-4)
    assert sorted(path.name for path in (two.folder / "checkpoints").iterdir()) == [
        "step-00000010", "step-00000020", "step-00000030",
    ]  # fmt: skip
