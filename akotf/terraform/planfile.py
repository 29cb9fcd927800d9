"""`terraform show -json` of a saved plan, read into `TfPlan`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from akotf.errors import TerraformError
from akotf.model.tfplan import ResourceChange, TfPlan, any_true
from akotf.terraform.masking import masked

_MAJOR = "1"  # of the plan's JSON format; later minor versions only add


def read_plan(
    data: Mapping[str, Any], *, root: Path, path: Path, destroy: bool, targets: Sequence[str]
) -> TfPlan:
    """The plan as akotf judges it. TerraformError when the format is unknown or the plan says it has errors."""
    version = str(data.get("format_version", ""))
    if version.partition(".")[0] != _MAJOR:
        raise TerraformError(
            f"the plan's JSON format {version or '(none)'} is unknown; akotf reads format {_MAJOR}",
            where=str(root), remedy="use a Terraform or OpenTofu release that akotf was tested with",
        )  # fmt: skip
    if data.get("errored"):
        raise TerraformError(
            "Terraform made only a part of the plan", where=str(root), remedy="mend its errors and plan again"
        )
    return TfPlan(
        root=str(root),
        changes=_changes(data.get("resource_changes", ())),
        drift=_changes(data.get("resource_drift", ())),
        outputs=_outputs(data),
        terraform_version=str(data.get("terraform_version", "")),
        destroy=destroy,
        targets=tuple(targets),
        path=str(path),
        document=masked(data),
    )


def _changes(rows: Sequence[Mapping[str, Any]]) -> tuple[ResourceChange, ...]:
    return tuple(_change(row) for row in rows)


def _change(row: Mapping[str, Any]) -> ResourceChange:
    change = row["change"]
    before, after = _values(change.get("before")), _values(change.get("after"))
    names = sorted(set(before or {}) | set(after or {}))
    unknown = change.get("after_unknown")
    hidden = {
        name for side in ("before_sensitive", "after_sensitive") for name in marked(change.get(side), names)
    }
    return ResourceChange(
        address=row["address"],
        type=row["type"],
        actions=tuple(change["actions"]),
        before=before,
        after=after,
        after_unknown={k: v for k, v in unknown.items() if any_true(v)} if isinstance(unknown, dict) else {},
        sensitive=tuple(sorted(hidden)),
    )


def _values(side: Any) -> dict[str, Any] | None:
    return dict(side) if isinstance(side, dict) else None


def marked(marks: Any, names: Sequence[str]) -> list[str]:
    """Top-level attributes with a sensitive value anywhere inside; a bare `true` marks them all."""
    if marks is True:
        return list(names)
    return [name for name, mark in marks.items() if any_true(mark)] if isinstance(marks, dict) else []


def _outputs(data: Mapping[str, Any]) -> dict[str, Any]:
    """Planned values that are known and not sensitive."""
    planned = data.get("planned_values", {}).get("outputs", {})
    return {
        name: output["value"]
        for name, output in planned.items()
        if not output.get("sensitive") and "value" in output
    }
