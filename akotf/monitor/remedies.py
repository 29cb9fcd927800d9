"""What would heal a drift, before anybody asks whether it may be done now."""

from __future__ import annotations

from akotf.facts.compare import restart_only
from akotf.model.drift import Action, Drift, DriftClass
from akotf.monitor.cost import STOP_FIELD

#: Groups whose approved value can be put back while the training runs.
IN_PLACE = ("hyperparameters.file.", "limits.")

#: What an action is done to: all nodes of the run, or one.
WHOLE_RUN = "*"

_NEEDS_IDLE = "only a reset or reboot of the node changes this: do it when the run has ended"
_LOOK = "nothing to apply would change this; look at the node"
_WHY = {
    DriftClass.PERFORMANCE: "a restart would not make it faster; look at the node",
    DriftClass.COST: "what is spent can't be put back",
    DriftClass.RUNTIME: _NEEDS_IDLE,
}


def remedy_for(drift: Drift) -> tuple[Action, str]:
    """The action that would heal this drift and why that one."""
    if drift.source == "peers" and drift.approved is None:
        return Action.ALERT, "no baseline says which node is right; declare the value to have it healed"
    if drift.field == STOP_FIELD:
        return Action.STOP, "the budget is spent: the run saves a checkpoint and stops"
    if drift.field == "liveness.steps":
        return Action.RESTART, "it lives and makes no progress: restart from the last complete checkpoint"
    if drift.kind is DriftClass.CAPACITY:
        return (
            Action.RESTART,
            "the node is lost: the run goes on elsewhere, from the last complete checkpoint",
        )
    if drift.kind is DriftClass.INFRASTRUCTURE:
        return _infrastructure(drift)
    if drift.kind in {DriftClass.PERFORMANCE, DriftClass.COST}:
        return Action.ALERT, _WHY[drift.kind]
    if drift.field.startswith(IN_PLACE):
        return Action.HEAL_IN_PLACE, "the approved value can be put back while the training runs"
    if restart_only(drift.field):
        return Action.RESTART, "only a new process takes the approved value: restart from the last complete checkpoint"  # fmt: skip
    return Action.ALERT, _WHY.get(drift.kind, _LOOK)


def _infrastructure(drift: Drift) -> tuple[Action, str]:
    if drift.disruptive:
        return Action.REPLACE, "the approved value takes a new resource in place of this one"
    return Action.HEAL_IN_PLACE, "the approved value can be put back while the training runs"


def state_of(action: Action, drift: Drift) -> str:
    """The unhealthy state that a drift belongs to: what must be done, and to what."""
    target = WHOLE_RUN if action in {Action.RESTART, Action.STOP} else drift.node
    return f"{target}:{action}"
