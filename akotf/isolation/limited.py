"""The parent's side: start the child, wait for its one message, end it."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from akotf.errors import IsolationError
from akotf.isolation import child, transport

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from akotf.isolation.child import main; main(int(sys.argv[2]))"
)
_HEADER = struct.calcsize("!Q")


def run_limited(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    *,
    seconds: float = 5.0,
    memory: int = 512 * 2**20,
    scrub_environment: bool = False,
) -> Any:
    """Call `function(*args)` in a child process and return what it returns.

    `seconds` of wall time; `memory` in bytes beyond what the child starts with; `scrub_environment` leaves only PATH
    and LANG. The function must be module-level and its result plain data, akotf's models, enums or dataclasses.
    akotf's and Python's own exceptions come back whole; any other one, a death, or a broken limit is an
    IsolationError that says which.
    """
    name = getattr(function, "__qualname__", repr(function))
    order = child.Order(function, tuple(args), seconds, memory, scrub_environment)
    start = _fork if alone() else _start_afresh
    deadline = time.monotonic() + seconds
    pid, pipe, wait = start(order)
    try:
        message = _receive(pipe, deadline, memory)
        if message is None:
            raise IsolationError(_obituary(name, pid, deadline, seconds, memory))
    except TimeoutError as error:
        raise IsolationError(f"{name} ran over its time limit of {seconds:g} s") from error
    except OverflowError as error:
        raise IsolationError(f"{name} answered more than its memory limit of {_size(memory)}") from error
    finally:
        os.close(pipe)
        _end(pid)
        wait()
    return _open(name, message, memory)


def alone() -> bool:
    """Whether this is the process's only thread, native ones included: only then is fork safe."""
    return threading.active_count() == 1 and len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208


#: pid, pipe to read, wait for the exit status (any number of times)
Started = tuple[int, int, Callable[[], int]]


def _fork(order: child.Order) -> Started:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # else the child could write our pending text a second time
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        child.serve(order, theirs)
    os.close(theirs)
    status: list[int] = []

    def wait() -> int:
        if not status:
            status.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        return status[0]

    return pid, ours, wait


def _start_afresh(order: child.Order) -> Started:
    environment = child.kept_environment() if order.scrub else None
    ours, theirs = os.pipe()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(pickle.dumps(order))
            file.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path), str(theirs)],
                stdin=file, stdout=subprocess.DEVNULL, pass_fds=(theirs,), env=environment,
            )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process.pid, ours, process.wait


def _receive(pipe: int, deadline: float, limit: int) -> bytes | None:
    """The child's message; None when it ended without one. TimeoutError, OverflowError."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    data = bytearray()
    wanted = _HEADER
    while len(data) < wanted:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError
        chunk = os.read(pipe, 1 << 20)
        if not chunk:
            return None
        data += chunk
        if wanted == _HEADER and len(data) >= _HEADER:
            wanted += struct.unpack_from("!Q", data)[0]
            if wanted > limit + _HEADER:
                raise OverflowError
    return bytes(data[_HEADER:wanted])


def _end(pid: int) -> None:
    """Kill the child and all it started; it has not been waited for, so its id is still its own."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # no group yet, or ended


def _obituary(name: str, pid: int, deadline: float, seconds: float, memory: int) -> str:
    """Why a child that closed its pipe without an answer ended. Leaves it unreaped: its id must stay its own."""
    while (end := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
        if time.monotonic() > deadline:
            return f"{name} ran over its time limit of {seconds:g} s"
        time.sleep(0.002)
    if end.si_code == os.CLD_EXITED:
        return f"{name} ended its process with status {end.si_status} and gave no result"
    if end.si_status in (signal.SIGXCPU, signal.SIGALRM):
        return f"{name} ran over its time limit of {seconds:g} s"
    reason = f"{name} died of {signal.Signals(end.si_status).name}"
    # what allocators do, and the system when it is full
    if end.si_status in (signal.SIGABRT, signal.SIGKILL):
        return f"{reason}, perhaps over its memory limit of {_size(memory)}"
    return reason


def _size(count: int) -> str:
    return f"{count / 2**20:g} MiB"


def _open(name: str, message: bytes, memory: int) -> Any:
    try:
        kind, value = transport.decode(message)
    except Exception as error:
        raise IsolationError(f"{name} sent an answer that can't be taken: {error}") from error
    if kind == "ok":
        return value
    if kind == "error" and isinstance(value, Exception):
        raise value
    if kind == "memory":
        raise IsolationError(f"{name} ran over its memory limit of {_size(memory)}")
    raise IsolationError(f"{name} failed in its child: {value}")
