"""The client of the node agent: reads observations over its Unix socket, and starts it where none serves."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from akotf.errors import TelemetryUnavailable
from akotf.facts.node import AGENT_SOCKET
from akotf.model.drift import Observation

LARGEST = 32 * 2**20  # bytes of an answer: 2 MiB of variables, of which JSON may make six bytes of each one
PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
#: For an isolated interpreter (-I) without site packages (-S): the standard library and this very akotf, nothing else.
BOOTSTRAP = "import sys; sys.path.append(sys.argv.pop(1)); from akotf.agent.main import main; sys.exit(main(sys.argv[1:]))"


class AgentSource:
    """Telemetry from the agents of local nodes. `timeout`: seconds until an agent counts as not reachable."""

    def __init__(self, interpreter: str = sys.executable, timeout: float = 10.0) -> None:
        self.interpreter = interpreter
        self.timeout = timeout

    def read(self, node_directory: Path) -> Observation:
        """What the node has now. TelemetryUnavailable when no agent answers, or not in words we know."""
        where = str(node_directory / AGENT_SOCKET)
        try:
            data = json.loads(self.get(node_directory, "/observation"))
            return Observation.model_validate(data)
        except (ValidationError, ValueError) as error:
            raise TelemetryUnavailable(
                f"the agent's answer is not an observation: {error}", where=where,
                remedy="stop the agent (its pid is in agent.json); a new one starts by itself",
            ) from error  # fmt: skip

    def get(self, node_directory: Path, path: str) -> bytes:
        """The body of an answer with status 200; TelemetryUnavailable otherwise."""
        where = str(node_directory / AGENT_SOCKET)
        connection = _UnixConnection(node_directory, self.timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read(LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            raise TelemetryUnavailable(
                f"the agent can't be asked: {type(error).__name__}: {error}", where=where,
                remedy="akotf monitor starts an agent for a live run",
            ) from error  # fmt: skip
        finally:
            connection.close()
        if answer.status != 200 or len(body) > LARGEST:
            raise TelemetryUnavailable(
                f"the agent answers {answer.status} with {len(body)} bytes: {body[:200]!r}", where=where,
                remedy="see agent.log beside the socket",
            )  # fmt: skip
        return body

    def start_agent(self, node_directory: Path, interval: float = 5.0, linger: float = 30.0) -> None:
        """Start the node's agent unless one serves already; returns when it answers.

        It gets no variable of ours but PATH and LANG, survives us, and ends by itself `linger` seconds after the
        last run. TelemetryUnavailable when it does not start.
        """
        command = [
            self.interpreter, "-I", "-S", "-c", BOOTSTRAP, PACKAGE_PARENT, "--node", str(node_directory),
            "--interval", f"{interval:g}", "--linger", f"{linger:g}", "--detach",
        ]  # fmt: skip
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, cwd="/", env=environment, check=False,
                timeout=30, start_new_session=True,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _not_started(node_directory, str(error)) from error
        if done.returncode != 0:
            raise _not_started(node_directory, done.stderr.decode(errors="replace").strip()[-500:])


def _not_started(node_directory: Path, reason: str) -> TelemetryUnavailable:
    return TelemetryUnavailable(
        f"the agent does not start: {reason}",
        where=str(node_directory),
        remedy="see agent.log in that folder",
    )


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over the node's socket, reached through its folder: a path in sockaddr_un holds 107 bytes (unix(7))."""

    def __init__(self, node_directory: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.node_directory = node_directory

    def connect(self) -> None:
        """Open the socket."""
        folder = os.open(self.node_directory, os.O_RDONLY | os.O_DIRECTORY)
        unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            unix.settimeout(self.timeout)
            unix.connect(f"/proc/self/fd/{folder}/{AGENT_SOCKET}")
        except BaseException:
            unix.close()
            raise
        finally:
            os.close(folder)
        self.sock: Any = unix
