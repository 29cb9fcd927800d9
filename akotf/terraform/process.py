"""One Terraform process: its lines as they come, its standard error drained, its interrupts counted."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

#: What the first, the second and every further interrupt send. Terraform ends gracefully on the first and at once
#: on the second (it may lose track of what it was creating); the third is for a Terraform that hangs.
_SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGKILL)


@dataclass(frozen=True)
class Finished:
    """How a process ended. `code` is negative when a signal killed it; `interrupts` counts those forwarded."""

    code: int
    stderr: str
    interrupts: int


class Process:
    """A program in a session of its own, so that a terminal's Ctrl-C reaches it only through `interrupt`.

    Its providers share that session: Terraform itself tells them when to stop.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self._interrupts = 0
        self._process = subprocess.Popen(
            list(argv), cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            umask=0o077,  # states and saved plans hold values in clear
        )  # fmt: skip

    def interrupt(self) -> None:
        """Send the next signal of the ladder: to Terraform alone, and to the whole group only to kill it."""
        number = _SIGNALS[min(self._interrupts, len(_SIGNALS) - 1)]
        self._interrupts += 1
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def follow(self, on_line: Callable[[bytes], None]) -> Finished:
        """Call `on_line` for each line of standard output until the process ends.

        A KeyboardInterrupt is forwarded and the process is waited for: `interrupts` of the result says so. Any other
        exception from `on_line` interrupts the process, waits for it and is raised again.
        """
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        errors: list[bytes | None] = []
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None and stderr is not None
        # Reading in threads: a signal must not lose half a line that the main thread had already taken.
        readers = [
            threading.Thread(target=_pump, args=(stdout, lines.put), daemon=True),
            threading.Thread(target=_pump, args=(stderr, errors.append), daemon=True),
        ]
        for reader in readers:
            reader.start()
        try:
            self._deliver(lines, on_line)
        except BaseException:
            self.interrupt()
            raise
        finally:
            code = self._wait()
            for reader in readers:
                reader.join()
        text = b"".join(e for e in errors if e is not None).decode(errors="replace")
        return Finished(code, text, self._interrupts)

    def _deliver(self, lines: queue.SimpleQueue[bytes | None], on_line: Callable[[bytes], None]) -> None:
        while True:
            try:
                while (line := lines.get()) is not None:
                    on_line(line)
                return
            except KeyboardInterrupt:
                self.interrupt()

    def _wait(self) -> int:
        while True:
            try:
                return self._process.wait()
            except KeyboardInterrupt:
                self.interrupt()


def _pump(stream: IO[bytes], sink: Callable[[bytes | None], None]) -> None:
    with stream:
        for line in stream:
            sink(line)
    sink(None)
