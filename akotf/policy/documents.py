"""What rules see of one stage: the document, and the objects to judge in it, as plain JSON data.

Each object has a `kind` for `match`; those of the desired state also have the `path` they were written under. The
models in `views.py` make them, so the published schemas are theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from akotf.model.config import DesiredState, Limits, ScopeKind
from akotf.model.plan import Candidate, Chosen, Offer
from akotf.model.policy import Stage
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.model.units import Estimate
from akotf.policy import views

Document = dict[str, Any]
Objects = list[tuple[str, dict[str, Any]]]


def config_document(state: DesiredState) -> tuple[Document, Objects]:
    """Stage config: one `environment`, one `scope` for each, one `run`."""
    spec = state.environment
    environment = spec.to_json()
    written = environment.pop("scopes")
    environment |= {"scopes": list(written)}
    environment["objective"]["budget"] = _money(environment["objective"]["budget"])
    scopes = {
        name: {**scope, "name": name, "price": _money(scope["price"])} for name, scope in written.items()
    }
    limits = state.run.limits
    run = {**state.run.to_json(), "gpus": limits.nodes * limits.gpus}
    rows: list[dict[str, Any]] = [{**environment, "kind": "environment"}]
    rows += [
        {**scope, "kind": "scope", "scope_kind": scope["kind"], "path": f"scopes.{name}"}
        for name, scope in scopes.items()
    ]
    rows.append({**run, "kind": "run"})
    document = {
        "stage": Stage.CONFIG, "environment": environment, "scopes": scopes, "run": run,
        "parameters": state.model_dump(mode="json", include={"parameters"})["parameters"],
        "template": state.template.to_json(),
    }  # fmt: skip
    names = [spec.name, *(f"scope {name}" for name in scopes), "run"]
    return _made(views.ConfigInput, document, names, rows)


def selection_document(
    state: DesiredState, chosen: Chosen, *, others: int | None = None
) -> tuple[Document, Objects]:
    """Stage selection: the winner as one `selection`. KeyError when there is none.

    GPUs are counted as nodes x GPUs a node of the final choice; a fail-over to another candidate is judged again.
    `others` are the GPUs of the owner's live runs in the project's other environments; None: not known.
    """
    spec = state.environment
    winner = chosen.winner()
    objective = spec.objective.to_json()
    objective["budget"] = _money(objective["budget"])
    document = {
        "stage": Stage.SELECTION, "environment": spec.name, "owner": spec.owner, "labels": dict(spec.labels),
        "objective": objective, "order": list(chosen.selection.order), "inputs": chosen.selection.inputs,
    }  # fmt: skip
    return _made(views.SelectionInput, document, [winner.id], [_selection(state, winner, others)])


def tfplan_document(
    plan: TfPlan, extra: Mapping[str, Any], stage: Stage = Stage.TFPLAN
) -> tuple[Document, Objects]:
    """Stages tfplan and drift: one `resource` for each change and one `plan` with the totals.

    A replacement counts as one destroy and one create, as Terraform counts it. `extra` goes into the document:
    `environment`, `destroy` (asked for by somebody), `live_runs` (null: not known) and `consent` (none by default).
    """
    changes = [change for change in plan.changes if change.is_change]
    totals = {
        "creates": sum("create" in c.actions for c in changes),
        "updates": sum("update" in c.actions for c in changes),
        "destroys": sum(c.destroys for c in changes),
    }
    document = {
        "stage": stage, "environment": "", "destroy": plan.destroy, "targets": list(plan.targets), **totals,
        "live_runs": None, "consent": [], "terraform_version": plan.terraform_version, **extra,
    }  # fmt: skip
    rows = [_resource(c) for c in changes]
    rows.append({"kind": "plan", "destroy": document["destroy"], **totals})
    return _made(views.TfplanInput, document, [*(c.address for c in changes), "plan"], rows)


def gpus_of(limits: Limits, offer: Offer) -> int:
    """GPUs that a run holds on one node: a cloud gives whole machines, elsewhere it holds those it takes."""
    return offer.gpus if offer.kind is ScopeKind.CLOUD else limits.gpus_of(offer.gpus)


def _made(
    model: type[views.ConfigInput | views.SelectionInput | views.TfplanInput],
    document: Mapping[str, Any],
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
) -> tuple[Document, Objects]:
    made = model.model_validate({"document": document, "objects": rows}).to_json()
    return made["document"], list(zip(names, made["objects"], strict=True))


def _selection(state: DesiredState, candidate: Candidate, others: int | None) -> dict[str, Any]:
    offer = candidate.offer
    scope = state.environment.scopes.get(candidate.scope)
    each = gpus_of(state.run.limits, offer)
    gpus = candidate.nodes * each
    return {
        "kind": "selection", "candidate": candidate.id, "scope": candidate.scope, "scope_kind": offer.kind.value,
        "backend": offer.backend, "provider": scope.provider if scope else "", "placement": offer.placement,
        "region": offer.placement if offer.kind is ScopeKind.CLOUD else "",
        "machine": offer.machine, "market": offer.market.value, "gpu": offer.device.name if offer.gpus else "",
        "nodes": candidate.nodes, "gpus_per_node": each, "gpus": gpus,
        "owner_gpus": None if others is None else others + gpus,
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
