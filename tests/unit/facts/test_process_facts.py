"""What /proc tells of processes, on real ones."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from akotf.facts import process

# proc_pid_stat(5): pid (comm) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
# cstime priority nice num_threads itrealvalue starttime vsize rss
LINE = "42 (a) (b) c) S 7 8 9 0 -1 0 1 2 3 4 150 50 0 0 20 0 1 0 123456 1000 33 0"


@contextmanager
def running(arguments: list[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that ends with the block, also when the block fails."""
    with subprocess.Popen(arguments, **options) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with running(["sleep", "600"], env={"A": "1", "EMPTY": "", "WITH": "a=b"}) as started:
        yield started


def test_a_name_with_brackets_and_spaces_does_not_shift_the_fields() -> None:
    found = process.parse_stat(LINE)
    assert found == process.Stat(42, "S", 7, 8, 9, "123456", 200, 33)


def test_foreign_text_is_no_stat_line() -> None:
    with pytest.raises(ValueError, match="not a /proc/PID/stat line"):
        process.parse_stat("42 (a) S 1 2")


def test_own_start_agrees_with_the_kernels_own_field() -> None:
    with open("/proc/self/stat") as file:
        expected = file.read().rpartition(")")[2].split()[19]
    assert process.process_start(os.getpid()) == expected


def test_alive_needs_the_same_start_and_boot(sleeper: subprocess.Popen[bytes]) -> None:
    start = process.process_start(sleeper.pid)
    assert start is not None
    assert process.alive(sleeper.pid, start, process.boot_id())
    assert not process.alive(sleeper.pid, str(int(start) + 1), process.boot_id())
    assert not process.alive(sleeper.pid, start, "00000000-0000-0000-0000-000000000000")


def test_a_zombie_is_not_alive() -> None:
    with running(["true"]) as started:
        start = process.process_start(started.pid)
        assert start is not None
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # ended, not collected
        found = process.stat(started.pid)
        assert found is not None and found.state == "Z"
        assert not process.alive(started.pid, start, process.boot_id())
    assert process.stat(started.pid) is None


def test_environment_is_what_the_process_was_given(sleeper: subprocess.Popen[bytes]) -> None:
    assert process.environ(sleeper.pid) == {"A": "1", "EMPTY": "", "WITH": "a=b"}


def test_bytes_that_are_not_utf8_survive() -> None:
    with running(["sleep", "600"], env={b"RAW": b"\xff\x00"[:1]}) as started:
        value = process.environ(started.pid)["RAW"]
    assert value.encode("utf-8", "surrogateescape") == b"\xff"


def test_a_limit_is_set_in_the_process_itself() -> None:
    ask = "import resource,sys; sys.stdin.read(1); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    with running(
        [sys.executable, "-I", "-c", ask], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        process.set_limit(started.pid, "open_files", 777)
        assert process.limits(started.pid)["open_files"] == 777
        out, _ = started.communicate("x")
    assert out.strip() == "777"


def test_an_unlimited_limit_is_minus_one(sleeper: subprocess.Popen[bytes]) -> None:
    if resource.prlimit(sleeper.pid, resource.RLIMIT_DATA)[1] != resource.RLIM_INFINITY:
        pytest.skip("this machine has a hard limit of memory")
    process.set_limit(sleeper.pid, "memory", process.UNLIMITED)
    assert process.limits(sleeper.pid)["memory"] == -1


def test_above_the_hard_limit_says_so_where_it_is_not_allowed() -> None:
    """As a user without CAP_SYS_RESOURCE; root drops to one in a child."""
    code = (
        "import os, resource\n"
        "from akotf.facts import process\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: process.set_limit(os.getpid(), 'open_files', 4000)\n"
        "except PermissionError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "can't be set to 4000: its hard limit is 200" in done.stdout


def test_affinity_reaches_every_thread() -> None:
    code = (
        "import threading, sys, os\n"
        "gate = threading.Event()\n"
        "def work(): print(threading.get_native_id(), flush=True); gate.wait()\n"
        "t = threading.Thread(target=work); t.start()\n"
        "sys.stdin.read(); gate.set(); t.join()\n"
    )
    cpu = min(os.sched_getaffinity(0))
    with running(
        [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        thread = int(started.stdout.readline())
        process.set_affinity(started.pid, {cpu})
        assert process.affinity(started.pid) == {cpu}
        assert os.sched_getaffinity(thread) == {cpu}
        started.communicate("")


def test_family_has_children_and_those_that_left_for_the_group() -> None:
    # a shell that leaves its session's group with a background child and then waits
    with running(
        ["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        assert started.stdout is not None
        child = int(started.stdout.readline())
        try:
            assert process.family(started.pid) == [started.pid, child]
            assert process.descendants(started.pid) == [child]
            started.kill()
            started.wait()
            assert process.group(started.pid) == [child]  # orphaned, still of the session
        finally:
            os.kill(child, 9)


def test_descendants_end_on_a_circle() -> None:
    stat = process.Stat(1, "S", 2, 1, 1, "0", 0, 0)
    table = {1: stat, 2: stat._replace(pid=2, parent=1)}
    assert process.descendants(1, table) == [2]


def test_usage_counts_cpu_and_memory_and_passes_over_the_gone() -> None:
    use = process.usage([os.getpid(), 2**22 + 1])
    assert use.processes == 1
    assert use.memory_bytes > 1_000_000
    assert use.cpu_seconds > 0


def test_cpu_percent_is_seconds_over_seconds() -> None:
    assert process.cpu_percent((100.0, 5.0), (110.0, 20.0)) == 150.0  # 15 s of CPU in 10 s
    assert process.cpu_percent((100.0, 5.0), (100.0, 20.0)) == 0.0


def test_the_gone_are_lookup_errors() -> None:
    with pytest.raises(ProcessLookupError):
        process.environ(2**22 + 1)
    with pytest.raises(ProcessLookupError):
        process.limits(2**22 + 1)
    with pytest.raises(ProcessLookupError):
        process.set_affinity(2**22 + 1, {0})
