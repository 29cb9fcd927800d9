"""`akotf_baseline`: the approved values of one deployment, held against what its node really has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tf.schema import Attribute, Schema
from tf.types import List, Map, String, Unknown

from akotf.facts import node
from akotf.facts.compare import restart_only
from akotf.facts.files import remove, write_json_atomic
from akotf.facts.heal import HealError, heal_in_place
from akotf.tfprovider.checks import check_baseline
from akotf.tfprovider.reading import Reading, read_node
from akotf.tfprovider.values import map_to_values, same_map

State = dict[str, Any]

_MAPS = {
    "hyperparameters": "Hyperparameters: the file on disk, and those in use by the live run.",
    "environment": "Environment variables of the live run.",
    "limits": "Soft limits of the live run: open_files, memory (bytes), processes; cpus is the size of its affinity.",
    "libraries": "Versions of libraries as the live run reports them.",
    "gpu_settings": "Settings of the run's GPUs: driver, ecc, mig, persistence, compute_mode, power_limit_watts.",
}


class BaselineResource:
    """Create and Update write the node's baseline files and heal in place; Read looks at the node.

    Every map value is the ASCII JSON text of the approved value. Import id: `DEPLOYMENT|NODE_DIRECTORY`.
    """

    def __init__(self, provider: object) -> None:
        self._provider = provider

    @classmethod
    def get_name(cls) -> str:
        """Type name without the prefix."""
        return "baseline"

    @classmethod
    def get_schema(cls) -> Schema:
        """Attributes of the resource."""
        maps = [
            Attribute(name, Map(String()), required=True, description=f"{text} Values are JSON texts.")
            for name, text in _MAPS.items()
        ]
        return Schema(
            version=1,
            description="The approved values of one deployment. `terraform plan` shows where its node differs, "
            "`terraform apply` puts back what can be put back while the run lives. Import id: DEPLOYMENT|NODE_DIRECTORY.",
            attributes=[
                Attribute("id", String(), computed=True, description="The deployment."),
                Attribute("deployment", String(), required=True, requires_replace=True,
                          description="environment/scope/placement"),
                Attribute("node_directory", String(), required=True, requires_replace=True,
                          description="Absolute folder of the node's baseline files."),
                *maps,
                Attribute("differences", List(String()), computed=True,
                          description="Every value that differs on the node, one line each; empty when none does."),
            ],
        )  # fmt: skip

    def validate(self, diags: Any, _type_name: str, config: State) -> None:
        """Faults of the configuration, each at its attribute."""
        for path, summary, detail in check_baseline(config):
            diags.add_error(summary, detail, path=path)

    def plan(self, _ctx: Any, current: State | None, planned: State) -> State:
        """After an apply nothing differs; a value spelled differently is no change."""
        if current is None:
            return planned
        for name in _MAPS:
            if same_map(current.get(name), planned.get(name)):
                planned[name] = current[name]
        planned["id"] = current.get("id") or Unknown
        planned["differences"] = []
        return planned

    def create(self, ctx: Any, planned: State) -> State | None:
        """Write the baseline. Files of the same deployment, left by a crash, are taken over."""
        directory = planned["node_directory"]
        try:
            owner = node.read_baseline(directory).get("deployment")
        except (OSError, ValueError):
            owner = None  # none yet, or a broken one, which is about to be replaced
        if owner not in (None, planned["deployment"]):
            ctx.diagnostics.add_error(
                f"{directory} holds the baseline of {owner}",
                f"Destroy {owner} first, or give {planned['deployment']} a folder of its own.",
                path=["node_directory"],
            )
            return None
        # Terraform replaces a resource whose creation failed, and would take the baseline from under the live run: what
        # can't be healed is a warning here, and an error at the update that the next plan shows
        reading = self._write(ctx, planned, ctx.diagnostics.add_warning)
        if reading is None:
            return None
        for line in reading.lines:
            ctx.diagnostics.add_warning("The live run differs from the new baseline", line)
        return {**planned, "id": planned["deployment"], "differences": reading.lines}

    def read(self, ctx: Any, current: State) -> State | None:
        """The node's values; None when its baseline is gone."""
        reading = read_node(current)
        for what, why in reading.warnings:
            ctx.diagnostics.add_warning(
                f"{what} can't be read on this node", f"{why}. The last known value is kept."
            )
        return reading.state

    def update(self, ctx: Any, current: State, planned: State) -> State | None:
        """Write the baseline, heal in place, and fail when a difference needs more than that."""
        reading = self._write(ctx, planned, ctx.diagnostics.add_error)
        if reading is None:
            return None
        if not reading.differences:
            return {**planned, "id": planned["deployment"], "differences": []}
        environment = planned["deployment"].split("/")[0]
        stuck = [d for d in reading.differences if restart_only(d["field"])]
        if stuck:
            ctx.diagnostics.add_error(
                "Only a restart from a checkpoint heals what the running training uses",
                "\n".join(reading.lines_of(stuck))
                + "\nA process keeps the hyperparameters, environment and libraries it started with. Restart it with"
                f" `akotf drift {environment}` (once) or `akotf monitor {environment}` (for as long as it runs)."
                " The baseline files and limits are already healed.",
            )
        others = [d for d in reading.differences if not restart_only(d["field"])]
        if others and not ctx.diagnostics.has_errors():
            ctx.diagnostics.add_error(
                "The node still differs from its baseline",
                "\n".join(reading.lines_of(others))
                + "\nThese can't be set from here: ask whoever administers the node, or change the baseline.",
            )
        return reading.state or current

    def delete(self, ctx: Any, current: State) -> None:
        """Remove the baseline files; refused while a run lives on them."""
        directory = current["node_directory"]
        try:
            live = node.living(directory)
        except (OSError, ValueError):
            live = None
        if live is not None:
            ctx.diagnostics.add_error(
                f"Run {live.run} is alive (process {live.pid})",
                f"Stop it first: akotf cancel {live.run}",
                path=["node_directory"],
            )
            return
        for name in (node.BASELINE, node.HYPERPARAMETERS):
            try:
                remove(node.path(directory, name))
            except OSError as error:
                ctx.diagnostics.add_error(f"{name} can't be removed", str(error), path=["node_directory"])

    def import_(self, ctx: Any, import_id: str) -> State | None:
        """Take over a baseline that is already on the node."""
        deployment, sign, directory = import_id.partition("|")
        if not sign or not deployment or not Path(directory).is_absolute():
            ctx.diagnostics.add_error(
                f"{import_id!r} is not an import id",
                "Write it as DEPLOYMENT|NODE_DIRECTORY, with an absolute folder.",
            )
            return None
        try:
            found = node.read_baseline(directory)
        except (OSError, ValueError) as error:
            ctx.diagnostics.add_error(f"{directory} has no baseline to import", str(error))
            return None
        if found.get("deployment") != deployment:
            ctx.diagnostics.add_error(
                f"{directory} holds the baseline of {found.get('deployment')}, not {deployment}"
            )
            return None
        empty = {"id": deployment, "deployment": deployment, "node_directory": directory}
        return read_node(empty).state

    def upgrade(self, ctx: Any, version: int, old: State) -> State:
        """Version 1 is the first; nothing older was ever written."""
        ctx.diagnostics.add_error(f"State of akotf_baseline has the unknown schema version {version}")
        return old

    def _write(self, ctx: Any, planned: State, tell: Callable[[str, str], object]) -> Reading | None:
        """Baseline files written, the rest healed as far as possible; then another look. None: not even written."""
        directory = planned["node_directory"]
        baseline = {
            "schema": node.SCHEMA,
            "deployment": planned["deployment"],
            **{name: map_to_values(planned[name]) for name in _MAPS},
        }
        try:
            Path(directory).mkdir(parents=True, mode=0o700, exist_ok=True)
            write_json_atomic(node.path(directory, node.BASELINE), baseline)
        except OSError as error:
            ctx.diagnostics.add_error(
                "The baseline can't be written",
                f"{error}. Check who owns {directory}.",
                path=["node_directory"],
            )
            return None
        try:
            heal_in_place(directory, baseline)
        except HealError as error:
            tell("Not all of the node could be healed", str(error))
        return read_node({**planned, "id": planned["deployment"]})
