"""One rule on an environment's own documents: what it reads there and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.errors import UsageError
from akotf.model.plan import Chosen
from akotf.model.policy import Rule, Stage
from akotf.pipeline.holdings import gpus_elsewhere
from akotf.pipeline.judging import plan_facts
from akotf.pipeline.live import stored
from akotf.pipeline.planning import load
from akotf.pipeline.session import Session
from akotf.policy.documents import Document, Objects, config_document, selection_document, tfplan_document
from akotf.policy.engine import judge
from akotf.policy.explain import Explained, explained
from akotf.terraform.planfile import read_plan


def explain_on(s: Session, rule: Rule, tfplan: Mapping[str, Any] | None = None) -> list[Explained]:
    """The rule's word on each object that it matches; what is judged is not put on record.

    A rule of stage selection needs a plan made before; one of stages tfplan and drift `tfplan`, Terraform's plan JSON.
    """
    state = load(s)
    document: Document
    objects: Objects
    if rule.stage is Stage.CONFIG:
        document, objects = config_document(state)
    elif rule.stage is Stage.SELECTION:
        others = gpus_elsewhere(s.layout.environment, state.environment.owner)
        document, objects = selection_document(state, _last_choice(s), others=others)
    else:
        plan = read_plan(_required(s, tfplan), root=Path(), path=Path(), destroy=False, targets=())
        document, objects = tfplan_document(plan, plan_facts(s, state), rule.stage)
    judgement = judge(
        rule.stage, document, objects, [r for r in s.rules() if r.id == rule.id or r.stage is not rule.stage],
        waivers=[w for w in state.environment.waivers if w.rule == rule.id], today=s.today,
        positions=state.positions,
    )  # fmt: skip
    return explained(rule, judgement, document, objects, state.positions)


def _last_choice(s: Session) -> Chosen:
    made = list(s.journal.entries(kind="plan.made"))
    if not made or made[-1].body.get("winner") is None:
        raise UsageError(
            "this rule judges a selection, and no plan has made one here", where=str(s.layout.environment),
            remedy=f"akotf plan {s.layout.environment}, then explain again",
        )  # fmt: skip
    return Chosen.model_validate(stored(s, made[-1].body["chosen"]))


def _required(s: Session, tfplan: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if tfplan is None:
        raise UsageError(
            "this rule judges Terraform's plan", where=str(s.layout.environment),
            remedy=f"akotf plan {s.layout.environment} --tfplan tfplan.json, then explain again with --tfplan tfplan.json",
        )  # fmt: skip
    return tfplan
