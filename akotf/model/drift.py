"""Baselines against readings: observations, drift and decisions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from akotf.model.base import Frozen


class DriftClass(StrEnum):
    """What kind of thing drifted."""

    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"
    RUNTIME = "runtime"
    CAPACITY = "capacity"
    PERFORMANCE = "performance"
    COST = "cost"


class Action(StrEnum):
    """What to do about drift."""

    IGNORE = "ignore"
    ALERT = "alert"
    HEAL_IN_PLACE = "heal-in-place"
    RESTART = "restart-from-checkpoint"
    REPLACE = "replace"
    STOP = "stop"


class Observation(Frozen):
    """What one node's agent reported. `facts` are flat: `hyperparameters.file.learning_rate` -> JSON value.

    Groups of facts: `hyperparameters.file.*` (on disk), `hyperparameters.in_use.*` (heartbeat), `environment.*`
    and `limits.*` (of the live process), `libraries.*`, `gpu.*`, `process.*`. A fact that could not be read is absent
    and named in `unreadable`.
    """

    node: str
    time: float  # Unix seconds
    live: bool  # a run's process is alive on the node
    facts: dict[str, Any] = {}
    unreadable: dict[str, str] = {}  # fact or group -> why
    metrics: dict[str, float] = {}  # telemetry: cpu_percent, memory_bytes, gpu_0_utilization, ...
    progress: dict[str, Any] | None = None  # the heartbeat, as `Progress` JSON


class Drift(Frozen):
    """One declared value that differs from what is there."""

    kind: DriftClass
    node: str
    field: str  # hyperparameters.file.learning_rate, limits.open_files, akotf_baseline.run (address), ...
    approved: Any
    observed: Any  # None = absent
    source: str  # agent | terraform | heartbeat | prediction
    address: str = ""  # Terraform address that heals it
    since: float = 0.0  # Unix seconds when first seen

    @property
    def key(self) -> str:
        """Identity over time: the same field of the same node."""
        return f"{self.node}:{self.field}"


class Decision(Frozen):
    """What to do about some drifts, and why."""

    action: Action
    drifts: tuple[Drift, ...]
    reason: str
    addresses: tuple[str, ...] = ()  # Terraform targets of a heal in place
    retry_at: float = 0.0  # Unix seconds; a deferred action may be tried again then


class HealMemory(Frozen):
    """What the controller remembers of one drift key, so that decisions stay pure functions."""

    first_seen: float = 0.0
    last_seen: float = 0.0
    sightings: int = 0  # consecutive; 0 while the drift is cleared
    attempts: int = 0
    not_before: float = 0.0
    flips: tuple[str, ...] = ()  # recent observed values, as JSON: the fight detector
