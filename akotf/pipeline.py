"""The pass, readable aloud: load, validate, profile, survey, plan, choose, render, apply, run, record.

Every function takes the session (the bound adapters) first and hands `model` values on. What people should see goes
out through `session.emit(name, value)`; nothing is printed here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.apply import deploy, destroy
from akotf.choose.selection import choose
from akotf.clouds.prices import load_prices
from akotf.errors import AkotfError, ConfigError, NoFeasibleCandidate, PolicyDenied
from akotf.load.environment import load as load_environment
from akotf.model.config import DesiredState, ScopeKind
from akotf.model.finding import Finding, has_errors
from akotf.model.layout import Layout
from akotf.model.plan import Candidate, Chosen, PlanInputs, Snapshot
from akotf.model.policy import Judgement, Rule, Stage
from akotf.model.profile import DeviceProfile, WorkloadProfile
from akotf.model.run import Run
from akotf.model.tfplan import Approval, Deployment, TfPlan
from akotf.model.tree import FileTree
from akotf.plan import PLANNER_VERSION
from akotf.plan.candidates import plan
from akotf.policy.documents import config_document, selection_document, tfplan_document
from akotf.policy.engine import judge
from akotf.ports import Backend, Clock, Journal, LeaseStore, ObjectStore, Terraform
from akotf.profiling.device import measure
from akotf.profiling.formulas import declared
from akotf.profiling.tracing import cached_trace
from akotf.record import calibration
from akotf.render.tree import render
from akotf.run import attempts
from akotf.survey.survey import survey
from akotf.telemetry.agent_client import AgentSource
from akotf.validate.check import check


@dataclass(frozen=True)
class Session:
    """The adapters bound for one environment; made by wiring, or by a test with in-memory doubles."""

    layout: Layout
    clock: Clock
    journal: Journal
    objects: ObjectStore
    leases: LeaseStore
    telemetry: AgentSource
    catalogues: tuple[Path, ...]
    cache: Path  # of this machine and user
    interpreter: str  # for the provider and the agent
    terraform: Callable[[], Terraform]
    backend: Callable[[str], Backend]
    rules: Callable[[], Sequence[Rule]]
    machine: Callable[[], Mapping[str, Any]]
    suffix: Callable[[], str]  # random part of a run id
    emit: Callable[[str, Any], None]

    @property
    def today(self) -> dt.date:
        """Today in UTC."""
        return dt.datetime.fromtimestamp(self.clock.now(), dt.UTC).date()


@dataclass(frozen=True)
class Profiled:
    """What the workload asks and what this machine gives."""

    workload: WorkloadProfile
    devices: tuple[DeviceProfile, ...]


@dataclass(frozen=True)
class Planned:
    """A planning with its choice, judged."""

    state: DesiredState
    inputs: PlanInputs
    chosen: Chosen
    judgement: Judgement


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


def load(s: Session, overrides: Mapping[str, Any] | None = None) -> DesiredState:
    """The desired state of the session's environment; ConfigError with all faults."""
    return load_environment(s.layout.environment, catalogues=s.catalogues, overrides=overrides)


def validate(s: Session, state: DesiredState) -> tuple[tuple[Finding, ...], Judgement]:
    """Cross-checks and the config rules; raises nothing, the caller decides."""
    findings = tuple(check(state))
    document, objects = config_document(state)
    return findings, _judge(s, Stage.CONFIG, state, document, objects)


def loaded(s: Session, overrides: Mapping[str, Any] | None = None) -> DesiredState:
    """A desired state that is valid and allowed; ConfigError or PolicyDenied otherwise."""
    state = load(s, overrides)
    findings, judgement = validate(s, state)
    s.emit("validated", (state, findings, judgement))
    if has_errors(findings):
        raise ConfigError(f"{state.environment.name} has faults", findings, where=str(s.layout.environment))
    _require(judgement)
    return state


def profile(s: Session, state: DesiredState) -> Profiled:
    """The workload (traced where the script has a builder, else by formulas) and the devices of this machine."""
    workload = declared(state.run.workload)
    if state.run.workload.builder:
        traced, note = cached_trace(s.cache / "traces", state.folder, state.run.workload, state.run.hyperparameters)
        workload = traced or workload
        if note:
            s.emit("note", note)
    devices = measure(
        cache=s.cache / "devices",
        lock=s.cache / "experiment.lock",
        now=s.clock.iso(),
        threads=state.run.limits.cpus,
        on_wait=lambda text: s.emit("note", text),
    )
    return Profiled(workload, devices)


def take_snapshot(s: Session, state: DesiredState, devices: Sequence[DeviceProfile]) -> Snapshot:
    """What all scopes offer now."""
    return survey(state, devices, s.machine(), load_prices(), now=s.clock.iso())


def plan_inputs(s: Session, state: DesiredState, profiled: Profiled, snapshot: Snapshot, scope: str) -> PlanInputs:
    """Everything the planner reads, with the calibration that the journal's past runs give."""
    if scope and scope not in state.environment.scopes:
        known = ", ".join(state.environment.scopes)
        raise AkotfError(f"there is no scope {scope!r}", where="--scope", remedy=f"one of {known}")
    pairs = calibration.pairs_from(s.journal.entries(kind="prediction.recorded"))
    return PlanInputs(
        planner=PLANNER_VERSION,
        environment=state.environment.name,
        baseline=state.baseline(),
        workload=profiled.workload,
        limits=state.run.limits,
        checkpoint=state.run.checkpoint,
        template=f"{state.template.name}@{state.template.version}",
        objective=state.environment.objective,
        snapshot=snapshot,
        calibration=calibration.table(pairs),
        only_scope=scope,
    )


