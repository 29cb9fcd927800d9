"""The same over HTTPS, from a server of our own: what it asks for it does not get, and where it sends us we don't go."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from akotf.errors import ConfigError
from akotf.gitsource.address import parse_address
from akotf.gitsource.fetch import fetch, resolve

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not Path("/usr/lib/git-core/git-http-backend").exists(),
    reason="git-http-backend is not here",
)


class Handler(BaseHTTPRequestHandler):
    """Git's own CGI program behind `/ok/`; `/private/` asks for a password, `/away/` redirects."""

    server: Any

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, body: bytes) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        if self.path.startswith("/private/"):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="r"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path.startswith("/away/"):
            self.send_response(302)
            self.send_header("Location", self.path.replace("/away/", "/ok/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.removeprefix("/ok").partition("?")
        variables = {
            "GIT_PROJECT_ROOT": str(self.server.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
        }  # fmt: skip
        done = subprocess.run(
            ["/usr/lib/git-core/git-http-backend"], input=body, env=variables, capture_output=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def certificate(folder: Path) -> Path:
    """A key and a certificate for 127.0.0.1, valid for a day, in one file."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")]),
    )
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
    (folder / "ca.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder / "server.pem"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.socket = context.wrap_socket(found.socket, server_side=True)
        found.folder, found.asked = tmp_path, []  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def at(server: Any) -> Callable[[str], str]:
    """The template's address below a folder of the server."""
    return lambda folder: f"git+https://127.0.0.1:{server.server_port}/{folder}/upstream//iac/tiny?ref=v1"


def test_a_tag_is_resolved_and_its_commit_fetched(
    repository: Any, server: Any, at: Callable[[str], str]
) -> None:
    commit = repository.commit("v1")
    address = parse_address(at("ok"))
    assert resolve(address) == commit
    (repository.template / "run.yaml").write_text("later\n")
    repository.commit("v1")  # moves, yet the commit is given
    assert fetch(address, commit).files["run.yaml"].startswith(b"image:")
    assert {authorization for _, authorization in server.asked} == {None}


def test_a_password_that_a_server_asks_for_is_never_given(
    repository: Any, server: Any, at: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from .netrc, not from a helper, not by a prompt: the fetch ends with the server's word."""
    repository.commit("v1")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine 127.0.0.1 login bob password hunter2\n")
    (home / ".git-credentials").write_text(f"https://bob:hunter2@127.0.0.1:{server.server_port}\n")
    (home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(ConfigError, match="git can't read"):
        resolve(parse_address(at("private")))
    assert server.asked
    assert not [a for _, a in server.asked if a and b"hunter2" in base64.b64decode(a.split()[1])]


def test_a_redirect_is_not_followed(repository: Any, server: Any, at: Callable[[str], str]) -> None:
    repository.commit("v1")
    with pytest.raises(ConfigError, match="git can't read"):
        resolve(parse_address(at("away")))
    assert not [path for path, _ in server.asked if path.startswith("/ok/")]


def test_a_certificate_that_nobody_vouches_for_is_refused(
    repository: Any, server: Any, at: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("v1")
    monkeypatch.delenv("GIT_SSL_CAINFO")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")  # not inherited
    with pytest.raises(ConfigError, match="certificate"):
        resolve(parse_address(at("ok")))
    assert server.asked == []
