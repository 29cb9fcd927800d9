"""The pattern's seven activities: each step of the pass on its own, through files, for a workflow engine.

An activity reads what upstream published in one folder and publishes its declared outputs in another (they may be the
same). `train` computes plan and selection again from the published inputs and refuses to train when they differ.

    profile-workload  -> profile.json
    plan-local-gpu    profile.json -> plan-local.json
    plan-hpc          profile.json -> plan-hpc.json
    plan-cloud        profile.json -> plan-cloud.json
    compare-plans     plan-*.json -> comparison.json, comparison.md
    select-scope      comparison.json -> selection.json
    train             comparison.json, selection.json -> run.json, evidence/
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.choose.selection import choose
from akotf.errors import IntegrityError, UsageError
from akotf.model.config import DesiredState, ScopeKind
from akotf.model.plan import Chosen, PlanInputs, Snapshot
from akotf.model.profile import DeviceProfile, WorkloadProfile
from akotf.model.run import Run
from akotf.pipeline.planning import (
    Planned,
    Profiled,
    decide,
    loaded,
    plan_inputs,
    profile,
    take_snapshot,
)
from akotf.pipeline.provisioning import Approver, up
from akotf.pipeline.session import Session
from akotf.plan.candidates import plan
from akotf.report import candidates

#: Planning activities: which kind of scope, and where it is published.
PLANS = {
    "plan-local-gpu": (ScopeKind.LOCAL, "plan-local.json"),
    "plan-hpc": (ScopeKind.HPC, "plan-hpc.json"),
    "plan-cloud": (ScopeKind.CLOUD, "plan-cloud.json"),
}
ACTIVITIES = ("profile-workload", *PLANS, "compare-plans", "select-scope", "train")


def perform(s: Session, name: str, source: Path, target: Path) -> list[Path]:
    """One activity other than `train`; returns the files it published."""
    if name == "profile-workload":
        return [_publish(target, "profile.json", _profile(s))]
    if name in PLANS:
        kind, file = PLANS[name]
        return [_publish(target, file, _plan_kind(s, kind, _read(source, "profile.json")))]
    if name == "compare-plans":
        return _compare(s, source, target)
    if name != "select-scope":
        raise UsageError(
            f"there is no planning activity {name!r}", remedy="one of: " + ", ".join(ACTIVITIES[:-1])
        )
    inputs = PlanInputs.model_validate(_read(source, "comparison.json")["inputs"])
    selection = choose(inputs, plan(inputs))
    return [_publish(target, "selection.json", {"schema": 1, **selection.to_json()})]


def train(s: Session, source: Path, approve: Approver, *, lock_timeout: float = 0.0) -> Run | None:
    """Provision and submit what upstream selected; None when this revision has already succeeded."""
    inputs = PlanInputs.model_validate(_read(source, "comparison.json")["inputs"])
    wanted = {k: v for k, v in _read(source, "selection.json").items() if k != "schema"}

    def planned(session: Session, state: DesiredState, _: str) -> Planned:
        if state.baseline() != inputs.baseline:
            raise IntegrityError(
                "the environment's baseline is not the one that was planned",
                where=str(source / "comparison.json"),
                remedy="run the activities again from profile-workload",
            )
        found = decide(session, state, inputs)
        if found.chosen.selection.to_json() != wanted:
            raise IntegrityError(
                "the published selection does not follow from the published inputs",
                where=str(source / "selection.json"),
                remedy="run select-scope again",
            )
        return found

    return up(s, approve=approve, lock_timeout=lock_timeout, planner=planned)


def publish_run(s: Session, run: Run, target: Path) -> list[Path]:
    """What `train` publishes: the run and its evidence."""
    evidence = target / "evidence"
    shutil.rmtree(evidence, ignore_errors=True)
    shutil.copytree(s.layout.run_evidence(run.id), evidence)
    return [_publish(target, "run.json", {"schema": 1, **run.to_json()}), evidence]


def _profile(s: Session) -> dict[str, Any]:
    found = profile(s, loaded(s))
    return {
        "schema": 1,
        "workload": found.workload.to_json(),
        "devices": [d.to_json() for d in found.devices],
    }


def _plan_kind(s: Session, kind: ScopeKind, published: Mapping[str, Any]) -> dict[str, Any]:
    state = loaded(s)
    profiled = Profiled(
        WorkloadProfile.model_validate(published["workload"]),
        tuple(DeviceProfile.model_validate(d) for d in published["devices"]),
    )
    whole = take_snapshot(s, state, profiled.devices)
    part = whole.model_copy(update={"offers": tuple(o for o in whole.offers if o.kind is kind)})
    inputs = plan_inputs(s, state, profiled, part, "")
    return {"schema": 1, "inputs": inputs.to_json(), "plan": plan(inputs).to_json()}


def _compare(s: Session, source: Path, target: Path) -> list[Path]:
    state = loaded(s)
    parts = [PlanInputs.model_validate(_read(source, file)["inputs"]) for _, file in PLANS.values()]
    by_scope = {o.scope: [] for part in parts for o in part.snapshot.offers}  # type: dict[str, list[Any]]
    for part in parts:
        for offer in part.snapshot.offers:
            by_scope[offer.scope].append(offer)
    snapshot = Snapshot(
        taken_at=max(part.snapshot.taken_at for part in parts),
        offers=tuple(o for scope in state.environment.scopes for o in by_scope.get(scope, ())),
        notes=parts[0].snapshot.notes,
    )
    inputs = parts[0].model_copy(update={"snapshot": snapshot})
    result = plan(inputs)
    chosen = Chosen(plan=result, selection=choose(inputs, result))
    body = {"schema": 1, "inputs": inputs.to_json(), "plan": result.to_json()}
    target.mkdir(parents=True, exist_ok=True)
    report = target / "comparison.md"
    report.write_text(candidates.markdown(chosen), encoding="utf-8")
    return [_publish(target, "comparison.json", body), report]


def _publish(folder: Path, name: str, data: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    temporary = path.with_name(f".{name}.tmp")
    temporary.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True), encoding="utf-8")
    temporary.replace(path)
    return path


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{name} is not published yet",
            where=str(folder),
            remedy="run the activity that publishes it first",
        ) from None
    except ValueError as error:
        raise IntegrityError(f"{name} is not JSON: {error}", where=str(path)) from error
    if not isinstance(data, dict) or data.get("schema") != 1:
        raise IntegrityError(
            f"schema {data.get('schema') if isinstance(data, dict) else None!r} is unknown; this akotf writes 1",
            where=str(path),
        )
    return data
