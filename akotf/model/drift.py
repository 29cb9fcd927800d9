"""Baselines against readings: observations, drift, decisions, and what is remembered between two looks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, NamedTuple

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


class NodeStatus(Frozen):
    """What the backend itself says of a node of the run. Only `lost` is a lost node: `unknown` is no answer."""

    node: str
    state: Literal["up", "lost", "unknown"]
    native: str = ""  # the backend's own word: DOWN, NODE_FAIL, NotReady, ...
    reason: str = ""


class Drift(Frozen):
    """One declared value that differs from what is there, with the evidence for it."""

    kind: DriftClass
    node: str
    field: str  # hyperparameters.file.learning_rate, limits.open_files, akotf_baseline.run (address), ...
    approved: Any
    observed: Any  # None = absent
    source: str  # agent | terraform | heartbeat | backend | prediction | history | peers | prices
    address: str = ""  # Terraform address that heals it
    since: float = 0.0  # Unix seconds when first seen
    tolerance: str = ""  # how far it may differ before it counts; empty: not at all
    disruptive: bool = False  # the fix deletes, replaces or reboots something

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
    hook: str = ""  # script of the user's own for this class, relative to the environment folder


class HealMemory(NamedTuple):
    """What is remembered of one drift key, so that decisions stay pure functions."""

    first_seen: float = 0.0
    last_seen: float = 0.0
    sightings: int = 0  # consecutive; 0 while the drift is cleared
    attempts: int = 0
    not_before: float = 0.0
    flips: tuple[str, ...] = ()  # recent observed values, as JSON: the fight detector
    state: str = ""  # the unhealthy state it belongs to: a key of `Memory.states`


class StateMemory(NamedTuple):
    """What is remembered of one unhealthy state, whatever the fields that show it: `NODE:replace`, `*:restart-...`.

    Reasons may alternate; the state's attempts and timer go on until it was clear for some looks in a row.
    """

    since: float = 0.0  # Unix seconds when the state began
    restless: int = 0  # looks in a row that saw it, each by a reason that was not there long enough by itself
    attempts: int = 0
    not_before: float = 0.0
    acted_at: float = 0.0  # Unix seconds of the last attempt
    clean: int = 0  # looks in a row without it
    reasons: tuple[str, ...] = ()  # keys of the drifts that showed it last


class Memory(Frozen):
    """All that decisions carry from one look to the next. Plain data: a monitor may keep it over its own restart."""

    revision: str = ""  # of the desired state; another one starts with an empty memory
    drifts: dict[str, HealMemory] = {}  # by `Drift.key`
    states: dict[str, StateMemory] = {}  # by TARGET:ACTION


class Trend(Frozen):
    """The step time of one node against the run's own past (EWMA and CUSUM). Times in seconds."""

    samples: int = 0
    mean: float = 0.0  # of the samples that were learned from
    squares: float = 0.0  # sum of squared deviations from it
    level: float = 0.0  # EWMA: where the step time is now
    cusum: float = 0.0  # upper CUSUM, in standard deviations
    step: int = -1  # of the last sample


class Pace(Frozen):
    """How a run advances: what liveness is judged by. Times in seconds."""

    process: str = ""  # which attempt it is: another one begins anew
    seen: float = 0.0  # time of the last observation that was counted
    step: int = -1
    phase: str = ""
    idle: float = 0.0  # watched time since the step last changed
    phases: tuple[str, ...] = ()  # that were seen since then
    paces: tuple[float, ...] = ()  # seconds a step, of recent looks that saw steps
    moved: bool = False  # at least one step was seen to end
    watched: float = 0.0  # time since its first step, of late: the window of throughput
    advanced: float = 0.0  # steps in it