def decide(s: Session, state: DesiredState, inputs: PlanInputs) -> Planned:
    """Plan and choose from frozen inputs, record both, judge the selection. NoFeasibleCandidate or PolicyDenied."""
    result = plan(inputs)
    chosen = Chosen(plan=result, selection=choose(inputs, result))
    s.objects.put(inputs.to_json())
    s.journal.append(
        "plan.made",
        {
            "inputs": inputs.digest(),
            "chosen": s.objects.put(chosen.to_json()),
            "winner": chosen.selection.winner,
            "planner": inputs.planner,
            "calibration": inputs.calibration.digest(),
            "revision": s.objects.put(state.to_json()),
        },
        environment=state.environment.name,
    )
    s.emit("planned", (inputs, chosen))
    if chosen.selection.winner is None:
        relaxation = chosen.selection.relaxation
        raise NoFeasibleCandidate(
            f"no candidate is feasible: {chosen.selection.binding}",
            chosen.selection,
            where=str(s.layout.environment),
            remedy=relaxation.message if relaxation else "",
        )
    document, objects = selection_document(state, chosen)
    judgement = _judge(s, Stage.SELECTION, state, document, objects)
    s.emit("judged", judgement)
    _require(judgement)
    return Planned(state, inputs, chosen, judgement)


def make_plan(s: Session, state: DesiredState, scope: str = "") -> Planned:
    """Profile, survey, plan and choose."""
    profiled = profile(s, state)
    snapshot = take_snapshot(s, state, profiled.devices)
    return decide(s, state, plan_inputs(s, state, profiled, snapshot, scope))


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
        document, objects = tfplan_document(tfplan, {"environment": state.environment.name, "destroy": False})
        judgement = _judge(s, Stage.TFPLAN, state, document, objects)
        approval = deploy.approval_for(tfplan, tree.digest(), planned.chosen.selection.digest())
    finally:
        s.terraform().discard(tfplan)
    proposal = Proposal(planned, candidate, deployment, tree, tfplan, approval, judgement)
    s.emit("proposed", proposal)
    _require(judgement)
    return proposal


def provision(s: Session, proposal: Proposal, approve: Approver) -> tuple[dict[str, Any], Approval]:
    """Apply exactly what was approved; returns Terraform's outputs and the approval as given."""
    approver = approve(proposal)
    if not approver:
        raise AkotfError("nothing was applied: the plan was not approved", remedy="akotf apply -y approves it")
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
    backend = s.backend(candidate.offer.backend)
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
) -> Run | None:
    """Validate to submission under the environment's lease. None when there is nothing to do."""
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
        if latest and latest.state.value == "succeeded" and latest.revision == state.revision() and not new_run:
            s.emit("nothing-to-do", latest)
            return None
        proposal = propose(s, make_plan(s, state, scope))
        outputs, approval = provision(s, proposal, approve)
        return start_run(s, proposal, outputs, approval)


def tear_down(s: Session, state: DesiredState, deployment: Deployment, *, lock_timeout: float = 0.0) -> None:
    """Destroy a deployment under the lease; idempotent."""
    with s.leases.acquire(s.layout.environment.name, "destroy", timeout=lock_timeout):
        destroy.destroy(
            s.terraform(),
            s.layout.root(deployment),
            judge=lambda tfplan: judge_tfplan(s, state, tfplan, destroying=True),
            journal=s.journal,
            environment=state.environment.name,
            deployment=deployment,
            on_event=lambda event: s.emit("terraform", event),
        )


def judge_tfplan(s: Session, state: DesiredState, tfplan: TfPlan, *, destroying: bool) -> None:
    """Policy on a Terraform plan; PolicyDenied when a rule refuses it."""
    document, objects = tfplan_document(tfplan, {"environment": state.environment.name, "destroy": destroying})
    _require(_judge(s, Stage.TFPLAN, state, document, objects))


def judge_heal(s: Session, state: DesiredState, tfplan: TfPlan) -> None:
    """Policy on the plan of a heal: the drift rules and the tfplan rules."""
    document, objects = tfplan_document(tfplan, {"environment": state.environment.name, "destroy": False})
    _require(_judge(s, Stage.DRIFT, state, document, objects))
    _require(_judge(s, Stage.TFPLAN, state, document, objects))


def deployment_of(state: DesiredState, candidate: Candidate) -> Deployment:
    """The deployment of a candidate; the placement is made safe for paths and tags."""
    placement = re.sub(r"[^a-z0-9-]+", "-", candidate.offer.placement.lower()).strip("-") or "default"
    return Deployment(environment=state.environment.name, scope=candidate.scope, placement=placement)


def _judge(
    s: Session,
    stage: Stage,
    state: DesiredState,
    document: Mapping[str, Any],
    objects: Sequence[tuple[str, Mapping[str, Any]]],
) -> Judgement:
    judgement = judge(
        stage, document, objects, s.rules(), waivers=state.environment.waivers, today=s.today,
        positions=state.positions,
    )  # fmt: skip
    return judgement


def _require(judgement: Judgement) -> None:
    if judgement.denied:
        rules = ", ".join(sorted({v.rule for v in judgement.denied}))
        raise PolicyDenied(f"policy denies this at stage {judgement.stage}: {rules}", judgement.denied)
