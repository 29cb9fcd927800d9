"""Render to submission: what Terraform would do, and, once approved, doing exactly that."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.apply import deploy, destroy
from akotf.errors import AkotfError, ApprovalError, TerraformError
from akotf.model.config import DesiredState, ScopeKind
from akotf.model.plan import Candidate
from akotf.model.policy import Judgement, Outcome
from akotf.model.run import Run, RunState
from akotf.model.tfplan import Approval, Deployment, TfPlan
from akotf.model.tree import FileTree
from akotf.pipeline.judging import judge_applied, judge_proposed, judge_tfplan, require
from akotf.pipeline.live import starting, stored
from akotf.pipeline.planning import Planned, load, loaded, make_plan
from akotf.pipeline.session import Session
from akotf.render.hcl import local_backend
from akotf.render.provider import INTERPRETER_FILE
from akotf.render.tree import BACKEND, render
from akotf.run import attempts


@dataclass(frozen=True)
class Proposal:
    """What Terraform would do for the winner; nothing is changed yet."""

    planned: Planned
    candidate: Candidate
    deployment: Deployment
    tree: FileTree
    tfplan: TfPlan
    approval: Approval
    judgement: Judgement


#: Asked before anything changes; returns the approver's name, or "" to refuse.
Approver = Callable[[Proposal], str]


def propose(s: Session, planned: Planned) -> Proposal:
    """Render the winner, let Terraform plan it, judge that plan."""
    state, candidate = planned.state, planned.chosen.winner()
    deployment = deployment_of(state, candidate)
    tree = render(
        state,
        candidate,
        deployment,
        node_directory=s.layout.node(deployment),
        state_path=s.layout.state(deployment),
        interpreter=s.interpreter,
        selection_digest=planned.chosen.selection.digest(),
        baseline_digest=state.baseline().digest(),
    )
    root = s.layout.root(deployment)
    tfplan = deploy.prepare(s.terraform(), root, tree, on_event=lambda event: s.emit("terraform", event))
    try:
        judgement = judge_proposed(s, state, tfplan)
        approval = deploy.approval_for(tfplan, tree.digest(), planned.chosen.selection.digest())
    finally:
        s.terraform().discard(tfplan)
    proposal = Proposal(planned, candidate, deployment, tree, tfplan, approval, judgement)
    s.emit("proposed", proposal)
    require(s, state, judgement)
    return proposal


def provision(s: Session, proposal: Proposal, approve: Approver) -> tuple[dict[str, Any], Approval]:
    """Apply exactly what was approved; returns Terraform's outputs and the approval as given."""
    approver = approve(proposal)
    if not approver:
        raise ApprovalError(
            "nothing was applied: the plan was not approved",
            remedy="say yes when asked, or add -y to the command",
        )
    approval = proposal.approval.model_copy(update={"approver": approver})
    environment = proposal.planned.state.environment.name
    s.objects.put(approval.to_json())
    s.journal.append(
        "approval.given",
        {"approval": approval.digest(), "binding": approval.binding(), "approver": approver},
        environment=environment,
        subject=proposal.deployment.id,
    )
    root = s.layout.root(proposal.deployment)
    deploy.apply(
        s.terraform(),
        root,
        deploy.with_approval(proposal.tree, approval),
        approval,
        journal=s.journal,
        environment=environment,
        deployment=proposal.deployment,
        on_event=lambda event: s.emit("terraform", event),
    )
    return s.terraform().outputs(root), approval


def recheck(s: Session, proposal: Proposal) -> None:
    """Rules that the plan could not answer are judged on what Terraform made, before a run is submitted."""
    if all(v.outcome is not Outcome.UNKNOWN for v in proposal.judgement.verdicts):
        return
    document = s.terraform().state(s.layout.root(proposal.deployment))
    s.emit("judged", judge_applied(s, proposal.planned.state, proposal.tfplan, document))


def start_run(s: Session, proposal: Proposal, outputs: Mapping[str, Any], approval: Approval) -> Run:
    """Submit the first attempt of a new run on what was provisioned."""
    state, candidate, deployment = proposal.planned.state, proposal.candidate, proposal.deployment
    now = s.clock.iso()
    run = attempts.new_run(
        state=state,
        candidate=candidate,
        deployment=deployment,
        layout=s.layout,
        created_at=now,
        suffix=s.suffix(),
        inputs=proposal.planned.inputs.digest(),
        baseline=s.objects.put(state.baseline().to_json()),
        chosen=s.objects.put(proposal.planned.chosen.to_json()),
        tree=s.objects.put(deploy.with_approval(proposal.tree, approval).to_json()),
        approval=s.objects.put(approval.to_json()),
    )
    backend = starting(s, candidate.offer.backend, state)
    run = attempts.start(
        run, state=state, candidate=candidate, deployment=deployment, layout=s.layout, outputs=outputs,
        backend=backend, journal=s.journal, clock=s.clock,
    )  # fmt: skip
    if candidate.offer.kind is ScopeKind.LOCAL:
        s.telemetry.start_agent(s.layout.node(deployment), interval=state.environment.monitor.telemetry)
    s.emit("started", run)
    return run


