"""What rules see, as models: the objects of each stage by `kind`, and the document around them.

They are the desired state's own models with money as numbers; sizes are bytes, times seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from akotf.model.base import Frozen
from akotf.model.config import EnvironmentSpec, Objective, RunSpec, ScopeKind, ScopeSpec, TemplateRef
from akotf.model.policy import Stage


class MoneyView(Frozen):
    """An amount of money."""

    amount: float
    currency: str  # ISO 4217


class RateView(MoneyView):
    """A price of one GPU or one node for one hour."""

    per: str  # gpu | node


class EstimateView(Frozen):
    """A predicted figure with its interval."""

    value: float
    low: float
    high: float


class ObjectiveView(Objective):
    """The objective, with the budget as numbers."""

    budget: MoneyView | None = None  # type: ignore[assignment]  # the spec's is a decimal


class EnvironmentView(EnvironmentSpec):
    """`akotf.yaml`; of its scopes the names."""

    objective: ObjectiveView = ObjectiveView()
    scopes: tuple[str, ...] = ()  # type: ignore[assignment]  # each is an object of its own


class EnvironmentObject(EnvironmentView):
    """Stage config: the environment."""

    kind: Literal["environment"]
    path: Literal[""] = ""


class ScopeView(ScopeSpec):
    """A scope, with its price as numbers."""

    name: str
    price: RateView | None = None  # type: ignore[assignment]  # the spec's is a decimal


class ScopeObject(ScopeView):
    """Stage config: one scope. Its own kind (local, hpc, cloud) is `scope_kind`."""

    kind: Literal["scope"]  # type: ignore[assignment]  # the kind of object, as of every other
    scope_kind: ScopeKind
    path: str


class RunView(RunSpec):
    """`run.yaml` rendered, and the GPUs of the whole run."""

    gpus: int  # nodes x GPUs a node


class RunObject(RunView):
    """Stage config: what runs."""

    kind: Literal["run"]
    path: Literal["run"] = "run"


class SelectionObject(Frozen):
    """Stage selection: the winner, as it would be provisioned."""

    kind: Literal["selection"]
    candidate: str
    scope: str
    scope_kind: ScopeKind
    backend: str
    provider: str  # aws | gcp | azure; "" outside clouds
    placement: str  # machine, partition or region
    region: str  # "" outside clouds
    machine: str  # instance type
    market: str  # on-demand | spot
    gpu: str  # model; "" without GPUs
    nodes: int
    gpus_per_node: int
    gpus: int  # nodes x gpus_per_node
    owner_gpus: (
        int | None
    )  # gpus + those of the owner's live runs in the project's other environments; null: not known
    cpus: int  # of all nodes
    memory: int  # of all nodes, bytes
    price: float | None  # of one node for one hour; null: not known
    currency: str
    time: EstimateView | None  # s
    cost: EstimateView | None  # null: not known
    durable_checkpoints: bool


class ResourceObject(Frozen):
    """Stages tfplan and drift: one planned change."""

    kind: Literal["resource"]
    address: str
    type: str
    actions: tuple[str, ...]  # as Terraform spells them
    before: dict[str, Any] | None  # null: it is not there yet
    after: dict[str, Any] | None  # null: it goes away
    after_unknown: dict[str, Any]  # true where a value is known only after apply
    sensitive: tuple[str, ...]  # attributes that are never shown
    changed: tuple[str, ...]  # attributes that differ


class PlanObject(Frozen):
    """Stages tfplan and drift: the totals. A replacement is one destroy and one create."""

    kind: Literal["plan"]
    destroy: bool  # somebody asked for a destroy
    creates: int
    updates: int
    destroys: int


class ConfigDocument(Frozen):
    """Stage config: `input`."""

    stage: Literal[Stage.CONFIG]
    environment: EnvironmentView
    scopes: dict[str, ScopeView]
    run: RunView
    parameters: dict[str, Any]
    template: TemplateRef


class SelectionDocument(Frozen):
    """Stage selection: `input`."""

    stage: Literal[Stage.SELECTION]
    environment: str
    owner: str
    labels: dict[str, str]
    objective: ObjectiveView
    order: tuple[str, ...]  # feasible candidates, best first
    inputs: str  # digest of what was planned from


class TfplanDocument(Frozen):
    """Stages tfplan and drift: `input`."""

    stage: Literal[Stage.TFPLAN, Stage.DRIFT]
    environment: str
    destroy: bool
    targets: tuple[str, ...]
    creates: int
    updates: int
    destroys: int
    live_runs: tuple[str, ...] | None  # runs that live on this deployment; null: not known
    consent: tuple[str, ...]  # what the environment allows to be done to a node under a live run: replace
    terraform_version: str


class ConfigInput(Frozen):
    """All that the rules of stage config see."""

    document: ConfigDocument
    objects: tuple[Annotated[EnvironmentObject | ScopeObject | RunObject, Field(discriminator="kind")], ...]


class SelectionInput(Frozen):
    """All that the rules of stage selection see."""

    document: SelectionDocument
    objects: tuple[SelectionObject, ...]


class TfplanInput(Frozen):
    """All that the rules of stages tfplan and drift see."""

    document: TfplanDocument
    objects: tuple[Annotated[ResourceObject | PlanObject, Field(discriminator="kind")], ...]


#: stage -> all that its rules see
INPUTS: dict[Stage, type[ConfigInput | SelectionInput | TfplanInput]] = {
    Stage.CONFIG: ConfigInput,
    Stage.SELECTION: SelectionInput,
    Stage.TFPLAN: TfplanInput,
    Stage.DRIFT: TfplanInput,
}

#: stage -> kind -> its model
KINDS: dict[Stage, dict[str, type[Frozen]]] = {
    Stage.CONFIG: {"environment": EnvironmentObject, "scope": ScopeObject, "run": RunObject},
    Stage.SELECTION: {"selection": SelectionObject},
    Stage.TFPLAN: {"resource": ResourceObject, "plan": PlanObject},
    Stage.DRIFT: {"resource": ResourceObject, "plan": PlanObject},
}
