"""The mends of the provider library, on its real servicer and messages."""

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest
from tf.gen import tfplugin_pb2 as pb
from tf.types import Unknown

from akotf.errors import StoreError
from akotf.tfprovider.provider import AkotfProvider
from akotf.tfprovider.serve import COOKIE, servicer


def packed(value: Any) -> pb.DynamicValue:
    return pb.DynamicValue(msgpack=msgpack.packb(value))


def unpacked(value: pb.DynamicValue) -> Any:
    return msgpack.unpackb(value.msgpack) if value.msgpack else None


POOL = {
    "id": "a/b/c", "deployment": "a/b/c", "gpus": 0, "cpus": 1, "registry": "/nowhere", "gpu_indices": [],
    "cpu_slots": [0],
}  # fmt: skip


def test_a_person_who_starts_it_is_told_what_to_type() -> None:
    variables = {name: value for name, value in os.environ.items() if name != COOKIE[0]}
    done = subprocess.run(
        [sys.executable, "-m", "akotf.tfprovider"], capture_output=True, text=True, env=variables, check=False
    )
    assert done.returncode == 1
    assert "terraform plan" in done.stderr
    assert done.stdout == ""


def test_stored_numbers_stay_exact() -> None:
    raw = json.dumps({"gpus": 0.1, "cpus": 2**70})
    request = pb.UpgradeResourceState.Request(
        type_name="akotf_local_pool", version=1, raw_state=pb.RawState(json=raw.encode())
    )
    answer = servicer(AkotfProvider()).UpgradeResourceState(request, None)
    assert not answer.diagnostics
    assert unpacked(answer.upgraded_state) == {"gpus": "0.1", "cpus": str(2**70)}


def test_a_state_of_another_schema_is_an_error() -> None:
    request = pb.UpgradeResourceState.Request(
        type_name="akotf_baseline", version=0, raw_state=pb.RawState(json=b"{}")
    )
    answer = servicer(AkotfProvider()).UpgradeResourceState(request, None)
    assert "unknown schema version 0" in answer.diagnostics[0].summary


def test_a_refined_unknown_is_unknown() -> None:
    from tf.utils import read_dynamic_value

    servicer(AkotfProvider())
    # cty's refined unknown: extension 12 with a map of what is known of the value
    data = msgpack.packb({"a": msgpack.ExtType(12, b"\x81\x02\xa2u-"), "b": msgpack.ExtType(0, b"\x00")})
    assert read_dynamic_value(pb.DynamicValue(msgpack=data)) == {"a": Unknown, "b": Unknown}


class Exploding:
    """A resource whose every call fails."""

    error: Exception = RuntimeError("backend exploded")

    def __init__(self, provider: object) -> None:
        self.provider = provider

    @classmethod
    def get_name(cls) -> str:
        return "local_pool"

    @classmethod
    def get_schema(cls) -> Any:
        from akotf.tfprovider.local_pool import LocalPoolResource

        return LocalPoolResource.get_schema()

    def __getattr__(self, name: str) -> Any:
        raise self.error


class ExplodingProvider(AkotfProvider):
    def get_resources(self) -> list[type]:
        return [Exploding]


@pytest.mark.parametrize(
    ("error", "summary", "detail"),
    [
        (RuntimeError("boom"), "RuntimeError: boom", "Raised while akotf's provider answered"),
        (StoreError("the disk is full", remedy="Free some space."), "the disk is full", "Free some space."),
    ],
)
def test_an_exception_is_a_diagnostic_and_the_prior_state_stays(
    monkeypatch: pytest.MonkeyPatch, error: Exception, summary: str, detail: str
) -> None:
    monkeypatch.setattr(Exploding, "error", error)
    built = servicer(ExplodingProvider())
    read = built.ReadResource(
        pb.ReadResource.Request(type_name="akotf_local_pool", current_state=packed(POOL)), None
    )
    assert unpacked(read.new_state) == POOL
    assert read.diagnostics[0].summary == summary
    assert read.diagnostics[0].detail.startswith(detail)
    planned = packed({**POOL, "cpus": 2})
    applied = built.ApplyResourceChange(
        pb.ApplyResourceChange.Request(
            type_name="akotf_local_pool", prior_state=packed(POOL), planned_state=planned
        ),
        None,
    )
    assert unpacked(applied.new_state) == POOL
    assert applied.diagnostics[0].severity == pb.Diagnostic.ERROR


