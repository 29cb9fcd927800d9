"""The agent's client takes nothing but an observation for one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from akotf.errors import TelemetryUnavailable
from akotf.telemetry.agent_client import AgentSource

SOURCE = AgentSource()


@pytest.fixture
def node(tmp_path: Path) -> Path:
    folder = tmp_path / ("deep" * 40) / "node"
    folder.mkdir(parents=True)
    return folder


class Answering:
    """A server on the node's socket that gives a fixed answer once."""

    def __init__(self, node: Path, answer: bytes) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c",
             "import socket, sys, os; os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); s.bind('agent.sock');"
             "s.listen(); print(flush=True); c, _ = s.accept(); c.recv(9999); c.sendall(bytes.fromhex(sys.argv[2]))",
             str(node), answer.hex()], stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.child.stdout is not None
        self.child.stdout.readline()

    def close(self) -> None:
        self.child.kill()
        self.child.communicate()


def http_answer(body: bytes) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize("answer", [
    http_answer(b"{}"), http_answer(b"not json"), http_answer(b"\xff"), b"gibberish\r\n", b"",
    http_answer(json.dumps({"node": "n", "time": 1, "live": True, "unknown_field": 1}).encode()),
    b"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nshort",
])  # fmt: skip
def test_wrong_answers_are_telemetry_unavailable(node: Path, answer: bytes) -> None:
    server = Answering(node, answer)
    try:
        with pytest.raises(TelemetryUnavailable):
            SOURCE.read(node)
    finally:
        server.close()


def test_silent_agent_is_given_up(node: Path) -> None:
    folder = os.open(node, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"/proc/self/fd/{folder}/agent.sock")
        silent.listen()
        with pytest.raises(TelemetryUnavailable, match="timed out"):
            AgentSource(timeout=0.05).read(node)
    os.close(folder)


def test_agent_that_can_not_start_is_told(tmp_path: Path) -> None:
    (tmp_path / "node").write_text("a file where the folder should be")
    with pytest.raises(TelemetryUnavailable, match="does not start"):
        SOURCE.start_agent(tmp_path / "node")


def test_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TelemetryUnavailable, match="does not start"):
        AgentSource(interpreter="/no/such/python").start_agent(tmp_path)
