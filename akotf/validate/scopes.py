"""Checks of scopes: each kind has what it needs, and nothing that another kind needs."""

from __future__ import annotations

from typing import Any

from akotf.model.akoflow import EnvironmentFile
from akotf.model.akoflow_scopes import derive_scopes
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


def check_akoflow(notes: Notes) -> None:
    """Where akotf.yaml and the AkôFlow resources say different things of a scope, akotf.yaml wins and this tells."""
    data = notes.state.akoflow.get("environment.yaml")
    if data is None:
        return
    derived = derive_scopes(EnvironmentFile.model_validate(data))
    for name, other in derived.items():
        own = notes.state.environment.scopes.get(name)
        if own is None:
            notes.note(
                "akoflow-scope", "scopes", f"environment.yaml has a scope {name!r} that akotf.yaml leaves out"
            )
            continue
        for path, ours, theirs in _differences(f"scopes.{name}", own, other):
            notes.warn("akoflow-conflict", path, f"{path} is {ours} in akotf.yaml and {theirs} in environment.yaml; akotf.yaml wins",
                       "make them agree")  # fmt: skip


def _differences(path: str, own: Any, other: Any) -> list[tuple[str, Any, Any]]:
    rows = []
    for key in type(own).model_fields:
        ours, theirs = getattr(own, key), getattr(other, key)
        if key == "nodes" and ours is not None and theirs is not None:
            rows += _differences(f"{path}.nodes", ours, theirs)
        elif key in other.model_fields_set and theirs not in (None, "", ()) and ours != theirs:
            shown = [", ".join(map(str, v)) if isinstance(v, tuple) else v for v in (ours, theirs)]
            rows.append((f"{path}.{key}", shown[0] if shown[0] not in (None, "") else "not set", shown[1]))
    return rows
