"""Policy at its four points of the pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from akotf.errors import PolicyDenied
from akotf.model.config import DesiredState
from akotf.model.plan import Chosen
from akotf.model.policy import Judgement, Outcome, Stage
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.pipeline.holdings import gpus_elsewhere
from akotf.pipeline.session import Session
from akotf.policy.documents import selection_document, tfplan_document
from akotf.policy.engine import judge
from akotf.run import attempts
from akotf.terraform.planfile import marked


def judge_selection(s: Session, state: DesiredState, chosen: Chosen) -> Judgement:
    """Policy on the winner, with the GPUs that its owner holds elsewhere in the project; raises nothing."""
    others = gpus_elsewhere(s.layout.environment, state.environment.owner)
    document, objects = selection_document(state, chosen, others=others)
    return judge_stage(s, Stage.SELECTION, state, document, objects)


def judge_proposed(s: Session, state: DesiredState, tfplan: TfPlan, *, again: bool = True) -> Judgement:
    """Policy on what Terraform would do; raises nothing. `again`: what was made is judged too, after the apply."""
    return judge_stage(s, Stage.TFPLAN, state, *tfplan_document(tfplan, plan_facts(s, state)), again=again)


def judge_tfplan(s: Session, state: DesiredState, tfplan: TfPlan, *, destroying: bool) -> None:
    """Policy on a Terraform plan; PolicyDenied when a rule refuses it."""
    facts = plan_facts(s, state, destroying=destroying)
    require(s, state, judge_stage(s, Stage.TFPLAN, state, *tfplan_document(tfplan, facts)))


def judge_heal(s: Session, state: DesiredState, tfplan: TfPlan) -> None:
    """Policy on the plan of a heal: the drift rules and the tfplan rules. Nobody looks after it, so UNKNOWN denies."""
    facts = plan_facts(s, state)
    for stage in (Stage.DRIFT, Stage.TFPLAN):
        require(s, state, judge_stage(s, stage, state, *tfplan_document(tfplan, facts, stage), again=False))


def judge_applied(s: Session, state: DesiredState, tfplan: TfPlan, document: Mapping[str, Any]) -> Judgement:
    """The tfplan rules again on what is there now: `document` is Terraform's state after the apply.

    What was unknown in the plan is known then; PolicyDenied when a rule refuses it or still can't tell, before a run is
    submitted.
    """
    made = dict(_resources(document.get("values", {}).get("root_module", {})))
    changes = tuple(
        _applied(change, made[change.address]) if change.address in made else change
        for change in tfplan.changes
    )
    judgement = judge_proposed(s, state, tfplan.model_copy(update={"changes": changes}), again=False)
    require(s, state, judgement)
    return judgement


def plan_facts(s: Session, state: DesiredState, *, destroying: bool = False) -> dict[str, Any]:
    """What a Terraform plan does not say of itself: whose it is, whether somebody asked to destroy, what lives on it."""
    live = [run.id for run in attempts.list_runs(s.layout) if not run.state.final]
    consent = list(state.environment.monitor.consent)
    return {
        "environment": state.environment.name, "destroy": destroying, "live_runs": live, "consent": consent,
    }  # fmt: skip


def _applied(change: ResourceChange, resource: Mapping[str, Any]) -> ResourceChange:
    """The change with what it came to; what is sensitive in that may not have been known before."""
    values = resource.get("values", {})
    sensitive = {*change.sensitive, *marked(resource.get("sensitive_values"), list(values))}
    return change.model_copy(
        update={"after": values, "after_unknown": {}, "sensitive": tuple(sorted(sensitive))}
    )


def _resources(module: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Resources of a module of `terraform show -json` by address, and those of the modules in it."""
    for resource in module.get("resources", ()):
        yield resource["address"], resource
    for inner in module.get("child_modules", ()):
        yield from _resources(inner)


def judge_stage(
    s: Session,
    stage: Stage,
    state: DesiredState,
    document: Mapping[str, Any],
    objects: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    again: bool = True,
) -> Judgement:
    """One stage's rules on its objects; `again` as for `judge`."""
    return judge(
        stage, document, objects, s.rules(), waivers=state.environment.waivers, today=s.today,
        positions=state.positions, approver=s.policy_approver, again=again,
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
            "waivers": list(judgement.waivers),
        },
        environment=state.environment.name,
    )
    if judgement.denied:
        rules = ", ".join(sorted({v.rule for v in judgement.denied}))
        raise PolicyDenied(f"policy denies this at stage {judgement.stage}: {rules}", judgement.denied)
