"""HTTP on a 0600 Unix socket: /observation, /metrics, /healthz."""

import json
import os
import socket
import socketserver
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Callable, Dict

from akotf.agent.metrics import CONTENT_TYPE, prometheus
from akotf.facts.node import AGENT_SOCKET

REQUEST_TIMEOUT = 5.0  # s; a client that stalls does not block the others for longer


class AgentServer(socketserver.UnixStreamServer):
    """Serves one node directory; `look` gives its observation.

    The socket is bound through /proc/self/fd, because a path in sockaddr_un holds 107 bytes (unix(7)) and an
    environment may lie deeper.
    """

    request_queue_size = 16

    def __init__(self, node: Path, look: Callable[[], Dict[str, Any]]) -> None:
        self.look = look
        self.path = node / AGENT_SOCKET
        self.path.unlink(missing_ok=True)  # the lock is ours: what lies there is a dead agent's
        self.folder = os.open(str(node), os.O_RDONLY | os.O_DIRECTORY)
        before = os.umask(0o177)  # 0600 from its first moment on
        try:
            super().__init__(f"/proc/self/fd/{self.folder}/{AGENT_SOCKET}", Handler)
        except BaseException:
            os.close(self.folder)
            raise
        finally:
            os.umask(before)

    def server_close(self) -> None:
        """Close and remove the socket."""
        super().server_close()
        self.path.unlink(missing_ok=True)
        os.close(self.folder)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event for the log; a fault of ours was answered as 500."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: AgentServer
    timeout = REQUEST_TIMEOUT
    server_version = "akotf-agent"

    def do_GET(self) -> None:
        """Answer one of the three paths."""
        path = self.path.partition("?")[0]
        try:
            if path == "/observation":
                body = json.dumps(self.server.look(), allow_nan=False).encode("ascii")
                self._answer(200, "application/json", body)
            elif path == "/metrics":
                self._answer(200, CONTENT_TYPE, prometheus(self.server.look()).encode())
            elif path == "/healthz":
                self._answer(200, "text/plain; charset=utf-8", b"ok\n")
            else:
                self._answer(404, "text/plain; charset=utf-8", b"/observation, /metrics or /healthz\n")
        except (BrokenPipeError, ConnectionResetError, socket.timeout):
            self.close_connection = True  # the client went away
        except (OSError, ValueError) as error:
            self._answer(500, "text/plain; charset=utf-8", f"{type(error).__name__}: {error}\n".encode())

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        """A Unix client has no address."""
        return "local"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Requests are not logged: one every few seconds, for ever."""
