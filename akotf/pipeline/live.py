"""A run with everything that was approved for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.errors import StoreError
from akotf.model.config import Baseline, DesiredState
from akotf.model.plan import Candidate, Chosen, PlanInputs
from akotf.model.run import AttemptStatus, Handle, Run, RunRequest
from akotf.model.tfplan import Approval, Deployment
from akotf.model.units import Estimate
from akotf.pipeline.session import Session
from akotf.ports import Backend
from akotf.run import attempts
from akotf.secrets.handover import HandingOver

#: The resource that holds the baseline in every local root.
BASELINE_ADDRESS = "module.local_gpu.akotf_baseline.this"


@dataclass(frozen=True)
class Live:
    """A run with everything that was approved for it, read back by digest: the folder may have changed since."""

    run: Run
    state: DesiredState
    baseline: Baseline
    inputs: PlanInputs
    chosen: Chosen
    approval: Approval
    deployment: Deployment
    request: RunRequest
    handle: Handle

    @property
    def candidate(self) -> Candidate:
        """The candidate that runs."""
        return self.chosen.candidate(self.run.candidate)

    @property
    def declared(self) -> dict[str, dict[str, Any]]:
        """What a node is compared with."""
        return self.baseline.on_node(gpus=self.run.gpus)

    @property
    def baseline_address(self) -> str:
        """The Terraform resource that heals the node's baseline."""
        return BASELINE_ADDRESS

    @property
    def predicted_step_time(self) -> Estimate | None:
        """The approved prediction."""
        return self.candidate.step_time

    @property
    def node_directory(self) -> Path:
        """Where the agent listens."""
        return Path(self.request.node_directory)


def live_of(s: Session, run: Run, *, attempt: int = 0) -> Live:
    """Read back what was approved for a run; IntegrityError when an object is not what its digest says.

    `attempt` 0 means the latest.
    """
    require_here(s, run)
    request, handle = attempts.current(s.layout, run, attempt)
    environment, scope, placement = run.deployment.split("/")
    return Live(
        run=run,
        state=state_of(s, run),
        baseline=Baseline.model_validate(stored(s, run.baseline)),
        inputs=PlanInputs.model_validate(stored(s, run.inputs)),
        chosen=Chosen.model_validate(stored(s, run.chosen)),
        approval=Approval.model_validate(stored(s, run.approval)),
        deployment=Deployment(environment=environment, scope=scope, placement=placement),
        request=request,
        handle=handle,
    )


def require_here(s: Session, run: Run) -> None:
    """StoreError when the folder was moved under a run that has not ended: all of it has the old paths."""
    here, there = s.layout.run(run.id), Path(run.directory)
    if run.state.final or here == there or (there.exists() and here.samefile(there)):
        return
    old = there.parents[2]
    raise StoreError(
        f"run {run.id} has not ended, and its environment was moved away from {old}", where=str(s.layout.environment),
        remedy=f"move the folder back to {old}, or link it there: the training writes to that place",
    )  # fmt: skip


def status_of(s: Session, live: Live) -> AttemptStatus:
    """What the backend says of the current attempt."""
    return s.backend(live.run.backend).status(live.request, live.handle)


def starting(s: Session, name: str, state: DesiredState) -> Backend:
    """The backend that attempts of a run are submitted to: it hands their secrets over."""
    backend, references = s.backend(name), state.run.secrets
    return HandingOver(backend, references, s.secrets) if references else backend


def state_of(s: Session, run: Run) -> DesiredState:
    """The desired state that was approved for a run, by its digest; its folder is where the environment is now."""
    folders = {"folder": s.layout.environment, "template_folder": s.layout.environment}
    return DesiredState.model_validate({**stored(s, run.revision), **folders})


def stored(s: Session, digest: str) -> dict[str, Any]:
    """A JSON object of the store."""
    value: dict[str, Any] = json.loads(s.objects.get(digest))
    return value
