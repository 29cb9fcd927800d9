"""Only a checkpoint proved complete is gone on from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from akotf.errors import CheckpointError
from akotf.run.checkpoints import complete_steps, fault_of, newest_complete
from akotf.runtime import Training


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """Steps 100 and 200, as the runtime writes them."""
    training = Training(directory=str(tmp_path))
    for step in (100, 200):
        training.save(step, lambda folder, step=step: (folder / "model.pt").write_bytes(bytes([step]) * 1000))
    return tmp_path / "checkpoints"


def test_newest_is_taken(checkpoints: Path) -> None:
    assert newest_complete(checkpoints) == (checkpoints / "step-00000200", [])
    assert complete_steps(checkpoints) == [100, 200]


def test_none_is_no_error(tmp_path: Path) -> None:
    assert newest_complete(tmp_path / "none") == (None, [])
    assert complete_steps(tmp_path / "none") == []


def flip_a_byte(folder: Path) -> None:
    data = bytearray((folder / "model.pt").read_bytes())
    data[500] ^= 1
    (folder / "model.pt").write_bytes(data)


def name_a_file_outside(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] = {"../step-00000100/model.pt": manifest["files"]["model.pt"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


DAMAGES = {
    "SHA-256": flip_a_byte,
    "999 bytes instead of 1000": lambda folder: (folder / "model.pt").write_bytes(b"\xc8" * 999),
    "model.pt is missing": lambda folder: (folder / "model.pt").unlink(),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "can't be read": lambda folder: (folder / "manifest.json").write_text('{"schema": 1, "step'),
    "names no file": lambda folder: (folder / "manifest.json").write_text(
        '{"schema": 1, "step": 200, "files": {}}'
    ),
    "schema 2": lambda folder: (folder / "manifest.json").write_text(
        '{"schema": 2, "step": 200, "files": {}}'
    ),
    "is of step 7": lambda folder: (folder / "manifest.json").write_text(
        '{"schema": 1, "step": 7, "files": {}}'
    ),
    "outside": name_a_file_outside,
}


@pytest.mark.parametrize("word", DAMAGES)
def test_damaged_newest_is_named_and_the_one_before_is_taken(checkpoints: Path, word: str) -> None:
    DAMAGES[word](checkpoints / "step-00000200")
    found, broken = newest_complete(checkpoints)
    assert found == checkpoints / "step-00000100"
    assert len(broken) == 1 and broken[0].startswith("step-00000200: ") and word in broken[0]


def test_never_from_scratch_in_silence(checkpoints: Path) -> None:
    for folder in checkpoints.iterdir():
        (folder / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"step-00000200.*step-00000100"):
        newest_complete(checkpoints)


def test_half_written_folder_is_none(checkpoints: Path) -> None:
    (checkpoints / ".step-00000300.partial").mkdir()
    assert newest_complete(checkpoints) == (checkpoints / "step-00000200", [])


def test_step_that_was_being_replaced_still_counts(checkpoints: Path) -> None:
    """The writer died between its two renames."""
    (checkpoints / "step-00000200").rename(checkpoints / "step-00000200.replaced")
    assert newest_complete(checkpoints)[0] == checkpoints / "step-00000200.replaced"
    assert fault_of(checkpoints / "step-00000200.replaced") == ""


def test_a_checkpoint_trained_with_drifted_values_is_passed_over(tmp_path: Path) -> None:
    training = Training(directory=str(tmp_path))
    for step, rate in ((100, 0.001), (200, 0.01)):
        training.step(step, 2.0, learning_rate=rate)
        training.save(step, lambda folder: (folder / "model.pt").write_bytes(b"weights"))
    checkpoints = tmp_path / "checkpoints"

    found, passed_over = newest_complete(checkpoints, {"learning_rate": 1e-3, "steps": 300})
    assert found == checkpoints / "step-00000100"
    assert passed_over == ["step-00000200: it was trained with learning_rate 0.01 (approved 0.001)"]

    # under the values that it was trained with, it is the one to take
    assert newest_complete(checkpoints, {"learning_rate": 0.01}) == (checkpoints / "step-00000200", [])


def test_only_drifted_checkpoints_mean_the_first_step_and_say_so(tmp_path: Path) -> None:
    training = Training(directory=str(tmp_path))
    training.step(50, 2.0, learning_rate=0.01)
    training.save(50, lambda folder: (folder / "model.pt").write_bytes(b"weights"))
    found, passed_over = newest_complete(tmp_path / "checkpoints", {"learning_rate": 0.001})
    assert found is None
    assert len(passed_over) == 1
    # a broken one beside it may have been the right one: that is not decided in silence
    flip_a_byte(training.save(40, lambda folder: (folder / "model.pt").write_bytes(bytes(1000))))
    with pytest.raises(CheckpointError, match="step-00000040"):
        newest_complete(tmp_path / "checkpoints", {"learning_rate": 0.001})
