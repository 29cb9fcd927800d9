"""A value of every scheme, from its service to the training and nowhere else, with the real Terraform and provider.

Each secret is a canary that exists once. The training tells their digests (so they arrived), and prints them in several
spellings. While akotf works, the command lines of all processes are looked at again and again; afterwards every byte
that it wrote or said is searched, in every spelling that the redactor knows.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from akotf.secrets.redaction import Redactor
from akotf.testing.secret_services import SecretServices

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

REFERENCES = {
    "OF_ENV": "env:CANARY_SOURCE",
    "OF_FILE": "file:token",
    "OF_AWS": "aws-sm:train/canary#token",
    "OF_GOOGLE": "gcp-sm:projects/test-project/secrets/canary",
    "OF_AZURE": "azure-kv:kv-train/canary",
    "OF_VAULT": "vault:kv/train/canary#token",
}
TRAINING = """\
import base64, hashlib, json, os, sys, time, urllib.parse
from pathlib import Path

values = {name: os.environb[name.encode()] for name in NAMES}
out = Path(os.environ["AKOTF_OUTPUTS"])
(out / "metrics.json").write_text(json.dumps({n: hashlib.sha256(v).hexdigest() for n, v in values.items()}))
(out / "model.pt").write_text("done")
for name, value in values.items():
    text = value.decode()
    print("as it is", text, json.dumps(text), repr(text), urllib.parse.quote(text, safe=""), flush=True)
    print(base64.b64encode(b"user:" + value).decode(), file=sys.stderr, flush=True)
(out / "sample.txt").write_text("all is printed")
while not Path("go").exists():
    time.sleep(0.05)
""".replace("NAMES", repr(sorted(REFERENCES)))


class Watch(threading.Thread):
    """Looks at the command line of every process again and again; keeps those that hold a canary."""

    def __init__(self, found: Redactor) -> None:
        super().__init__(daemon=True)
        self.redactor, self.leaks, self.looks, self.over = found, set[bytes](), 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.looks += 1
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue
                if self.redactor.found(words.replace(b"\0", b" ")):
                    self.leaks.add(words)


class Passed:
    """The project after its run, and everything that was said on the way."""

    def __init__(self, project: Any, canaries: dict[str, str]) -> None:
        self.project, self.canaries = project, canaries
        self.redactor = Redactor([value.encode() for value in canaries.values()])
        self.said: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.environment: dict[bytes, bytes] = {}
        self.agent: dict[str, bytes] = {}
        self.watch = Watch(self.redactor)

    def say(
        self, *arguments: str, code: int | None = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = self.project.akotf(*arguments, code=code, **variables)
        self.said[" ".join(arguments)] = done.stdout + done.stderr
        return done


def canary(scheme: str) -> str:
    """Once in the world, and with what programs spell in different ways."""
    return f'canary/{scheme}+{secrets.token_hex(8)}-"\u00fc" 7%'


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecretServices]:
    with SecretServices(tmp_path_factory.mktemp("services")) as running:
        yield running


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def passed(new_project: Any, services: SecretServices, aws: str) -> Passed:
    """One run from validate to its evidence."""
    project = new_project(builder="", model_file="model.pt")
    it = Passed(project, {name: canary(name.lower()) for name in REFERENCES})
    store(it, services, aws)
    (project.environment / "train.py").write_text(TRAINING)
    with (project.environment / "akotf.yaml").open("a") as file:
        file.write(
            "secrets:\n" + "".join(f"  {name}: {reference}\n" for name, reference in REFERENCES.items())
        )
    env = str(project.environment)
    it.watch.start()
    try:
        it.say("validate", env)
        it.say("config", "show", env, "--json")
        apply = project.start("apply", env, "-y")
        project.until(
            "the training runs",
            lambda: list(project.environment.glob(".akotf/runs/*/outputs/sample.txt")),
            apply,
        )
        look_at_the_living(it)
        it.say("status", env, "--json")
        it.say("logs", env, CANARY_SOURCE="rotated meanwhile")
        (project.environment / "go").touch()
        assert project.wait(apply) == 0, project.said(apply)
        it.said["apply"] = project.said(apply)
    finally:
        it.watch.over.set()
        it.watch.join()
    it.say("logs", env, "--stream", "stderr")
    it.say("logs", env, "--json")
    it.say("plan", env, "--json")
    it.say("records", env, "--json")
    return it


def store(it: Passed, services: SecretServices, aws: str) -> None:
    """Each canary into its service."""
    values = it.canaries
    token = it.project.environment / "token"
    token.write_text(values["OF_FILE"] + "\n")
    token.chmod(0o600)
    services.google["projects/test-project/secrets/canary/versions/latest"] = values["OF_GOOGLE"].encode()
    services.azure["kv-train/canary"] = values["OF_AZURE"]
    services.vault["kv/train/canary"] = {"token": values["OF_VAULT"]}
    access = {
        "aws_access_key_id": "testing",
        "aws_secret_access_key": "testing",
        "region_name": "eu-central-1",
    }
    client = boto3.client("secretsmanager", endpoint_url=aws, **access)
    client.create_secret(Name="train/canary", SecretString=json.dumps({"token": values["OF_AWS"]}))
    client.close()
    it.project.variables |= {
        **services.variables(), "CANARY_SOURCE": values["OF_ENV"], "AWS_ENDPOINT_URL": aws,
        "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }  # fmt: skip


def look_at_the_living(it: Passed) -> None:
    """The environment of the training, and what the node's agent answers on its socket."""
    (live,) = it.project.environment.glob(".akotf/state/*/*/node/live.json")
    pid = json.loads(live.read_bytes())["pid"]
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    it.environment = dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)
    for path in ("/observation", "/metrics"):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + 30
        while True:
            try:
                connection.sock.connect(str(live.with_name("agent.sock")))
                break
            except OSError:
                assert time.monotonic() < end, "the agent does not listen"
                time.sleep(0.1)
        connection.request("GET", path)
        it.agent[path] = connection.getresponse().read()
        connection.close()


