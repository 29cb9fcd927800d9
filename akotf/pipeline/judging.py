"""Policy at its four points of the pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from akotf.errors import PolicyDenied
from akotf.model.config import DesiredState
from akotf.model.policy import Judgement, Outcome, Stage
from akotf.model.tfplan import TfPlan
from akotf.pipeline.session import Session
from akotf.policy.documents import tfplan_document
from akotf.policy.engine import judge


def judge_tfplan(s: Session, state: DesiredState, tfplan: TfPlan, *, destroying: bool) -> None:
    """Policy on a Terraform plan; PolicyDenied when a rule refuses it."""
    document, objects = tfplan_document(
        tfplan, {"environment": state.environment.name, "destroy": destroying}
    )
    require(s, state, judge_stage(s, Stage.TFPLAN, state, document, objects))


def judge_heal(s: Session, state: DesiredState, tfplan: TfPlan) -> None:
    """Policy on the plan of a heal: the drift rules and the tfplan rules."""
    document, objects = tfplan_document(tfplan, {"environment": state.environment.name, "destroy": False})
    require(s, state, judge_stage(s, Stage.DRIFT, state, document, objects))
    require(s, state, judge_stage(s, Stage.TFPLAN, state, document, objects))


def judge_applied(s: Session, state: DesiredState, tfplan: TfPlan, document: Mapping[str, Any]) -> Judgement:
    """The tfplan rules again on what is there now: `document` is Terraform's state after the apply.

    What was unknown in the plan is known then; PolicyDenied when a rule refuses it, before a run is submitted.
    """
    values = dict(_resources(document.get("values", {}).get("root_module", {})))
    changes = tuple(
        change.model_copy(update={"after": values[change.address], "after_unknown": {}})
        if change.address in values
        else change
        for change in tfplan.changes
    )
    applied = tfplan.model_copy(update={"changes": changes})
    extra = {"environment": state.environment.name, "destroy": False}
    judgement = judge_stage(s, Stage.TFPLAN, state, *tfplan_document(applied, extra))
    require(s, state, judgement)
    return judgement


def _resources(module: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Addresses and values of a module of `terraform show -json`, and of those in it."""
    for resource in module.get("resources", ()):
        yield resource["address"], resource.get("values", {})
    for inner in module.get("child_modules", ()):
        yield from _resources(inner)


def judge_stage(
    s: Session,
    stage: Stage,
    state: DesiredState,
    document: Mapping[str, Any],
    objects: Sequence[tuple[str, Mapping[str, Any]]],
) -> Judgement:
    """One stage's rules on its objects."""
    return judge(
        stage, document, objects, s.rules(), waivers=state.environment.waivers, today=s.today,
        positions=state.positions, approver=s.policy_approver,
    )  # fmt: skip


def require(s: Session, state: DesiredState, judgement: Judgement) -> None:
    """Put what was judged on record; PolicyDenied when a verdict denies."""
    s.journal.append(
        "policy.judged",
        {
            "stage": judgement.stage.value,
            "rules": judgement.rules,
            "denied": bool(judgement.denied),
            "passed": sum(v.outcome is Outcome.PASS for v in judgement.verdicts),
            "others": [v.to_json() for v in judgement.verdicts if v.outcome is not Outcome.PASS],
        },
        environment=state.environment.name,
    )
    if judgement.denied:
        rules = ", ".join(sorted({v.rule for v in judgement.denied}))
        raise PolicyDenied(f"policy denies this at stage {judgement.stage}: {rules}", judgement.denied)
