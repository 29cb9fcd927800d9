"""Runs and attempts, as every backend tells them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from akotf.model.base import Frozen
from akotf.model.config import Limits, StorageMount


class RunState(StrEnum):
    """States of a run."""

    QUEUED = "queued"
    PROVISIONING = "provisioning"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # the backend's answer can't be read: never a failure

    @property
    def final(self) -> bool:
        """True when nothing will follow."""
        return self in {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED}


class AttemptOutcome(StrEnum):
    """How an attempt ended. After `preempted`, `node_failed` and `restarted` the run returns to queued."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    NODE_FAILED = "node_failed"
    RESTARTED = "restarted"  # stopped by us, to continue from a checkpoint


class RunRequest(Frozen):
    """All that a backend needs to start one attempt. Text is opaque; nothing of the caller's environment is added.

    Folders are absolute on the machine that runs: `run_directory` belongs to the run (checkpoints/, outputs/),
    `attempt_directory` to this attempt (stdout.log, stderr.log, exit.json), `node_directory` holds the baseline files
    and the pointer to the live run.
    """

    key: str  # RUN-aATTEMPT: unique; a second submit with it must not start a second process
    run_id: str
    attempt: int
    environment_name: str
    deployment: str
    baseline_digest: str
    command: tuple[str, ...]
    working_directory: str
    run_directory: str
    attempt_directory: str
    node_directory: str
    environment: dict[str, str]
    secrets: dict[
        str, str
    ] = {}  # variable -> 0600 file with its value, which the backend removes at the start
    limits: Limits
    processes: int = 1
    nodes: int = 1
    devices: tuple[int, ...] = ()  # GPU indices leased for it
    cpu_slots: tuple[int, ...] = ()  # CPUs leased for it: the affinity
    storage: tuple[StorageMount, ...] = ()
    image: str = ""
    resume_from: str = ""  # folder of a complete checkpoint
    checkpoint_keep: int = 3  # complete checkpoints that the training keeps

    @property
    def heartbeat(self) -> str:
        """The file in which the training tells its progress (AKOTF_HEARTBEAT)."""
        return f"{self.attempt_directory}/heartbeat.json"


class Handle(Frozen):
    """A backend's own id of an attempt, with what defeats its reuse (start time, boot id, ...)."""

    backend: str
    native_id: str
    key: str
    pins: dict[str, str] = {}


class AttemptStatus(Frozen):
    """What the backend says of an attempt now."""

    state: RunState
    outcome: AttemptOutcome | None = None
    native: str = ""  # the backend's own word
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    started_at: str = ""
    ended_at: str = ""


class LogChunk(Frozen):
    """Bytes of a log from a cursor on; `cursor` is where to go on."""

    data: bytes
    cursor: int


class Progress(Frozen):
    """The heartbeat of a training, as the runtime helper writes it."""

    step: int
    total_steps: int | None = None
    loss: float | None = None
    step_time: float | None = None  # s, recent mean
    train_seconds: float = 0.0  # s that this attempt spent in steps
    train_steps: int = 0  # steps that this attempt did
    phase: str = "train"  # setup | train | evaluate | checkpoint | done
    hyperparameters: dict[str, Any] = {}  # really in use
    libraries: dict[str, str] = {}
    time: float  # Unix seconds of the heartbeat
    pid: int = 0


class Attempt(Frozen):
    """One try of a run."""

    number: int
    handle: Handle | None = None
    started_at: str = ""
    ended_at: str = ""
    outcome: AttemptOutcome | None = None
    exit_code: int | None = None
    resumed_from: str = ""  # checkpoint folder
    passed_over: tuple[str, ...] = ()  # newer checkpoints that it did not go on from, and why
    reason: str = ""


class Run(Frozen):
    """One training from submission to its end, over all its attempts."""

    id: str
    environment: str
    deployment: str
    scope: str
    backend: str
    revision: str
    baseline: str  # digest
    candidate: str
    inputs: str  # digest of PlanInputs
    chosen: str = ""  # digest of Chosen: plan and selection
    tree: str = ""  # digest of the approved tree, for heals
    approval: str = ""  # digest of the Approval
    gpus: int = 0  # leased GPUs a node; 0 = the CPU trains
    state: RunState
    attempts: tuple[Attempt, ...] = ()
    created_at: str
    ended_at: str = ""
    directory: str  # absolute