def test_every_value_reaches_the_process(passed: Passed) -> None:
    (metrics,) = passed.project.environment.glob(".akotf/runs/*/outputs/metrics.json")
    wanted = {name: hashlib.sha256(value.encode()).hexdigest() for name, value in passed.canaries.items()}
    assert json.loads(metrics.read_bytes()) == wanted
    assert {name: passed.environment[name.encode()].decode() for name in REFERENCES} == passed.canaries


def test_no_file_holds_one_but_the_training_s_own_logs(passed: Passed) -> None:
    own = {"stdout.log", "stderr.log"}
    folders = (passed.project.folder, Path(os.environ["XDG_CACHE_HOME"]))
    files = [p for folder in folders for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    kinds = {p.name for p in files}
    assert {
        "journal.db",
        "terraform.tfstate",
        "akotf.auto.tfvars.json",
        "request.json",
        "launch.json",
        "state.json",
    } <= kinds
    leaks = [p for p in files if passed.redactor.found(p.read_bytes())]
    assert sorted(p.name for p in leaks if p != passed.project.environment / "token") == sorted(own)
    assert list(passed.project.environment.glob(".akotf/runs/*/attempt-*/secrets")) == []


def test_akotf_says_none(passed: Passed) -> None:
    assert len(passed.said) >= 9
    assert [command for command, text in passed.said.items() if passed.redactor.found(text.encode())] == []


def test_no_process_is_started_with_one(passed: Passed) -> None:
    assert passed.watch.looks > 20
    assert passed.watch.leaks == set()


def test_the_agent_tells_none(passed: Passed) -> None:
    assert b"OF_AWS" in passed.agent["/observation"]
    assert b"hmac-sha256:" in passed.agent["/observation"]
    assert [path for path, answer in passed.agent.items() if passed.redactor.found(answer)] == []


def test_the_log_shows_what_was_printed_without_the_values(passed: Passed) -> None:
    env = str(passed.project.environment)
    assert passed.said[f"logs {env}"].count("as it is [secret]") == len(REFERENCES)
    assert passed.said[f"logs {env} --json"].count("as it is [secret]") == len(REFERENCES)
    assert passed.said[f"logs {env} --stream stderr"].count("[secret]") == len(REFERENCES)


def test_a_log_whose_secret_is_not_known_is_not_printed(passed: Passed) -> None:
    """The run has ended, and the variable is not set in this shell: what to take out can't be told."""
    done = passed.say("logs", str(passed.project.environment), code=1, CANARY_SOURCE="")
    assert done.stdout == ""
    assert "OF_ENV (env:CANARY_SOURCE)" in done.stderr
    assert "attempt-1" in done.stderr


def test_a_secret_that_is_missing_costs_nothing(passed: Passed, services: SecretServices) -> None:
    """Every fault at once, before Terraform is asked for anything."""
    env = passed.project.environment
    before = passed.project.runs()
    stored, services.vault = services.vault, {}
    (env / "token").chmod(0o644)
    try:
        done = passed.say("run", str(env), "-y", code=1)
    finally:
        services.vault = stored
        (env / "token").chmod(0o600)
    assert "2 secrets can't be had" in done.stderr
    assert "OF_VAULT (vault:kv/train/canary#token): Vault has no such secret" in done.stderr
    assert "OF_FILE (file:token)" in done.stderr
    assert "chmod 600" in done.stderr
    assert "Terraform plan" not in done.stderr
    assert passed.project.runs() == before
