"""The training's helper: heartbeats, checkpoints, stop signals; with akotf and by itself."""

from __future__ import annotations

import ast
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import akotf.runtime.akotf_runtime as runtime
from akotf.model.run import Progress
from akotf.runtime import Training, read_manifest

SOURCE = Path(runtime.__file__)


@pytest.fixture(autouse=True)
def no_akotf(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        n for n in os.environ if n.startswith("AKOTF_") or n in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    ]:
        monkeypatch.delenv(name)


def beat(folder: Path) -> Progress:
    data = json.loads((folder / "heartbeat.json").read_text())
    assert data.pop("schema") == 1
    return Progress.model_validate(data)


def write(folder: Path) -> None:
    (folder / "model.pt").write_bytes(b"weights")
    (folder / "shards").mkdir()
    (folder / "shards/0.bin").write_bytes(b"")


def test_heartbeat_tells_what_is_in_use(tmp_path: Path) -> None:
    with Training(10, heartbeat_interval=0, directory=str(tmp_path)) as training:
        assert beat(tmp_path).phase == "setup"
        training.step(3, 2.5, learning_rate=0.01, optimizer="adam")
        progress = beat(tmp_path)
        assert (progress.step, progress.total_steps, progress.loss, progress.phase) == (3, 10, 2.5, "train")
        assert progress.hyperparameters == {"learning_rate": 0.01, "optimizer": "adam"}
        assert progress.pid == os.getpid()
        assert progress.step_time is None, "nobody knows when the first step began"
        with training.phase("evaluate"):
            assert beat(tmp_path).phase == "evaluate"
    assert beat(tmp_path).phase == "done"


def test_heartbeat_is_throttled(tmp_path: Path) -> None:
    with Training(heartbeat_interval=1000, directory=str(tmp_path)) as training:
        training.step(1, 1.0)
        assert beat(tmp_path).step == 0
    assert beat(tmp_path).step == 1, "the last one is always told"


def test_training_goes_on_when_its_heartbeat_can_not_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Training(heartbeat_interval=0, directory=str(tmp_path)) as training:
        (tmp_path / "heartbeat.json").unlink()
        (tmp_path / "heartbeat.json").mkdir()
        training.step(1, 1.0)
        training.step(2, 1.0)
    assert capsys.readouterr().err.count("heartbeat can't be written") == 1


class OneElement:
    """Stands for a tensor: what has `item` and `float` is taken."""

    def item(self) -> float:
        return 0.5

    def __float__(self) -> float:
        return 0.5


def test_tensors_and_diverged_losses(tmp_path: Path) -> None:
    with Training(heartbeat_interval=0, directory=str(tmp_path)) as training:
        training.step(1, OneElement(), learning_rate=OneElement(), warmup=None, steps=7)
        assert beat(tmp_path).loss == 0.5
        assert beat(tmp_path).hyperparameters == {"learning_rate": 0.5, "warmup": None, "steps": 7}
        training.step(2, math.nan, learning_rate=math.inf)
        assert beat(tmp_path).loss is None
        assert beat(tmp_path).hyperparameters == {"learning_rate": "inf"}


def test_time_of_setup_and_phases_counts_in_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(runtime.time, "monotonic", lambda: now[0])
    with Training(heartbeat_interval=0, directory=str(tmp_path)) as training:
        now[0] += 30.0  # the model is built
        for step in (1, 2, 3):
            now[0] += 2.0
            training.step(step)
            with training.phase("evaluate"):
                now[0] += 50.0
    assert beat(tmp_path).step_time == 2.0
    assert (beat(tmp_path).train_seconds, beat(tmp_path).train_steps) == (4.0, 2)


def test_checkpoint_is_complete_or_not_there(tmp_path: Path) -> None:
    training = Training(directory=str(tmp_path))
    final = training.save(100, write)
    assert final == tmp_path / "checkpoints/step-00000100"
    manifest = read_manifest(final)
    assert (manifest["step"], sorted(manifest["files"])) == (100, ["model.pt", "shards/0.bin"])
    # SHA-256 of no bytes (FIPS 180-4 test value) and of `weights` (coreutils sha256sum)
    assert manifest["files"]["shards/0.bin"] == {
        "size": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }  # fmt: skip
    (final / "model.pt").write_bytes(b"weighty")
    with pytest.raises(ValueError, match="digest differs"):
        read_manifest(final)


def test_writer_that_fails_leaves_no_checkpoint(tmp_path: Path) -> None:
    training = Training(directory=str(tmp_path))

    def fail(folder: Path) -> None:
        write(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        training.save(100, fail)
    assert list((tmp_path / "checkpoints").glob("step-*")) == []
    with training:
        assert list((tmp_path / "checkpoints").iterdir()) == [], (
            "what a crash cut off is swept at the next start"
        )


def test_writer_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="left no file"):
        Training(directory=str(tmp_path)).save(1, lambda folder: None)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_newest_are_kept(tmp_path: Path, keep: int) -> None:
    training = Training(keep=keep, directory=str(tmp_path))
    for step in range(100, 600, 100):
        training.save(step, write)
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == [f"step-{step:08d}" for step in range(600 - 100 * keep, 600, 100)]