def up(
    s: Session,
    *,
    approve: Approver,
    scope: str = "",
    overrides: Mapping[str, Any] | None = None,
    new_run: bool = False,
    lock_timeout: float = 0.0,
    planner: Callable[[Session, DesiredState, str], Planned] = make_plan,
) -> Run | None:
    """Validate to submission under the environment's lease. None when there is nothing to do.

    `planner` plans and chooses; a workflow engine's steps hand in what they have planned before.
    """
    name = s.layout.environment.name
    with s.leases.acquire(name, "apply", timeout=lock_timeout):
        state = loaded(s, overrides)
        latest = attempts.latest(s.layout)
        if latest and not latest.state.final:
            if latest.revision != state.revision():
                raise AkotfError(
                    f"run {latest.id} is {latest.state} on an older revision; its selection is fixed while it lives",
                    where=str(s.layout.environment),
                    remedy=f"wait for it, or end it with: akotf cancel {s.layout.environment}",
                )
            s.emit("already-live", latest)
            return latest
        if (
            latest
            and latest.state is RunState.SUCCEEDED
            and latest.revision == state.revision()
            and not new_run
        ):
            s.emit("nothing-to-do", latest)
            return None
        # Read once before anything is provisioned, so that a secret that is missing costs nothing.
        s.secrets.resolve(state.run.secrets)
        proposal = propose(s, planner(s, state, scope))
        outputs, approval = provision(s, proposal, approve)
        recheck(s, proposal)
        return start_run(s, proposal, outputs, approval)


def deployments(s: Session) -> list[Deployment]:
    """Deployments of this environment that have a state."""
    base = s.layout.base / "state"
    found = []
    for path in sorted(base.glob("*/*/terraform.tfstate")):
        scope, placement = path.parts[-3:-1]
        deployment = Deployment(environment=_environment_name(s), scope=scope, placement=placement)
        if has_resources(path):
            found.append(deployment)
    return found


def tear_down(s: Session, state: DesiredState, deployment: Deployment, *, lock_timeout: float = 0.0) -> None:
    """Destroy one deployment under the lease; idempotent. Refused while a run lives there, also one just started."""
    with s.leases.acquire(s.layout.environment.name, "destroy", timeout=lock_timeout):
        _refuse_live(s, deployment)
        destroy.destroy(
            s.terraform(),
            s.layout.root(deployment),
            judge=lambda tfplan: judge_tfplan(s, state, tfplan, destroying=True),
            journal=s.journal,
            environment=state.environment.name,
            deployment=deployment,
            on_event=lambda event: s.emit("terraform", event),
            tree=_tree_to_destroy(s, deployment),
        )
    if is_deployed(s, deployment):
        raise TerraformError(
            "Terraform destroyed what it saw, and the state still lists resources",
            where=str(s.layout.state(deployment)),
            remedy=f"akotf plan {s.layout.environment} shows them; then destroy again",
        )  # fmt: skip


def _refuse_live(s: Session, deployment: Deployment) -> None:
    for run in attempts.list_runs(s.layout):
        if run.deployment == deployment.id and not run.state.final:
            raise AkotfError(
                f"run {run.id} is {run.state} on {deployment.id}, which stays", where=str(s.layout.environment),
                remedy=f"wait for it, or end it with: akotf cancel {s.layout.environment}",
            )  # fmt: skip


def _tree_to_destroy(s: Session, deployment: Deployment) -> FileTree | None:
    """What to write into the root before: None while the root looks at the state that is here.

    A root that is gone, and one that came with a moved folder and still names the state of the old place, are written
    again from the tree that was approved for the deployment's last run.
    """
    root = s.layout.root(deployment)
    here = {
        BACKEND: local_backend(s.layout.state(deployment)).encode(),
        INTERPRETER_FILE: f"{s.interpreter}\n".encode(),
    }
    backend = root / BACKEND
    if backend.is_file() and backend.read_bytes() == here[BACKEND]:
        return None
    runs = [run for run in attempts.list_runs(s.layout) if run.deployment == deployment.id]
    if not runs:
        raise AkotfError(
            "the Terraform root is gone or names another state, and no run says what was approved for it",
            where=str(root),
            remedy=f"akotf plan {s.layout.environment} writes it again; then destroy",
        )
    approved = FileTree.from_json(stored(s, runs[-1].tree))
    return FileTree({**approved.files, **here}, approved.executable)


def tear_down_all(s: Session, *, lock_timeout: float = 0.0) -> list[Deployment]:
    """Destroy every deployment of the environment."""
    state = load(s)
    found = deployments(s)
    for deployment in found:
        tear_down(s, state, deployment, lock_timeout=lock_timeout)
    return found


def deployment_of(state: DesiredState, candidate: Candidate) -> Deployment:
    """The deployment of a candidate; the placement is made safe for paths and tags."""
    placement = re.sub(r"[^a-z0-9-]+", "-", candidate.offer.placement.lower()).strip("-") or "default"
    return Deployment(environment=state.environment.name, scope=candidate.scope, placement=placement)


def is_deployed(s: Session, deployment: Deployment) -> bool:
    """Whether the deployment has a state that lists anything."""
    state = s.layout.state(deployment)
    return state.exists() and has_resources(state)


def has_resources(state_file: Path) -> bool:
    """Whether a state file lists anything; an unreadable one counts as yes, so that it is never forgotten."""
    try:
        return bool(json.loads(state_file.read_bytes()).get("resources"))
    except (OSError, ValueError):
        return True


def _environment_name(s: Session) -> str:
    latest = attempts.latest(s.layout)
    return latest.environment if latest else load(s).environment.name
