"""Offers, snapshots, candidates and selections."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from akotf.model.base import Frozen
from akotf.model.config import Baseline, CheckpointSpec, Limits, Market, Objective, ScopeKind
from akotf.model.profile import CalibrationTable, DeviceProfile, WorkloadProfile
from akotf.model.units import Estimate


class Offer(Frozen):
    """One kind of machine that a scope can give, with its price and limits."""

    id: str  # scope/placement/machine/market
    scope: str
    kind: ScopeKind
    backend: str
    placement: str  # machine name, partition or region
    machine: str  # instance type, or a word for the node
    market: Market = Market.ON_DEMAND
    device: DeviceProfile
    gpus: int  # per node; 0 means the CPU trains
    cpus: int  # per node
    memory: int  # bytes per node
    max_nodes: int
    network: float | None = None  # node to node, bytes a second
    price: Decimal | None  # of one node for one hour; None = price unknown (never 0)
    currency: str = "USD"
    price_source: str
    queue_wait: Estimate  # s
    provisioning: Estimate  # s
    interruptions_per_hour: float = 0.0
    source: str


class Snapshot(Frozen):
    """What all scopes offered at one moment."""

    taken_at: str  # ISO 8601, UTC
    offers: tuple[Offer, ...]
    notes: tuple[str, ...] = ()  # scopes that could not be read, and why


class PlanInputs(Frozen):
    """Everything the planner reads. Stored by digest: `akotf replay DIGEST` computes the same bytes from it."""

    planner: str  # version of the planner
    environment: str
    baseline: Baseline
    workload: WorkloadProfile
    limits: Limits
    checkpoint: CheckpointSpec
    template: str  # NAME@VERSION
    objective: Objective
    snapshot: Snapshot
    calibration: CalibrationTable = CalibrationTable()
    processes: int = 1  # training processes a node on CPUs; on GPUs one a GPU
    only_scope: str = ""  # a person restricted the choice to this scope


class Infeasibility(Frozen):
    """One limit that a candidate breaks, and by how much."""

    limit: str  # memory | gpus | cpus | nodes | gpu-model | batch | interruptions | price | budget | deadline | wall-time
    needed: float
    available: float
    unit: str
    message: str


class Candidate(Frozen):
    """One way to run the training, with its predicted time and cost."""

    id: str
    scope: str
    offer: Offer
    nodes: int
    processes: int  # training processes a node
    #: sharded (ZeRO-3, FSDP): where the state fits no other way
    parallelism: Literal["data", "sharded"] = "data"
    feasible: bool  # of the machine itself; budget and deadline are judged by choose
    reasons: tuple[Infeasibility, ...] = ()
    step_time: Estimate | None = None  # s
    phases: dict[str, Estimate] = Field(
        default={}
    )  # queue, provisioning, staging, startup, training, checkpoints, interruptions: s
    time: Estimate | None = None  # s, the sum of the phases
    cost: Estimate | None = None  # in `offer.currency`; None when the price is unknown


class PlanResult(Frozen):
    """All candidates of one planning."""

    planner: str
    inputs: str  # digest of PlanInputs
    candidates: tuple[Candidate, ...]


class Relaxation(Frozen):
    """The cheapest change of a limit that would make a candidate feasible."""

    candidate: str
    limit: str
    to: float
    unit: str
    message: str


class Loser(Frozen):
    """Why a candidate was not chosen."""

    candidate: str
    reason: str


class Selection(Frozen):
    """The choice and the reason against each loser. `winner` is None when nothing is feasible."""

    inputs: str  # digest of PlanInputs
    order: tuple[str, ...]  # feasible candidates, best first: also the order of fail-over
    winner: str | None
    losers: tuple[Loser, ...]
    notes: tuple[str, ...] = ()  # what to know of the winner: an interval over the budget, an old price
    binding: str = ""  # the limit that decides when nothing is feasible
    relaxation: Relaxation | None = None


class Chosen(Frozen):
    """Plan and selection together, as stages after `choose` need them."""

    plan: PlanResult
    selection: Selection

    def winner(self) -> Candidate:
        """The chosen candidate; KeyError when there is none."""
        return self.candidate(self.selection.winner or "")

    def candidate(self, candidate_id: str) -> Candidate:
        """A candidate by id; KeyError when unknown."""
        for candidate in self.plan.candidates:
            if candidate.id == candidate_id:
                return candidate
        raise KeyError(candidate_id)
