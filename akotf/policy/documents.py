"""What rules see: plain JSON data of one stage, as a document and the objects to judge in it.

Each object has a `kind` for `match`; those of the desired state also have the `path` they were written under.
Sizes are bytes, times seconds, money a number beside its currency.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from akotf.model.config import DesiredState, RunSpec, ScopeKind
from akotf.model.plan import Candidate, Chosen
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.model.units import Estimate

Document = dict[str, Any]
Objects = list[tuple[str, dict[str, Any]]]


def config_document(state: DesiredState) -> tuple[Document, Objects]:
    """Stage config: one `environment`, one `scope` for each, one `run`."""
    spec = state.environment
    environment = spec.to_json()
    environment.pop("scopes")
    environment["objective"]["budget"] = _money(environment["objective"]["budget"])
    scopes = {
        name: {"name": name, **scope.to_json(), "price": _money(scope.to_json()["price"])}
        for name, scope in spec.scopes.items()
    }
    run = _run(state.run)
    objects: Objects = [
        (spec.name, {"kind": "environment", "path": "", **environment, "scopes": list(scopes)})
    ]
    objects += [
        (f"scope {name}", {**scope, "kind": "scope", "scope_kind": scope["kind"], "path": f"scopes.{name}"})
        for name, scope in scopes.items()
    ]
    objects.append(("run", {"kind": "run", "path": "run", **run}))
    document = {
        "stage": "config", "environment": environment, "scopes": scopes, "run": run,
        "parameters": state.model_dump(mode="json", include={"parameters"})["parameters"], "template": state.template.to_json(),
    }  # fmt: skip
    return document, objects


def selection_document(state: DesiredState, chosen: Chosen) -> tuple[Document, Objects]:
    """Stage selection: the winner as one `selection`. KeyError when there is none.

    GPUs are counted as nodes x GPUs a node of the final choice; a fail-over to another candidate is judged again.
    """
    spec = state.environment
    winner = chosen.winner()
    objects: Objects = [(winner.id, _selection(state, winner))]
    objective = spec.objective.to_json()
    objective["budget"] = _money(objective["budget"])
    document = {
        "stage": "selection", "environment": spec.name, "owner": spec.owner, "labels": dict(spec.labels),
        "objective": objective, "order": list(chosen.selection.order), "inputs": chosen.selection.inputs,
    }  # fmt: skip
    return document, objects


def tfplan_document(plan: TfPlan, extra: Mapping[str, Any]) -> tuple[Document, Objects]:
    """Stages tfplan and drift: one `resource` for each change and one `plan` with the totals.

    A replacement counts as one destroy and one create, as Terraform counts it. `extra` goes into the document.
    """
    changes = [change for change in plan.changes if change.is_change]
    totals = {
        "creates": sum("create" in c.actions for c in changes),
        "updates": sum("update" in c.actions for c in changes),
        "destroys": sum(c.destroys for c in changes),
    }
    document = {
        "stage": "tfplan", "destroy": plan.destroy, "targets": list(plan.targets), **totals, **extra,
        "terraform_version": plan.terraform_version,
    }  # fmt: skip
    objects: Objects = [(c.address, _resource(c)) for c in changes]
    objects.append(("plan", {"kind": "plan", "destroy": document["destroy"], **totals}))
    return document, objects


def _run(spec: RunSpec) -> dict[str, Any]:
    run: dict[str, Any] = spec.to_json()
    run["gpus"] = spec.limits.nodes * spec.limits.gpus
    return run


def _selection(state: DesiredState, candidate: Candidate) -> dict[str, Any]:
    offer = candidate.offer
    scope = state.environment.scopes.get(candidate.scope)
    # A cloud gives whole machines; elsewhere a run holds the GPUs that it takes.
    gpus = offer.gpus if offer.kind is ScopeKind.CLOUD else state.run.limits.gpus_of(offer.gpus)
    return {
        "kind": "selection", "candidate": candidate.id, "scope": candidate.scope, "scope_kind": offer.kind.value,
        "backend": offer.backend, "provider": scope.provider if scope else "", "placement": offer.placement,
        "region": offer.placement if offer.kind.value == "cloud" else "",
        "machine": offer.machine, "market": offer.market.value, "gpu": offer.device.name if offer.gpus else "",
        "nodes": candidate.nodes, "gpus_per_node": gpus, "gpus": candidate.nodes * gpus,
        "cpus": candidate.nodes * offer.cpus, "memory": candidate.nodes * offer.memory,
        "price": None if offer.price is None else float(offer.price), "currency": offer.currency,
        "time": _estimate(candidate.time), "cost": _estimate(candidate.cost),
        "durable_checkpoints": state.run.checkpoint.durable,
    }  # fmt: skip


def _resource(change: ResourceChange) -> dict[str, Any]:
    return {
        "kind": "resource", "address": change.address, "type": change.type, "actions": list(change.actions),
        "before": change.before, "after": change.after, "after_unknown": change.after_unknown,
        "sensitive": list(change.sensitive), "changed": list(change.changed_attributes()),
    }  # fmt: skip


def _money(value: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else {**value, "amount": float(value["amount"])}


def _estimate(value: Estimate | None) -> dict[str, float] | None:
    return None if value is None else {"value": value.value, "low": value.low, "high": value.high}