def test_drifted_checkpoints_never_push_out_the_last_approved_one(tmp_path: Path) -> None:
    training = Training(keep=2, defaults={"learning_rate": 0.001}, directory=str(tmp_path))
    for step, rate in ((100, 0.001), (200, 0.001), (300, 0.01), (400, 0.01), (500, 0.01)):
        training.step(step, 2.0, learning_rate=rate)
        training.save(step, write)
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == ["step-00000200", "step-00000400", "step-00000500"]
    # with the approved values back, the oldest go again
    for step in (600, 700):
        training.step(step, 2.0, learning_rate=0.001)
        training.save(step, write)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [
        "step-00000600",
        "step-00000700",
    ]


def test_the_environment_says_how_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AKOTF_CHECKPOINT_KEEP", "1")
    training = Training(directory=str(tmp_path))
    for step in (100, 200):
        training.save(step, write)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000200"]


def test_new_one_stays_beside_later_ones_of_an_abandoned_try(tmp_path: Path) -> None:
    """After going back to step 100, what was saved at 300 must not push the new 200 out."""
    training = Training(keep=2, directory=str(tmp_path))
    for step in (300, 400, 200):
        path = training.save(step, write)
    assert path.is_dir()
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2


def test_same_step_again_replaces(tmp_path: Path) -> None:
    training = Training(directory=str(tmp_path))
    training.save(100, write)
    training.save(100, lambda folder: (folder / "model.pt").write_bytes(b"second"))
    assert (tmp_path / "checkpoints/step-00000100/model.pt").read_bytes() == b"second"
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-00000100"]


def test_keep_none_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Training(keep=0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_stop_signals_ask_to_save_and_leave(tmp_path: Path, number: int) -> None:
    before = signal.getsignal(number)
    with Training(directory=str(tmp_path)) as training:
        assert not training.should_stop
        os.kill(os.getpid(), number)
        assert training.should_stop
    assert signal.getsignal(number) is before
    assert beat(tmp_path).phase != "done"


def test_other_ranks_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    with Training(heartbeat_interval=0, directory=str(tmp_path)) as training:
        training.step(1, 1.0)
        path = training.save(1, write)
    assert (training.rank, training.world_size, training.local_rank, training.is_main) == (1, 2, 1, False)
    assert path.name == "step-00000001"
    assert list(tmp_path.iterdir()) == []


def test_everything_from_akotf_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node, run = tmp_path / "node", tmp_path / "run"
    node.mkdir()
    (node / "hyperparameters.json").write_text('{"learning_rate": 0.001}')
    (node / "baseline.json").write_text(
        '{"libraries": {"pydantic": "0", "python": "3", "no-such-thing": "1"}}'
    )
    for name, value in {
        "AKOTF_HYPERPARAMETERS": node / "hyperparameters.json", "AKOTF_CHECKPOINTS": run / "checkpoints",
        "AKOTF_OUTPUTS": run / "outputs", "AKOTF_HEARTBEAT": run / "attempt-1/heartbeat.json",
        "AKOTF_BASELINE": "sha256:7", "AKOTF_RESUME_FROM": run / "checkpoints/step-00000100",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    with Training(defaults={"learning_rate": 9, "seed": 1}) as training:
        assert training.hyperparameters == {"learning_rate": 0.001, "seed": 1}
        assert training.resume_from == run / "checkpoints/step-00000100"
        assert training.outputs.is_dir()
        saved = training.save(200, write)
    assert read_manifest(saved)["baseline"] == "sha256:7"
    libraries = beat(run / "attempt-1").libraries
    assert libraries["python"] == ".".join(map(str, sys.version_info[:3]))
    assert sorted(libraries) == ["pydantic", "python"], "what is not installed is not told"


@pytest.mark.parametrize("text", ["[1]", "{"])
def test_broken_hyperparameters_stop_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "h.json").write_text(text)
    monkeypatch.setenv("AKOTF_HYPERPARAMETERS", str(tmp_path / "h.json"))
    with pytest.raises(ValueError):
        Training(directory=str(tmp_path))


def test_file_stands_alone(tmp_path: Path) -> None:
    """Copied beside a script, isolated from every installed package, it works."""
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 9))
    imports = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert imports <= sys.stdlib_module_names
    (tmp_path / "akotf_runtime.py").write_text(SOURCE.read_text())
    script = tmp_path / "train.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from akotf_runtime import Training\n"
        "with Training(2, directory=sys.argv[1] + '/run') as t:\n"
        "    t.step(1, 0.5)\n"
        "    t.save(1, lambda folder: (folder / 'a').write_text('x'))\n"
    )
    subprocess.run([sys.executable, "-I", "-S", str(script), str(tmp_path)], check=True)
    assert read_manifest(tmp_path / "run/checkpoints/step-00000001")["step"] == 1
