"""Plan a rendered root, and apply exactly what was approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from akotf.apply.approval import (
    VALUES,
    approval_for,
    approval_in,
    require_bound,
    require_same,
    settled,
    with_approval,
)
from akotf.apply.write import OnEvent, write_root
from akotf.errors import AkotfError
from akotf.model.tfplan import Approval, Deployment, TfPlan
from akotf.model.tree import FileTree
from akotf.ports import Journal, Terraform

__all__ = ["apply", "approval_for", "changes_of", "prepare", "with_approval"]


def prepare(terraform: Terraform, root: Path, tree: FileTree, on_event: OnEvent | None = None) -> TfPlan:
    """Write the tree and plan it. The caller discards the plan.

    The root keeps the approval it was last applied with, so that planning alone never makes `terraform plan` in the
    root show a change; a difference in approvals only is no change in the plan returned.
    """
    found = root / VALUES
    present = approval_in(found.read_bytes()) if found.is_file() and not found.is_symlink() else ""
    write_root(root, with_approval(tree, present), on_event)
    terraform.init(root, on_event)
    return settled(terraform.plan(root, on_event=on_event))


def apply(
    terraform: Terraform, root: Path, tree: FileTree, approved: Approval, *, journal: Journal, environment: str,
    deployment: Deployment, on_event: OnEvent | None = None, shown: TfPlan | None = None,
) -> TfPlan:  # fmt: skip
    """Write the tree (which carries its approval), plan again, and apply that plan if it is what was approved.

    ApprovalError when tree, selection or changes are others; `shown` (the plan that the approver saw) lets it say
    which values differ. `apply.intent` is in the journal before anything changes, `apply.done` or `apply.failed` after.
    """
    require_bound(tree, approved)
    write_root(root, tree, on_event)
    terraform.init(root, on_event)
    plan = terraform.plan(root, on_event=on_event)
    try:
        require_same(plan, approved, shown)
        body: dict[str, Any] = {
            "approval": approved.binding(), "approver": approved.approver, "tree": approved.tree,
            "selection": approved.selection, "changes": changes_of(plan),
        }  # fmt: skip
        journal.append("apply.intent", body, environment=environment, subject=deployment.id)
        try:
            if plan.has_changes:
                terraform.apply(plan, on_event)
        except BaseException as error:
            said = {**body, "error": error.message if isinstance(error, AkotfError) else repr(error)}
            journal.append("apply.failed", said, environment=environment, subject=deployment.id)
            raise
        journal.append("apply.done", body, environment=environment, subject=deployment.id)
    finally:
        terraform.discard(plan)
    return settled(plan)


def changes_of(plan: TfPlan) -> list[dict[str, Any]]:
    """Addresses, actions and names of attributes for the journal: no values, so no secret."""
    return [
        {"address": c.address, "actions": list(c.actions), "attributes": list(c.changed_attributes())}
        for c in plan.changes
        if c.is_change
    ]
