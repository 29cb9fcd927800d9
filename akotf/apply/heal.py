"""A heal in place: approved values put back, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from akotf.apply.deploy import changes_of
from akotf.apply.write import OnEvent, write_root
from akotf.model.drift import Decision
from akotf.model.tfplan import Deployment, ResourceChange, TfPlan
from akotf.model.tree import FileTree
from akotf.ports import Journal, Terraform

_LOCK_FILE = ".terraform.lock.hcl"


@dataclass(frozen=True)
class HealResult:
    """What a heal did. `deferred_reason` says why nothing was applied; empty when it was."""

    applied: bool
    changes: tuple[ResourceChange, ...] = ()
    deferred_reason: str = ""


def heal(
    terraform: Terraform, root: Path, approved_tree: FileTree, decision: Decision, *,
    judge: Callable[[TfPlan], None], journal: Journal, environment: str, deployment: Deployment,
    on_event: OnEvent | None = None,
) -> HealResult:  # fmt: skip
    """Apply the approved tree to the addresses that the decision names, and to nothing else.

    Terraform works in a copy of the approved tree beside `root`, with the deployment's state: whatever somebody edited
    in `root` can't ride along, and stays there untouched. Deferred, with the reason, when the plan would change another
    address, delete or replace anything, or nothing at all. `judge` raises PolicyDenied to stop it. A failed apply
    raises; the caller records that. The caller holds the deployment's lease.
    """
    if not decision.addresses:
        return HealResult(False, deferred_reason="the decision names no Terraform address")
    copy = copy_of(root)
    write_root(copy, approved_tree, on_event)
    if (root / _LOCK_FILE).is_file():  # the same provider builds as were approved
        shutil.copyfile(root / _LOCK_FILE, copy / _LOCK_FILE)
    terraform.init(copy, on_event)
    plan = terraform.plan(copy, targets=decision.addresses, on_event=on_event)
    try:
        changes = tuple(c for c in plan.changes if c.is_change)
        if reason := _why_not(changes, decision):
            return HealResult(False, changes, reason)
        judge(plan)
        body = {
            "reason": decision.reason, "addresses": list(decision.addresses), "changes": changes_of(plan),
            "drifts": [d.to_json() for d in decision.drifts],
        }  # fmt: skip
        journal.append("heal.intent", body, environment=environment, subject=deployment.id)
        terraform.apply(plan, on_event)
        journal.append("heal.done", body, environment=environment, subject=deployment.id)
        return HealResult(True, changes)
    finally:
        terraform.discard(plan)


def copy_of(root: Path) -> Path:
    """Where heals work: kept between heals, so that Terraform need not prepare it again.

    Beside the root and not in a temporary folder: providers are started from it, and many sites mount those `noexec`.
    """
    return root.parent / f".{root.name}.heal"


def _why_not(changes: tuple[ResourceChange, ...], decision: Decision) -> str:
    """Why a plan must not be applied as this heal; empty when it may."""
    if not changes:
        return "Terraform sees nothing to put back: the drift is gone or is none of Terraform's"
    others = [
        f"{c.address} ({' then '.join(c.actions)})" for c in changes if c.address not in decision.addresses
    ]
    if others:
        return "the heal would also change what the decision does not name: " + ", ".join(others)
    lost = [c.address for c in changes if c.destroys]
    if lost:
        return "the heal would delete or replace: " + ", ".join(lost)
    return ""
