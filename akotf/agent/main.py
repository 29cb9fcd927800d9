"""Start of the agent: one a node, at its own pace, gone when no run has lived for a while."""

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from akotf.agent.server import AgentServer
from akotf.facts import process
from akotf.facts.files import remove, write_json_atomic
from akotf.facts.node import living
from akotf.facts.observe import observe

READY = b"ready"
TAKEN = b"taken"  # another agent serves this node


def main(arguments: List[str]) -> int:
    """Serve one node directory until no run lives there; 0 also when another agent serves it already."""
    options = _parse(arguments)
    node = Path(options.node).absolute()
    node.mkdir(parents=True, exist_ok=True)
    if options.detach:
        return _detach(
            lambda answer: serve(node, options.interval, options.linger, answer), node / "agent.log"
        )
    return 0 if serve(node, options.interval, options.linger, lambda _: None) else 1


def serve(node: Path, interval: float, linger: float, answer: Callable[[bytes], None]) -> bool:
    """Answer requests until no run has lived on the node for `linger` seconds; False when it could not start."""
    with (node / "agent.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            answer(TAKEN)
            return True
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _stop)
        identity = {"schema": 1, "pid": os.getpid(), "pid_start": process.process_start(os.getpid())}
        try:
            with AgentServer(node, Observer(node)) as server:
                write_json_atomic(node / "agent.json", identity)
                answer(READY)
                _loop(server, node, interval, linger)
        except _Stopped:
            return True
        finally:
            remove(node / "agent.json")
    return True


class _Stopped(BaseException):
    """A signal asked the agent to leave. Raised, because select goes on waiting after a handler that returns."""


def _stop(*_: Any) -> None:
    raise _Stopped


def _loop(server: AgentServer, node: Path, interval: float, linger: float) -> None:
    server.timeout = min(interval, max(linger / 2, 0.05))
    seen = time.monotonic()
    while True:
        server.handle_request()  # sleeps until a request comes or the time is over
        if _lives(node):
            seen = time.monotonic()
        elif time.monotonic() - seen >= linger:
            return


def _lives(node: Path) -> bool:
    try:
        return living(node) is not None
    except (OSError, ValueError):  # half-written or foreign: the observation tells it; here it is no live run
        return False


class Observer:
    """Looks afresh at every request; remembers the last look, so that CPU use is a mean since then."""

    def __init__(self, node: Path) -> None:
        self.node = node
        self.previous: Optional[Dict[str, Any]] = None

    def __call__(self) -> Dict[str, Any]:
        """The node now, as the JSON of an observation."""
        self.previous = observe(self.node, self.previous)
        return self.previous


def _parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="akotf.agent", description="Tell what a node really has.")
    parser.add_argument("--node", required=True, metavar="FOLDER", help="the node directory")
    parser.add_argument("--interval", type=float, default=5.0, metavar="S", help="seconds between own looks")
    parser.add_argument(
        "--linger", type=float, default=30.0, metavar="S", help="stay this long without a run"
    )
    parser.add_argument(
        "--detach", action="store_true", help="return when it serves; go on in the background"
    )
    return parser.parse_args(arguments)


def _detach(serving: Callable[[Callable[[bytes], None]], bool], log: Path) -> int:
    """Fork; the parent returns when the child serves (0), another agent does (0), or the child failed (1)."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        _background(serving, writer, log)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        message = stream.read()
    if message in (READY, TAKEN):
        return 0
    print(message.decode(errors="replace") or "the agent died while it started", file=sys.stderr)
    return 1


def _background(serving: Callable[[Callable[[bytes], None]], bool], writer: int, log: Path) -> None:
    """The forked side: its own session, its errors in the log; never returns."""

    def answer(message: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(writer, message)
        os.close(writer)

    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        target = os.open(str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number, source in ((0, null), (1, target), (2, target)):
            os.dup2(source, number)
        code = 0 if serving(answer) else 1
    except BaseException as error:  # noqa: BLE001 - a daemon's last words go to its log
        print(json.dumps({"time": time.time(), "error": f"{type(error).__name__}: {error}"}), file=sys.stderr)
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            os.write(writer, f"{type(error).__name__}: {error}".encode(errors="replace"))
    os._exit(code)
