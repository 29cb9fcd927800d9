"""The adapters bound for one environment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.model.layout import Layout
from akotf.model.policy import Rule
from akotf.ports import Backend, Clock, Journal, LeaseStore, ObjectStore, SecretSource, Terraform
from akotf.record.signing import Signer
from akotf.telemetry.agent_client import AgentSource


@dataclass(frozen=True)
class Session:
    """The adapters bound for one environment; made by wiring, or by a test with in-memory doubles."""

    layout: Layout
    clock: Clock
    journal: Journal
    objects: ObjectStore
    leases: LeaseStore
    telemetry: AgentSource
    catalogues: tuple[Path, ...]
    cache: Path  # of this machine and user
    interpreter: str  # for the provider and the agent
    terraform: Callable[[], Terraform]
    backend: Callable[[str], Backend]
    rules: Callable[[], Sequence[Rule]]
    machine: Callable[[], Mapping[str, Any]]
    signer: Callable[[], Signer | None]  # of evidence; None: integrity only
    secrets: SecretSource
    suffix: Callable[[], str]  # random part of a run id
    emit: Callable[[str, Any], None]
    policy_approver: str = ""  # who accepts failures of soft-mandatory rules; stands in the journal

    @property
    def today(self) -> dt.date:
        """Today in UTC."""
        return dt.datetime.fromtimestamp(self.clock.now(), dt.UTC).date()
