"""An ordinary object of each kind, and an ordinary document of each stage: what a rule's own inputs differ from.

So an input says only what its rule is about, and is still something that the stage can really produce.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from akotf.model.policy import Stage

_ENVIRONMENT = {
    "version": 1, "name": "example", "owner": "ml-platform", "template": "gpu-training@1.0.0",
    "scopes": ["workstation"], "objective": {"budget": {"amount": 25.0, "currency": "USD"}},
}  # fmt: skip
_RUN = {
    "image": {"reference": "docker.io/pytorch/pytorch@sha256:" + "0f" * 32},
    "command": ["python", "train.py"],
    "limits": {"memory": 2**34, "wall_time": 3600.0},
    "checkpoint": {"interval_steps": 100},
    "workload": {
        "model": {"layers": 2, "hidden": 64, "heads": 2, "vocabulary": 70, "sequence": 64},
        "global_batch": 8, "steps": 100,
    },
    "gpus": 0,
}  # fmt: skip
_SCOPE = {"name": "workstation", "kind": "local"}
_ESTIMATE = {"value": 60.0, "low": 50.0, "high": 90.0}
_TOTALS = {"destroy": False, "creates": 1, "updates": 0, "destroys": 0}

_OBJECTS: dict[str, dict[str, Any]] = {
    "environment": _ENVIRONMENT,
    "scope": {**_SCOPE, "scope_kind": "local", "path": "scopes.workstation"},
    "run": _RUN,
    "selection": {
        "candidate": "workstation/vm/node/on-demand/1", "scope": "workstation", "scope_kind": "local",
        "backend": "local", "provider": "", "placement": "vm", "region": "", "machine": "node",
        "market": "on-demand", "gpu": "", "nodes": 1, "gpus_per_node": 0, "gpus": 0, "owner_gpus": 0, "cpus": 2,
        "memory": 2**34, "price": 0.0, "currency": "USD", "time": _ESTIMATE,
        "cost": {"value": 0.0, "low": 0.0, "high": 0.0}, "durable_checkpoints": True,
    },
    "resource": {
        "actions": ["create"], "before": None, "after": {}, "after_unknown": {}, "sensitive": [], "changed": [],
    },
    "plan": _TOTALS,
}  # fmt: skip
_TFPLAN = {
    **_TOTALS, "environment": "example", "targets": [], "live_runs": [], "consent": [], "terraform_version": "1.11.4",
}  # fmt: skip
_DOCUMENTS: dict[Stage, dict[str, Any]] = {
    Stage.CONFIG: {
        "environment": _ENVIRONMENT, "scopes": {}, "run": _RUN, "parameters": {},
        "template": {"name": "gpu-training", "version": "1.0.0", "content": "sha256:" + "0f" * 32},
    },
    Stage.SELECTION: {
        "environment": "example", "owner": "ml-platform", "labels": {},
        "objective": {"budget": {"amount": 25.0, "currency": "USD"}}, "order": [],
        "inputs": "sha256:" + "0f" * 32,
    },
    Stage.TFPLAN: _TFPLAN,
    Stage.DRIFT: _TFPLAN,
}  # fmt: skip
#: What stands for itself: a planned resource's attributes are never mixed with an example's.
_WHOLE = frozenset({"before", "after", "after_unknown"})


def whole_object(given: Mapping[str, Any]) -> dict[str, Any]:
    """An ordinary object of the given `kind`, with what is given in place."""
    kind = str(given.get("kind"))
    item = _over(_OBJECTS.get(kind, {}), given)
    if kind == "resource" and "address" not in given:
        item["address"] = f"{item.get('type')}.example"
    return item


def whole_document(stage: Stage, given: Mapping[str, Any]) -> dict[str, Any]:
    """An ordinary document of the stage, with what is given in place."""
    return {**_over(_DOCUMENTS[stage], given), "stage": stage.value}


def _over(example: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(example)
    for key, value in given.items():
        before = example.get(key)
        nested = isinstance(value, Mapping) and isinstance(before, Mapping) and key not in _WHOLE
        merged[key] = _over(before, value) if nested else value  # type: ignore[arg-type]  # `nested` says so
    return merged
