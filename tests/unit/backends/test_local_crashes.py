"""The local backend after crashes: of its supervisor, of the machine, and with pids that were given away again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from akotf.backends.local import SUPERVISOR, LocalBackend
from akotf.backends.local_launch import launch
from akotf.backends.local_processes import Attempted, send_pinned
from akotf.errors import BackendError, TransientBackendError
from akotf.facts import process
from akotf.facts.files import read_json, write_json_atomic
from akotf.facts.node import living
from akotf.model.run import AttemptOutcome, Handle, RunRequest, RunState
from akotf.testing.contract import BackendContract, finished, gone, ready, runs, until


def request_for(folder: Path, *command: str, **changes: object) -> RunRequest:
    return BackendContract().request_for(folder, *command, **changes)


def kill_supervisor(handle: Handle) -> None:
    pid = int(handle.native_id)
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid), "the supervisor's death")


def test_killed_supervisor_is_seen_and_cancel_still_ends_the_training(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "stubborn")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    kill_supervisor(handle)

    status = backend.status(request, handle)
    assert (status.state, status.native) == (RunState.UNKNOWN, "orphaned")
    assert str(training) in status.reason
    assert not gone(training), "losing the supervisor must not end the training"
    assert backend.submit(request) == handle, "and must not start it again"

    ended = backend.cancel(request, handle, 0.2)
    assert (ended.state, ended.outcome) == (RunState.CANCELLED, AttemptOutcome.CANCELLED)
    assert gone(training)
    assert backend.status(request, handle) == ended
    assert not (tmp_path / "node/live.json").exists()
    assert runs(tmp_path) == ["1"]


def test_supervisor_and_training_killed_together_is_lost_to_the_node(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    kill_supervisor(handle)
    os.kill(training, signal.SIGKILL)
    until(lambda: gone(training), "the training's death")
    status = backend.status(request, handle)
    assert (status.state, status.outcome, status.native) == (
        RunState.FAILED,
        AttemptOutcome.NODE_FAILED,
        "lost",
    )
    assert "not known" in status.reason
    assert living(tmp_path / "node") is None, "a pointer to a dead process is no live run"


def test_reboot_is_node_failure(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    kill_supervisor(handle)
    os.kill(training, signal.SIGKILL)
    claim = Path(request.attempt_directory) / "supervisor.json"
    write_json_atomic(claim, {**read_json(claim), "boot_id": "another boot"})
    status = backend.status(request, handle)
    assert (status.state, status.outcome) == (RunState.FAILED, AttemptOutcome.NODE_FAILED)


def test_pid_that_was_given_to_another_process_is_not_taken_for_the_supervisor(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "exit", "0")
    finished(backend, request)
    folder = Path(request.attempt_directory)
    (folder / "exit.json").unlink()
    claim = folder / "supervisor.json"
    with subprocess.Popen(["sleep", "60"]) as other:
        write_json_atomic(claim, {**read_json(claim), "pid": other.pid})  # alive, and started at another time
        handle = backend.find(request)
        assert handle is not None
        assert backend.status(request, handle).native == "lost"
        backend.cancel(request, handle, 0.1)
        assert other.poll() is None, "a stranger was signalled"
        other.kill()


def test_only_the_pinned_process_is_signalled() -> None:
    start = process.process_start(os.getpid()) or ""
    assert send_pinned(os.getpid(), start, process.boot_id(), 0)
    assert not send_pinned(os.getpid(), start + "1", process.boot_id(), 0)
    assert not send_pinned(os.getpid(), start, "another boot", 0)
    assert not send_pinned(2**22 + 1, "1", process.boot_id(), 0)  # above PID_MAX_LIMIT: nobody


def test_only_one_supervisor_gets_the_claim(tmp_path: Path) -> None:
    """Three supervisors of one launch file, started together, past every look-up that comes before them."""
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    folder = Path(request.attempt_directory)
    folder.mkdir()
    write_json_atomic(folder / "launch.json", launch(request, 1.0))
    supervisors = [subprocess.Popen([*SUPERVISOR, str(folder)]) for _ in range(3)]
    assert [supervisor.wait() for supervisor in supervisors] == [0, 0, 0]
    handle = ready(backend, request, tmp_path)
    backend.cancel(request, handle, 0.1)
    assert runs(tmp_path) == ["1"]


def test_supervisor_told_to_leave_is_a_preemption(tmp_path: Path) -> None:
    """A shutdown TERMs every process: the run goes on after it, nobody cancelled it."""
    backend, request = LocalBackend(), request_for(tmp_path, "save")
    handle = ready(backend, request, tmp_path)
    os.kill(int(handle.native_id), signal.SIGTERM)
    until(lambda: backend.status(request, handle).state.final, "the end")
    assert backend.status(request, handle).outcome is AttemptOutcome.PREEMPTED
    assert (tmp_path / "run/saved").exists()


def test_training_never_executes_when_its_supervisor_dies_before_it_is_on_record(tmp_path: Path) -> None:
    """process.json can't be written: the supervisor dies and the forked child leaves without executing."""
    request = request_for(tmp_path, "exit", "0")
    folder = Path(request.attempt_directory)
    (folder / "process.json").mkdir(parents=True)
    backend = LocalBackend()
    handle = backend.submit(request)
    until(lambda: gone(int(handle.native_id)), "the supervisor's death")
    (folder / "process.json").rmdir()
    assert backend.status(request, handle).native == "lost"
    assert runs(tmp_path) == []


