"""Serves the provider to Terraform (go-plugin handshake, protocol 6) so that nothing under way is ever lost.

PyPI `tf` 1.2.0 ends in the middle of an apply on Ctrl-C, outlives a killed Terraform, takes 4 MiB at most, keeps a key
under HOME and rounds numbers; this runner takes its place and keeps the library's servicer.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from akotf.tfprovider.provider import AkotfProvider

# go-plugin's check that it was Terraform that started us; not a secret.
COOKIE = ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
_LARGEST = 256 * 2**20  # bytes of one message; gRPC's own cap is 4 MiB
_WORKERS = 16
_WATCH = 0.5  # s between looks at the parent
_GRACE = 2.0  # s for calls under way after Terraform said goodbye
_ORPHAN_GRACE = 30.0  # s for calls under way after Terraform died: what they create should at least be whole
_SOCKET_PATH = 100  # characters; the kernel takes 107
_GUARDED = (
    "ValidateProviderConfig", "ConfigureProvider", "ValidateResourceConfig", "ValidateDataResourceConfig",
    "UpgradeResourceState", "ReadResource", "PlanResourceChange", "ApplyResourceChange", "ImportResourceState",
    "ReadDataSource",
)  # fmt: skip
# An answer that failed says what was there before, so that Terraform's state never loses it.
_PRIOR = {"ReadResource": "current_state", "ApplyResourceChange": "prior_state"}


def main() -> int:
    """Serve until Terraform ends; 1 when a person started it."""
    name, value = COOKIE
    if os.environ.get(name) != value:
        sys.stderr.write(
            "This is akotf's Terraform provider. Terraform starts it; type `terraform plan` in the root.\n"
        )
        return 1
    # Ctrl-C reaches the whole process group. Terraform decides when we stop, after the calls under way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(AkotfProvider())
    # Terraform waits for our end three times a plan, and unloading grpc takes 45 ms that nobody needs
    sys.stdout.flush()
    os._exit(0)


def serve(provider: Any) -> None:
    """Answer Terraform's calls until it asks to shut down, is gone, or sends TERM."""
    import grpc

    done = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    parent = os.getppid()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=_WORKERS),
        options=[
            ("grpc.max_receive_message_length", _LARGEST),
            ("grpc.max_send_message_length", _LARGEST),
        ],
    )
    _register(server, servicer(provider), done)
    certificate, credentials = _certificate()
    with _socket_folder() as folder:
        socket = f"{folder}/provider.sock"
        server.add_secure_port(f"unix:{socket}", credentials)
        server.start()
        sys.stdout.write(f"1|6|unix|{socket}|grpc|{certificate}\n")
        sys.stdout.flush()
        while not done.wait(_WATCH):
            if os.getppid() != parent:
                done.set()
                server.stop(grace=_ORPHAN_GRACE).wait()
                return
        server.stop(grace=_GRACE).wait()


def servicer(provider: Any) -> Any:
    """The library's servicer with its defects mended."""
    import tf.utils
    from tf.gen import tfplugin_pb2 as pb
    from tf.provider import ProviderServicer
    from tf.types import Unknown

    # Terraform >= 1.6 refines unknown values (extension 12); the library would take them for known ones
    tf.utils._msgpack_ext_hook = lambda *_: Unknown
    built = ProviderServicer(provider)
    built.UpgradeResourceState = lambda request, _: _upgrade(built, request)
    built.StopProvider = lambda *_: pb.StopProvider.Response()  # calls under way go on to their end
    for call in _GUARDED:
        setattr(built, call, _guarded(call, getattr(built, call)))
    return built


def _upgrade(built: Any, request: Any) -> Any:
    """State as it was stored, numbers exact: 0.1 stays 0.1 and 2**70 stays itself."""
    from tf.gen import tfplugin_pb2 as pb
    from tf.iface import UpgradeContext
    from tf.utils import Diagnostics, to_dynamic_value

    resource = built._get_res_cls(request.type_name)
    diagnostics = Diagnostics()
    state = json.loads(request.raw_state.json, parse_float=str, parse_int=_integer)
    if request.version < resource.get_schema().version:
        context = UpgradeContext(diagnostics, request.type_name)
        state = built.app.new_resource(resource).upgrade(context, request.version, state)
    return pb.UpgradeResourceState.Response(
        upgraded_state=to_dynamic_value(state), diagnostics=diagnostics.to_pb()
    )


def _integer(text: str) -> int | str:
    number = int(text)
    return (
        number if -(2**63) <= number < 2**63 else text
    )  # MessagePack has 64 bits; Terraform reads the rest as text


def _guarded(call: str, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The handler with exceptions as diagnostics, the prior state kept."""
    from tf.gen import tfplugin_pb2 as pb

    def answer(request: Any, context: Any) -> Any:
        try:
            return handler(request, context)
        except Exception as error:  # noqa: BLE001 - the boundary: Terraform must get a diagnostic, whatever it is
            diagnostic = pb.Diagnostic(
                severity=pb.Diagnostic.ERROR, summary=_summary(error), detail=_detail(call, error)
            )
            kept = {"new_state": getattr(request, _PRIOR[call])} if call in _PRIOR else {}
            return getattr(pb, call).Response(diagnostics=[diagnostic], **kept)

    return answer


def _summary(error: Exception) -> str:
    return str(getattr(error, "message", "")) or f"{type(error).__name__}: {error}"


def _detail(call: str, error: Exception) -> str:
    return str(getattr(error, "remedy", "")) or f"Raised while akotf's provider answered {call}."


def _register(server: Any, provider: Any, done: threading.Event) -> None:
    from tf.gen import grpc_controller_pb2 as controller
    from tf.gen import grpc_controller_pb2_grpc as controller_grpc
    from tf.gen import grpc_stdio_pb2_grpc as stdio_grpc
    from tf.gen import tfplugin_pb2_grpc as plugin_grpc

    class Controller:
        def Shutdown(self, _request: Any, _context: Any) -> Any:  # noqa: N802 - the protocol's name
            done.set()
            return controller.Empty()

    class Stdio:
        def StreamStdio(self, _request: Any, _context: Any) -> Iterator[Any]:  # noqa: N802 - the protocol's name
            done.wait()
            return iter(())

    plugin_grpc.add_ProviderServicer_to_server(provider, server)
    controller_grpc.add_GRPCControllerServicer_to_server(Controller(), server)
    stdio_grpc.add_GRPCStdioServicer_to_server(Stdio(), server)


def _certificate() -> tuple[str, Any]:
    """A fresh certificate that lives in memory only: (base64 DER for the handshake, gRPC credentials).

    The client is not asked for one: go-plugin's is on the curve P-521, which gRPC's BoringSSL refuses. The socket's
    folder is ours alone (0700).
    """
    import grpc
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    credentials = grpc.ssl_server_credentials([(private, built.public_bytes(serialization.Encoding.PEM))])
    der = built.public_bytes(serialization.Encoding.DER)
    return base64.b64encode(der).decode().rstrip("="), credentials


@contextmanager
def _socket_folder() -> Iterator[str]:
    """A 0700 folder whose socket fits the kernel's limit, also where TMPDIR is deep."""
    base = next(
        (folder for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp") if _fits(folder)),  # noqa: S108 - 0700 below
        tempfile.gettempdir(),
    )
    with tempfile.TemporaryDirectory(prefix="akotf-", dir=base) as folder:
        yield folder


def _fits(folder: str) -> bool:
    return len(folder) + len("/akotf-12345678/provider.sock") <= _SOCKET_PATH and os.access(folder, os.W_OK)
