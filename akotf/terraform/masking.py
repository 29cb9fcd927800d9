"""`terraform show -json` of a plan without the values that Terraform marks as sensitive: fit to be kept and passed on.

Terraform prints them in clear, with marks beside them (JSON output format, "Values Representation" and "Change
Representation"); variables are marked in the configuration only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASK = "(sensitive)"


def masked(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a plan's JSON with every sensitive value replaced by `(sensitive)`."""
    document = dict(plan)
    declared = plan.get("configuration", {}).get("root_module", {}).get("variables", {})
    if "variables" in plan:
        document["variables"] = {
            name: {**variable, "value": MASK} if declared.get(name, {}).get("sensitive") else variable
            for name, variable in plan["variables"].items()
        }
    for key in ("resource_changes", "resource_drift", "deferred_changes"):
        if key in plan:
            document[key] = [
                {**row, "change": _change(row["change"])} if "change" in row else row for row in plan[key]
            ]
    if "output_changes" in plan:
        document["output_changes"] = {
            name: _change(change) for name, change in plan["output_changes"].items()
        }
    if "planned_values" in plan:
        document["planned_values"] = _values(plan["planned_values"])
    if "prior_state" in plan:
        state = plan["prior_state"]
        document["prior_state"] = (
            {**state, "values": _values(state["values"])} if "values" in state else state
        )
    return document


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    hidden = {
        side: _hidden(change[side], change.get(f"{side}_sensitive"))
        for side in ("before", "after")
        if side in change
    }
    return {**change, **hidden}


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(values)
    if "outputs" in values:
        found["outputs"] = {
            name: {**output, "value": MASK} if output.get("sensitive") and "value" in output else output
            for name, output in values["outputs"].items()
        }
    if "root_module" in values:
        found["root_module"] = _module(values["root_module"])
    return found


def _module(module: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(module)
    if "resources" in module:
        found["resources"] = [
            {**r, "values": _hidden(r["values"], r.get("sensitive_values"))} if "values" in r else r
            for r in module["resources"]
        ]
    if "child_modules" in module:
        found["child_modules"] = [_module(child) for child in module["child_modules"]]
    return found


def _hidden(value: Any, marks: Any) -> Any:
    """The value with what the marks say replaced; marks have the value's shape, or are true for all of it."""
    if marks is True:
        return None if value is None else MASK
    if isinstance(value, dict) and isinstance(marks, dict):
        return {key: _hidden(item, marks.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(marks, list):
        return [_hidden(item, marks[i] if i < len(marks) else None) for i, item in enumerate(value)]
    return value
