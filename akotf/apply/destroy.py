"""The end of a deployment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.apply.deploy import changes_of
from akotf.apply.heal import copy_of
from akotf.apply.write import OnEvent, write_root
from akotf.model.tfplan import Deployment, TfPlan
from akotf.model.tree import FileTree
from akotf.ports import Journal, Terraform


@dataclass(frozen=True)
class DestroyResult:
    """Addresses that were destroyed; none when nothing was there."""

    addresses: tuple[str, ...] = ()


def destroy(
    terraform: Terraform, root: Path, *, judge: Callable[[TfPlan], None], journal: Journal, environment: str,
    deployment: Deployment, on_event: OnEvent | None = None, tree: FileTree | None = None,
) -> DestroyResult:  # fmt: skip
    """Destroy everything in the deployment's state; a second call finds nothing and is done.

    `tree` is written first: the approved tree, for a root that is gone while its state is not. `judge` raises
    PolicyDenied to stop it. `destroy.intent` is in the journal before anything changes, `destroy.done` after.
    """
    if tree is not None:
        write_root(root, tree, on_event)
    if not root.is_dir():
        return DestroyResult()
    terraform.init(root, on_event)
    plan = terraform.plan(root, destroy=True, on_event=on_event)
    try:
        if not plan.has_changes:
            return DestroyResult()
        judge(plan)
        body: dict[str, Any] = {"changes": changes_of(plan)}
        journal.append("destroy.intent", body, environment=environment, subject=deployment.id)
        terraform.apply(plan, on_event)
        journal.append("destroy.done", body, environment=environment, subject=deployment.id)
        shutil.rmtree(copy_of(root), ignore_errors=True)  # nothing is left that could be healed
        return DestroyResult(tuple(c.address for c in plan.changes if c.destroys))
    finally:
        terraform.discard(plan)
