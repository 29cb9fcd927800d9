"""The program that the contract suite runs as a training: it leaves effects in files for the suite to look at.

Standard library only; started as a file by path, so it needs no akotf where it runs.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

LONGEST = 120.0  # s; a probe that a failing test left behind ends by itself


def main() -> None:
    """Tell that an attempt ran, then do what the first argument names."""
    folder = Path(os.environ["AKOTF_RUN_DIRECTORY"])
    with (folder / "ran").open("a") as ran:
        ran.write(
            os.environ["AKOTF_ATTEMPT"] + "\n"
        )  # one short append: whole lines, also from two processes
    {
        "report": report, "exit": leave, "die": die, "wait": wait, "save": save, "stubborn": stubborn,
        "family": family, "write": write,
    }[sys.argv[1]](folder, sys.argv[2:])  # fmt: skip


def report(folder: Path, words: list[str]) -> None:
    """Write down everything that was given to this process."""
    (folder / "environ").write_bytes(Path("/proc/self/environ").read_bytes())
    soft = {
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    }
    own = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores these itself
    ignored = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN and n not in own]
    data = {
        "words": words,
        "cwd": str(Path.cwd()),
        "limits": soft,
        "affinity": sorted(os.sched_getaffinity(0)),
        "stdin": sys.stdin.read(),
        "leads_group": os.getpgrp() == os.getpid(),
        "ignored_signals": ignored,
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),  # noqa: PTH208 - one look
    }
    (folder / "report.json").write_text(json.dumps(data))


def leave(_: Path, words: list[str]) -> None:
    """Exit with a code."""
    sys.exit(int(words[0]))


def die(_: Path, words: list[str]) -> None:
    """Die by a signal."""
    os.kill(os.getpid(), int(words[0]))
    time.sleep(LONGEST)


def wait(folder: Path, _: list[str]) -> None:
    """Say that we are ready; wait."""
    (folder / "ready").write_text(str(os.getpid()))
    time.sleep(LONGEST)


def save(folder: Path, _: list[str]) -> None:
    """Honour TERM: save and leave."""

    def on_term(number: int, _frame: object) -> None:
        (folder / "saved").write_text(str(number))
        sys.exit(0)

    signal.signal(signal.SIGTERM, on_term)
    wait(folder, [])


def stubborn(folder: Path, _: list[str]) -> None:
    """Ignore TERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wait(folder, [])


def family(folder: Path, _: list[str]) -> None:
    """Leave a grandchild in a session of its own behind, and end well."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            (folder / "grandchild").write_text(str(os.getpid()))
            time.sleep(LONGEST)
        os._exit(0)
    while not (folder / "grandchild").exists():
        time.sleep(0.01)


def write(_: Path, words: list[str]) -> None:
    """Write bytes, given in hexadecimal, to both streams."""
    os.write(1, bytes.fromhex(words[0]))
    os.write(2, bytes.fromhex(words[1]))


if __name__ == "__main__":
    main()
