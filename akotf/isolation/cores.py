"""The same call on many things, on all cores."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from akotf.isolation.limited import alone

Item = TypeVar("Item")
Result = TypeVar("Result")

_FEW = 8  # items for which starting processes takes longer than it saves


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], *, workers: int | None = None
) -> Iterator[Result]:
    """`function` of every item, in their order, computed by `workers` processes (one a usable core).

    The processes are forks: what this one has read and computed, they have too. The function must be module-level, its
    items and results picklable; it may call `run_limited`. Few items, or a process with threads, are done right here.
    An exception ends the whole.
    """
    workers = min(workers or len(os.sched_getaffinity(0)), len(items))
    if workers < 2 or len(items) < _FEW or not alone():
        yield from map(function, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    chunk = -(-len(items) // (workers * 4))  # small enough that no core waits long for the other
    with ProcessPoolExecutor(workers, get_context("fork"), _stay_quiet) as pool:
        yield from pool.map(function, items, chunksize=chunk)


def _stay_quiet() -> None:
    """Ctrl-C reaches all processes of a terminal; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
