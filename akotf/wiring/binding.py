"""The real adapters, bound for one environment: what a command that does more than read works with."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import secrets
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from akotf.backends.registry import load as load_backend
from akotf.errors import AkotfError
from akotf.facts import gpu
from akotf.facts import machine as machine_facts
from akotf.model.journal import Actor
from akotf.model.layout import Layout
from akotf.model.lease import Lease
from akotf.model.policy import Rule
from akotf.pipeline.session import Session
from akotf.ports import Backend, Terraform
from akotf.profiling.device import gpu_name
from akotf.record.signing import Signer, load_signer
from akotf.secrets.recording import RedactingJournal
from akotf.secrets.source import Secrets
from akotf.store.journal import SqliteJournal
from akotf.store.leases import FileLeases
from akotf.store.objects import FolderObjects
from akotf.telemetry.agent_client import AgentSource
from akotf.terraform.runner import TerraformRunner, find_binary
from akotf.wiring.surroundings import cache_folder, catalogues, rules


class SystemClock:
    """The real clock."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def iso(self) -> str:
        """ISO 8601 in UTC, to the millisecond."""
        return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def terraform_for(start: Path) -> TerraformRunner:
    """Terraform or OpenTofu: from PATH, else from the project's `.tools`."""
    tools = next((f / ".tools" for f in (start, *start.parents) if (f / ".tools").is_dir()), None)
    return TerraformRunner(find_binary(tools), environment=os.environ)


def actor(folder: Path, source: str) -> Actor:
    """Who does this, from where, on which commit."""
    try:
        commit = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:  # no git on this machine
        commit = ""
    return Actor(
        user=os.environ.get("AKOTF_USER") or user(),
        host=socket.gethostname(),
        source="ci" if os.environ.get("CI") else source,
        commit=commit,
    )


def user() -> str:
    """The login name, or the number where the system knows no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def signer() -> Signer | None:
    """The ed25519 key that AKOTF_SIGNING_KEY names (a PEM file); None when it is not set."""
    path = os.environ.get("AKOTF_SIGNING_KEY")
    return load_signer(Path(path)) if path else None


def this_machine() -> dict[str, Any]:
    """Host name, usable CPUs, memory (bytes) and GPUs by name, as the survey takes them."""
    found = machine_facts.describe(gpu.read().devices)
    return {
        "hostname": found["hostname"],
        "cpus": int(found["cpus_usable"]),
        "memory": found["memory_bytes"],
        "gpus": dict(Counter(gpu_name(str(device["name"])) for device in found["gpus"])),
    }


def environment_folder(path: str) -> Path:
    """The absolute folder of an environment."""
    folder = Path(path).resolve()
    if not folder.is_dir():
        raise AkotfError(
            "there is no such environment folder",
            where=str(path),
            remedy=f"akotf init {path} writes a new one",
        )
    return folder


def open_session(
    path: str, emit: Callable[[str, Any], None], *, source: str = "cli", policy_approver: str = ""
) -> Session:
    """Bind the real adapters for one environment. Opens nothing before it is used."""
    folder = environment_folder(path)
    layout = Layout(folder)
    clock = SystemClock()
    who = actor(folder, source)
    secret_source = Secrets(folder, os.environ)

    @cache
    def terraform() -> Terraform:
        return terraform_for(folder)

    @cache
    def backend(name: str) -> Backend:
        return load_backend(name)

    @cache
    def loaded_rules() -> Sequence[Rule]:
        return rules(folder)

    @cache
    def machine() -> Mapping[str, Any]:
        return this_machine()

    journal = RedactingJournal(SqliteJournal(layout.journal, clock=clock, actor=who), secret_source)

    def taken(lease: Lease, why: str) -> None:
        body = {
            "key": lease.key,
            "operation": lease.operation,
            "of": f"{lease.holder}@{lease.host}",
            "why": why,
        }
        journal.append("lease.taken", body, environment=lease.key, subject=lease.key)

    return Session(
        layout=layout,
        clock=clock,
        journal=journal,
        objects=FolderObjects(layout.objects),
        leases=FileLeases(layout.locks, clock=clock, identity=who, on_takeover=taken),
        telemetry=AgentSource(interpreter=sys.executable),
        catalogues=catalogues(folder),
        cache=cache_folder(),
        interpreter=sys.executable,
        terraform=terraform,
        backend=backend,
        rules=loaded_rules,
        machine=machine,
        signer=signer,
        secrets=secret_source,
        suffix=lambda: secrets.token_hex(2),
        emit=emit,
        policy_approver=policy_approver,
    )
