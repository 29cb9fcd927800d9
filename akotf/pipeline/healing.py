"""What the controller does to a live run: look at Terraform, heal in place, restart, settle an ended attempt."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from akotf.apply.heal import heal
from akotf.errors import AkotfError, TelemetryUnavailable, TerraformError
from akotf.model.config import Baseline, DesiredState, ScopeKind
from akotf.model.drift import Decision, Drift
from akotf.model.plan import Candidate, Chosen, PlanInputs
from akotf.model.run import AttemptOutcome, AttemptStatus, Handle, Run, RunRequest
from akotf.model.tfplan import Approval, Deployment
from akotf.model.tree import FileTree
from akotf.model.units import Estimate
from akotf.monitor import detect
from akotf.pipeline import recording
from akotf.pipeline.judging import judge_heal
from akotf.pipeline.session import Session
from akotf.run import attempts

#: The resource that holds the baseline in every local root.
BASELINE_ADDRESS = "module.local_gpu.akotf_baseline.this"

#: After these the run goes back to the queue by itself, at most MAX_ATTEMPTS times.
RETRIED = frozenset({AttemptOutcome.PREEMPTED, AttemptOutcome.NODE_FAILED})
MAX_ATTEMPTS = 10

#: Seconds between asking a training to save and leave, and forcing it.
GRACE = 30.0


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


def live_of(s: Session, run: Run) -> Live:
    """Read back what was approved for a run; IntegrityError when an object is not what its digest says."""
    request, handle = attempts.current(s.layout, run)
    environment, scope, placement = run.deployment.split("/")
    folders = {"folder": s.layout.environment, "template_folder": s.layout.environment}
    return Live(
        run=run,
        state=DesiredState.model_validate({**_object(s, run.revision), **folders}),
        baseline=Baseline.model_validate(_object(s, run.baseline)),
        inputs=PlanInputs.model_validate(_object(s, run.inputs)),
        chosen=Chosen.model_validate(_object(s, run.chosen)),
        approval=Approval.model_validate(_object(s, run.approval)),
        deployment=Deployment(environment=environment, scope=scope, placement=placement),
        request=request,
        handle=handle,
    )


def status(s: Session, live: Live) -> AttemptStatus:
    """What the backend says of the current attempt."""
    return s.backend(live.run.backend).status(live.request, live.handle)


def terraform_drift(s: Session, live: Live) -> list[Drift]:
    """Infrastructure drift, from the plan JSON of the live root. An error is told and is never "no drift"."""
    terraform = s.terraform()
    try:
        tfplan = terraform.plan(s.layout.root(live.deployment), targets=("module.local_gpu",))
    except TerraformError as error:
        s.emit("note", f"terraform could not be asked for drift: {error.message}")
        return []
    try:
        return detect.infrastructure(
            tfplan, node=live.deployment.placement, baseline_address=BASELINE_ADDRESS
        )
    finally:
        terraform.discard(tfplan)


def heal_in_place(s: Session, live: Live, decision: Decision) -> None:
    """Put approved values back through Terraform, on the approved tree and the named addresses only."""
    with s.leases.acquire(s.layout.environment.name, "heal"):
        s.emit("heal", decision)
        result = heal(
            s.terraform(),
            s.layout.root(live.deployment),
            FileTree.from_json(_object(s, live.run.tree)),
            decision,
            judge=lambda tfplan: judge_heal(s, live.state, tfplan),
            journal=s.journal,
            environment=live.run.environment,
            deployment=live.deployment,
            on_event=lambda event: s.emit("terraform", event),
        )
    s.emit("healed" if result.applied else "heal-deferred", (decision, result.deferred_reason))


def restart(s: Session, live: Live, decision: Decision) -> Live:
    """Stop the attempt and go on from the last complete checkpoint with the approved values."""
    with s.leases.acquire(s.layout.environment.name, "heal"):
        s.emit("heal", decision)
        body = {"action": decision.action.value, "drifts": [d.to_json() for d in decision.drifts]}
        s.journal.append("heal.intent", body, environment=live.run.environment, subject=live.run.id)
        restarted = _next_attempt(s, live, AttemptOutcome.RESTARTED, decision.reason)
        s.journal.append(
            "heal.done",
            {**body, "attempt": restarted.request.attempt, "resumed_from": restarted.request.resume_from},
            environment=live.run.environment,
            subject=live.run.id,
        )
    s.emit("healed", (decision, ""))
    return restarted


def attempt_ended(s: Session, live: Live, status: AttemptStatus) -> Live:
    """Settle an ended attempt: another attempt after preemption or node loss, else the run's end and its evidence."""
    outcome = status.outcome or AttemptOutcome.FAILED
    if outcome in RETRIED and live.request.attempt < MAX_ATTEMPTS:
        return _next_attempt(s, live, outcome, status.reason)
    run = attempts.finish(live.run, status, layout=s.layout, journal=s.journal, clock=s.clock)
    ended = replace(live, run=run)
    recording.record(s, ended)
    s.emit("ended", run)
    return ended


def heal_failed(s: Session, live: Live, decision: Decision, error: AkotfError) -> None:
    """Tell and record a heal that failed; the controller backs off by itself."""
    s.journal.append(
        "heal.failed",
        {
            "action": decision.action.value,
            "drifts": [d.to_json() for d in decision.drifts],
            "error": str(error),
        },
        environment=live.run.environment,
        subject=live.run.id,
    )
    s.emit("heal-failed", (decision, str(error)))


def revive_agent(s: Session, live: Live, interval: float) -> None:
    """Start the node's agent again where that is ours to do; a failure is told, it is not drift."""
    if live.candidate.offer.kind is not ScopeKind.LOCAL:
        return
    try:
        s.telemetry.start_agent(live.node_directory, interval=interval)
    except TelemetryUnavailable as error:
        s.emit("note", f"the agent does not start: {error.message}")


def record_drift(s: Session, live: Live, drift: Drift) -> None:
    """A drift seen for the first time."""
    s.journal.append("drift.seen", drift.to_json(), environment=live.run.environment, subject=live.run.id)
    s.emit("drift", drift)


def record_cleared(s: Session, live: Live, drift: Drift) -> None:
    """A drift that is gone."""
    s.journal.append("drift.cleared", drift.to_json(), environment=live.run.environment, subject=live.run.id)
    s.emit("cleared", drift)


def _next_attempt(s: Session, live: Live, outcome: AttemptOutcome, reason: str) -> Live:
    run = attempts.restart(
        live.run, live.request, live.handle, outcome=outcome, reason=reason, grace=GRACE, layout=s.layout,
        backend=s.backend(live.run.backend), journal=s.journal, clock=s.clock,
    )  # fmt: skip
    request, handle = attempts.current(s.layout, run)
    restarted = replace(live, run=run, request=request, handle=handle)
    s.emit("started", run)
    return restarted


def _object(s: Session, digest: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(s.objects.get(digest))
    return value
