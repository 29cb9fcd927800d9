"""References by each service's naming rules, and `env:` and `file:` with everything that can be wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from akotf.errors import SecretError
from akotf.model.secret import Reference, SecretReference, is_reference, parse_reference
from akotf.secrets.source import Secrets

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/hf-AbCdEf"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("env:HF_TOKEN", ("env", "HF_TOKEN", "")),
        ("env:_x1", ("env", "_x1", "")),
        ("file:secrets/hf token#1.txt", ("file", "secrets/hf token#1.txt", "")),
        ("file:/run/secrets/hf", ("file", "/run/secrets/hf", "")),
        ("aws-sm:prod/train/hf_token+=.@-1", ("aws-sm", "prod/train/hf_token+=.@-1", "")),
        ("aws-sm:db#password", ("aws-sm", "db", "password")),
        (f"aws-sm:{ARN}#a.b", ("aws-sm", ARN, "a.b")),
        ("aws-sm:arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:secret:x-AbCdEf",
         ("aws-sm", "arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:secret:x-AbCdEf", "")),
        ("gcp-sm:projects/ml-team-1/secrets/HF_token-1", ("gcp-sm", "projects/ml-team-1/secrets/HF_token-1", "")),
        ("gcp-sm:projects/123456/secrets/x/versions/12#k", ("gcp-sm", "projects/123456/secrets/x/versions/12", "k")),
        ("gcp-sm:projects/example.com:ml-team/secrets/x/versions/latest",
         ("gcp-sm", "projects/example.com:ml-team/secrets/x/versions/latest", "")),
        ("gcp-sm:projects/ml-team/locations/europe-west3/secrets/x/versions/prod",
         ("gcp-sm", "projects/ml-team/locations/europe-west3/secrets/x/versions/prod", "")),
        ("azure-kv:kv-train/hf-token", ("azure-kv", "kv-train/hf-token", "")),
        ("azure-kv:kv-train/hf-token/" + "0a" * 16, ("azure-kv", "kv-train/hf-token/" + "0a" * 16, "")),
        ("azure-kv:kv.vault.azure.cn/x", None),  # a vault's name has three characters at least
        ("azure-kv:kvt.vault.azure.cn/x#k", ("azure-kv", "kvt.vault.azure.cn/x", "k")),
        ("vault:kv/train/hf#token", ("vault", "kv/train/hf", "token")),
    ],
)  # fmt: skip
def test_well_formed_references(text: str, expected: tuple[str, str, str] | None) -> None:
    assert parse_reference(text) == (Reference(text, *expected) if expected else None)


@pytest.mark.parametrize(
    "text",
    [
        "", "env:", "env:1A", "env:A-B", "env:$A", "ENV:A", "env:A\n", " env:A", "env: A", "HF_TOKEN", "file:", "file:a\nb", "file:a\0b",
        "aws-sm:", "aws-sm:a b", "aws-sm:a#", "aws-sm:a#b c", "aws-sm:" + "x" * 520, "aws-sm:arn:aws:s3:::bucket",
        "aws-sm:arn:aws:secretsmanager:eu-central-1:123:secret:x",
        "gcp-sm:hf", "gcp-sm:projects/p/secrets/x", "gcp-sm:projects/ml-team/secrets/a.b", "gcp-sm:projects/ml-team/secrets/" + "x" * 256,
        "gcp-sm:projects/ml-team/secrets/x/versions/", "gcp-sm:projects/Ml-team/secrets/x",
        "azure-kv:kv-train", "azure-kv:1kv/x", "azure-kv:kv--train/x", "azure-kv:kv-/x", "azure-kv:" + "k" * 25 + "/x", "azure-kv:kv_train/x",
        "azure-kv:kv-train/a_b", "azure-kv:kv-train/" + "x" * 128, "azure-kv:kv-train/x/1", "azure-kv:kvt.evil.example/x",
        "azure-kv:kvt.vault.azure.net.evil.example/x",
        "vault:kv/train", "vault:kv#token", "vault:/kv/a#b", "vault:kv//a#b", "vault:kv/../sys/x#y", "vault:kv/a?b#c", "vault:kv/a%2fb#c",
        "s3:x", "ghp_0123456789",
    ],
)  # fmt: skip
def test_malformed_references(text: str) -> None:
    assert not is_reference(text)


class _Model(BaseModel):
    secret: SecretReference


@pytest.mark.parametrize(
    ("text", "remedy"),
    [("hunter2-hunter2", "write one of env:NAME, file:PATH, aws-sm:NAME-OR-ARN[#KEY], "),
     ("vault:hunter2-hunter2", "write vault:MOUNT/PATH#KEY")],
)  # fmt: skip
def test_what_is_no_reference_is_never_repeated(text: str, remedy: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _Model(secret=text)
    (error,) = caught.value.errors()
    assert remedy in error["msg"]
    assert "hunter2" not in error["msg"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "env").mkdir()
    return tmp_path / "env"


def put(path: Path, data: bytes, mode: int = 0o600) -> None:
    path.write_bytes(data)
    path.chmod(mode)


def refused(folder: Path, reference: str, variables: dict[str, str] | None = None) -> str:
    with pytest.raises(SecretError) as caught:
        Secrets(folder, variables or {}).resolve({"TOKEN": reference})
    assert "hunter2" not in str(caught.value)
    assert not caught.value.retryable
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b"hunter2", b"hunter2"), (b"hunter2\n", b"hunter2"), (b"hunter2\r\n", b"hunter2"), (b"hunter2\n\n", b"hunter2\n"),
        (b" hunter2 \t", b" hunter2 \t"), (b"\xff\xfe\x80", b"\xff\xfe\x80"), (b"a\nb\n", b"a\nb"), (b"x" * 65536, b"x" * 65536),
    ],
)  # fmt: skip
def test_a_file_byte_for_byte_but_for_one_line_end(folder: Path, written: bytes, value: bytes) -> None:
    put(folder / "token", written)
    for reference in ("file:token", f"file:{folder}/token"):
        assert Secrets(folder, {}).resolve({"T": reference}) == {"T": value}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is empty"),
        (b"\n", "it is empty"),
        (b"a\0b", "holds a NUL byte"),
        (b"x" * 65537, "larger than 64 KiB"),
    ],
)
def test_a_value_that_no_variable_can_hold(folder: Path, data: bytes, said: str) -> None:
    put(folder / "token", data)
    assert said in refused(folder, "file:token")


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666, 0o602, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused_with_the_chmod(folder: Path, mode: int) -> None:
    put(folder / "to ken", b"hunter2", mode)
    said = refused(folder, "file:to ken")
    assert f"mode {mode:04o}" in said
    assert f"chmod 600 '{folder}/to ken'" in said


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640, 0o440])
def test_a_file_of_a_group_that_only_reads_is_taken(folder: Path, mode: int) -> None:
    put(folder / "token", b"hunter2", mode)
    assert Secrets(folder, {}).resolve({"T": "file:token"}) == {"T": b"hunter2"}


def test_what_is_no_file_of_the_environment(folder: Path) -> None:
    put(folder.parent / "outside", b"hunter2")
    (folder / "link").symlink_to("../outside")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe", 0o600)
    assert "leaves the environment folder" in refused(folder, "file:../outside")
    assert "leaves the environment folder" in refused(folder, "file:link")
    assert "is not a regular file" in refused(folder, "file:folder")
    assert "is not a regular file" in refused(folder, "file:pipe")  # and nobody waits for its writer
    assert "is not a regular file" in refused(folder, "file:/dev/null")
    assert f"there is no file {folder}/none" in refused(folder, "file:none")
    assert Secrets(folder, {}).resolve({"T": f"file:{folder.parent}/outside"}) == {"T": b"hunter2"}


def test_a_variable_of_akotf_itself(folder: Path) -> None:
    given = {"A": "hunter2 \n", "RAW": b"\xff".decode("utf-8", "surrogateescape"), "EMPTY": ""}
    source = Secrets(folder, given)
    assert source.resolve({"X": "env:A", "Y": "env:RAW"}) == {"X": b"hunter2 \n", "Y": b"\xff"}
    assert "the variable NONE is not set" in refused(folder, "env:NONE", given)
    # what GitHub gives a workflow from a fork for each secret that it withholds
    assert "it is empty" in refused(folder, "env:EMPTY", given)


def test_all_faults_at_once_and_what_was_found_is_remembered(folder: Path) -> None:
    put(folder / "open", b"hunter2", 0o644)
    source = Secrets(folder, {"A": "value-of-a"})
    with pytest.raises(SecretError) as caught:
        source.resolve({"ONE": "env:A", "TWO": "env:B", "THREE": "file:open", "FOUR": "file:none"})
    assert [finding.path for finding in caught.value.findings] == [
        "secrets.TWO",
        "secrets.THREE",
        "secrets.FOUR",
    ]
    assert caught.value.message.startswith("3 secrets can't be had: TWO (env:B): ")
    assert source.known() == (b"value-of-a",)


def test_each_secret_is_asked_for_once(folder: Path) -> None:
    asked: list[str] = []

    class Reader:
        def read(self, reference: Reference) -> bytes:
            asked.append(reference.location)
            return b'{"user": "u", "password": "p"}'

    source = Secrets(folder, {}, {"aws-sm": lambda _: Reader()})
    found = source.resolve({"A": "aws-sm:db#user", "B": "aws-sm:db#password", "C": "aws-sm:other#user"})
    assert found == {"A": b"u", "B": b"p", "C": b"u"}
    assert asked == ["db", "other"]