def test_live_pointer_while_it_runs_and_none_after(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait", environment={"A": "1"})
    handle = ready(backend, request, tmp_path)
    live = living(tmp_path / "node")
    assert live is not None
    assert (live.run, live.attempt) == (request.run_id, 1)
    assert live.pid == int((tmp_path / "run/ready").read_text())
    assert sorted(process.environ(live.pid)) == live.environment_keys
    backend.cancel(request, handle, 5)
    assert not (tmp_path / "node/live.json").exists()


def test_end_does_not_remove_the_pointer_of_a_later_attempt(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "save")
    handle = ready(backend, request, tmp_path)
    later = {**read_json(tmp_path / "node/live.json"), "pid": 1}
    write_json_atomic(tmp_path / "node/live.json", later)
    backend.cancel(request, handle, 5)
    assert read_json(tmp_path / "node/live.json") == later


def test_folder_of_another_attempt_is_refused(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "exit", "0")
    finished(backend, request)
    with pytest.raises(BackendError, match="belongs to attempt contract-a1"):
        backend.submit(request.model_copy(update={"key": "other-a1"}))


def test_broken_file_is_transient_not_a_failure(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "exit", "0")
    finished(backend, request)
    handle = backend.submit(request)
    (Path(request.attempt_directory) / "exit.json").write_text('{"cause": ')
    with pytest.raises(TransientBackendError, match="not JSON"):
        backend.status(request, handle)


def test_more_than_one_node_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="2 nodes"):
        LocalBackend().submit(request_for(tmp_path, "exit", "0", nodes=2))


def test_hard_limit_too_low_is_told(tmp_path: Path) -> None:
    """The kernel admits no more than fs.nr_open descriptors (proc(5)), not even to root."""
    over = int(Path("/proc/sys/fs/nr_open").read_text()) + 1
    status = finished(LocalBackend(), request_for(tmp_path, "exit", "0", limits={"open_files": over}))
    assert status.state is RunState.FAILED
    assert "start_failed" in status.reason and "limits.open_files" in status.reason
    assert runs(tmp_path) == []


def test_members_are_found_by_mark_session_and_descent(tmp_path: Path) -> None:
    backend, request = LocalBackend(), request_for(tmp_path, "wait")
    handle = ready(backend, request, tmp_path)
    training = int((tmp_path / "run/ready").read_text())
    marks = {"AKOTF_RUN_DIRECTORY": request.run_directory, "AKOTF_ATTEMPT": "1"}
    nobody = {"AKOTF_RUN_DIRECTORY": "/no/such/run"}
    assert Attempted(marks).members() == [training]
    assert Attempted(nobody, session=training).members() == [training]
    assert Attempted(nobody, supervisor=int(handle.native_id)).members() == [training]
    assert Attempted(nobody).members() == []
    backend.cancel(request, handle, 5)


@pytest.mark.training
def test_several_processes_train_together_over_gloo(tmp_path: Path) -> None:
    """Two ranks sum their ranks plus one: 1 + 2 = 3; cancelled or not, torchrun hides no approved variable."""
    script = tmp_path / "ranks.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "value = torch.tensor([dist.get_rank() + 1]); dist.all_reduce(value)\n"
        "name = f\"{os.environ['AKOTF_OUTPUTS']}/rank-{dist.get_rank()}\"\n"
        "open(name, 'w').write(f\"{int(value)} {dist.get_world_size()} {os.environ['A']}\")\n"
        "dist.destroy_process_group()\n"
    )
    request = request_for(tmp_path, processes=2, environment={"A": "ô x"}, limits={"memory": 8 << 30})
    request = request.model_copy(update={"command": (sys.executable, str(script))})
    status = finished(LocalBackend(), request)
    log = (Path(request.attempt_directory) / "stderr.log").read_text()
    assert status.state is RunState.SUCCEEDED, log
    for rank in (0, 1):
        assert (tmp_path / f"run/outputs/rank-{rank}").read_text() == "3 2 ô x"


def test_launch_file_is_private(tmp_path: Path) -> None:
    request = request_for(tmp_path, "exit", "0", environment={"A": "1"})
    finished(LocalBackend(), request)
    told = Path(request.attempt_directory) / "launch.json"
    assert told.stat().st_mode & 0o777 == 0o600
    assert json.loads(told.read_text())["environment"]["A"] == "1"
