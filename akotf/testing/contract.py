"""What every backend keeps to, as tests of effects: what really ran, how often, with what.

A backend's test module is one class:

    class TestMyBackend(BackendContract):
        factory = "my_package.my_backend:MyBackend"
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from akotf.facts import process
from akotf.model.config import Limits
from akotf.model.run import AttemptOutcome, AttemptStatus, Handle, RunRequest, RunState
from akotf.ports import Backend

PROBE = Path(__file__).with_name("probe.py")
HOSTILE = {
    "EMPTY": "",
    "SHELL": "$HOME `id` $(id) ; rm -rf \"$X\" && echo 'x' | cat > /dev/null & # *?[a]~!",
    "LINES": "first\nsecond\r\n\tthird\n",
    "SPACES": "  leading and trailing  ",
    "BACKSLASH": "\\n \\ \\\\ \\x41",
    "COMPOSED": "Akôflow",  # o with circumflex, one code point
    "DECOMPOSED": "Ako\u0302flow",  # the same to look at, two code points: nothing may normalise it
    "ROCKET": "🚀 \u202e right to left",
    "CONTROL": "\x01\x1b[31mred\x7f",
    "TEMPLATE": "{{ 1 + 1 }} {% x %} ${var.x} %{ if true } %s {0}",
    "YAML": "no",
    "NUMBER": "1_000",
    "EQUALS": "=a=b=",
    "DASH": "-n",
    "LONG": "x" * 30_000,
    "lower_and.dotted": "1",
}
#: Variables that a backend may add without being asked.
FLOOR = frozenset({"PATH", "HOME", "LANG", "CUDA_VISIBLE_DEVICES"})
PATIENCE = 60.0  # s until a state that must come counts as missing


class BackendContract:
    """Subclass it, set `factory` to `MODULE:CLASS` (made without arguments), and all of it runs against your backend."""

    factory: ClassVar[str] = ""
    #: Prefixes of variables that the site's scheduler adds whatever is asked, such as `SLURM_`.
    added_prefixes: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture
    def backend(self) -> Backend:
        """The backend under test."""
        return make(self.factory)

    # --- what is asked ------------------------------------------------------------------------------

    def request_for(self, folder: Path, *command: str, attempt: int = 1, **changes: Any) -> RunRequest:
        """A request that runs the probe; override it where folders must lie elsewhere (a shared file system)."""
        run, work, node = folder / "run", folder / "work", folder / "node"
        for path in (run, work, node):
            path.mkdir(exist_ok=True)
        limits = {"memory": 1 << 30, "wall_time": 100.0, "open_files": 1000, **changes.pop("limits", {})}
        return RunRequest(**{
            "key": f"contract-a{attempt}", "run_id": "contract", "attempt": attempt,
            "environment_name": "contract", "deployment": "contract/here/node", "baseline_digest": "sha256:0",
            "command": (sys.executable, "-I", "-S", str(PROBE), *command), "working_directory": str(work),
            "run_directory": str(run), "attempt_directory": str(run / f"attempt-{attempt}"),
            "node_directory": str(node), "environment": {}, "limits": Limits(**limits), **changes,
        })  # fmt: skip

    # --- environment, limits, place ------------------------------------------------------------------

    def test_environment_is_exactly_the_approved_one(
        self, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every hostile value arrives byte for byte and nothing of the caller's comes with it."""
        monkeypatch.setenv("LEAK_FROM_THE_CALLER", "1")
        request = self.request_for(tmp_path, "report", environment=HOSTILE)
        finished(backend, request)
        got = environ_of(tmp_path)
        for name, value in HOSTILE.items():
            assert got.get(name.encode()) == value.encode(), f"{name} did not arrive byte for byte"
        others = [name for name in got if name.decode() not in HOSTILE]
        unasked = [n for n in others if n.decode() not in FLOOR and not self._may_add(n.decode())]
        assert not unasked, f"variables nobody approved: {unasked}"

    def _may_add(self, name: str) -> bool:
        return name.startswith(("AKOTF_", *self.added_prefixes))

    def test_approved_values_win_over_the_floor(self, backend: Backend, tmp_path: Path) -> None:
        """PATH, HOME and LANG are a floor for what is not said."""
        said = {"PATH": "/nowhere", "HOME": "/home/of/nobody", "LANG": "tlh"}
        finished(backend, self.request_for(tmp_path, "report", environment=said))
        got = environ_of(tmp_path)
        assert {name: got[name.encode()].decode() for name in said} == said

    def test_the_training_is_told_where_it_runs(self, backend: Backend, tmp_path: Path) -> None:
        """AKOTF_* name run, attempt, folders, baseline and the checkpoint to go on from."""
        request = self.request_for(tmp_path, "report", attempt=2, resume_from="/ckpt/step-00000100")
        finished(backend, request)
        got = {name.decode(): value.decode() for name, value in environ_of(tmp_path).items()}
        expected = {
            "AKOTF_RUN_ID": "contract", "AKOTF_ATTEMPT": "2", "AKOTF_RUN_DIRECTORY": request.run_directory,
            "AKOTF_CHECKPOINTS": f"{request.run_directory}/checkpoints",
            "AKOTF_OUTPUTS": f"{request.run_directory}/outputs",
            "AKOTF_HYPERPARAMETERS": f"{request.node_directory}/hyperparameters.json",
            "AKOTF_HEARTBEAT": request.heartbeat, "AKOTF_BASELINE": "sha256:0", "AKOTF_RESUME_FROM": "/ckpt/step-00000100",
        }  # fmt: skip
        assert {name: got.get(name) for name in expected} == expected

    def test_secrets_come_from_files_and_lie_in_no_file_of_ours(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """The value reaches the process; nothing that the backend writes holds it."""
        value = "s3cr3t-\u00fc-$x"
        secret = tmp_path / "secret"
        secret.write_bytes(value.encode())
        secret.chmod(0o600)
        request = self.request_for(tmp_path, "exit", "0", secrets={"TOKEN": str(secret)})
        finished(backend, request)
        written = [p for p in tmp_path.rglob("*") if p.is_file() and p != secret]
        assert [p for p in written if value.encode() in p.read_bytes()] == []
        assert not secret.exists(), "the backend removes it once the process has started"
        secret.write_bytes(value.encode())
        secret.chmod(0o600)
        report = self.request_for(tmp_path, "report", attempt=2, secrets={"TOKEN": str(secret)})
        finished(backend, report)
        assert environ_of(tmp_path)[b"TOKEN"] == value.encode()

    def test_words_of_the_command_are_opaque(self, backend: Backend, tmp_path: Path) -> None:
        """No shell looks at them."""
        words = [value for name, value in HOSTILE.items() if name != "LONG"]
        finished(backend, self.request_for(tmp_path, "report", *words))
        assert report_of(tmp_path)["words"] == words

    def test_limits_and_place_are_applied(self, backend: Backend, tmp_path: Path) -> None:
        """Soft limits, no core files, the leased CPUs, the working directory, an empty stdin, a group of its own."""
        cpu = min(os.sched_getaffinity(0))
        request = self.request_for(tmp_path, "report", cpu_slots=(cpu,), limits={"open_files": 777})
        finished(backend, request)
        report = report_of(tmp_path)
        assert report["limits"] == {"open_files": 777, "memory": 1 << 30, "core": 0}
        assert report["affinity"] == [cpu]
        assert report["cwd"] == str(tmp_path / "work")
        assert report["stdin"] == ""
        assert report["leads_group"]
        assert report["ignored_signals"] == []
        assert len(report["descriptors"]) == 4, "0, 1, 2 and the one of the look itself"

    # --- how it ends ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("code", [0, 1, 17, 255])
    def test_exit_codes(self, backend: Backend, tmp_path: Path, code: int) -> None:
        """0 is success, all others are failures with their code."""
        status = finished(backend, self.request_for(tmp_path, "exit", str(code)))
        assert status.exit_code == code
        assert status.state is (RunState.FAILED if code else RunState.SUCCEEDED)
        assert status.outcome is (AttemptOutcome.FAILED if code else AttemptOutcome.SUCCEEDED)
        assert status.started_at and status.ended_at >= status.started_at

    def test_death_by_a_signal_is_a_failure_with_its_number(self, backend: Backend, tmp_path: Path) -> None:
        """A segmentation fault is not an exit code."""
        status = finished(backend, self.request_for(tmp_path, "die", str(int(signal.SIGSEGV))))
        assert (status.state, status.outcome) == (RunState.FAILED, AttemptOutcome.FAILED)
        assert status.signal == signal.SIGSEGV
        assert "SIGSEGV" in status.reason

    def test_a_command_that_can_not_start_has_failed_and_says_why(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """Never an exception of the submission, never a run that waits for ever."""
        request = self.request_for(tmp_path).model_copy(update={"command": ("/no/such/program",)})
        status = finished(backend, request)
        assert (status.state, status.outcome) == (RunState.FAILED, AttemptOutcome.FAILED)
        assert "/no/such/program" in status.reason

    def test_wall_time_ends_it(self, backend: Backend, tmp_path: Path) -> None:
        """The reason is the time limit, not a failure of the training."""
        status = finished(backend, self.request_for(tmp_path, "wait", limits={"wall_time": 0.5}))
        assert (status.state, status.outcome) == (RunState.FAILED, AttemptOutcome.FAILED)
        assert "time_limit" in status.reason

    def test_cancel_lets_the_training_save(self, backend: Backend, tmp_path: Path) -> None:
        """TERM first; an exit code 0 after it is a cancelled run, not a successful one."""
        request = self.request_for(tmp_path, "save")
        handle = ready(backend, request, tmp_path)
        status = backend.cancel(request, handle, PATIENCE)
        assert (status.state, status.outcome) == (RunState.CANCELLED, AttemptOutcome.CANCELLED)
        assert (tmp_path / "run/saved").read_text() == str(int(signal.SIGTERM))
        assert backend.status(request, handle) == status

    def test_cancel_ends_who_ignores_it(self, backend: Backend, tmp_path: Path) -> None:
        """KILL after the grace; when cancel returns, nothing lives."""
        request = self.request_for(tmp_path, "stubborn")
        handle = ready(backend, request, tmp_path)
        status = backend.cancel(request, handle, 0.2)
        assert (status.state, status.outcome) == (RunState.CANCELLED, AttemptOutcome.CANCELLED)
        assert gone(int((tmp_path / "run/ready").read_text()))

    def test_cancel_after_the_end_changes_nothing(self, backend: Backend, tmp_path: Path) -> None:
        """A success stays one."""
        request = self.request_for(tmp_path, "exit", "0")
        status = finished(backend, request)
        handle = backend.submit(request)
        assert backend.cancel(request, handle, 0.1) == status
        assert backend.status(request, handle) == status

    def test_nothing_is_left_behind(self, backend: Backend, tmp_path: Path) -> None:
        """A process that left the group and the session ends with its attempt."""
        status = finished(backend, self.request_for(tmp_path, "family"))
        assert status.state is RunState.SUCCEEDED
        assert gone(int((tmp_path / "run/grandchild").read_text()))

    # --- once ----------------------------------------------------------------------------------------

    def test_submit_twice_runs_once(self, backend: Backend, tmp_path: Path) -> None:
        """Also when the first has ended, and from another instance."""
        request = self.request_for(tmp_path, "exit", "0")
        first = backend.submit(request)
        assert backend.submit(request) == first
        finished(backend, request)
        assert backend.submit(request) == first
        assert make(self.factory or factory_of(backend)).find(request) == first
        assert runs(tmp_path) == ["1"], "how often it ran"

    def test_submitted_by_several_at_once_runs_once(self, backend: Backend, tmp_path: Path) -> None:
        """Three processes, one key."""
        request = self.request_for(tmp_path, "wait")
        clients = [self._client(backend, request, tmp_path) for _ in range(3)]
        for client in clients:
            release(client)  # all have imported: what is left to do takes some hundredths of a second
        answers = {client.communicate()[0] for client in clients}
        handle = ready(backend, request, tmp_path)
        assert [json.loads(answer) for answer in answers] == [handle.to_json()]
        backend.cancel(request, handle, 0.1)
        assert runs(tmp_path) == ["1"], "how often it ran"

    @pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
    def test_found_after_the_client_died(self, backend: Backend, tmp_path: Path, delay: float) -> None:
        """Killed at any moment of a submission: looked up by key, submitted again when unknown, run once."""
        request = self.request_for(tmp_path, "wait")
        client = self._client(backend, request, tmp_path)
        release(client)
        time.sleep(delay)
        client.kill()
        client.communicate()
        handle = backend.find(request) or backend.submit(request)
        ready(backend, request, tmp_path)
        assert backend.find(request) == handle
        assert backend.status(request, handle).state is RunState.RUNNING
        backend.cancel(request, handle, 0.1)
        assert runs(tmp_path) == ["1"], "how often it ran"

    def _client(self, backend: Backend, request: RunRequest, folder: Path) -> subprocess.Popen[bytes]:
        """Another process that is ready to submit the request, once `release`d, and prints the handle."""
        file = folder / "request-of-client.json"
        file.write_text(json.dumps(request.to_json()))
        code = (
            "import sys, json; from akotf.testing.contract import make; from akotf.model.run import RunRequest; "
            "request = RunRequest.model_validate_json(open(sys.argv[2]).read()); backend = make(sys.argv[1]); "
            "print(flush=True); sys.stdin.readline(); print(json.dumps(backend.submit(request).to_json()))"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        name = self.factory or factory_of(backend)
        return subprocess.Popen(
            [sys.executable, "-c", code, name, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def test_unknown_key(self, backend: Backend, tmp_path: Path) -> None:
        """Never started: not found, and its state is unknown, not failed."""
        request = self.request_for(tmp_path, "exit", "0")
        assert backend.find(request) is None
        ghost = Handle(backend=backend.name, native_id="1", key=request.key)
        assert backend.status(request, ghost).state is RunState.UNKNOWN
        assert runs(tmp_path) == []

    # --- attempts and logs ---------------------------------------------------------------------------

    def test_attempts_have_their_own_logs(self, backend: Backend, tmp_path: Path) -> None:
        """Two attempts of one run share its folder and not their streams."""
        first = self.request_for(tmp_path, "write", b"one".hex(), b"".hex())
        second = self.request_for(tmp_path, "write", b"two".hex(), b"".hex(), attempt=2)
        for request in (first, second):
            finished(backend, request)
        for request, text in ((first, b"one"), (second, b"two")):
            assert backend.logs(request, backend.submit(request), "stdout", 0).data == text
        assert runs(tmp_path) == ["1", "2"]

    def test_logs_by_cursor(self, backend: Backend, tmp_path: Path) -> None:
        """Bytes as written, also those that are no UTF-8; reading in small pieces gives the same."""
        out, err = bytes(range(256)) * 3, b"\xff\xfe error\n"
        request = self.request_for(tmp_path, "write", out.hex(), err.hex())
        finished(backend, request)
        handle = backend.submit(request)
        pieces, cursor = [], 0
        while (chunk := backend.logs(request, handle, "stdout", cursor, 100)).data:
            pieces.append(chunk.data)
            cursor = chunk.cursor
        assert b"".join(pieces) == out
        assert max(map(len, pieces)) <= 100
        assert backend.logs(request, handle, "stderr", 0).data == err
        assert backend.logs(request, handle, "stdout", cursor).cursor == cursor


# --- helpers, also for a backend's own tests ---------------------------------------------------------


def make(factory: str) -> Backend:
    """An instance of `MODULE:CLASS`."""
    module, _, name = factory.partition(":")
    backend: Backend = getattr(importlib.import_module(module), name)()
    return backend


def factory_of(backend: Backend) -> str:
    """`MODULE:CLASS` of an instance."""
    return f"{type(backend).__module__}:{type(backend).__qualname__}"


def release(client: subprocess.Popen[bytes]) -> None:
    """Let a client submit now: it has imported and waits."""
    assert client.stdin is not None and client.stdout is not None
    client.stdout.readline()
    client.stdin.write(b"\n")
    client.stdin.flush()


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for what must come; AssertionError, naming it, when it does not."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {PATIENCE:.0f} s"
        time.sleep(0.01)


def finished(backend: Backend, request: RunRequest) -> AttemptStatus:
    """Submit and wait for the end."""
    handle = backend.submit(request)
    until(lambda: backend.status(request, handle).state.final, f"the end of {request.key}")
    return backend.status(request, handle)


def ready(backend: Backend, request: RunRequest, folder: Path) -> Handle:
    """Submit and wait until the probe waits."""
    handle = backend.submit(request)
    until((folder / "run/ready").exists, "the probe's word that it is ready")
    return handle


def runs(folder: Path) -> list[str]:
    """Attempt numbers in the order in which trainings really ran."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / "run/ran").read_text().split()
    return []


def environ_of(folder: Path) -> dict[bytes, bytes]:
    """The environment that the probe had, as bytes."""
    pairs = (entry.partition(b"=") for entry in (folder / "run/environ").read_bytes().split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def report_of(folder: Path) -> dict[str, Any]:
    """What the probe was given."""
    data: dict[str, Any] = json.loads((folder / "run/report.json").read_text())
    return data


def gone(pid: int) -> bool:
    """True when no such process lives (a zombie waits for its parent only)."""
    found = process.stat(pid)
    return found is None or found.state in "ZXx"
