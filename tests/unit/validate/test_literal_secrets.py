"""Secrets that somebody wrote out: found with their place, never shown; and the many texts that are none."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.errors import ConfigError
from akotf.load.environment import load
from akotf.load.init import init
from akotf.model.finding import Finding, Severity
from akotf.model.literals import is_secret_of, literals, masked, names_secret
from akotf.report.sources import Sources
from akotf.validate.check import check
from akotf.wiring.surroundings import PACKAGED

REPOSITORY = Path(__file__).parents[3]

_RANDOM = random.Random(20261201)
_LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = _LETTERS) -> str:
    """Random, so that no working token ever stands in this file, and no scanner of repositories cries at it."""
    return "".join(_RANDOM.choice(alphabet) for _ in range(length))


HEX, UPPER, BASE32 = "0123456789abcdef", string.ascii_uppercase, string.ascii_uppercase + "234567"
#: what it is -> one that looks like it
TOKENS = [
    ("an AWS access key id", "AKIA" + made(16, BASE32)),
    ("an AWS access key id", "ASIA" + made(16, BASE32)),
    ("a GitHub token", "ghp_" + made(36)),
    ("a GitHub token", "ghs_" + made(36)),
    ("a GitHub token", f"github_pat_{made(22)}_{made(59)}"),
    ("a GitLab token", "glpat-" + made(20)),
    ("a Hugging Face token", "hf_" + made(34)),
    ("an OpenAI key", f"sk-{made(20)}T3BlbkFJ{made(20)}"),
    ("an OpenAI key", f"sk-proj-{made(74)}"),
    ("an Anthropic key", f"sk-ant-api03-{made(93)}AA"),
    ("a Databricks token", "dapi" + made(32, HEX)),
    ("a Google API key", "AIza" + made(35)),
    ("an Azure storage key", f"AccountKey={made(86)}=="),
    ("an Azure client secret", f"{made(3)}8Q~{made(34)}"),
    ("a Vault token", "hvs." + made(95)),
    ("a Slack token", f"xoxb-{made(12, string.digits)}-{made(12, string.digits)}-{made(24)}"),
    ("a Stripe key", "sk_live_" + made(24)),
    ("an npm token", "npm_" + made(36)),
    ("a PyPI token", "pypi-AgEIcHlwaS5vcmc" + made(60)),
    ("a JSON web token", f"eyJ{made(30)}.eyJ{made(60)}.{made(43)}"),
    (
        "a private key",
        "-----BEGIN OPENSSH PRIVATE " + f"KEY-----\n{made(64)}\n-----END OPENSSH PRIVATE KEY-----",
    ),
    ("a private key", "-----BEGIN PRIVATE " + f"KEY-----\n{made(64)}"),
    ("a Weights & Biases key", "wandb_v1_" + made(77)),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "--key={} --steps 3", 'export X="{}"\npython train.py', "prefix:{}"]
)
def test_a_known_form_is_named_wherever_it_stands(kind: str, token: str, around: str) -> None:
    text = around.format(token)
    assert kind in [literal.kind for literal in literals(text)]
    assert token[8:-8] not in masked(text)


HARMLESS = [
    "sha256:" + hashlib.sha256(b"image").hexdigest(),
    f"pytorch/pytorch:2.11.0-cuda12.8@sha256:{hashlib.sha256(b'x').hexdigest()}",
    hashlib.sha1(b"commit").hexdigest(),
    str(uuid.UUID(int=7)),
    base64.b64encode(b"pytorch-model-v1 and a rather long id of it").decode(),
    "meta-llama/Llama-3.1-8B-Instruct", "openai/gpt-oss-120b", "hf-internal-testing/tiny-random-gpt2",
    "hf_transfer", "hf_hub_download", "sk-learn", "sk-estimator-default", "ghp_", "glpat", "AKIA", "xoxb-",
    "s3://bucket/data/part-00000.parquet", "https://example.org/a:b@c", "https://user@host/x", "http://[::1]:8080/",
    "git+https://github.com/org/repo//path?ref=v1.2.3", "ssh://git@github.com/org/repo.git",
    "postgresql://db:5432/akotf", "tcp://10.0.0.1:29500", "redis://:${REDIS_PASSWORD}@cache/0",
    "postgres://akotf:$PASSWORD@db/x", "postgres://user:password@localhost/x", "https://oauth2:<token>@git.example.org",
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "--tokenizer", "tokenizer: meta-llama/Llama-3.1-8B", "max_new_tokens=512", "pad_token: <|endoftext|>",
    "eos_token_id=50256", "export HF_TOKEN=$HF_TOKEN", 'HF_TOKEN="${HF_TOKEN}"', "HF_TOKEN=<your-token-here>",
    "password: ${{ secrets.PASSWORD }}", "--api-key-file /run/secrets/key", "--token-type bearer",
    "secret_name: prod/hugging-face/token1", "key: value", "key=attention.heads.12", "cache_key=train-20261130-0001",
    "PASSWORD_FILE=/run/secrets/db-password-1", "API_KEY=env:OPENAI_API_KEY", "API_KEY=file:/run/secrets/k3y-of-1",
    "aws-sm:prod/training/hf-token-2026#token", "vault:kv/train/hf#token", "gcp-sm:projects/ml-1/secrets/hf-token-2",
    "python -m torch.distributed.run --nproc-per-node=8 train.py --lr 1e-4 --seed 1337",
    "torchrun --rdzv-id=run-7f3a9c21 --rdzv-backend=c10d --rdzv-endpoint=node0:29500",
    "NCCL_DEBUG=INFO NCCL_IB_HCA=mlx5_0:1,mlx5_1:1 NCCL_SOCKET_IFNAME=ens5",
    "quickstart-20261130-214655-3f2a", "AaAaAaAaAaAaAaAaAaAa", "GPU-5f8c2d1e-7b43-9a60-1c2d-3e4f5a6b7c8d",
    "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "-----BEGIN RSA PUBLIC KEY-----",
    "eyJhbGciOiJIUzI1NiJ9", "lr=3e-4", "beta=0.9,0.999", "2026-12-01T10:00:00Z", "token=1234567890123456", "", " ",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_text_is_left_alone(text: str) -> None:
    assert literals(text) == ()
    assert masked(text) == text


@given(st.binary(min_size=0, max_size=60))
@settings(max_examples=300)
def test_digests_and_encoded_ids_are_no_secrets(data: bytes) -> None:
    digest = hashlib.sha256(data).hexdigest()
    for text in (
        digest,
        digest[:40],
        f"sha256:{digest}",
        base64.b64encode(data).decode(),
        base64.b32encode(data).decode(),
    ):
        assert literals(text) == ()
        assert not is_secret_of("revision", text)


@pytest.mark.parametrize("folder", ["environments/quickstart", "iac/gpu-training/1.0.0", "docs"])
def test_nothing_of_ours_looks_like_a_secret(folder: str) -> None:
    files = [
        p
        for p in (REPOSITORY / folder).rglob("*")
        if p.suffix in {".py", ".yaml", ".md", ".tf", ".sh", ".txt", ".json"}
    ]
    assert len(files) > 5
    assert [(p, literals(p.read_text())) for p in files if literals(p.read_text(errors="replace"))] == []


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "WANDB_API_KEY", "db-password", "clientSecret", "AWS_SECRET_ACCESS_KEY", "apikey"]
)
def test_names_of_secrets(name: str) -> None:
    assert names_secret(name)
    assert is_secret_of(name, "k3" + made(38, HEX) + "z9")


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "EOS_TOKEN_ID",
        "max_tokens",
        "KEY",
        "sort_key",
        "PASSWORD_FILE",
        "SECRET_NAME",
        "cache_key",
        "",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not names_secret(name)


def test_a_password_needs_no_randomness_and_a_token_does() -> None:
    assert is_secret_of("DB_PASSWORD", "correct-horse")
    assert not is_secret_of("DB_PASSWORD", "<password>")
    assert not is_secret_of("eos_token", "end-of-text-marker-for-this-model")
    assert not is_secret_of("HF_TOKEN", "env:HF_TOKEN")


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[Finding]]:
    """Findings about secrets of a new environment with `more` in its akotf.yaml and `old` replaced by `new`."""

    def findings(more: str = "", old: str = "", new: str = "") -> list[Finding]:
        folder = tmp_path / "trial"
        init(folder, "trial", (PACKAGED / "iac",))
        file = folder / "akotf.yaml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1) + more if old else text + more)
        rules = {"config/literal-secret", "config/placeholder", "config/stray-reference", "config/secret-twice",
                 "config/reserved-variable", "config/variable-name", "config/leased-variable"}  # fmt: skip
        return [f for f in check(load(folder, catalogues=(PACKAGED / "iac",))) if f.rule in rules]

    return findings


def test_a_label_with_a_token_is_told_with_its_place_and_never_shown(
    found: Callable[..., list[Finding]],
) -> None:
    token = "ghp_" + made(36)
    (finding,) = found(old="labels:", new=f"labels:\n  ci: {token}")
    assert (finding.rule, finding.severity, finding.path) == (
        "config/literal-secret",
        Severity.ERROR,
        "labels.ci",
    )
    assert "a GitHub token" in finding.message
    assert "secrets: {NAME: env:NAME}" in finding.remedy
    assert finding.position is not None
    assert finding.position.line > 1
    assert finding.sensitive
    assert token not in finding.model_dump_json()


@pytest.mark.parametrize("name", ["AKOTF_TOKEN", "1ST", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"])
def test_a_secret_needs_a_free_name_of_a_variable(found: Callable[..., list[Finding]], name: str) -> None:
    rules = {"AKOTF_TOKEN": "reserved-variable", "1ST": "variable-name", "CUDA_VISIBLE_DEVICES": "leased-variable",
             "OMP_NUM_THREADS": "secret-twice"}  # fmt: skip
    (finding,) = found(more=f"secrets:\n  {name}: env:SOMETHING\n")
    assert finding.rule == f"config/{rules[name]}"
    assert finding.path == f"secrets.{name}"
    assert finding.position is not None


def test_a_reference_is_no_finding(found: Callable[..., list[Finding]]) -> None:
    assert found(more="secrets:\n  HF_TOKEN: env:HF_TOKEN\n  KEY: vault:kv/train#key\n") == []


def test_what_a_finding_quotes_is_masked() -> None:
    """Other faults quote what was written: `1e-4` or a token that slipped into the field of a number."""
    token = "hf_" + made(34)
    finding = Finding(
        rule="config/type", message=f"learning_rate: {token!r} is no number", remedy=f"not {token}"
    )
    assert finding.message == "learning_rate: '[secret]' is no number"
    assert finding.remedy == "not [secret]"


@pytest.mark.parametrize("line", ["HF_TOKEN: hunter2-hunter2", "HF_TOKEN: 'vault:hunter2'", "HF_TOKEN: ''"])
def test_a_value_in_place_of_a_reference_is_shown_by_no_report(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "trial"
    init(folder, "trial", (PACKAGED / "iac",))
    with (folder / "akotf.yaml").open("a") as file:
        file.write(f"secrets:\n  {line}\n")
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=(PACKAGED / "iac",))
    (finding,) = caught.value.findings
    assert finding.path == "secrets.HF_TOKEN"
    assert finding.sensitive
    assert Sources([finding]).line(finding) is None
    assert "hunter2" not in str(caught.value) + finding.model_dump_json()


def test_no_report_shows_a_line_with_a_token_whatever_the_fault_is(tmp_path: Path) -> None:
    """A misspelt key: the fault is about the key, and the secret stands beside it."""
    folder = tmp_path / "trial"
    init(folder, "trial", (PACKAGED / "iac",))
    with (folder / "akotf.yaml").open("a") as file:
        file.write(f"secret: {{HF_TOKEN: k3{made(30, HEX)}}}\nlable: {{a: b}}\n")
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=(PACKAGED / "iac",))
    sources = Sources(caught.value.findings)
    assert [sources.line(finding) for finding in caught.value.findings] == [None, "lable: {a: b}"]
