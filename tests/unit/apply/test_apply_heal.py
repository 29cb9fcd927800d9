"""Heals put back what the decision names, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from akotf.apply import deploy
from akotf.apply.heal import HealResult, heal
from akotf.errors import PolicyDenied, TerraformError
from akotf.model.drift import Action, Decision
from akotf.model.tfplan import TfPlan
from akotf.model.tree import FileTree

BASELINE = "module.local_gpu.akotf_baseline.this"
POOL = "module.local_gpu.akotf_local_pool.this"


def decision(*addresses: str) -> Decision:
    return Decision(action=Action.HEAL_IN_PLACE, drifts=(), reason="a file was changed", addresses=addresses)


@pytest.fixture
def tree(terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path) -> FileTree:
    """Deployed, and its learning rate changed by somebody."""
    plan = deploy.prepare(terraform, tmp_path / "root", tree_of())
    terraform.discard(plan)
    approval = deploy.approval_for(plan, tree_of().digest(), "sha256:s")
    tree = deploy.with_approval(tree_of(), approval)
    deploy.apply(terraform, tmp_path / "root", tree, approval, journal=journal, **where)
    journal.rows.clear()
    terraform.world[BASELINE] = {"hyperparameters": {"learning_rate": "7"}}
    return tree


@pytest.fixture
def healed(terraform: Any, journal: Any, where: Any, tree: FileTree, tmp_path: Path) -> Any:
    def run(what: Decision, judge: Any = lambda plan: None) -> HealResult:
        return heal(terraform, tmp_path / "root", tree, what, judge=judge, journal=journal, **where)

    return run


def test_a_named_drift_is_put_back(terraform: Any, journal: Any, healed: Any) -> None:
    result = healed(decision(BASELINE))
    assert result.applied and [c.address for c in result.changes] == [BASELINE]
    assert terraform.world[BASELINE] == {"hyperparameters": {"learning_rate": "0.001"}}
    assert journal.kinds() == ["heal.intent", "heal.done"]


def test_unapproved_edits_of_the_root_do_not_ride_along_and_stay(
    terraform: Any, healed: Any, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    values = json.loads((root / "akotf.auto.tfvars.json").read_text())
    values["baseline"]["learning_rate"] = "99"
    edited = json.dumps(values)
    (root / "akotf.auto.tfvars.json").write_text(edited)
    (root / "evil.tf").write_text('resource "terraform_data" "evil" {}\n')
    assert healed(decision(BASELINE)).applied
    assert terraform.world[BASELINE] == {"hyperparameters": {"learning_rate": "0.001"}}
    assert "terraform_data.evil" not in terraform.world
    assert (root / "akotf.auto.tfvars.json").read_text() == edited
    assert (root / "evil.tf").exists()
    assert terraform.planned_in[-1] not in (root, *root.parents)


def test_a_change_that_the_decision_does_not_name_defers_the_heal(
    terraform: Any, journal: Any, healed: Any
) -> None:
    terraform.world[POOL] = {"gpus": 3}
    plan = terraform.plan

    def with_dependencies(root: Path, *, targets: Any = (), **options: Any) -> TfPlan:
        made: TfPlan = plan(
            root, targets=[*targets, POOL], **options
        )  # as Terraform adds what a target needs
        return made

    terraform.plan = with_dependencies
    result = healed(decision(BASELINE))
    assert not result.applied
    assert POOL in result.deferred_reason
    assert terraform.world[BASELINE] == {"hyperparameters": {"learning_rate": "7"}}
    assert journal.rows == []


def test_a_replacement_defers_the_heal(terraform: Any, healed: Any) -> None:
    terraform.replaces = True
    result = healed(decision(BASELINE))
    assert not result.applied and "replace" in result.deferred_reason


def test_a_drift_that_is_gone_is_no_heal(terraform: Any, journal: Any, healed: Any) -> None:
    terraform.world[BASELINE] = {"hyperparameters": {"learning_rate": "0.001"}}
    result = healed(decision(BASELINE))
    assert not result.applied and "nothing to put back" in result.deferred_reason
    assert journal.rows == []


def test_no_address_is_never_a_plan_of_everything(terraform: Any, healed: Any) -> None:
    planned = len(terraform.planned_in)
    assert not healed(decision()).applied
    assert len(terraform.planned_in) == planned


def test_policy_stops_a_heal(terraform: Any, journal: Any, healed: Any) -> None:
    def deny(plan: TfPlan) -> None:
        raise PolicyDenied("a freeze window")

    with pytest.raises(PolicyDenied):
        healed(decision(BASELINE), deny)
    assert terraform.world[BASELINE] == {"hyperparameters": {"learning_rate": "7"}}
    assert journal.rows == []


def test_a_failed_heal_is_raised_after_its_intent(terraform: Any, journal: Any, healed: Any) -> None:
    terraform.fails = True
    with pytest.raises(TerraformError):
        healed(decision(BASELINE))
    assert journal.kinds() == ["heal.intent"]