def test_faults_carry_attribute_paths(tmp_path: Path) -> None:
    config = {
        "id": None, "deployment": "a/b/c", "node_directory": str(tmp_path), "hyperparameters": {"x": "oops"},
        "environment": {}, "limits": {}, "libraries": {}, "gpu_settings": {}, "differences": None,
    }  # fmt: skip
    answer = servicer(AkotfProvider()).ValidateResourceConfig(
        pb.ValidateResourceConfig.Request(type_name="akotf_baseline", config=packed(config)), None
    )
    steps = answer.diagnostics[0].attribute.steps
    assert [steps[0].attribute_name, steps[1].element_key_string] == ["hyperparameters", "x"]


def test_every_schema_has_a_version_and_every_attribute_a_description() -> None:
    schemas = servicer(AkotfProvider()).GetProviderSchema(pb.GetProviderSchema.Request(), None)
    assert set(schemas.resource_schemas) == {"akotf_baseline", "akotf_local_pool"}
    for schema in schemas.resource_schemas.values():
        assert schema.version == 1
        assert all(attribute.description for attribute in schema.block.attributes)


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The provider as its own process, and a client that trusts the certificate of its handshake."""
    import grpc
    from tf.gen import tfplugin_pb2_grpc as rpc

    with subprocess.Popen(
        [sys.executable, "-m", "akotf.tfprovider"], stdout=subprocess.PIPE, text=True,
        env={**os.environ, COOKIE[0]: COOKIE[1], "HOME": "/nonexistent"},
    ) as provider:  # fmt: skip
        assert provider.stdout is not None
        core, protocol, network, socket, kind, certificate = provider.stdout.readline().strip().split("|")
        assert [core, protocol, network, kind] == ["1", "6", "unix", "grpc"]
        der = base64.b64decode(certificate + "=" * (-len(certificate) % 4))
        credentials = grpc.ssl_channel_credentials(ssl.DER_cert_to_PEM_cert(der).encode())
        options = [("grpc.max_send_message_length", -1), ("grpc.ssl_target_name_override", "localhost")]
        with grpc.secure_channel(f"unix:{socket}", credentials, options) as channel:
            assert Path(socket).parent.stat().st_mode & 0o777 == 0o700
            yield provider, rpc.ProviderStub(channel)
            if provider.poll() is None:
                provider.terminate()
        provider.wait(20)
    assert not Path(socket).parent.exists()


def test_a_message_beyond_grpcs_own_limit_arrives() -> None:
    config = {
        "id": None, "deployment": "a/b/c", "node_directory": "/n", "hyperparameters": {"x": json.dumps("x" * (5 << 20))},
        "environment": {}, "limits": {"open_files": "no"}, "libraries": {}, "gpu_settings": {}, "differences": None,
    }  # fmt: skip
    with served() as (_, stub):
        answer = stub.ValidateResourceConfig(
            pb.ValidateResourceConfig.Request(type_name="akotf_baseline", config=packed(config))
        )
        assert [diagnostic.summary for diagnostic in answer.diagnostics] == ["Not a JSON text"]


def test_it_ignores_ctrl_c_and_stop_and_ends_on_term() -> None:
    with served() as (provider, stub):
        provider.send_signal(signal.SIGINT)
        stub.StopProvider(pb.StopProvider.Request())
        assert set(stub.GetProviderSchema(pb.GetProviderSchema.Request()).resource_schemas)
        provider.terminate()
        assert provider.wait(20) == 0


def test_its_socket_fits_where_the_temporary_folder_is_deep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    with served() as (_, stub):
        assert stub.GetProviderSchema(pb.GetProviderSchema.Request()).resource_schemas
