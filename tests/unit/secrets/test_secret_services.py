"""The vendors' own SDKs against their contracts on the loopback interface: values, and every way not to get one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import MissingDependency, SecretError, SecretUnavailable
from akotf.secrets.source import Secrets
from akotf.testing.secret_services import SecretServices

VALUE = "s3cr3t-of-the-t\u00e9st"
PROJECT = "projects/test-project/secrets"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecretServices]:
    with SecretServices(tmp_path_factory.mktemp("services")) as services:
        yield services


@pytest.fixture
def services(running: SecretServices, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretServices]:
    for name, value in running.variables().items():
        monkeypatch.setenv(name, value)
    for name in (
        "VAULT_NAMESPACE",
        "HTTP_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    running.forced.clear()
    running.asked.clear()
    yield running
    running.forced.clear()


@pytest.fixture(scope="module")
def aws_server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def aws(aws_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import boto3

    for name in (
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_SESSION_TOKEN",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ENDPOINT_URL": aws_server, "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    client = boto3.client("secretsmanager")
    yield client
    for secret in client.list_secrets()["SecretList"]:
        client.delete_secret(SecretId=secret["ARN"], ForceDeleteWithoutRecovery=True)
    client.close()


def resolve(reference: str, variables: dict[str, str] | None = None) -> bytes:
    return Secrets(Path("/nowhere"), variables or {}).resolve({"TOKEN": reference})["TOKEN"]


def refused(reference: str, kind: type[Exception] = SecretError) -> str:
    with pytest.raises(kind) as caught:
        resolve(reference)
    assert type(caught.value) is kind
    assert reference in str(caught.value)
    assert VALUE not in str(caught.value)
    return str(caught.value)


class TestAws:
    def test_text_bytes_and_keys_by_name_and_by_arn(self, aws: Any) -> None:
        arn = aws.create_secret(Name="prod/hf+token@1", SecretString=VALUE)["ARN"]
        aws.create_secret(Name="raw", SecretBinary=b"\xff\x01raw")
        aws.create_secret(Name="db", SecretString='{"password": "p4ss w\\u00f6rd", "port": 5432, "on": true}')
        assert resolve("aws-sm:prod/hf+token@1") == VALUE.encode()
        assert resolve(f"aws-sm:{arn}") == VALUE.encode()
        assert resolve("aws-sm:raw") == b"\xff\x01raw"
        assert resolve("aws-sm:db#password") == "p4ss w\u00f6rd".encode()
        assert resolve("aws-sm:db#port") == b"5432"  # as it is written: managed databases' secrets have it so
        assert "is no text" in refused("aws-sm:db#on")
        assert "has no key 'user'" in refused("aws-sm:db#user")
        assert "is no JSON object" in refused("aws-sm:raw#x")

    def test_the_region_of_an_arn_is_asked(self, aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        arn = aws.create_secret(Name="there", SecretString=VALUE)["ARN"]
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        assert resolve(f"aws-sm:{arn}") == VALUE.encode()
        assert "ResourceNotFoundException" in refused("aws-sm:there")
        # which every AWS SDK but boto3 reads, and which comes first
        assert resolve("aws-sm:there", {"AWS_REGION": "eu-central-1"}) == VALUE.encode()

    def test_a_secret_that_is_being_deleted_is_missing(self, aws: Any) -> None:
        aws.create_secret(Name="old", SecretString=VALUE)
        aws.delete_secret(SecretId="old", RecoveryWindowInDays=7)
        assert "has no such secret (InvalidRequestException)" in refused("aws-sm:old")

    def test_without_credentials(self, aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        assert "there are no AWS credentials" in refused("aws-sm:x")

    def test_without_a_region(self, aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AWS_DEFAULT_REGION")
        assert "no AWS region is set" in refused("aws-sm:x")

    def test_a_service_that_does_not_answer_may_answer_later(
        self, aws: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        assert "does not answer" in refused("aws-sm:x", SecretUnavailable)


class TestGoogle:
    def test_latest_a_version_and_a_region(self, services: SecretServices) -> None:
        region = "projects/test-project/locations/europe-west3/secrets/here/versions/latest"
        services.google = {
            f"{PROJECT}/hf/versions/latest": VALUE.encode(), f"{PROJECT}/hf/versions/3": b"third",
            region: b"regional", f"{PROJECT}/json/versions/latest": b'{"a": "b"}',
        }  # fmt: skip
        assert resolve(f"gcp-sm:{PROJECT}/hf") == VALUE.encode()
        assert resolve(f"gcp-sm:{PROJECT}/hf/versions/3") == b"third"
        assert resolve(f"gcp-sm:{PROJECT}/json#a") == b"b"
        assert resolve("gcp-sm:projects/test-project/locations/europe-west3/secrets/here") == b"regional"
        assert f"GET secretmanager.europe-west3.rep.googleapis.com/v1/{region}:access" in services.asked

    @pytest.mark.parametrize(
        ("code", "status", "said", "kind"),
        [
            (403, "PERMISSION_DENIED", "refuses it (Forbidden)", SecretError),
            (401, "UNAUTHENTICATED", "refuses it (Unauthorized)", SecretError),
            (404, "NOT_FOUND", "has no such secret", SecretError),
            (400, "FAILED_PRECONDITION", "its version is disabled", SecretError),
            (503, "UNAVAILABLE", "does not answer", SecretUnavailable),
            (429, "RESOURCE_EXHAUSTED", "does not answer", SecretUnavailable),
        ],
    )
    def test_what_it_answers(
        self, services: SecretServices, code: int, status: str, said: str, kind: type[Exception]
    ) -> None:
        services.forced["google"] = (code, {"error": {"code": code, "status": status, "message": VALUE}})
        assert said in refused(f"gcp-sm:{PROJECT}/hf", kind)

    def test_without_credentials(
        self, services: SecretServices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
        assert "no usable Google credentials" in refused(f"gcp-sm:{PROJECT}/hf")

    def test_no_network(self, services: SecretServices, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        assert "does not answer" in refused(f"gcp-sm:{PROJECT}/hf", SecretUnavailable)


class TestAzure:
    def test_current_and_a_version(self, services: SecretServices) -> None:
        version = "a" * 32
        services.azure = {
            "kv-train/hf-token": VALUE,
            f"kv-train/hf-token/{version}": "old",
            "kv-train/json": '{"a":"b"}',
        }
        assert resolve("azure-kv:kv-train/hf-token") == VALUE.encode()
        assert resolve(f"azure-kv:kv-train/hf-token/{version}") == b"old"
        assert resolve("azure-kv:kv-train/json#a") == b"b"
        assert resolve("azure-kv:kv-train.vault.azure.net/json#a") == b"b"

    @pytest.mark.parametrize(
        ("service", "code", "said", "kind"),
        [
            ("azure", 403, "refuses it (HTTP 403)", SecretError),
            ("azure", 404, "has no such secret", SecretError),
            ("entra", 401, "no usable Azure credentials", SecretError),
        ],
    )
    def test_what_it_answers(
        self, services: SecretServices, service: str, code: int, said: str, kind: type[Exception]
    ) -> None:
        body = {"error": "invalid_client", "error_description": VALUE} if service == "entra" else {"error": {"code": "No", "message": VALUE}}  # fmt: skip
        services.forced[service] = (code, body)
        assert said in refused("azure-kv:kv-train/hf-token", kind)


class TestVault:
    def test_both_versions_of_kv_and_a_mount_of_two_segments(self, services: SecretServices) -> None:
        services.vault_mounts = {"kv": "2", "team/ml": "2", "old": "1"}
        services.vault = {
            "kv/train/hf": {"token": VALUE},
            "team/ml/hf": {"token": "nested"},
            "old/hf": {"token": "one"},
        }
        assert resolve("vault:kv/train/hf#token") == VALUE.encode()
        assert resolve("vault:team/ml/hf#token") == b"nested"
        assert resolve("vault:old/hf#token") == b"one"
        assert "has no key 'tokne'" in refused("vault:kv/train/hf#tokne")
        assert "has no such secret" in refused("vault:kv/train/other#token")
        assert "is a mount, not a secret" in refused("vault:team/ml#token")

    def test_a_token_that_may_not_look_at_mounts_can_still_read(self, services: SecretServices) -> None:
        services.vault_mounts = {}
        assert "refuses it" in refused("vault:kv/train/hf#token")
        assert services.asked == [
            "GET vault/sys/internal/ui/mounts/kv/train/hf",
            "GET vault/kv/data/train/hf",
        ]

    @pytest.mark.parametrize(
        ("code", "said", "kind"),
        [(503, "does not answer", SecretUnavailable), (500, "does not answer", SecretUnavailable),
         (429, "does not answer", SecretUnavailable), (400, "can't be asked (InvalidRequest)", SecretError)],
    )  # fmt: skip
    def test_what_it_answers(
        self, services: SecretServices, code: int, said: str, kind: type[Exception]
    ) -> None:
        services.forced["vault"] = (code, {"errors": [VALUE]})
        assert said in refused("vault:kv/train/hf#token", kind)

    def test_without_a_token(
        self, services: SecretServices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("VAULT_TOKEN")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert "there is no Vault token" in refused("vault:kv/train/hf#token")

    def test_no_network(self, services: SecretServices, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VAULT_ADDR", "http://127.0.0.1:9")
        assert "does not answer" in refused("vault:kv/train/hf#token", SecretUnavailable)


@pytest.mark.parametrize(
    ("reference", "package", "extra"),
    [("aws-sm:x", "boto3", "aws"), (f"gcp-sm:{PROJECT}/x", "google.cloud", "gcp"),
     ("azure-kv:kv-train/x", "azure.identity", "azure"), ("vault:a/b#c", "hvac", "vault")],
)  # fmt: skip
def test_an_sdk_that_is_not_installed_is_told_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, reference: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install 'akotf[{extra}]'" in refused(reference, MissingDependency)
