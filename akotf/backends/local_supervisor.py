"""The small process that outlives akotf: it starts one attempt once, waits, enforces and records its end.

It reads the launch file in the attempt's folder and imports the standard library and `akotf.facts` only. A claim,
created exclusively, lets one supervisor per attempt go on. The training's pid is on disk before the training
executes anything: a supervisor that dies earlier leaves nothing running.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from akotf.backends import local_files as files
from akotf.backends.local_processes import Attempted, reap_others, send_group
from akotf.facts import process
from akotf.facts.files import read_json, remove, write_json_atomic

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
STARTED, ALREADY = b"started", b"already"


def main(arguments: Sequence[str] = ()) -> int:
    """Fork the supervisor of the attempt whose folder is given; return when it has started the training."""
    folder = Path((arguments or sys.argv[1:])[0])
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        _supervise(folder, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    return 0 if answer in (STARTED, ALREADY) else 1


def _supervise(folder: Path, answer: int) -> NoReturn:
    """The forked side: never returns."""
    code = 1
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)  # before the claim names us: no signal gets lost
        launch = read_json(folder / files.LAUNCH)
        if claim(folder, launch["key"]):
            Supervisor(folder, launch, answer).run()
        else:
            tell(answer, ALREADY)
        code = 0
    except BaseException as error:  # noqa: BLE001 - a daemon's last words go to its log
        print(f"supervisor: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(code)


def claim(folder: Path, key: str) -> bool:
    """Make this process the attempt's only supervisor; False when there was one before, alive or not."""
    mine = folder / f".claim.{os.getpid()}"
    identity = {"schema": 1, "key": key, **_identity(os.getpid())}
    write_json_atomic(mine, identity)
    try:
        os.link(mine, folder / files.CLAIM)  # whole content or not at all, and only once
    except FileExistsError:
        return False
    finally:
        remove(mine)
    return True


class Supervisor:
    """One attempt from its start to `exit.json`."""

    def __init__(self, folder: Path, launch: dict[str, Any], answer: int) -> None:
        self.folder = folder
        self.launch = launch
        self.answer = answer
        self.cause = "exit"  # exit | cancelled | time_limit | terminated | start_failed
        self.detail = ""
        self.started_at = _now()
        self.pid = 0
        self.kill_at = float("inf")

    def run(self) -> None:
        """Start, wait, clean up, record."""
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            self._start()
        finally:
            files.forget_secrets(
                self.launch["secrets"]
            )  # they are in the training's environment now, or nowhere
        if self.cause != "start_failed":
            tell(self.answer, STARTED)
            self._wait()
        survivors = self._processes().kill()
        if survivors:
            self.detail = f"processes {survivors} survive KILL"
        self._forget_live()
        self._record(os.waitpid(self.pid, 0)[1])
        if self.cause == "start_failed":
            tell(self.answer, STARTED)  # the attempt happened; its status tells what went wrong

    def _processes(self) -> Attempted:
        return Attempted(self.launch["marks"], session=self.pid, supervisor=os.getpid())

    def _start(self) -> None:
        """Fork the training, write its identity down, then let it execute."""
        for name in self.launch["folders"]:
            Path(name).mkdir(parents=True, exist_ok=True)
        go_reader, go_writer = os.pipe()
        fault_reader, fault_writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(go_writer)
            os.close(fault_reader)
            _become(self.launch, self.folder, go_reader, fault_writer)
        os.close(go_reader)
        os.close(fault_writer)
        identity = _identity(self.pid)
        write_json_atomic(self.folder / files.PROCESS, {"schema": 1, **identity})
        live = Path(self.launch["live_file"])
        live.parent.mkdir(parents=True, exist_ok=True)
        write_json_atomic(live, {**self.launch["live"], **identity})
        self.started_at = _now()
        with contextlib.suppress(BrokenPipeError):  # it failed already and says why below
            os.write(go_writer, b"g")
        os.close(go_writer)
        with os.fdopen(fault_reader, "rb") as stream:
            fault = stream.read().decode(errors="replace")  # ends when the training executes
        if fault:
            self.cause, self.detail = "start_failed", fault

    def _wait(self) -> None:
        """Wait for the training's end; TERM, then KILL, when it is cancelled or its time is over."""
        time_limit = time.monotonic() + float(self.launch["wall_time"])
        while not reap_others(self.pid):
            now = time.monotonic()
            if now >= self.kill_at:
                self._processes().kill(timeout=1.0)
                continue
            if now >= time_limit and self.cause == "exit":
                self._stop("time_limit", float(self.launch["grace"]))
            until = min(self.kill_at, time_limit if self.cause == "exit" else float("inf"))
            self._next_signal(until - now)

    def _next_signal(self, timeout: float) -> None:
        got = signal.sigtimedwait(WATCHED, max(0.0, min(timeout, 3600.0)))
        if got is None or got.si_signo == signal.SIGCHLD:
            return
        try:
            self._stop("cancelled", float(read_json(self.folder / files.CANCEL)["grace"]))
        except FileNotFoundError:
            # the machine is going down, or someone ended the supervisor: not the user's wish to end the run
            self._stop("terminated", float(self.launch["grace"]))

    def _stop(self, cause: str, grace: float) -> None:
        """TERM now, KILL after `grace` seconds; asked again, the shorter grace counts."""
        if self.cause == "exit":
            self.cause = cause
        self.kill_at = min(self.kill_at, time.monotonic() + grace)
        send_group(self.pid, signal.SIGTERM)

    def _forget_live(self) -> None:
        """Remove the node's pointer if it is ours; before `exit.json`, so that a next attempt's is never hit."""
        path = Path(self.launch["live_file"])
        with contextlib.suppress(OSError, ValueError):
            if read_json(path).get("pid") == self.pid:
                remove(path)

    def _record(self, status: int) -> None:
        signalled = os.WIFSIGNALED(status)
        code = None if signalled else os.WEXITSTATUS(status)
        number = os.WTERMSIG(status) if signalled else None
        record = {
            "schema": 1, "key": self.launch["key"], "exit_code": code, "signal": number, "cause": self.cause,
            "reason": self.detail, "started_at": self.started_at, "ended_at": _now(),
        }  # fmt: skip
        write_json_atomic(self.folder / files.EXIT, record)


