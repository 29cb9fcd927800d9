"""The plan's JSON as Terraform 1.11 prints it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from akotf.errors import TerraformError
from akotf.model.tfplan import TfPlan
from akotf.terraform.planfile import read_plan


def read(**data: Any) -> TfPlan:
    return read_plan(
        {"format_version": "1.2", "terraform_version": "1.11.4", **data},
        root=Path("/root-of-it"), path=Path("/p/tfplan"), destroy=False, targets=("a",),
    )  # fmt: skip


def change(**fields: Any) -> dict[str, Any]:
    body = {"actions": ["update"], "before": {}, "after": {}, "after_unknown": {}, **fields}
    return {"address": "x.y", "type": "x", "change": body}


def test_marks_inside_a_value_hide_the_whole_attribute() -> None:
    plan = read(
        resource_changes=[
            change(
                before={"a": {"k": "old"}, "b": 1, "c": [1]},
                after={"a": {"k": "new"}, "b": 2, "c": [2]},
                before_sensitive={"a": {"k": True}},
                after_sensitive={"a": {}, "c": [False]},
            )
        ]
    )
    assert plan.changes[0].sensitive == ("a",)


def test_a_bare_mark_hides_everything() -> None:
    plan = read(resource_changes=[change(before={"a": 1}, after={"b": 2}, after_sensitive=True)])
    assert plan.changes[0].sensitive == ("a", "b")


def test_only_what_is_unknown_counts_as_unknown() -> None:
    plan = read(
        resource_changes=[
            change(after_unknown={"id": True, "map": {}, "list": [False], "deep": {"x": [True]}})
        ]
    )
    assert plan.changes[0].after_unknown == {"id": True, "deep": {"x": [True]}}


def test_drift_and_outputs() -> None:
    plan = read(
        resource_drift=[change(actions=["delete"], before={"a": 1}, after=None)],
        planned_values={"outputs": {"a": {"value": 1}, "later": {}, "s": {"value": 2, "sensitive": True}}},
    )
    assert plan.drift[0].destroys and plan.drift[0].after is None
    assert plan.outputs == {"a": 1}
    assert not plan.has_changes
    assert (plan.root, plan.path, plan.targets) == ("/root-of-it", "/p/tfplan", ("a",))


def test_a_partial_plan_is_refused() -> None:
    with pytest.raises(TerraformError, match="only a part"):
        read(errored=True)


@pytest.mark.parametrize("version", ["2.0", "0.2", ""])
def test_an_unknown_format_is_refused(version: str) -> None:
    with pytest.raises(TerraformError, match="format"):
        read(format_version=version)
