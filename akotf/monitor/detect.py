"""Detection: what differs from the approved baseline. Pure: time comes in as an argument.

Only the declared side is compared: what the baseline does not say can't drift. A fact that could not be read is no
difference; an agent that can't be reached gives no observation at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from akotf.facts.compare import compare
from akotf.model.drift import Drift, DriftClass, Observation
from akotf.model.tfplan import TfPlan
from akotf.model.units import Estimate

#: How far the step time may exceed the upper end of its predicted interval before it counts as drift.
STEP_TIME_TOLERANCE = 2.0

#: Steps before the step time is compared: the first ones warm caches and compile.
WARM_UP_STEPS = 20


def configuration(
    declared: Mapping[str, Mapping[str, Any]], observation: Observation, *, address: str = ""
) -> list[Drift]:
    """Hyperparameters, environment, limits, libraries and GPU settings of one node against the baseline.

    `declared` is `Baseline.on_node(...)`; `address` the Terraform resource that holds the baseline of this node.
    """
    return [
        Drift(
            kind=classify(row["field"]),
            node=observation.node,
            field=row["field"],
            approved=row["approved"],
            observed=row["observed"],
            source="heartbeat" if row["field"].startswith("hyperparameters.in_use.") else "agent",
            address=address,
        )
        for row in compare(dict(declared), observation.facts, observation.unreadable)
    ]


def classify(field: str) -> DriftClass:
    """The class of a field by its group."""
    group = field.split(".", 1)[0]
    if group in {"libraries", "gpu"}:
        return DriftClass.RUNTIME
    return DriftClass.CONFIGURATION


def performance(observation: Observation, predicted: Estimate | None) -> list[Drift]:
    """The step time against its predicted interval; nothing before warm-up or without a prediction."""
    if predicted is None or not has_step_time(observation):
        return []
    step_time = (observation.progress or {})["step_time"]
    if step_time <= predicted.high * STEP_TIME_TOLERANCE:
        return []
    return [
        Drift(
            kind=DriftClass.PERFORMANCE,
            node=observation.node,
            field="performance.step_time",
            approved=round(predicted.high, 6),
            observed=round(step_time, 6),
            source="prediction",
        )
    ]


def has_step_time(observation: Observation) -> bool:
    """Whether the step time can be compared now: it trains and is warm."""
    progress = observation.progress or {}
    return (
        progress.get("step_time") is not None
        and progress.get("step", 0) >= WARM_UP_STEPS
        and progress.get("phase", "train") == "train"
    )


def infrastructure(plan: TfPlan, *, node: str, baseline_address: str) -> list[Drift]:
    """What `terraform plan` would change, judged from the plan JSON: reads and no-ops are no drift.

    The baseline resource is compared field by field through the agent; here it counts only when it is gone.
    """
    drifts = []
    for change in plan.changes:
        if not change.is_change or change.type == "terraform_data":
            continue
        gone = change.before is None
        if change.address == baseline_address and not gone:
            continue
        drifts.append(
            Drift(
                kind=DriftClass.INFRASTRUCTURE,
                node=node,
                field=change.address,
                approved="present" if gone else _values(change.after, change.changed_attributes()),
                observed=None if gone else _values(change.before, change.changed_attributes()),
                source="terraform",
                address=change.address,
            )
        )
    return drifts


def _values(side: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    return {name: (side or {}).get(name) for name in names}
