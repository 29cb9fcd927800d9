"""Terraform's plan, reduced to what akotf judges and shows."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from akotf.model.base import Frozen, digest


def any_true(marks: Any) -> bool:
    """Whether Terraform's marks (`after_unknown`, `after_sensitive`) say true anywhere inside."""
    if isinstance(marks, dict):
        return any(any_true(mark) for mark in marks.values())
    if isinstance(marks, (list, tuple)):
        return any(any_true(mark) for mark in marks)
    return marks is True


class ResourceChange(Frozen):
    """One planned or detected change. `actions` as Terraform spells them: create, update, delete, read, no-op."""

    address: str
    type: str
    actions: tuple[str, ...]
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    after_unknown: dict[str, Any] = {}
    sensitive: tuple[str, ...] = ()  # top-level attributes whose values must not be shown

    @property
    def is_change(self) -> bool:
        """False for reads and no-ops."""
        return bool(set(self.actions) - {"read", "no-op"})

    @property
    def destroys(self) -> bool:
        """True when something that exists goes away (deletion or replacement)."""
        return "delete" in self.actions

    def changed_attributes(self) -> tuple[str, ...]:
        """Top-level attributes that differ or become unknown."""
        before, after = self.before or {}, self.after or {}
        names = set(before) | set(after) | {k for k, v in self.after_unknown.items() if v}
        return tuple(sorted(n for n in names if before.get(n) != after.get(n) or self.after_unknown.get(n)))


class TfPlan(Frozen):
    """A plan as judged. `path` is the saved plan file (0600), empty when there is none."""

    root: str
    changes: tuple[ResourceChange, ...]  # planned
    drift: tuple[ResourceChange, ...] = ()  # detected outside Terraform
    outputs: dict[str, Any] = {}
    terraform_version: str = ""
    destroy: bool = False
    targets: tuple[str, ...] = ()
    path: str = ""
    document: dict[str, Any] = Field(
        default={}, exclude=True
    )  # Terraform's own JSON, sensitive values masked

    @property
    def has_changes(self) -> bool:
        """True when applying would change something."""
        return any(c.is_change for c in self.changes)

    def canonical_changes(self) -> list[dict[str, Any]]:
        """What approval binds: addresses, actions and values, sorted; sensitive values only as digests."""
        rows = []
        for change in sorted(self.changes, key=lambda c: c.address):
            if not change.is_change:
                continue
            row: dict[str, Any] = {"address": change.address, "actions": list(change.actions)}
            for side in ("before", "after"):
                values = getattr(change, side)
                row[side] = None if values is None else {
                    k: digest(v) if k in change.sensitive else v for k, v in values.items()
                }  # fmt: skip
            row["unknown"] = change.after_unknown
            rows.append(row)
        return rows


class Approval(Frozen):
    """What was approved: changes + tree + selection, never a plan file."""

    changes: str  # digest of canonical changes
    tree: str  # digest of the rendered tree
    selection: str  # digest of the selection
    approver: str = ""  # who said yes

    def binding(self) -> str:
        """The digest that a later apply must meet (without the approver)."""
        return digest({"changes": self.changes, "tree": self.tree, "selection": self.selection})


class Deployment(Frozen):
    """environment / scope / placement: one root, one state, tags with this id."""

    environment: str
    scope: str
    placement: str

    @property
    def id(self) -> str:
        """Stable id, also the tag on every resource."""
        return f"{self.environment}/{self.scope}/{self.placement}"
