"""Loopback stand-ins for Google Secret Manager, Azure Key Vault and Vault, for the vendors' own SDKs to talk to.

They follow the published contracts: Secret Manager's REST discovery document (v1), Key Vault's `Get Secret` (7.x) with
its challenge and Entra's token endpoint, Vault's HTTP API for KV 1 and 2. Google's and Azure's names are kept: the SDKs
reach them through a CONNECT proxy, and trust them by a certificate authority of the test's own.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

HOSTS = (
    "*.vault.azure.net", "login.microsoftonline.com", "secretmanager.googleapis.com",
    "secretmanager.europe-west3.rep.googleapis.com", "oauth2.googleapis.com",
)  # fmt: skip
Answer = tuple[int, Any]  # HTTP status, JSON body
_GOOGLE = re.compile(r"/v1/(?P<name>projects/[^:?]+):access")
_AZURE = re.compile(r"/secrets/(?P<name>[^/?]+)(?:/(?P<version>[^/?]*))?")
_TENANT = "/11111111-2222-3333-4444-555555555555"


class SecretServices:
    """All three, while the context lasts. What is stored is kept by the reference that names it, without its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.google: dict[str, bytes] = {}  # projects/P/secrets/S/versions/latest -> payload
        self.azure: dict[str, str] = {}  # VAULT/NAME or VAULT/NAME/VERSION -> value
        self.vault: dict[str, dict[str, Any]] = {}  # MOUNT/PATH -> keys
        self.vault_mounts = {"kv": "2"}  # mount -> version of KV
        self.forced: dict[str, Answer] = {}  # service -> what it answers to everything
        self.asked: list[str] = []  # METHOD HOST/PATH
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> SecretServices:
        certificate = _certificates(self.folder)
        https = self._serve(self._answer_named)
        https.socket = certificate.wrap_socket(https.socket, server_side=True)
        self._proxy = _Proxy(https.server_port)
        self._vault_port = self._serve(self._answer_vault).server_port
        for server in (*self._servers, self._proxy):
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        _google_account(self.folder / "google.json")
        return self

    def __exit__(self, *_: object) -> None:
        for server in (*self._servers, self._proxy):
            server.shutdown()
            server.server_close()

    def variables(self) -> dict[str, str]:
        """The environment in which the SDKs find them, with credentials that they take."""
        return {
            "HTTPS_PROXY": f"http://127.0.0.1:{self._proxy.server_port}", "NO_PROXY": "127.0.0.1,localhost",
            "REQUESTS_CA_BUNDLE": str(self.folder / "ca.pem"),
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.folder / "google.json"),
            "AZURE_TENANT_ID": _TENANT.strip("/"), "AZURE_CLIENT_ID": "akotf", "AZURE_CLIENT_SECRET": "test-only",
            "VAULT_ADDR": f"http://127.0.0.1:{self._vault_port}", "VAULT_TOKEN": "test-only",
        }  # fmt: skip

    def _serve(self, answer: Callable[[BaseHTTPRequestHandler], Answer]) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", 0), _handler(answer))
        self._servers.append(server)
        return server

    def _answer_named(self, request: BaseHTTPRequestHandler) -> Answer:
        host = request.headers.get("Host", "").partition(":")[0]
        self.asked.append(f"{request.command} {host}{request.path.partition('?')[0]}")
        if host == "login.microsoftonline.com":
            return self._entra(request)
        if host == "oauth2.googleapis.com":
            return 200, {"access_token": "test-only", "token_type": "Bearer", "expires_in": 3600}
        if host.endswith(".vault.azure.net"):
            return self._key_vault(request, host.removesuffix(".vault.azure.net"))
        return self._secret_manager(request)

    def _entra(self, request: BaseHTTPRequestHandler) -> Answer:
        root = "https://login.microsoftonline.com" + _TENANT
        if request.command == "POST":
            return self.forced.get("entra") or (
                200, {"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": "test-only"}
            )  # fmt: skip
        if "/discovery/instance" in request.path:
            return 200, {
                "tenant_discovery_endpoint": f"{root}/v2.0/.well-known/openid-configuration",
                "metadata": [],
            }
        return 200, {
            "issuer": f"{root}/v2.0", "authorization_endpoint": f"{root}/oauth2/v2.0/authorize",
            "token_endpoint": f"{root}/oauth2/v2.0/token",
        }  # fmt: skip

    def _key_vault(self, request: BaseHTTPRequestHandler, vault: str) -> Answer:
        if not request.headers.get("Authorization"):
            return 401, {"error": {"code": "Unauthorized", "message": "no token"}}
        if "azure" in self.forced:
            return self.forced["azure"]
        match = _AZURE.match(request.path)
        name = (
            f"{vault}/{match['name']}" + (f"/{match['version']}" if match["version"] else "") if match else ""
        )
        if name not in self.azure:
            return 404, {"error": {"code": "SecretNotFound", "message": "not found in this key vault"}}
        identity = f"https://{vault}.vault.azure.net/secrets/{name.partition('/')[2]}"
        return 200, {"value": self.azure[name], "id": identity, "attributes": {"enabled": True}}

    def _secret_manager(self, request: BaseHTTPRequestHandler) -> Answer:
        if not request.headers.get("Authorization", "").startswith("Bearer "):
            return 401, _google_error(401, "UNAUTHENTICATED")
        if "google" in self.forced:
            return self.forced["google"]
        match = _GOOGLE.match(request.path)
        if match is None or match["name"] not in self.google:
            return 404, _google_error(404, "NOT_FOUND")
        data = base64.b64encode(self.google[match["name"]]).decode()
        return 200, {"name": match["name"], "payload": {"data": data}}

    def _answer_vault(self, request: BaseHTTPRequestHandler) -> Answer:
        path = request.path.removeprefix("/v1/")
        self.asked.append(f"{request.command} vault/{path}")
        if "vault" in self.forced:
            return self.forced["vault"]
        if request.headers.get("X-Vault-Token") != "test-only":
            return 403, {"errors": ["permission denied"]}
        wanted = path.removeprefix("sys/internal/ui/mounts/")
        mount = next(
            (m for m in sorted(self.vault_mounts, key=len, reverse=True) if f"{wanted}/".startswith(f"{m}/")),
            "",
        )
        if not mount:
            return 403, {
                "errors": [
                    "preflight capability check returned 403, please ensure client's policies grant access"
                ]
            }
        version = self.vault_mounts[mount]
        if wanted != path:
            return 200, {"data": {"path": f"{mount}/", "type": "kv", "options": {"version": version}}}
        inner = path[len(mount) + 1 :]
        keys = self.vault.get(f"{mount}/{inner.removeprefix('data/') if version == '2' else inner}")
        if keys is None or (version == "2" and not inner.startswith("data/")):
            return 404, {"errors": []}
        metadata = {
            "created_time": "2026-12-01T00:00:00Z",
            "deletion_time": "",
            "destroyed": False,
            "version": 1,
        }
        return 200, {"data": {"data": keys, "metadata": metadata} if version == "2" else keys}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no event."""


def _handler(answer: Callable[[BaseHTTPRequestHandler], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Nothing."""

        def _any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = answer(self)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 401:  # how Key Vault tells whose token it wants
                self.send_header(
                    "WWW-Authenticate",
                    f'Bearer authorization="https://login.microsoftonline.com{_TENANT}", resource="https://vault.azure.net"',
                )
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _any  # noqa: N815 - the base class's names

    return Handler


