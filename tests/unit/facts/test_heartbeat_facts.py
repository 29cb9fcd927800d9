"""Heartbeats: what counts as one."""

import json
from pathlib import Path
from typing import Any

import pytest

from akotf.facts import heartbeat
from akotf.model.run import Progress

BEAT: dict[str, Any] = {
    "schema": 1, "step": 5, "total_steps": 300, "loss": 3.25, "step_time": 0.1, "train_seconds": 1.5,
    "train_steps": 4, "phase": "train",
    "hyperparameters": {"learning_rate": 0.001}, "libraries": {"torch": "2.13.0"}, "time": 1000.5, "pid": 12,
}  # fmt: skip


def test_a_heartbeat_is_a_progress(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text(json.dumps({**BEAT, "framework": "other"}))
    found = heartbeat.read(path)
    assert Progress.model_validate(found).to_json() == {k: v for k, v in BEAT.items() if k != "schema"}


def test_the_smallest_heartbeat_is_step_and_time() -> None:
    assert heartbeat.parse({"step": 0, "time": 1}) == {
        "step": 0, "time": 1, "hyperparameters": {}, "libraries": {},
    }  # fmt: skip


def test_a_training_that_diverged_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text('{"step": 1, "time": 1, "loss": NaN, "hyperparameters": {"learning_rate": Infinity}}')
    found = heartbeat.read(path)
    assert found["loss"] is None
    assert found["hyperparameters"] == {"learning_rate": "inf"}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"step": -1}, "step"), ({"step": True}, "step"), ({"step": 1.5}, "step"), ({"step": None}, "step"),
        ({"loss": "low"}, "loss"), ({"time": float("nan")}, "time"), ({"phase": 3}, "phase"),
        ({"hyperparameters": []}, "hyperparameters"), ({"libraries": {"torch": 2}}, "torch"), ({"schema": 2}, "schema 2"),
    ],
)  # fmt: skip
def test_foreign_content_is_unreadable_and_says_what(change: dict[str, Any], why: str) -> None:
    with pytest.raises(heartbeat.Unreadable, match=why):
        heartbeat.parse({**BEAT, **change})


@pytest.mark.parametrize("text", ["", '{"step": 1', "[]", "3"])
def test_half_written_is_unreadable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "h.json"
    path.write_text(text)
    with pytest.raises(heartbeat.Unreadable):
        heartbeat.read(path)


def test_none_yet_is_its_own_case(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        heartbeat.read(tmp_path / "h.json")
