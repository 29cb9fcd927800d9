"""run_limited: every way a child can end, in a process with and without threads."""

import ctypes
import datetime
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from akotf.errors import ConfigError, IsolationError, TerraformError
from akotf.isolation import run_limited, transport
from akotf.model.finding import Finding, Position, Severity

MIB = 2**20


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """No child, zombie or file descriptor survives a call."""
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.fixture(params=["alone", "threaded"])
def threads(request):
    """Runs a test once by fork and once, beside another thread, by a fresh interpreter."""
    if request.param == "alone":
        yield request.param
        return
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    yield request.param
    stop.set()
    thread.join()


def test_the_result_comes_back(threads):
    assert run_limited(divmod, (17, 5)) == (3, 2)


def test_it_ran_in_another_process(threads):
    assert run_limited(os.getpid) != os.getpid()


def test_a_big_result_comes_back_whole(threads):
    assert run_limited(bytes, (10 * MIB,), memory=200 * MIB) == bytes(10 * MIB)


def test_waiting_too_long_is_the_time_limit(threads):
    started = time.monotonic()
    with pytest.raises(IsolationError, match=r"time limit of 0\.5 s"):
        run_limited(time.sleep, (60,), seconds=0.5)
    assert time.monotonic() - started < 30


def test_a_death_tells_the_status(threads):
    with pytest.raises(IsolationError, match="status 3"):
        run_limited(os._exit, (3,))


def test_a_crash_tells_the_signal(threads):
    with pytest.raises(IsolationError, match="SIGSEGV"):
        run_limited(ctypes.string_at, (0,))


def _kill_itself(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL])
def test_a_death_that_memory_may_explain_names_the_limit(number):
    with pytest.raises(IsolationError, match=rf"{number.name}, perhaps over its memory limit of 512 MiB"):
        run_limited(_kill_itself, (number,))


def test_an_orphan_ends_by_itself():
    """Nobody watches the clock of a child whose parent was killed: its own alarm and CPU limit do."""
    seconds, _ = run_limited(signal.getitimer, (signal.ITIMER_REAL,), seconds=30)
    assert 29 < seconds <= 31
    assert run_limited(resource.getrlimit, (resource.RLIMIT_CPU,), seconds=30) == (31 * os.cpu_count(),) * 2


def test_too_much_memory_is_the_memory_limit(threads):
    with pytest.raises(IsolationError, match="memory limit of 64 MiB"):
        run_limited(bytearray, (256 * MIB,), memory=64 * MIB)


def test_pythons_exceptions_come_back(threads):
    with pytest.raises(ValueError, match="invalid literal"):
        run_limited(int, ("x",))


def test_leaving_the_interpreter_does_not_end_the_caller(threads):
    with pytest.raises(IsolationError, match="SystemExit"):
        run_limited(sys.exit, (3,))


def _spin():
    while True:
        pass


def test_a_busy_loop_is_the_time_limit():
    with pytest.raises(IsolationError, match="time limit"):
        run_limited(_spin, seconds=0.3)


def _hog():
    grown = []
    while True:
        grown.append(bytearray(MIB))


def test_growing_slowly_is_the_memory_limit():
    with pytest.raises(IsolationError, match="memory limit"):
        run_limited(_hog, memory=64 * MIB, seconds=20)


FAULT = Finding(
    rule="config/x",
    message="no",
    severity=Severity.WARNING,
    position=Position(file="a.yaml", line=3, column=2),
)


def _refuse():
    raise ConfigError("two faults", [FAULT, FAULT], where="akotf.yaml", remedy="mend them")


def test_our_errors_come_back_with_all_they_know():
    with pytest.raises(ConfigError) as caught:
        run_limited(_refuse)
    error = caught.value
    assert (error.message, error.where, error.remedy) == ("two faults", "akotf.yaml", "mend them")
    assert error.findings == (FAULT, FAULT)
    assert error.findings[0].severity is Severity.WARNING


def _diagnose():
    raise TerraformError("no", [{"severity": "error"}])


def test_attributes_of_other_errors_come_back():
    with pytest.raises(TerraformError) as caught:
        run_limited(_diagnose)
    assert caught.value.diagnostics == ({"severity": "error"},)


class Foreign(Exception):
    """Not one of ours."""


def _foreign():
    raise Foreign("odd")


def test_foreign_exceptions_come_as_text():
    with pytest.raises(IsolationError, match="Foreign: odd"):
        run_limited(_foreign)


def test_values_of_the_models_come_back():
    value = {"f": FAULT, "d": datetime.date(2027, 1, 2), "p": Path("/a"), "s": {1, 2}}
    assert run_limited(dict, (value,)) == value


def test_a_result_that_cannot_travel_is_told():
    with pytest.raises(IsolationError, match="can't be sent back"):
        run_limited(open, (os.devnull,))


def _environment():
    return dict(os.environ)


def test_a_scrubbed_environment_holds_no_secret(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    assert "AWS_SECRET_ACCESS_KEY" in run_limited(_environment)
    assert set(run_limited(_environment, scrub_environment=True)) <= {"PATH", "LANG"}
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == "s3cret"


def test_a_scrubbed_environment_holds_no_secret_beside_threads(threads, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    assert run_limited(os.getenv, ("AWS_SECRET_ACCESS_KEY",)) == "s3cret"
    assert run_limited(os.getenv, ("AWS_SECRET_ACCESS_KEY",), scrub_environment=True) is None


def test_no_core_is_dumped(threads):
    assert run_limited(resource.getrlimit, (resource.RLIMIT_CORE,)) == (0, 0)


def _leave_a_child(path):
    pid = subprocess.Popen(["sleep", "60"]).pid
    Path(path).write_text(str(pid))
    time.sleep(60)


def test_what_the_child_started_ends_with_it(tmp_path):
    with pytest.raises(IsolationError):
        run_limited(_leave_a_child, (str(tmp_path / "pid"),), seconds=3)
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().split()[2] not in "ZX":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_output_of_the_child_never_reaches_standard_output(capfd):
    print("pending", end="")
    run_limited(os.write, (1, b"noise"))
    out, err = capfd.readouterr()
    assert out == "pending"
    assert err == "noise"


class Evil:
    """What a hostile function could answer."""

    def __reduce__(self):
        return (os.system, ("true",))


@pytest.mark.parametrize("answer", [Evil(), os.system, eval, subprocess.Popen, print, map, SystemExit])
def test_an_answer_cannot_run_code_here(answer):
    with pytest.raises(pickle.UnpicklingError, match="is not a value"):
        transport.decode(pickle.dumps(("ok", answer)))


def _lie():
    return Evil()


def test_a_hostile_answer_is_refused():
    with pytest.raises(IsolationError, match="can't be taken"):
        run_limited(_lie)


def test_an_answer_larger_than_the_memory_limit_is_refused():
    with pytest.raises(IsolationError, match="memory limit"):
        run_limited(bytes, (3 * MIB,), memory=2 * MIB)
