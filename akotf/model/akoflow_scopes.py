"""Scopes derived from AkôFlow's resources.

akotf's extensions stand in a resource's `metadata`, where AkôFlow keeps them untouched:

| key | meaning | when absent |
|---|---|---|
| `akotf.scope` | name of the scope that the resource belongs to | the resource's id |
| `akotf.kind` | `local`, `hpc` or `cloud` | by `type` (see `KINDS`) |
| `akotf.backend` | backend of the scope | the kind's default |
| `akotf.partition` | HPC partition | for `hpc_partition` and `batch_queue`: providerId |
| `akotf.nodes` | number of equal nodes | 1 |
| `akotf.gpu`, `akotf.gpus` | GPU model with its memory, GPUs of a node | no GPU |
| `akotf.cpus`, `akotf.memory` | CPUs and memory (`512 GiB`) of a node | cpuCores, memoryBytes |
| `akotf.bandwidth` | node to node, such as `100 Gbit/s` | unknown |
| `akotf.queueWait` | typical wait, such as `45m` | unknown |
| `akotf.price` | `0.60 USD/gpu/h` or `12 USD/node/h` | pricePerSecond x 3600 USD a node |
| `akotf.provider` | `aws`, `gcp` or `azure` | none |
| `akotf.regions` | list of regions | region |
| `akotf.market` | list of `spot`, `on-demand` | on-demand |
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from akotf.model.akoflow import EnvironmentFile, Resource
from akotf.model.config import NAME, NodeInventory, ScopeKind, ScopeSpec
from akotf.model.units import Rate

KINDS: dict[str, ScopeKind] = {
    "local_machine": ScopeKind.LOCAL,
    "machine": ScopeKind.LOCAL,
    "hpc_partition": ScopeKind.HPC,
    "hpc_machine": ScopeKind.HPC,
    "batch_queue": ScopeKind.HPC,
    "slurm_reservation": ScopeKind.HPC,
    "cloud_vm": ScopeKind.CLOUD,
}
#: metadata key -> key of a scope in akotf.yaml, and of its `nodes`
SCOPE_KEYS = {
    "akotf.backend": "backend", "akotf.partition": "partition", "akotf.queueWait": "queue_wait",
    "akotf.price": "price", "akotf.provider": "provider", "akotf.regions": "regions", "akotf.market": "market",
}  # fmt: skip
NODE_KEYS = {
    "akotf.nodes": "count", "akotf.gpu": "gpu", "akotf.gpus": "gpus", "akotf.cpus": "cpus",
    "akotf.memory": "memory", "akotf.bandwidth": "bandwidth",
}  # fmt: skip
#: Keys whose values have a unit: a bare number among them is refused as it is in akotf.yaml.
_WITH_UNIT = frozenset({"akotf.queueWait", "akotf.price", "akotf.memory", "akotf.bandwidth"})
METADATA_KEYS = frozenset({"akotf.scope", "akotf.kind", *SCOPE_KEYS, *NODE_KEYS})


def derive_scopes(inventory: EnvironmentFile) -> dict[str, ScopeSpec]:
    """The scopes that AkôFlow resources stand for, by name.

    Schedulable resources of a known type, or with `akotf.kind`, count; several resources with one `akotf.scope`
    join their regions. ValueError (pydantic's) when the metadata don't make a scope.
    """
    scopes: dict[str, dict[str, Any]] = {}
    for resource in inventory.resources:
        found = scope_of(resource)
        if found is None:
            continue
        name, kind = found
        data = _scope_data(resource, kind)
        if name in scopes:
            joined = [*scopes[name].get("regions", ()), *data.get("regions", ())]
            data = {**data, **scopes[name], "regions": list(dict.fromkeys(joined))}
        scopes[name] = data
    return {name: ScopeSpec.model_validate(data) for name, data in scopes.items()}


def scope_of(resource: Resource) -> tuple[str, ScopeKind] | None:
    """Name and kind of the scope that a resource belongs to, if any. ValueError for an unknown `akotf.kind`."""
    kind = resource.metadata.get("akotf.kind") or KINDS.get(resource.type)
    if kind is None or not resource.schedulable:
        return None
    return str(resource.metadata.get("akotf.scope") or scope_name(resource.id)), ScopeKind(kind)


def written_at(resource: Resource, index: int) -> dict[str, str]:
    """Which path of environment.yaml says each setting of the resource's scope; empty when it has no scope.

    `scopes.campus.nodes.cpus` -> `resources.1.metadata.akotf.cpus`, or `resources.1.cpuCores` without that key.
    """
    found = scope_of(resource)
    if found is None:
        return {}
    scope, kind = f"scopes.{found[0]}", found[1]
    keys = {name: f"{scope}.{key}" for name, key in SCOPE_KEYS.items()}
    if kind is ScopeKind.HPC:
        keys |= {name: f"{scope}.nodes.{key}" for name, key in NODE_KEYS.items()}
    plain = {f"{scope}.kind": "metadata.akotf.kind" if "akotf.kind" in resource.metadata else "type"}
    if kind is ScopeKind.HPC:
        plain |= {f"{scope}.partition": "providerId", f"{scope}.nodes.cpus": "cpuCores"}
        plain |= {f"{scope}.nodes.memory": "memoryBytes", f"{scope}.nodes.count": "metadata"}
    if kind is ScopeKind.CLOUD:
        plain[f"{scope}.regions"] = "region"
    else:
        plain[f"{scope}.price"] = "pricePerSecond"
    said = {keys[name]: f"metadata.{name}" for name in keys if name in resource.metadata}
    return {path: f"resources.{index}.{place}" for path, place in ({scope: ""} | plain | said).items()}


def scope_name(resource_id: str) -> str:
    """A scope's name from a resource's id: lower case, every other character a dash."""
    name = re.sub(r"[^a-z0-9]+", "-", resource_id.lower()).strip("-")[:63].rstrip("-")
    return name if re.match(NAME, name) else f"scope-{name}"[:63].rstrip("-")


def _scope_data(resource: Resource, kind: ScopeKind) -> dict[str, Any]:
    meta = {k: str(v) if k in _WITH_UNIT else v for k, v in resource.metadata.items()}
    data: dict[str, Any] = {"kind": kind}
    data |= {key: meta[name] for name, key in SCOPE_KEYS.items() if name in meta}
    if kind is ScopeKind.HPC:
        if resource.type in ("hpc_partition", "batch_queue") and resource.providerId:
            data.setdefault("partition", resource.providerId)
        nodes = {"count": 1} | {key: meta[name] for name, key in NODE_KEYS.items() if name in meta}
        if resource.cpuCores:
            nodes.setdefault("cpus", resource.cpuCores)
        if resource.memoryBytes:
            nodes.setdefault("memory", resource.memoryBytes)
        if {"cpus", "memory"} <= nodes.keys():
            data["nodes"] = NodeInventory.model_validate(nodes)
    if kind is ScopeKind.CLOUD and resource.region:
        data.setdefault("regions", [resource.region])
    if kind is not ScopeKind.CLOUD and resource.pricePerSecond and "price" not in data:
        data["price"] = Rate(amount=Decimal(str(resource.pricePerSecond)) * 3600, per="node")
    return data
