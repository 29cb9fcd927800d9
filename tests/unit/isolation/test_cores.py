"""spread: the same answers as one by one, in order, on several processes; nothing left behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from akotf.errors import ConfigError
from akotf.isolation import run_limited, spread


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def in_a_child(number: int) -> int:
    found: int = run_limited(abs, (-number,))
    return found


def fails_at_seven(number: int) -> int:
    if number == 7:
        raise ConfigError("seven", where="here")
    return number


def test_results_come_in_order_from_several_processes() -> None:
    results = list(spread(square, range(50), workers=2))
    assert [r for r, _ in results] == [n * n for n in range(50)]
    processes = {pid for _, pid in results}
    assert os.getpid() not in processes
    assert 1 <= len(processes) <= 2


@pytest.mark.parametrize(("count", "workers"), [(0, 2), (1, 2), (7, 2), (50, 1)])
def test_few_items_or_one_core_start_no_process(count: int, workers: int) -> None:
    assert list(spread(square, range(count), workers=workers)) == [(n * n, os.getpid()) for n in range(count)]


def test_a_process_with_threads_does_not_fork() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert {pid for _, pid in spread(square, range(20), workers=2)} == {os.getpid()}
    finally:
        stop.set()
        thread.join()


def test_the_function_may_start_limited_children() -> None:
    assert list(spread(in_a_child, range(12), workers=2)) == list(range(12))


def test_an_exception_ends_the_whole_and_comes_as_it_is() -> None:
    with pytest.raises(ConfigError, match="seven"):
        list(spread(fails_at_seven, range(20), workers=2))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # no process is left


def test_what_was_read_before_is_there_in_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_KNOWN, "word", "read once")
    assert set(spread(known, range(20), workers=2)) == {"read once"}


_KNOWN: dict[str, str] = {}


def known(_: int) -> str:
    return _KNOWN.get("word", "")