class _Proxy(_Server):
    """A CONNECT proxy that leads every name to one port of this machine."""

    def __init__(self, port: int) -> None:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
                """Nothing."""

            def do_CONNECT(self) -> None:
                """Tunnel until one side hangs up."""
                with socket.create_connection(("127.0.0.1", proxy.target)) as far:
                    self.send_response(200)
                    self.end_headers()
                    back = threading.Thread(target=_pump, args=(far, self.connection), daemon=True)
                    back.start()
                    _pump(self.connection, far)
                    back.join()

        self.target = port
        super().__init__(("127.0.0.1", 0), Handler)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the other side is gone


def _google_error(code: int, status: str) -> Any:
    return {"error": {"code": code, "message": status.lower(), "status": status}}


def _google_account(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account", "project_id": "test-project", "private_key_id": "1", "private_key": pem.decode(),
        "client_email": "akotf@test-project.iam.gserviceaccount.com", "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }  # fmt: skip
    path.write_text(json.dumps(account))


def _certificates(folder: Path) -> ssl.SSLContext:
    """A certificate authority (`ca.pem`) and, signed by it, the certificate of HOSTS."""
    now = dt.datetime.now(dt.UTC)
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "akotf test authority")])

    def signed(subject: x509.Name, public: Any, extension: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(
            now - dt.timedelta(days=1)
        )
        builder = builder.not_valid_after(now + dt.timedelta(days=1)).add_extension(extension, critical=True)
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    (folder / "ca.pem").write_bytes(signed(name, authority.public_key(), x509.BasicConstraints(True, 0)))
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    server = signed(x509.Name([]), key.public_key(), names)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(server + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context