def _become(launch: dict[str, Any], folder: Path, go: int, fault: int) -> NoReturn:
    """The forked child: take on everything that was approved, wait for the go, execute the command."""
    try:
        os.setsid()
        os.umask(0o022)
        os.chdir(launch["working_directory"])
        _redirect(folder)
        _apply_limits(launch["limits"])
        if launch["cpus"]:
            os.sched_setaffinity(0, launch["cpus"])
        variables = {_bytes(name): _bytes(value) for name, value in launch["environment"].items()}
        for name, path in launch["secrets"].items():
            variables[_bytes(name)] = Path(path).read_bytes()
        if not os.read(go, 1):
            os._exit(125)  # the supervisor died before it could write our pid down
        _reset_signals()
        argv = [_bytes(word) for word in launch["argv"]]
        _execute(argv, variables)
    except BaseException as error:  # noqa: BLE001 - told to the supervisor, which records it
        os.write(fault, f"{type(error).__name__}: {error}".encode(errors="replace"))
    os._exit(127)


def _execute(argv: list[bytes], variables: dict[bytes, bytes]) -> None:
    """Replace this process by the command, found on the PATH of its own environment. Returns only by OSError."""
    try:
        os.execvpe(argv[0], argv, variables)  # noqa: S606 - opaque words, no shell
    except OSError as error:
        word = argv[0].decode(errors="replace")
        raise OSError(error.errno or 0, f"{word!r} can't be executed: {error.strerror}") from None


def _redirect(folder: Path) -> None:
    """Both streams to the attempt's logs; stdin stays what the supervisor has: /dev/null."""
    for number, name in ((1, files.STREAMS["stdout"]), (2, files.STREAMS["stderr"])):
        log = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, number)


def _apply_limits(limits: dict[str, int]) -> None:
    """Soft limits as approved; no core files."""
    for name, soft in limits.items():
        process.set_limit(0, name, soft)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _reset_signals() -> None:
    """Default dispositions and an empty mask: an ignored signal would be inherited from whoever started akotf."""
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):  # KILL and STOP have no disposition
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def tell(answer: int, message: bytes) -> None:
    """Answer whoever waits for the start; he may be gone."""
    with contextlib.suppress(BrokenPipeError):
        os.write(answer, message)
    os.close(answer)


def _identity(pid: int) -> dict[str, Any]:
    return {"pid": pid, "pid_start": process.process_start(pid) or "", "boot_id": process.boot_id()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
