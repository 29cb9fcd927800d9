"""The desired state: what an environment folder says, after template and parameters are applied."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from akotf.model.base import Frozen
from akotf.model.drift import DriftClass
from akotf.model.finding import Finding, Position
from akotf.model.origin import Origin
from akotf.model.secret import SecretReference
from akotf.model.units import BitRate, ByteCount, GpuName, MoneyText, Percent, RateText, Seconds

#: A time of the day, or a date with a time; in the window's own timezone.
MOMENT = r"^(\d{4}-\d\d-\d\dT)?[0-2]\d:[0-5]\d$"
NAME = r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"
#: Keys of run.yaml below which nothing is rendered: what stands there reaches the process as it is written.
OPAQUE = ("command", "environment")
Name = Annotated[str, Field(pattern=NAME)]
Scalar = bool | int | float | str

#: Names under `.akotf/` that a scope must not take.
RESERVED_SCOPE_NAMES = frozenset({"objects", "runs", "evidence", "state", "trees", "cache", "locks"})


class ScopeKind(StrEnum):
    """Where a scope's machines are."""

    LOCAL = "local"
    HPC = "hpc"
    CLOUD = "cloud"


class Market(StrEnum):
    """How a cloud sells a machine."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"


class NodeInventory(Frozen):
    """What a declared scope has: `count` equal nodes. An HPC scope without a live survey declares these."""

    count: int = Field(ge=1)
    gpu: GpuName | None = None
    gpus: int = Field(0, ge=0)  # per node
    cpus: int = Field(ge=1)  # per node
    memory: ByteCount  # per node
    bandwidth: BitRate | None = None  # node to node


class ScopeSpec(Frozen):
    """One place where the environment may train."""

    kind: ScopeKind
    backend: str = ""  # defaults: local -> local, hpc -> slurm
    partition: str = ""  # hpc
    nodes: NodeInventory | None = None  # hpc: declared inventory
    queue_wait: Seconds | None = None  # hpc: declared typical wait
    price: RateText | None = None  # local and hpc; a local GPU without a price costs nothing
    provider: Literal["", "aws", "gcp", "azure"] = ""  # cloud
    regions: tuple[str, ...] = ()
    market: tuple[Market, ...] = (Market.ON_DEMAND,)


class Objective(Frozen):
    """What the choice must meet and what it prefers among those that do."""

    budget: MoneyText | None = None
    deadline: Seconds | None = None
    prefer: Literal["cost", "time"] = "cost"


class Lifecycle(Frozen):
    """When machines go: `teardown` defaults to always for clouds and leases; `ttl` is a hard end."""

    teardown: Literal["on-success", "always", "never"] = "always"
    ttl: Seconds | None = None


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


class Window(Frozen):
    """A recurring time of the day, or one interval between two moments.

    `22:00` to `06:00` goes over midnight and belongs to the day on which it begins; `2026-12-20T00:00` to
    `2027-01-05T00:00` happens once. Both ends are in `timezone`; the end itself is outside.
    """

    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = ()  # empty: every day
    start: str = Field(pattern=MOMENT)
    end: str = Field(pattern=MOMENT)
    timezone: str = "UTC"
    reason: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Window:
        """ValueError for what names no time: two kinds of ends, an interval that ends before it begins."""
        if (len(self.start) == 5) != (len(self.end) == 5):
            raise ValueError("start and end must both be times of the day, or both be dates with a time")
        start, end = (
            _moment(text if len(text) > 5 else f"2000-01-01T{text}") for text in (self.start, self.end)
        )
        if len(self.start) > 5 and (self.days or start >= end):
            raise ValueError("an interval between dates has no days, and its start comes before its end")
        try:
            ZoneInfo(self.timezone)
        except (KeyError, ValueError, OSError):
            raise ValueError(
                f"there is no timezone {self.timezone!r}; write one such as Europe/Berlin"
            ) from None
        return self


class MonitorSpec(Frozen):
    """How often telemetry and Terraform are looked at, and what is done about drift without asking."""

    telemetry: Seconds = 5.0
    refresh: Seconds = 300.0
    heal: Literal["auto", "alert"] = "auto"
    classes: dict[DriftClass, Literal["ignore", "alert", "heal"]] = {}  # what differs from `heal`
    ignore: tuple[str, ...] = ()  # fields that somebody else owns; * stands for any text
    consent: tuple[Literal["replace"], ...] = ()  # what may be done to a node under a live run
    freeze: tuple[Window, ...] = ()  # no heals in these
    allow: tuple[Window, ...] = ()  # heals only in these; `freeze` wins
    remedies: dict[DriftClass, str] = {}  # class -> script of the user's own, inside the environment folder
    hang: Seconds = 600.0  # least time without a step that counts as a hang
    warn_at: Percent = 0.8  # share of the budget at which to warn
    stop_at: Percent = 1.0  # share of the budget at which the run saves and stops


class Waiver(Frozen):
    """A named exception from one policy rule, until a date."""

    rule: str
    owner: str
    reason: str
    ticket: str
    expires: dt.date


class EnvironmentSpec(Frozen):
    """`akotf.yaml`."""

    version: Literal[1]
    name: Name
    owner: str
    labels: dict[str, str] = {}
    template: str  # NAME@VERSION, or git+URL//path?ref=TAG
    parameters: dict[str, Any] = {}
    secrets: dict[str, SecretReference] = {}  # variable of the run's environment -> reference
    objective: Objective = Objective()
    scopes: dict[Name, ScopeSpec] = {}
    lifecycle: Lifecycle = Lifecycle()
    monitor: MonitorSpec = MonitorSpec()
    waivers: tuple[Waiver, ...] = ()


class ParameterSpec(Frozen):
    """One typed parameter of a template."""

    type: Literal["integer", "number", "string", "boolean", "duration", "bytes", "percent", "gpu"]
    default: Any = None
    required: bool = False
    unit: str = ""
    min: float | str | None = None  # in the parameter's own type: 60, 1m, 256 MiB, 90%
    max: float | str | None = None
    choices: tuple[Any, ...] = ()
    pattern: str = ""
    help: str = ""
    secret: bool = False


class Constraint(Frozen):
    """What must hold between parameters: CEL over their final values, by name."""

    expr: str  # true: holds
    message: str  # may use {name} of a parameter
    remedy: str = ""  # what to write instead


class TemplateSpec(Frozen):
    """`template.yaml`."""

    version: Literal[1]
    name: Name
    release: str
    description: str = ""
    parameters: dict[str, ParameterSpec] = {}
    constraints: tuple[Constraint, ...] = ()  # what must hold between parameters
    roots: dict[str, str]  # provider (local, aws, ...) -> folder of its static Terraform root
    modules: tuple[str, ...] = ()  # names under modules/, vendored by publish


class TemplateRef(Frozen):
    """A template as pinned: name, version and the digest of its whole folder."""

    name: str
    version: str
    content: str  # sha256: digest of the folder's files
    source: str = ""  # git+URL//path?ref=TAG when it is from git
    commit: str = ""  # of the source, when it is from git


class ImageSpec(Frozen):
    """The container image, by digest; `process: true` allows a plain process where no container engine is used."""

    reference: str  # registry/repo@sha256:...
    process: bool = False


class Limits(Frozen):
    """Resource limits of one run, each per node unless said otherwise."""

    nodes: int = Field(1, ge=1)  # of the whole run
    gpu: GpuName | None = None  # a required GPU model, else any
    gpus: int = Field(0, ge=0)
    gpus_optional: bool = False  # true: take a GPU when there is one, else the CPU
    cpus: int = Field(1, ge=1)
    memory: ByteCount
    shared_memory: ByteCount | None = None
    open_files: int = Field(4096, ge=64)  # RLIMIT_NOFILE soft
    processes: int | None = None  # RLIMIT_NPROC soft
    wall_time: Seconds  # of the whole run

    def gpus_of(self, present: int) -> int:
        """GPUs that the run takes of a node with `present`: what it asks for, or one that is optional and there."""
        return min(present, max(self.gpus, 1 if self.gpus_optional else 0))


class StorageMount(Frozen):
    """A folder that the run sees."""

    source: str  # relative to the environment folder, or a URL
    target: str
    read_only: bool = True


class CheckpointSpec(Frozen):
    """How a run saves itself. A checkpoint is a folder `step-NNNNNNNN` with a `manifest.json`, written last."""

    interval_steps: int = Field(ge=1)
    keep: int = Field(3, ge=1)
    durable: bool = True


class ModelSpec(Frozen):
    """The transformer that is trained, for the published formulas; or a builder to trace."""

    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    vocabulary: int = Field(ge=1)
    sequence: int = Field(ge=1)
    feed_forward: int | None = None  # default 4 x hidden
    tied_embeddings: bool = True
    architecture: Literal["gpt2", "llama"] = "gpt2"  # llama: gated feed-forward, RMSNorm, rotary, no biases
    kv_heads: int | None = Field(None, ge=1)  # grouped keys and values; default heads
    fused_attention: bool = False  # true: no sequence x sequence matrices are stored (FlashAttention, SDPA)


class WorkloadSpec(Frozen):
    """How much work a run is."""

    model: ModelSpec
    global_batch: int = Field(ge=1)  # sequences a step, over all processes
    micro_batch: int | None = Field(None, ge=1)  # sequences a process holds at once; default its whole share
    steps: int = Field(ge=1)
    precision: Literal["fp32", "tf32", "bf16", "fp16", "fp8"] = "bf16"
    optimizer: Literal["adam", "sgd"] = "adam"
    builder: str = (
        ""  # FILE:FUNCTION in the environment folder -> torch model and sample input, for `akotf profile`
    )
    dataset_bytes: int = 0


class RunSpec(Frozen):
    """`run.yaml` rendered: what runs, and so what the baseline is.

    `command` and the values of `environment` are opaque text: they reach the process byte for byte.
    """

    image: ImageSpec
    command: tuple[str, ...] = Field(min_length=1)
    processes: int = Field(1, ge=1)  # training processes a node (torchrun when > 1 or nodes > 1)
    hyperparameters: dict[str, Scalar] = {}
    environment: dict[str, str] = {}
    secrets: dict[
        str, SecretReference
    ] = {}  # variable -> reference; the environment's own are added to these
    limits: Limits
    libraries: dict[str, str] = {}  # distribution name -> version
    gpu_settings: dict[str, str] = {}
    storage: tuple[StorageMount, ...] = ()
    checkpoint: CheckpointSpec
    workload: WorkloadSpec
    outputs: tuple[str, ...] = ()  # files that a finished run must have, relative to its output folder


class Baseline(Frozen):
    """The approved values that a run is held to. The same environment gives the same digest on every scope."""

    hyperparameters: dict[str, Scalar]
    environment: dict[str, str]
    limits: Limits
    image: ImageSpec
    libraries: dict[str, str] = {}
    gpu_settings: dict[str, str] = {}

    def on_node(self, *, gpus: int) -> dict[str, dict[str, Any]]:
        """The part that a node can be compared with, by group, as `baseline.json` and the provider hold it.

        With GPUs there is no memory limit of the process: CUDA reserves address space far beyond what it uses.
        """
        limits: dict[str, Any] = {"open_files": self.limits.open_files, "cpus": self.limits.cpus}
        if self.limits.processes is not None:
            limits["processes"] = self.limits.processes
        if gpus == 0:
            limits["memory"] = self.limits.memory
        return {
            "hyperparameters": dict(self.hyperparameters),
            "environment": dict(self.environment),
            "limits": limits,
            "libraries": dict(self.libraries),
            "gpu_settings": dict(self.gpu_settings),
        }


class DesiredState(Frozen):
    """Everything a pass needs to know about what is wanted."""

    environment: EnvironmentSpec
    template: TemplateRef
    parameters: dict[str, Any]  # final values, defaults included
    run: RunSpec
    akoflow: dict[str, Any] = {}  # the four AkôFlow documents as read, by file name
    folder: Path = Field(exclude=True)  # absolute; never part of a digest
    template_folder: Path = Field(exclude=True)
    positions: dict[str, Position] = Field(default={}, exclude=True)  # dotted path -> where it was written
    origins: dict[str, Origin] = Field(
        default={}, exclude=True
    )  # dotted path -> who decided the value, and where
    notes: tuple[Finding, ...] = Field(default=(), exclude=True)  # what reading noticed that is no fault

    def baseline(self) -> Baseline:
        """What the run is held to."""
        run = self.run
        return Baseline(
            hyperparameters=run.hyperparameters, environment=run.environment, limits=run.limits,
            image=run.image, libraries=run.libraries, gpu_settings=run.gpu_settings,
        )  # fmt: skip

    def revision(self) -> str:
        """Digest of everything that decides what runs and where: a new revision needs a new approval."""
        return self.digest()
