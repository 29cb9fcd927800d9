"""The processes of one attempt on this machine: found, signalled and never mistaken for others."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from akotf.facts import process


@dataclass(frozen=True)
class Attempted:
    """What tells the processes of an attempt from all others.

    `marks` are variables that only they carry; `session` is the training's session, `supervisor` the process that
    adopts their orphans (0 when unknown). A training that empties the environment of a child and moves it to a
    session of its own is still found below the supervisor.
    """

    marks: Mapping[str, str]
    session: int = 0
    supervisor: int = 0

    def members(self) -> list[int]:
        """Pids of all living processes of the attempt, without the supervisor and without zombies."""
        table = process.table()
        below = set(process.descendants(self.supervisor, table)) if self.supervisor else set()
        ours = below.union(process.group(self.session, table) if self.session else ())
        ours.update(pid for pid, row in table.items() if row.state not in "ZXx" and self._marked(pid))
        return sorted(ours - {self.supervisor, os.getpid()})

    def _marked(self, pid: int) -> bool:
        try:
            environment = process.environ(pid)
        except OSError:  # gone, or somebody else's
            return False
        return all(environment.get(name) == value for name, value in self.marks.items())

    def kill(self, timeout: float = 10.0) -> list[int]:
        """KILL until nobody is left; returns who still lives after `timeout` seconds (uninterruptible sleep)."""
        end = time.monotonic() + timeout
        while left := self.members():
            for pid in left:
                send(pid, signal.SIGKILL)
            if time.monotonic() > end:
                return left
            time.sleep(0.01)
        return []


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def send_group(group: int, number: int) -> None:
    """Send a signal to a process group that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def send_pinned(pid: int, start: str, boot: str, number: int) -> bool:
    """Signal exactly the process that had this start time; False when it is gone. A pidfd defeats pid reuse."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not process.alive(pid, start, boot):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def reap_others(pid: int) -> bool:
    """Reap ended children up to `pid`; True when `pid` itself has ended. It stays a zombie, so its number stays its."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == pid:
                return True
            os.waitpid(ended.si_pid, 0)
    return False
