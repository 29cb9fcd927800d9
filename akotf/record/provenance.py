"""The provenance statement of a run: its outputs, what went in, and the digests of all other evidence. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from akotf import __version__
from akotf.model.config import DesiredState
from akotf.model.journal import Entry
from akotf.model.plan import PlanInputs
from akotf.model.run import Run
from akotf.model.statement import (
    BUILD_TYPE,
    BUILDER,
    PROVENANCE,
    STATEMENT,
    BuildDefinition,
    Builder,
    BuildMetadata,
    OutputManifest,
    Provenance,
    ResourceDescriptor,
    RunDetails,
    Statement,
)
from akotf.model.tfplan import Approval

_IMAGE = re.compile(r"^(?P<name>.+)@sha256:(?P<hex>[0-9a-f]{64})$")


def subjects(outputs: OutputManifest, manifest_sha256: str) -> tuple[ResourceDescriptor, ...]:
    """What the statement is about: every output file; of a run without outputs, the empty manifest itself."""
    found = tuple(
        ResourceDescriptor(name=file.path, digest_set={"sha256": file.sha256})
        for file in outputs.files
        if not file.link
    )
    return found or (ResourceDescriptor(name="outputs.json", digest_set={"sha256": manifest_sha256}),)


def statement(
    *, run: Run, state: DesiredState, inputs: PlanInputs, approval: Approval | None, outputs: OutputManifest,
    terraform: Mapping[str, Any], entries: Sequence[Entry], files: Mapping[str, str],
) -> Statement:  # fmt: skip
    """The statement. `files` maps the names of the other evidence files to their SHA-256: they become byproducts,
    so that one signature covers the whole folder."""
    return Statement(
        type=STATEMENT,
        subject=subjects(outputs, files["outputs.json"]),
        predicate_type=PROVENANCE,
        predicate=Provenance(
            build_definition=BuildDefinition(
                build_type=BUILD_TYPE,
                external_parameters={
                    "environment": state.environment.name,
                    "template": f"{state.template.name}@{state.template.version}",
                    "parameters": state.parameters,
                    "objective": state.environment.objective.to_json(),
                },
                internal_parameters=_internal(run, inputs, approval, terraform),
                resolved_dependencies=_dependencies(run, state, entries),
            ),
            run_details=RunDetails(
                builder=Builder(
                    id=BUILDER,
                    version={"akotf": __version__, "terraform": str(terraform.get("version", "unknown"))},
                ),
                metadata=BuildMetadata(
                    invocation_id=run.id, started_on=run.created_at, finished_on=run.ended_at
                ),
                byproducts=tuple(
                    ResourceDescriptor(name=name, digest_set={"sha256": sha256})
                    for name, sha256 in sorted(files.items())
                ),
            ),
        ),
    )


def _internal(
    run: Run, inputs: PlanInputs, approval: Approval | None, terraform: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "planner": inputs.planner,
        "calibration": inputs.calibration.digest(),
        "candidate": run.candidate,
        "deployment": run.deployment,
        "backend": run.backend,
        "attempts": len(run.attempts),
        "state": run.state.value,
        "approval": approval.binding() if approval else "",
        "approver": approval.approver if approval else "",
        "terraform": dict(terraform),
    }


def _dependencies(run: Run, state: DesiredState, entries: Sequence[Entry]) -> tuple[ResourceDescriptor, ...]:
    """Everything the run was made from, by digest."""
    ours = {
        "revision": run.revision,
        "baseline": run.baseline,
        "inputs": run.inputs,
        "template": state.template.content,
        "tree": run.tree,
    }
    found = [
        ResourceDescriptor(name=name, uri=f"urn:akotf:{name}:{digest}", digest_set={"sha256": digest[7:]})
        for name, digest in ours.items()
        if digest.startswith("sha256:")
    ]
    image = _IMAGE.match(state.run.image.reference)
    if image:
        found.append(
            ResourceDescriptor(
                name="image", uri=f"oci://{image['name']}", digest_set={"sha256": image["hex"]}
            )
        )
    commit = next((e.actor.commit for e in reversed(entries) if e.subject == run.id and e.actor.commit), "")
    if commit:
        found.append(ResourceDescriptor(name="commit", digest_set={"gitCommit": commit}))
    return tuple(found)
