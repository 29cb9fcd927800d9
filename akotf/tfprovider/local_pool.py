"""`akotf_local_pool`: one deployment's lease on this machine's GPUs and CPUs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tf.schema import Attribute, Schema
from tf.types import List, String, Unknown

from akotf.facts import gpu, machine
from akotf.tfprovider.checks import check_pool
from akotf.tfprovider.registry import Entry, Registry, RegistryError, default_folder, new_entry, take
from akotf.tfprovider.values import Num

State = dict[str, Any]


class LocalPoolResource:
    """A lease in the machine-wide registry; two deployments never hold the same GPU or CPU slot.

    Import id: `DEPLOYMENT`, or `DEPLOYMENT|REGISTRY` for a registry that is not the default.
    """

    def __init__(self, provider: object) -> None:
        self._provider = provider

    @classmethod
    def get_name(cls) -> str:
        """Type name without the prefix."""
        return "local_pool"

    @classmethod
    def get_schema(cls) -> Schema:
        """Attributes of the resource."""
        return Schema(
            version=1,
            description="A lease on GPUs and CPU slots of the machine that Terraform runs on. "
            "Import id: DEPLOYMENT, or DEPLOYMENT|REGISTRY.",
            attributes=[
                Attribute("id", String(), computed=True, description="The deployment."),
                Attribute("deployment", String(), required=True, requires_replace=True,
                          description="environment/scope/placement"),
                Attribute("gpus", Num(), required=True, description="How many GPUs; 0 for none."),
                Attribute("cpus", Num(), required=True, description="How many CPUs."),
                Attribute("registry", String(), optional=True, computed=True, requires_replace=True,
                          description="Folder of the leases; default: akotf/pools in the user's state folder."),
                Attribute("gpu_indices", List(Num()), computed=True, description="The leased GPUs, as NVML counts."),
                Attribute("cpu_slots", List(Num()), computed=True, description="The leased CPUs, as Linux counts."),
            ],
        )  # fmt: skip

    def validate(self, diags: Any, _type_name: str, config: State) -> None:
        """Faults of the configuration, each at its attribute."""
        for path, summary, detail in check_pool(config):
            diags.add_error(summary, detail, path=path)

    def plan(self, _ctx: Any, current: State | None, planned: State) -> State:
        """Another count means other indices; else they stay."""
        if current is None:
            return planned
        for count, indices in (("gpus", "gpu_indices"), ("cpus", "cpu_slots")):
            planned[indices] = current[indices] if planned[count] == current[count] else Unknown
        planned["id"] = current["id"]
        if planned.get("registry") is None:
            planned["registry"] = current["registry"]
        return planned

    def create(self, ctx: Any, planned: State) -> State | None:
        """Take the lease. One of this deployment that a crash left is taken over, one from elsewhere is not."""
        given = planned.get("registry")
        folder = default_folder() if given in (None, Unknown) else Path(given)
        with Registry(folder).locked() as registry:
            held = registry.read(planned["deployment"])
            if held and not _ours(held):
                ctx.diagnostics.add_error(
                    f"{held.deployment} already holds a lease on this machine",
                    f"Held by {held.holder()}. Destroy it there, or import it here: terraform import ADDRESS"
                    f" '{held.deployment}|{folder}'. If that folder is no longer in use: rm"
                    f" {registry.path(held.deployment)}",
                    path=["deployment"],
                )
                return None
            return self._lease(registry, planned, held)

    def read(self, ctx: Any, current: State) -> State | None:
        """The lease as it stands; None when it is gone. GPUs and CPUs that vanished are missing from it."""
        try:
            with Registry(Path(current["registry"])).locked() as registry:
                held = registry.read(current["deployment"])
        except RegistryError as error:
            ctx.diagnostics.add_warning(error.message, f"The last known lease is kept. {error.remedy}")
            return current
        if held is None:
            return None
        gpus = list(held.gpus)
        if gpus:
            found = gpu.read()
            if found.counted:
                gpus = [index for index in gpus if index in found.usable]
            else:
                ctx.diagnostics.add_warning(
                    "The GPUs can't be read", f"{found.reason}. The last known lease is kept."
                )
        cpus = [index for index in held.cpus if index in machine.cpus_online()]
        return {**current, "gpus": len(gpus), "cpus": len(cpus), "gpu_indices": gpus, "cpu_slots": cpus}

    def update(self, _ctx: Any, current: State, planned: State) -> State | None:
        """Another number of devices, those held kept as far as they fit."""
        with Registry(Path(current["registry"])).locked() as registry:
            return self._lease(registry, planned, registry.read(planned["deployment"]))

    def delete(self, _ctx: Any, current: State) -> None:
        """Free the lease."""
        with Registry(Path(current["registry"])).locked() as registry:
            registry.remove(current["deployment"])

    def import_(self, ctx: Any, import_id: str) -> State | None:
        """Take over a lease that is in the registry."""
        deployment, _, given = import_id.partition("|")
        folder = Path(given) if given else default_folder()
        with Registry(folder).locked() as registry:
            held = registry.read(deployment)
            if held is None:
                ctx.diagnostics.add_error(f"{deployment} has no lease in {folder}",
                                          "Write the import id as DEPLOYMENT or DEPLOYMENT|REGISTRY.")  # fmt: skip
                return None
            registry.write(held._replace(environment=_environment()))
        return _state({"deployment": deployment}, folder, held)

    def upgrade(self, ctx: Any, version: int, old: State) -> State:
        """Version 1 is the first; nothing older was ever written."""
        ctx.diagnostics.add_error(f"State of akotf_local_pool has the unknown schema version {version}")
        return old

    def _lease(self, registry: Registry, planned: State, held: Entry | None) -> State:
        deployment = planned["deployment"]
        others = [entry for entry in registry.entries() if entry.deployment != deployment]
        gpus = take(
            "GPU", int(planned["gpus"]), gpu.read().usable if planned["gpus"] else (),
            held.gpus if held else (), {index: entry for entry in others for index in entry.gpus},
        )  # fmt: skip
        cpus = take(
            "CPU", int(planned["cpus"]), os.sched_getaffinity(0),
            held.cpus if held else (), {index: entry for entry in others for index in entry.cpus},
        )  # fmt: skip
        entry = new_entry(deployment, gpus, cpus, _environment())
        if held is not None:
            entry = entry._replace(since=held.since)
        registry.write(entry)
        return _state(planned, registry.folder, entry)


def _state(base: State, folder: Path, entry: Entry) -> State:
    return {
        **base,
        "id": entry.deployment,
        "gpus": len(entry.gpus),
        "cpus": len(entry.cpus),
        "registry": str(folder),
        "gpu_indices": list(entry.gpus),
        "cpu_slots": list(entry.cpus),
    }


def _ours(held: Entry) -> bool:
    """A lease of the same deployment is ours when it was taken from this folder, or from one that is gone."""
    return held.environment in ("", _environment()) or held.abandoned


def _environment() -> str:
    """The environment folder: Terraform runs in a root under its `.akotf`; else the working folder itself."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if folder.name == ".akotf":
            return str(folder.parent)
    return str(here)
