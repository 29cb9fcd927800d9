"""Files that secrets are handed over in: gone once the training runs, and after every crash that would leave them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from akotf.backends.local import LocalBackend
from akotf.backends.local_launch import launch
from akotf.facts.files import read_json, write_json_atomic
from akotf.model.run import RunRequest, RunState
from akotf.testing.contract import BackendContract, finished, gone, ready, until

VALUES = {"TOKEN": b"the-value-of-token", "RAW": b'\xff\xfe line\nand "quotes"', "HOME": b"/a/secret/home"}


def request_for(folder: Path, *command: str, **changes: object) -> RunRequest:
    paths = {name: str(folder / "run/attempt-1/secrets" / name) for name in VALUES}
    request = BackendContract().request_for(folder, *command, secrets=paths, **changes)
    put(request)
    return request


def put(request: RunRequest) -> None:
    for name, path in request.secrets.items():
        Path(path).parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        Path(path).write_bytes(VALUES[name])


def test_values_arrive_and_their_folder_is_gone_while_the_training_runs(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    found = dict(
        e.split(b"=", 1) for e in Path(f"/proc/{training}/environ").read_bytes().split(b"\0") if b"=" in e
    )
    assert {name: found[name.encode()] for name in VALUES} == VALUES
    assert not (tmp_path / "run/attempt-1/secrets").exists()
    live = read_json(tmp_path / "node/live.json")
    assert live["secret_names"] == sorted(VALUES)
    supervisor = Path(f"/proc/{handle.native_id}/environ").read_bytes()
    assert [name for name, value in VALUES.items() if value in supervisor] == []
    backend.cancel(request, handle, 0.1)
    held = [p for p in tmp_path.rglob("*") if p.is_file() and VALUES["TOKEN"] in p.read_bytes()]
    assert held == []


def test_a_start_that_fails_leaves_no_file(tmp_path: Path) -> None:
    backend = LocalBackend()
    request = request_for(tmp_path, "exit", "0").model_copy(update={"command": ("/does/not/exist",)})
    status = finished(backend, request)
    assert (status.state, status.native) == (RunState.FAILED, "start_failed")
    assert not (tmp_path / "run/attempt-1/secrets").exists()


def test_a_secret_whose_file_is_not_there_fails_the_start_without_a_value(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "exit", "0")
    Path(request.secrets["RAW"]).unlink()
    status = finished(backend, request)
    assert (status.state, status.native) == (RunState.FAILED, "start_failed")
    assert "RAW" in status.reason
    assert not (tmp_path / "run/attempt-1/secrets").exists()


@pytest.mark.parametrize("rebooted", [False, True])
def test_what_a_killed_supervisor_left_goes_at_the_next_look(tmp_path: Path, rebooted: bool) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    for pid in (int(handle.native_id), training):
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: gone(pid), "its death")
    put(request)  # as if it had been killed before it could remove them
    if rebooted:
        claim = Path(request.attempt_directory) / "supervisor.json"
        write_json_atomic(claim, {**read_json(claim), "boot_id": "another boot"})
    assert backend.status(request, handle).state is RunState.FAILED
    assert not (tmp_path / "run/attempt-1/secrets").exists()


def test_the_launch_file_names_files_and_no_value(tmp_path: Path) -> None:
    request = request_for(tmp_path, "exit", "0")
    said = launch(request, 1.0)
    assert said["secrets"] == request.secrets
    assert "HOME" not in said["environment"]  # the secret's own, not the floor
    assert set(VALUES) <= set(said["live"]["environment_keys"])
