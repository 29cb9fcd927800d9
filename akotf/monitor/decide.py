"""Decisions: what to do about drift. Pure: drifts, memory and time come in; decisions and new memory go out.

Properties (each has a test of that name): nothing is healed on first sight; an unread fact heals nothing; attempts
are bounded; waits grow exponentially and are reset when the drift clears; values that change back and forth stop
healing and are told; with `heal: alert` nothing is healed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from akotf.facts.compare import restart_only
from akotf.model.drift import Action, Decision, Drift, DriftClass, HealMemory


@dataclass(frozen=True)
class HealPolicy:
    """How patient and how stubborn healing is. Times in seconds."""

    heal: bool = True  # False: tell only
    sightings: int = 2  # consecutive looks that must agree before anything is done
    attempts: int = 5  # heals of one field before it is only told
    backoff: float = 2.0  # wait after the first attempt, doubled after each
    backoff_limit: float = 300.0
    flips: int = 6  # changes of the observed value that make it a fight
    settle: float = 600.0  # how long a cleared drift is remembered, so that a fight is seen


Memory = Mapping[str, HealMemory]

#: Stands in `HealMemory.flips` for "the approved value was back".
CLEARED = "(approved)"

#: Groups whose approved value can be put back while the training runs.
IN_PLACE = ("hyperparameters.file.", "limits.")


def remedy_for(drift: Drift) -> Action:
    """What would heal this drift."""
    if drift.kind in {DriftClass.PERFORMANCE, DriftClass.COST}:
        return Action.ALERT
    if drift.kind is DriftClass.INFRASTRUCTURE or drift.field.startswith(IN_PLACE):
        return Action.HEAL_IN_PLACE
    if restart_only(drift.field):
        return Action.RESTART
    return Action.ALERT


def decide(
    drifts: Sequence[Drift], memory: Memory, *, now: float, policy: HealPolicy
) -> tuple[tuple[Decision, ...], dict[str, HealMemory]]:
    """Decisions for the drifts that are there now, and the memory for the next look.

    A key that is missing from `drifts` has cleared: attempts and back-off start anew, but the values it had are
    remembered for `policy.settle` seconds, so that two sides which undo each other are found.
    """
    remembered = {d.key: _see(d, memory.get(d.key, HealMemory()), now) for d in drifts}
    cleared = {
        k: _clear(m) for k, m in memory.items() if k not in remembered and now - m.last_seen < policy.settle
    }
    grouped: dict[Action, list[Drift]] = {}
    told: list[Decision] = []
    for drift in drifts:
        seen = remembered[drift.key]
        action, reason, retry_at = _judge(drift, seen, now, policy)
        if action in {Action.ALERT, Action.IGNORE}:
            told.append(Decision(action=action, drifts=(drift,), reason=reason, retry_at=retry_at))
        else:
            grouped.setdefault(action, []).append(drift)
    # A restart brings every approved value back, but files on disk first: it starts from them.
    acts = []
    for action in (Action.HEAL_IN_PLACE, Action.RESTART):
        group = grouped.get(action, [])
        if not group:
            continue
        addresses = (
            tuple(sorted({d.address for d in group if d.address})) if action is Action.HEAL_IN_PLACE else ()
        )
        acts.append(Decision(action=action, drifts=tuple(group), reason=_reason(action), addresses=addresses))
        for drift in group:
            remembered[drift.key] = _attempted(remembered[drift.key], now, policy)
    return (*acts, *told), {**cleared, **remembered}


def _clear(before: HealMemory) -> HealMemory:
    flips = before.flips if before.flips and before.flips[-1] == CLEARED else (*before.flips, CLEARED)[-16:]
    return HealMemory(first_seen=0.0, last_seen=before.last_seen, flips=flips)


def _see(drift: Drift, before: HealMemory, now: float) -> HealMemory:
    value = json.dumps(drift.observed, sort_keys=True, default=str)
    flips = before.flips if before.flips and before.flips[-1] == value else (*before.flips, value)[-16:]
    return before.model_copy(
        update={
            "first_seen": before.first_seen or now,
            "last_seen": now,
            "sightings": before.sightings + 1,
            "flips": flips,
        }
    )


def _judge(drift: Drift, seen: HealMemory, now: float, policy: HealPolicy) -> tuple[Action, str, float]:
    wanted = remedy_for(drift)
    if wanted is Action.ALERT:
        return wanted, "nothing to apply would change this; look at the node", 0.0
    if not policy.heal:
        return Action.ALERT, "healing is set to alert", 0.0
    if len(seen.flips) > policy.flips:
        return (
            Action.ALERT,
            f"{drift.field} changes back and forth: somebody else sets it; not healed again",
            0.0,
        )
    if seen.attempts >= policy.attempts:
        return Action.ALERT, f"healed {seen.attempts} times without lasting effect; not healed again", 0.0
    if seen.sightings < policy.sightings:
        return Action.IGNORE, f"seen {seen.sightings} of {policy.sightings} times", 0.0
    if now < seen.not_before:
        return (
            Action.IGNORE,
            f"waiting {seen.not_before - now:.0f} s before the next attempt",
            seen.not_before,
        )
    return wanted, "", 0.0


def _attempted(seen: HealMemory, now: float, policy: HealPolicy) -> HealMemory:
    wait = min(policy.backoff * 2**seen.attempts, policy.backoff_limit)
    return seen.model_copy(update={"attempts": seen.attempts + 1, "not_before": now + wait})


def _reason(action: Action) -> str:
    if action is Action.RESTART:
        return "only a new process takes the approved value: restart from the last complete checkpoint"
    return "the approved value can be put back while the training runs"
