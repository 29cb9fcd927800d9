"""Load to choose: nothing here changes anything but the journal and the object store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.choose.selection import choose
from akotf.clouds.prices import load_prices
from akotf.errors import AkotfError, ConfigError, NoFeasibleCandidate
from akotf.load.environment import load as load_environment
from akotf.model.base import canonical_json
from akotf.model.config import DesiredState
from akotf.model.finding import Finding, Position, Severity, has_errors
from akotf.model.plan import Chosen, PlanInputs, Snapshot
from akotf.model.policy import Judgement, Stage
from akotf.model.profile import DeviceProfile, WorkloadProfile
from akotf.pipeline.judging import judge_selection, judge_stage, require
from akotf.pipeline.session import Session
from akotf.plan import PLANNER_VERSION
from akotf.plan.candidates import plan
from akotf.policy.documents import config_document
from akotf.profiling.device import measure
from akotf.profiling.formulas import declared
from akotf.profiling.tracing import cached_trace
from akotf.record import calibration
from akotf.survey.survey import survey
from akotf.validate.check import check


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


def load(s: Session, overrides: Mapping[str, Any] | None = None) -> DesiredState:
    """The desired state of the session's environment; ConfigError with all faults."""
    return load_environment(s.layout.environment, catalogues=s.catalogues, overrides=overrides, cache=s.cache)


def validate(s: Session, state: DesiredState) -> tuple[tuple[Finding, ...], Judgement]:
    """Cross-checks and the config rules; raises nothing, the caller decides."""
    findings = tuple(check(state))
    document, objects = config_document(state)
    return findings, judge_stage(s, Stage.CONFIG, state, document, objects)


def loaded(s: Session, overrides: Mapping[str, Any] | None = None) -> DesiredState:
    """A desired state that is valid and allowed; ConfigError or PolicyDenied otherwise."""
    state = load(s, overrides)
    findings, judgement = validate(s, state)
    s.emit("validated", (state, findings, judgement))
    if has_errors(findings):
        raise ConfigError(f"{state.environment.name} has faults", findings, where=str(s.layout.environment))
    require(s, state, judgement)
    return state


def profile(s: Session, state: DesiredState) -> Profiled:
    """The workload (traced where the script has a builder, else by formulas) and the devices of this machine."""
    workload = declared(state.run.workload)
    if state.run.workload.builder:
        traced, note = cached_trace(
            s.cache / "traces", state.folder, state.run.workload, state.run.hyperparameters
        )
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
    """What all scopes offer now. The snapshot of the plan before where nothing else is offered since.

    So planning again gives the same digests, and a deployment that is as it was planned shows no change.
    """
    fresh = survey(state, devices, s.machine(), load_prices(), now=s.clock.iso())
    before = _last_snapshot(s)
    same = before is not None and before.model_copy(update={"taken_at": fresh.taken_at}) == fresh
    return before if before is not None and same else fresh


def _last_snapshot(s: Session) -> Snapshot | None:
    made = list(s.journal.entries(kind="plan.made"))
    if not made:
        return None
    try:
        return PlanInputs.model_validate_json(s.objects.get(made[-1].body["inputs"])).snapshot
    except (AkotfError, ValueError):
        return None  # cleaned away, or written by another version: there is nothing to compare with


def plan_inputs(
    s: Session, state: DesiredState, profiled: Profiled, snapshot: Snapshot, scope: str
) -> PlanInputs:
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
        processes=state.run.processes,
        objective=state.environment.objective,
        snapshot=snapshot,
        calibration=calibration.table(pairs),
        only_scope=scope,
    )


def decide(s: Session, state: DesiredState, inputs: PlanInputs) -> Planned:
    """Plan and choose from frozen inputs, record both, judge the selection. NoFeasibleCandidate or PolicyDenied."""
    result = plan(inputs)
    chosen = Chosen(plan=result, selection=choose(inputs, result))
    digest = s.objects.put(inputs.to_json())
    if any(entry.body["inputs"] == digest for entry in s.journal.entries(kind="plan.made")):
        s.emit("planned-before", digest)
    s.journal.append(
        "plan.made",
        {
            "inputs": digest,
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
            remedy=relaxation.message
            if relaxation
            else "no setting helps: add a scope whose machines are large enough",
        )
    judgement = judge_selection(s, state, chosen)
    s.emit("judged", judgement)
    require(s, state, judgement)
    return Planned(state, inputs, chosen, judgement)


def make_plan(s: Session, state: DesiredState, scope: str = "") -> Planned:
    """Profile, survey, plan and choose."""
    profiled = profile(s, state)
    snapshot = take_snapshot(s, state, profiled.devices)
    return decide(s, state, plan_inputs(s, state, profiled, snapshot, scope))


def replay(s: Session, digest: str) -> Chosen:
    """Compute a past plan and selection again from its frozen inputs, offline: the same bytes."""
    return replay_inputs(PlanInputs.model_validate_json(s.objects.get(digest)))


def replay_inputs(inputs: PlanInputs) -> Chosen:
    """Plan and selection that follow from frozen inputs; AkotfError when another planner made them."""
    if inputs.planner != PLANNER_VERSION:
        raise AkotfError(
            f"these inputs were planned by planner {inputs.planner}; this is planner {PLANNER_VERSION}",
            where=inputs.digest(),
            remedy="replay with the akotf version that the run's provenance names",
        )
    result = plan(inputs)
    return Chosen(plan=result, selection=choose(inputs, result))


def replay_evidence(folder: Path) -> list[Finding]:
    """Whether candidates and selection of an evidence folder follow from its inputs, computed again offline."""
    where = Position(file=str(folder / "inputs.json"))
    try:
        chosen = replay_inputs(PlanInputs.model_validate_json((folder / "inputs.json").read_bytes()))
        kept = {
            name: json.loads((folder / f"{name}.json").read_bytes()) for name in ("candidates", "selection")
        }
    except AkotfError as error:
        return [
            Finding(rule="evidence/not-replayed", message=error.message, severity=Severity.NOTE, position=where,
                    remedy=error.remedy)
        ]  # fmt: skip
    except (OSError, ValueError) as error:
        return [
            Finding(
                rule="evidence/replay", message=f"the plan can't be computed again: {error}", position=where
            )
        ]
    again = {"candidates": chosen.plan.to_json(), "selection": chosen.selection.to_json()}
    return [
        Finding(
            rule="evidence/replay",
            message=f"{name}.json is not what follows from inputs.json",
            position=where,
        )
        for name in again
        if canonical_json(again[name]) != canonical_json(kept[name])
    ]
