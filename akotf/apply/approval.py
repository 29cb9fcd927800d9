"""What an approval binds, and how a tree carries the digest of its own approval.

The approval's digest stands in `akotf.auto.tfvars.json` and so in `terraform_data.akotf`: what is approved would hold
the digest of itself. So an approval is made over the tree with an empty approval, and over changes in which every
`approval` of `terraform_data.akotf` is empty; a change of that resource that is nothing but another approval counts as
no change at all.
"""

from __future__ import annotations

import json
from typing import Any

from akotf.errors import ApprovalError
from akotf.model.base import digest
from akotf.model.tfplan import Approval, ResourceChange, TfPlan
from akotf.model.tree import FileTree

VALUES = "akotf.auto.tfvars.json"
ADDRESS = "terraform_data.akotf"


def with_approval(tree: FileTree, approval: Approval | str) -> FileTree:
    """The same tree with this approval (or its binding digest) among its values; the same bytes as rendering it so."""
    found = json.loads(tree.files[VALUES])
    binding = approval if isinstance(approval, str) else approval.binding()
    found["digests"]["approval"] = binding
    # The renderer's own encoding; a test holds the two together.
    data = (json.dumps(found, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n").encode()
    return FileTree({**tree.files, VALUES: data}, tree.executable)


def approval_in(data: bytes) -> str:
    """The approval that a values file carries; an empty string when it has none or is none."""
    try:
        found = json.loads(data)["digests"]["approval"]
    except (ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""


def settled(plan: TfPlan) -> TfPlan:
    """The plan with approvals left out: a change that only replaces an approval becomes a no-op."""
    return plan.model_copy(update={"changes": tuple(_settled(change) for change in plan.changes)})


def approval_for(plan: TfPlan, tree_digest: str, selection_digest: str, *, approver: str = "") -> Approval:
    """What somebody says yes to. `tree_digest` is the digest of the tree with an empty approval."""
    changes = digest(settled(plan).canonical_changes())
    return Approval(changes=changes, tree=tree_digest, selection=selection_digest, approver=approver)


def require_bound(tree: FileTree, approved: Approval) -> None:
    """ApprovalError unless the tree is the approved one and carries this approval."""
    values = json.loads(tree.files[VALUES])["digests"]
    faults = []
    if with_approval(tree, "").digest() != approved.tree:
        faults.append("the rendered tree is not the approved one")
    if values["selection"] != approved.selection:
        faults.append("the selection is not the approved one")
    if values["approval"] != approved.binding():
        faults.append("the tree does not carry the approval's digest")
    if faults:
        raise ApprovalError("; ".join(faults), remedy="plan again and approve that plan")


def require_same(plan: TfPlan, approved: Approval, shown: TfPlan | None) -> None:
    """ApprovalError, showing what differs, unless Terraform's changes are those approved.

    `shown` is the plan that the approver saw; without it only what Terraform would do now can be shown.
    """
    if digest(settled(plan).canonical_changes()) == approved.changes:
        return
    lines = _now(plan) if shown is None else _differences(settled(shown), settled(plan))
    raise ApprovalError(
        "what Terraform would do now is not what was approved:\n" + "\n".join(f"  {line}" for line in lines),
        where=plan.root, remedy="something changed since the plan was approved: plan again and approve that plan",
    )  # fmt: skip


def _settled(change: ResourceChange) -> ResourceChange:
    if change.address != ADDRESS:
        return change
    before, after = _without_approval(change.before), _without_approval(change.after)
    same = before is not None and after is not None and before.get("input") == after.get("input")
    actions = ("no-op",) if same and change.actions == ("update",) else change.actions
    return change.model_copy(update={"before": before, "after": after, "actions": actions})


def _without_approval(values: dict[str, Any] | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {
        name: {**value, "approval": ""} if name in ("input", "output") and isinstance(value, dict) else value
        for name, value in values.items()
    }


def _row(change: dict[str, Any]) -> str:
    return f"{change['address']}: {' then '.join(change['actions'])}"


def _now(plan: TfPlan) -> list[str]:
    rows = [_row(change) for change in settled(plan).canonical_changes()]
    return ["now: " + row for row in rows] or ["now: nothing"]


def _differences(shown: TfPlan, plan: TfPlan) -> list[str]:
    old = {c["address"]: c for c in shown.canonical_changes()}
    new = {c["address"]: c for c in plan.canonical_changes()}
    lines = [f"approved, not planned now: {_row(old[a])}" for a in sorted(set(old) - set(new))]
    lines += [f"planned now, not approved: {_row(new[a])}" for a in sorted(set(new) - set(old))]
    for address in sorted(set(old) & set(new)):
        if old[address] == new[address]:
            continue
        if old[address]["actions"] != new[address]["actions"]:
            lines.append(f"approved {_row(old[address])}; now {' then '.join(new[address]['actions'])}")
        for side in ("before", "after"):
            was, now = old[address][side] or {}, new[address][side] or {}
            lines += [
                f"{address}: {name} ({side}): approved {_json(was.get(name))}, now {_json(now.get(name))}"
                for name in sorted(set(was) | set(now)) if was.get(name) != now.get(name)
            ]  # fmt: skip
    return lines


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
