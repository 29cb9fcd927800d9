"""Policy at its four points of the pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from akotf.errors import PolicyDenied
from akotf.model.config import DesiredState
from akotf.model.policy import Judgement, Stage
from akotf.model.tfplan import TfPlan
from akotf.pipeline.session import Session
from akotf.policy.documents import tfplan_document
from akotf.policy.engine import judge


def judge_tfplan(s: Session, state: DesiredState, tfplan: TfPlan, *, destroying: bool) -> None:
    """Policy on a Terraform plan; PolicyDenied when a rule refuses it."""
    document, objects = tfplan_document(
        tfplan, {"environment": state.environment.name, "destroy": destroying}
    )
    require(judge_stage(s, Stage.TFPLAN, state, document, objects))


def judge_heal(s: Session, state: DesiredState, tfplan: TfPlan) -> None:
    """Policy on the plan of a heal: the drift rules and the tfplan rules."""
    document, objects = tfplan_document(tfplan, {"environment": state.environment.name, "destroy": False})
    require(judge_stage(s, Stage.DRIFT, state, document, objects))
    require(judge_stage(s, Stage.TFPLAN, state, document, objects))


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
        positions=state.positions,
    )  # fmt: skip


def require(judgement: Judgement) -> None:
    """PolicyDenied when a verdict denies."""
    if judgement.denied:
        rules = ", ".join(sorted({v.rule for v in judgement.denied}))
        raise PolicyDenied(f"policy denies this at stage {judgement.stage}: {rules}", judgement.denied)
