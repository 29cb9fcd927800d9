"""The child's side: limits first, then the function, then one message, then the end."""

from __future__ import annotations

import faulthandler
import gc
import math
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from akotf.isolation import transport

#: Names that stay in a scrubbed environment.
KEPT = ("PATH", "LANG")


class Order(NamedTuple):
    """What a child is told to do."""

    function: Callable[..., Any]
    args: Sequence[Any]
    seconds: float
    memory: int  # bytes
    scrub: bool  # leave only `KEPT` of the environment


def serve(order: Order, pipe: int) -> NoReturn:
    """Run the order in this process, which is the child, and end it; never returns."""
    status = 70
    try:
        _detach()
        if order.scrub:
            _scrub_environment()
        _limit(order.seconds, order.memory)
        _send(pipe, _answer(order.function, order.args))
        status = 0
    finally:
        os._exit(status)  # no finalizers: they belong to the parent's objects


def main(pipe: int) -> NoReturn:
    """Entry of a child that was started afresh: the order lies pickled on standard input."""
    serve(pickle.load(sys.stdin.buffer), pipe)  # noqa: S301 - written by our parent


def _answer(function: Callable[..., Any], args: Sequence[Any]) -> bytes:
    try:
        return transport.encode_result(function(*args))
    except MemoryError:
        return transport.OUT_OF_MEMORY
    except BaseException as error:  # noqa: BLE001 - all of them go to the parent, SystemExit and panics too
        return transport.encode_error(error)


def _detach() -> None:
    """Own session (so that all descendants can be ended together), default signals, no input, output to stderr."""
    os.setsid()
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGXCPU, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    faulthandler.disable()  # the parent tells how we died; a trace of its frames would only confuse
    gc.freeze()  # what we inherited is never collected here
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # standard output is for the command's own results
    os.close(null)


def kept_environment() -> dict[str, str]:
    """What stays in a scrubbed environment."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def _scrub_environment() -> None:
    kept = kept_environment()
    os.environ.clear()
    os.environ.update(kept)


def _limit(seconds: float, memory: int) -> None:
    """Memory counts from what the process already has: a fork begins with the parent's.

    RLIMIT_DATA counts private writable memory (Linux >= 4.7), so mapped libraries are free. The alarm and the
    limit on CPU time (of all cores together) end the child when the parent was killed and nobody watches the clock.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    size = pages * os.sysconf("SC_PAGE_SIZE") + memory
    _lower(resource.RLIMIT_DATA, size)
    _lower(resource.RLIMIT_CPU, math.ceil(seconds + 1) * (os.cpu_count() or 1))
    _lower(resource.RLIMIT_CORE, 0)
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _send(pipe: int, message: bytes) -> None:
    for part in (struct.pack("!Q", len(message)), message):
        view = memoryview(part)
        while view:
            view = view[os.write(pipe, view) :]
