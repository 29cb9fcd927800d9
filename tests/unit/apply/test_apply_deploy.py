"""Plan, approve, apply exactly that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from akotf.apply import deploy
from akotf.apply.approval import settled
from akotf.errors import ApprovalError, TerraformError
from akotf.model.tfplan import Approval, TfPlan
from akotf.model.tree import FileTree

SELECTION = "sha256:s"
BASELINE = "module.local_gpu.akotf_baseline.this"
RECORD = "terraform_data.akotf"


def approved(terraform: Any, root: Path, tree: FileTree) -> tuple[TfPlan, Approval]:
    plan = deploy.prepare(terraform, root, tree)
    terraform.discard(plan)
    return plan, deploy.approval_for(plan, tree.digest(), SELECTION, approver="ana")


def run(terraform: Any, root: Path, tree: FileTree, journal: Any, where: Any) -> TfPlan:
    shown, approval = approved(terraform, root, tree)
    return deploy.apply(
        terraform, root, deploy.with_approval(tree, approval), approval, journal=journal, shown=shown, **where
    )


def carried(root: Path) -> str:
    digests: dict[str, str] = json.loads((root / "akotf.auto.tfvars.json").read_text())["digests"]
    return digests["approval"]


def test_apply_does_what_was_approved_and_the_journal_says_so_before_and_after(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    plan = run(terraform, tmp_path, tree_of(), journal, where)
    assert journal.kinds() == ["apply.intent", "apply.done"]
    body = journal.rows[0].body
    assert body["approver"] == "ana" and body["selection"] == SELECTION
    assert [c["address"] for c in body["changes"]] == sorted(terraform.world)
    assert journal.rows[0].subject == "demo/workstation/here"
    assert terraform.world[RECORD]["input"]["approval"] == body["approval"] == carried(tmp_path)
    assert plan.has_changes


def test_values_of_changes_are_not_in_the_journal(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    run(terraform, tmp_path, tree_of("0.123456"), journal, where)
    assert "0.123456" not in str(journal.rows)


def test_planning_again_after_apply_shows_no_change(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    run(terraform, tmp_path, tree_of(), journal, where)
    again, _ = approved(terraform, tmp_path, tree_of())
    assert not again.has_changes
    # neither does a plan typed in the root: it still carries the approval it was applied with
    typed = terraform.plan(tmp_path)
    terraform.discard(typed)
    assert not typed.has_changes
    # nor one on a machine that has only git and the state
    fresh, _ = approved(terraform, tmp_path / "elsewhere", tree_of())
    assert not fresh.has_changes


def test_applying_the_same_thing_twice_changes_only_the_recorded_approval(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    run(terraform, tmp_path, tree_of(), journal, where)
    run(terraform, tmp_path, tree_of(), journal, where)
    assert {c.address for c in terraform.applied[-1].changes if c.is_change} == {RECORD}
    applied = len(terraform.applied)
    run(terraform, tmp_path, tree_of(), journal, where)
    assert len(terraform.applied) == applied
    assert journal.kinds()[-2:] == ["apply.intent", "apply.done"]


def test_a_world_that_moved_since_the_approval_is_refused_and_what_differs_is_shown(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    run(terraform, tmp_path, tree_of(), journal, where)
    shown, approval = approved(terraform, tmp_path, tree_of("0.01"))
    terraform.world[BASELINE] = {"hyperparameters": {"learning_rate": "7"}}
    before = dict(terraform.world)
    with pytest.raises(ApprovalError) as caught:
        deploy.apply(
            terraform, tmp_path, deploy.with_approval(tree_of("0.01"), approval), approval, journal=journal,
            shown=shown, **where,
        )  # fmt: skip
    assert caught.value.exit_code == 3
    assert (
        f'{BASELINE}: hyperparameters (before): approved {{"learning_rate": "0.001"}}, now {{"learning_rate": "7"}}'
        in caught.value.message
    )
    assert terraform.world == before
    assert journal.kinds() == ["apply.intent", "apply.done"]  # of the first apply only


def test_without_the_shown_plan_the_refusal_says_what_would_be_done_now(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    _, approval = approved(terraform, tmp_path, tree_of())
    terraform.world["terraform_data.stray"] = {"input": 1}
    with pytest.raises(ApprovalError, match=r"now: terraform_data\.stray: delete"):
        deploy.apply(
            terraform, tmp_path, deploy.with_approval(tree_of(), approval), approval, journal=journal, **where
        )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"rate": "0.5"}, "rendered tree"),
        ({"gpus": 8}, "rendered tree"),
        ({"selection": "sha256:t"}, "selection"),
    ],
)
def test_another_tree_or_selection_is_refused_before_anything_is_written(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    _, approval = approved(terraform, tmp_path, tree_of())
    before = (tmp_path / "akotf.auto.tfvars.json").read_bytes()
    with pytest.raises(ApprovalError, match=said):
        deploy.apply(
            terraform, tmp_path, deploy.with_approval(tree_of(**other), approval), approval, journal=journal,
            **where,
        )  # fmt: skip
    assert (tmp_path / "akotf.auto.tfvars.json").read_bytes() == before
    assert journal.rows == []


def test_a_tree_without_the_approval_is_refused(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    _, approval = approved(terraform, tmp_path, tree_of())
    with pytest.raises(ApprovalError, match="does not carry"):
        deploy.apply(terraform, tmp_path, tree_of(), approval, journal=journal, **where)


def test_the_approver_is_no_part_of_what_is_bound(terraform: Any, tree_of: Any, tmp_path: Path) -> None:
    plan, approval = approved(terraform, tmp_path, tree_of())
    other = deploy.approval_for(plan, tree_of().digest(), SELECTION, approver="ben")
    assert other.binding() == approval.binding()


def test_a_failed_apply_is_journalled_and_raised(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    terraform.fails = True
    with pytest.raises(TerraformError, match="disk is full"):
        run(terraform, tmp_path, tree_of(), journal, where)
    assert journal.kinds() == ["apply.intent", "apply.failed"]
    assert journal.rows[1].body["error"] == "the disk is full"


def test_a_foreign_file_does_not_ride_along(
    terraform: Any, journal: Any, where: Any, tree_of: Any, tmp_path: Path
) -> None:
    _, approval = approved(terraform, tmp_path, tree_of())
    (tmp_path / "evil.tf").write_text('resource "terraform_data" "evil" {}\n')
    told: list[Any] = []
    deploy.apply(
        terraform, tmp_path, deploy.with_approval(tree_of(), approval), approval, journal=journal,
        on_event=told.append, **where,
    )  # fmt: skip
    assert "terraform_data.evil" not in terraform.world
    assert [event["files"] for event in told if event["type"] == "held_aside"] == [["evil.tf"]]


def test_only_the_approval_is_left_out_of_the_record(terraform: Any, tree_of: Any, tmp_path: Path) -> None:
    write = deploy.prepare(terraform, tmp_path, tree_of())
    terraform.apply(terraform.open[write.path])
    terraform.discard(write)
    other = deploy.prepare(terraform, tmp_path, tree_of(selection="sha256:t"))
    terraform.discard(other)
    assert [c.address for c in other.changes if c.is_change] == [RECORD]
    assert settled(other) == other
