"""One process: lines, standard error, signals."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from akotf.terraform.process import Process


def started(code: str, tmp_path: Path) -> Process:
    return Process([sys.executable, "-u", "-c", code], cwd=tmp_path, environment={})


def test_lines_arrive_whole_and_much_standard_error_does_not_block(tmp_path: Path) -> None:
    lines: list[bytes] = []
    ended = started(
        "import sys\nsys.stderr.write('e' * 3_000_000)\nprint('a' * 200_000)\nprint('b', end='')", tmp_path
    ).follow(lines.append)
    assert [len(line) for line in lines] == [200_001, 1]
    assert len(ended.stderr) == 3_000_000
    assert (ended.code, ended.interrupts) == (0, 0)


def test_the_process_has_a_session_of_its_own(tmp_path: Path) -> None:
    lines: list[bytes] = []
    started("import os; print(os.getsid(0) == os.getpid())", tmp_path).follow(lines.append)
    assert lines == [b"True\n"]


def test_a_real_ctrl_c_is_sent_on_once_and_the_output_after_it_is_kept(tmp_path: Path) -> None:
    code = (
        "import signal, time\n"
        "def stop(*_):\n    print('stopping'); time.sleep(0.2); print('stopped'); raise SystemExit(3)\n"
        "signal.signal(signal.SIGINT, stop)\nprint('ready')\ntime.sleep(60)\n"
    )
    lines: list[bytes] = []

    def listen(line: bytes) -> None:
        lines.append(line)
        if line == b"ready\n":
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    ended = started(code, tmp_path).follow(listen)
    assert lines == [b"ready\n", b"stopping\n", b"stopped\n"]
    assert (ended.code, ended.interrupts) == (3, 1)


def test_the_third_interrupt_kills_what_ignores_two(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid)\ntime.sleep(60)\n"
    )
    process = started(code, tmp_path)
    children: list[int] = []

    def listen(line: bytes) -> None:
        children.append(int(line))
        for _ in range(3):
            process.interrupt()

    ended = process.follow(listen)
    assert ended.code == -signal.SIGKILL
    assert _ends(children[0])  # the whole group went


def _ends(pid: int) -> bool:
    """Whether a process that was killed goes; a busy machine takes a moment for it."""
    deadline = time.monotonic() + 20
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
