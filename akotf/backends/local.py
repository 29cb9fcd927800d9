"""Backend `local`: a process group on this machine, under a supervisor that outlives akotf.

All that is known about an attempt lies in its folder, so another akotf process, after a crash, knows as much.
Processes are named by (pid, start time, boot id): pid reuse and reboots are seen (reference: proc(5)).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from akotf.backends import local_files as files
from akotf.backends.local_launch import SYSTEM_PATH, launch, marks
from akotf.backends.local_processes import Attempted, send_group, send_pinned
from akotf.errors import BackendError, TransientBackendError
from akotf.facts import process
from akotf.facts.files import read_json, remove, write_json_atomic
from akotf.facts.node import LIVE
from akotf.model.run import AttemptOutcome, AttemptStatus, Handle, LogChunk, RunRequest, RunState

PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
#: Isolated interpreter (-I) without site packages (-S): the standard library and this very akotf, nothing else.
SUPERVISOR = (
    sys.executable, "-I", "-S", "-c",
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from akotf.backends.local_supervisor import main; sys.exit(main())",
    PACKAGE_PARENT,
)  # fmt: skip
START_TIMEOUT = 60.0  # s; a start takes some hundredths
SETTLE = 10.0  # s after KILL until the end must be on record

_ENDED: dict[str, tuple[RunState, AttemptOutcome]] = {
    "cancelled": (RunState.CANCELLED, AttemptOutcome.CANCELLED),
    "time_limit": (RunState.FAILED, AttemptOutcome.FAILED),
    "start_failed": (RunState.FAILED, AttemptOutcome.FAILED),
    # the node told its processes to leave, as a scheduler does: the run may go on elsewhere or later
    "terminated": (RunState.FAILED, AttemptOutcome.PREEMPTED),
    # nobody saw the end: the run goes on from its newest checkpoint, where a finished training ends at once
    "lost": (RunState.FAILED, AttemptOutcome.NODE_FAILED),
}


class LocalBackend:
    """Runs on this machine. `grace`: seconds from TERM to KILL when the wall time is over."""

    name = "local"

    def __init__(self, grace: float = 10.0) -> None:
        self.grace = grace

    def find(self, request: RunRequest) -> Handle | None:
        """The attempt that was claimed in the request's folder. BackendError when that is another's."""
        claim = _read(request, files.CLAIM)
        if claim is None:
            return None
        if claim["key"] != request.key:
            raise BackendError(
                f"the folder belongs to attempt {claim['key']}, not {request.key}",
                where=request.attempt_directory,
                remedy="give every attempt a folder of its own",
            )
        pins = {"pid_start": claim["pid_start"], "boot_id": claim["boot_id"]}
        return Handle(backend=self.name, native_id=str(claim["pid"]), key=request.key, pins=pins)

    def submit(self, request: RunRequest) -> Handle:
        """Start the attempt, once; returns when its process executes (or failed to: its status tells)."""
        known = self.find(request)
        if known is not None:
            return known
        if request.nodes != 1:
            raise BackendError(
                f"{request.key} wants {request.nodes} nodes and this machine is one",
                remedy="set limits.nodes to 1, or choose another scope",
            )
        folder = Path(request.attempt_directory)
        folder.mkdir(parents=True, exist_ok=True)
        write_json_atomic(folder / files.LAUNCH, launch(request, self.grace))
        self._start_supervisor(folder)
        handle = self.find(request)
        if handle is None:
            raise BackendError(
                "the supervisor did not start: " + _tail(folder / files.SUPERVISOR_LOG),
                where=str(folder / files.SUPERVISOR_LOG),
                remedy="see the log; free disk space or processes if they ran out, then run again",
            )
        return handle

    def _start_supervisor(self, folder: Path) -> None:
        environment = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"}
        with (folder / files.SUPERVISOR_LOG).open("ab") as log:
            try:
                subprocess.run(
                    [*SUPERVISOR, str(folder)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                    env=environment, start_new_session=True, timeout=START_TIMEOUT, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired as error:
                raise TransientBackendError(
                    f"the supervisor did not answer within {START_TIMEOUT:.0f} s", where=str(folder),
                    remedy="run again: a start that came late is found, not doubled",
                ) from error  # fmt: skip

    def status(self, request: RunRequest, handle: Handle) -> AttemptStatus:
        """The attempt's state from its files and from /proc."""
        claim = _read(request, files.CLAIM)
        if claim is None or claim["key"] != handle.key:
            return AttemptStatus(
                state=RunState.UNKNOWN, native="unknown", reason="never started on this machine"
            )
        if (record := _read(request, files.EXIT)) is not None:
            return _ended(record)
        if claim["boot_id"] != process.boot_id():
            files.forget_secrets(request.secrets)
            return AttemptStatus(
                state=RunState.FAILED, outcome=AttemptOutcome.NODE_FAILED, native="rebooted",
                reason="the machine was rebooted while the attempt ran",
            )  # fmt: skip
        training = _read(request, files.PROCESS)
        if process.alive(claim["pid"], claim["pid_start"], claim["boot_id"]):
            state = RunState.STARTING if training is None else RunState.RUNNING
            return AttemptStatus(state=state, native=f"supervised by {claim['pid']}")
        return self._without_supervisor(request)

    def _without_supervisor(self, request: RunRequest) -> AttemptStatus:
        if (record := _read(request, files.EXIT)) is not None:  # written between two looks
            return _ended(record)
        files.forget_secrets(request.secrets)  # its supervisor was killed before it could
        living = _attempted(request).members()
        if living:
            return AttemptStatus(
                state=RunState.UNKNOWN, native="orphaned",
                reason=f"its supervisor was killed and the training lives on as {living}: cancel ends it",
            )  # fmt: skip
        return _ended(
            {"cause": "lost", "reason": "its supervisor was killed: how the training ended is not known"}
        )

    def logs(
        self,
        request: RunRequest,
        handle: Handle,  # noqa: ARG002 - part of the port; here the folder says which attempt
        stream: str,
        cursor: int,
        limit: int = 65536,
    ) -> LogChunk:
        """Bytes of `stdout` or `stderr` as the training wrote them."""
        try:
            with (Path(request.attempt_directory) / files.STREAMS[stream]).open("rb") as log:
                log.seek(cursor)
                data = log.read(limit)
        except FileNotFoundError:
            data = b""
        return LogChunk(data=data, cursor=cursor + len(data))

    def cancel(self, request: RunRequest, handle: Handle, grace: float) -> AttemptStatus:
        """TERM to the process group, KILL to whatever is left after `grace` seconds."""
        before = self.status(request, handle)
        if before.state.final or before.native == "unknown":
            return before
        write_json_atomic(Path(request.attempt_directory) / files.CANCEL, {"schema": 1, "grace": grace})
        claim = _read(request, files.CLAIM) or {}
        supervisor = (claim["pid"], claim["pid_start"], claim["boot_id"])
        send_pinned(*supervisor, signal.SIGTERM)
        end = time.monotonic() + grace + SETTLE
        while time.monotonic() < end:
            if (record := _read(request, files.EXIT)) is not None:
                return _ended(record)
            if not process.alive(*supervisor):
                return self._end_orphans(request, grace)
            time.sleep(0.02)
        raise TransientBackendError(
            f"{request.key} has not ended {SETTLE:.0f} s after KILL", where=request.attempt_directory,
            remedy="a process in uninterruptible sleep ends when its device answers: look again later",
        )  # fmt: skip

    def _end_orphans(self, request: RunRequest, grace: float) -> AttemptStatus:
        """Cancel without a supervisor: it was killed, so we signal, wait and record ourselves."""
        if (record := _read(request, files.EXIT)) is not None:
            return _ended(record)
        attempted = _attempted(request)
        if attempted.session:
            send_group(attempted.session, signal.SIGTERM)
        end = time.monotonic() + grace
        while attempted.members() and time.monotonic() < end:
            time.sleep(0.02)
        survivors = attempted.kill(SETTLE)
        if survivors:
            raise TransientBackendError(
                f"processes {survivors} of {request.key} survive KILL", where=request.attempt_directory,
                remedy="a process in uninterruptible sleep ends when its device answers: look again later",
            )  # fmt: skip
        live = Path(request.node_directory) / LIVE
        if attempted.session and (_json(live) or {}).get("pid") == attempted.session:
            remove(live)
        record = {
            "schema": 1, "key": request.key, "exit_code": None, "signal": None, "cause": "cancelled",
            "reason": "its supervisor had been killed", "started_at": "", "ended_at": "",
        }  # fmt: skip
        write_json_atomic(Path(request.attempt_directory) / files.EXIT, record)
        return _ended(record)


