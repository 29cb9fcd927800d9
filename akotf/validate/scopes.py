"""Checks of scopes: each kind has what it needs, and nothing that another kind needs."""

from __future__ import annotations

from akotf.model.config import RESERVED_SCOPE_NAMES, Market, ScopeKind, ScopeSpec
from akotf.validate.noting import Notes

#: Keys of a scope that make no sense for a kind.
FOREIGN = {
    ScopeKind.LOCAL: ("partition", "nodes", "queue_wait", "provider", "regions", "market"),
    ScopeKind.HPC: ("provider", "regions", "market"),
    ScopeKind.CLOUD: ("partition", "nodes", "queue_wait", "price"),
}
PRICE_BOOK_CURRENCY = "USD"


def check_scopes(notes: Notes) -> None:
    """Every scope by itself, then the prices against the budget."""
    scopes = notes.state.environment.scopes
    if not scopes:
        notes.error(
            "no-scope", "scopes", "no scope says where to train", "add scopes: {workstation: {kind: local}}"
        )
    for name, scope in scopes.items():
        path = f"scopes.{name}"
        if name in RESERVED_SCOPE_NAMES:
            notes.error("reserved-name", path, f"scope {name!r} has a name that akotf keeps for its own folders",
                        f"choose another name, such as {name}-1")  # fmt: skip
        for key in FOREIGN[scope.kind]:
            if getattr(scope, key) != ScopeSpec.model_fields[key].get_default():
                notes.error(
                    "foreign-key",
                    f"{path}.{key}",
                    f"{path}.{key}: a {scope.kind} scope has none",
                    f"remove {key}",
                )
        {ScopeKind.LOCAL: _local, ScopeKind.HPC: _hpc, ScopeKind.CLOUD: _cloud}[scope.kind](
            notes, path, scope
        )
    _check_currency(notes)


def _local(notes: Notes, path: str, scope: ScopeSpec) -> None:
    if scope.backend not in ("", "local"):
        notes.error("backend", f"{path}.backend", f"{path}: a local scope runs on backend local, not {scope.backend}",
                    "remove backend")  # fmt: skip


def _hpc(notes: Notes, path: str, scope: ScopeSpec) -> None:
    nodes = scope.nodes
    if nodes is None:
        notes.warn("no-inventory", path, f"{path} declares no nodes: it can't be planned",
                   "add nodes: {count: 4, gpu: A100-80GB, gpus: 4, cpus: 64, memory: 512 GiB}")  # fmt: skip
    elif nodes.gpus and nodes.gpu is None:
        notes.error("gpu-model", f"{path}.nodes.gpus", f"{path}.nodes has {nodes.gpus} GPUs of no model",
                    "add gpu: with the model and its memory, such as A100-80GB")  # fmt: skip
    elif nodes.gpu is not None and not nodes.gpus:
        notes.error(
            "gpu-count",
            f"{path}.nodes.gpu",
            f"{path}.nodes has a GPU model but no GPUs",
            "add gpus: 1 or more",
        )
    if not scope.partition:
        notes.warn(
            "no-partition", path, f"{path} names no partition", "add partition: NAME (sinfo lists them)"
        )
    if scope.queue_wait is None:
        notes.note(
            "no-queue-wait", path, f"{path} declares no queue_wait: a default is used", "add queue_wait: 45m"
        )


def _cloud(notes: Notes, path: str, scope: ScopeSpec) -> None:
    if not scope.provider:
        notes.error("no-provider", path, f"{path} names no provider", "add provider: aws, gcp or azure")
    if not scope.regions:
        notes.error("no-region", path, f"{path} names no region", "add regions: [us-east-1]")
    for key in ("regions", "market"):
        values = getattr(scope, key)
        if len(set(values)) < len(values):
            notes.error("duplicate", f"{path}.{key}", f"{path}.{key} holds a value twice", "keep one of them")
    if not scope.market:
        notes.error(
            "no-market", f"{path}.market", f"{path}.market is empty", "write [on-demand], [spot] or both"
        )
    if Market.SPOT in scope.market and not notes.state.run.checkpoint.durable:
        notes.error("spot-without-checkpoint", f"{path}.market", f"{path} may take spot machines, but checkpoints are not durable",
                    "set checkpoint.durable in run.yaml, or leave spot out")  # fmt: skip


def _check_currency(notes: Notes) -> None:
    """Money of two currencies can't be compared: nothing here knows an exchange rate."""
    budget = notes.state.environment.objective.budget
    if budget is None:
        return
    for name, scope in notes.state.environment.scopes.items():
        path = f"scopes.{name}"
        if scope.price is not None and scope.price.currency != budget.currency:
            notes.error("currency", f"{path}.price", f"{path}.price is in {scope.price.currency}, the budget in {budget.currency}",
                        "write both in one currency")  # fmt: skip
        if scope.kind is ScopeKind.CLOUD and budget.currency != PRICE_BOOK_CURRENCY:
            notes.error("currency", "objective.budget",
                        f"the budget is in {budget.currency}, the price book of {path} in {PRICE_BOOK_CURRENCY}",
                        f"write the budget in {PRICE_BOOK_CURRENCY}")  # fmt: skip
