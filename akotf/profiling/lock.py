"""One experiment at a time on a machine: a kernel lock on a file, which a dead process can't keep."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def experiment(path: Path, *, now: str, what: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine lock. While somebody else does, `on_wait` is told once who, since when and for what."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait(_holder(descriptor))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "since": now, "what": what}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        who = f"process {holder['pid']} ({holder['what']}, since {holder['since']})"
    except (ValueError, KeyError, TypeError):
        who = "another process"  # it has the lock and has not written its name yet
    return f"waiting: {who} measures on this machine, and only one experiment runs at a time"