def _attempted(request: RunRequest) -> Attempted:
    """The attempt's processes; its session only counts while its leader is the process we started."""
    training = _read(request, files.PROCESS) or {}
    known = bool(training) and process.alive(training["pid"], training["pid_start"], training["boot_id"])
    return Attempted(marks(request), session=training["pid"] if known else 0)


def _ended(record: dict[str, Any]) -> AttemptStatus:
    """The common words for how an attempt ended."""
    code, number, cause = record.get("exit_code"), record.get("signal"), record["cause"]
    if cause == "exit":
        done = code == 0
        state = RunState.SUCCEEDED if done else RunState.FAILED
        outcome = AttemptOutcome.SUCCEEDED if done else AttemptOutcome.FAILED
    else:
        state, outcome = _ENDED[cause]
    words = [] if cause == "exit" else [cause]
    if number is not None:
        words.append(f"killed by {signal.Signals(number).name}")
    elif cause == "exit" and code:
        words.append(f"exit code {code}")
    if record.get("reason"):
        words.append(record["reason"])
    return AttemptStatus(
        state=state, outcome=outcome, native=cause, reason=": ".join(words), exit_code=code, signal=number,
        started_at=record.get("started_at", ""), ended_at=record.get("ended_at", ""),
    )  # fmt: skip


def _read(request: RunRequest, name: str) -> dict[str, Any] | None:
    return _json(Path(request.attempt_directory) / name)


def _json(path: Path) -> dict[str, Any] | None:
    try:
        data: dict[str, Any] = read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TransientBackendError(
            f"can't be read: {error}", where=str(path), remedy="mend or remove the file, then look again"
        ) from error
    return data


def _tail(log: Path) -> str:
    text = log.read_text(errors="replace").strip()
    return text[-500:] if text else f"nothing in {os.fspath(log)}"
