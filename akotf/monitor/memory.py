"""What decisions remember: sightings and values of each drift, attempts and timers of each unhealthy state. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from akotf.model.drift import Drift, DriftClass, HealMemory, Memory, StateMemory

#: Stands in `HealMemory.flips` for "the approved value was back".
CLEARED = "(approved)"
REMEMBERED = 16  # values of one drift

#: Classes whose values somebody sets: only they can be set back and forth. The others are measured, and always differ.
SET = frozenset({DriftClass.CONFIGURATION, DriftClass.RUNTIME, DriftClass.INFRASTRUCTURE})
MEASURED = "(measured)"

_encode = json.JSONEncoder(sort_keys=True, default=str).encode

FRESH, NO_STATE = HealMemory(), StateMemory()


def seen(drift: Drift, before: HealMemory, now: float, state: str) -> HealMemory:
    """The drift is there once more."""
    value = _encode(drift.observed) if drift.kind in SET else MEASURED
    last = before.flips[-1] if before.flips else None
    return HealMemory(
        first_seen=before.first_seen or drift.since or now, last_seen=now, sightings=before.sightings + 1,
        attempts=before.attempts, not_before=before.not_before, state=state,
        flips=before.flips if last == value else (*before.flips, value)[-REMEMBERED:],
    )  # fmt: skip


def cleared(before: HealMemory) -> HealMemory:
    """The drift is gone: attempts and back-off start anew, the values that it had are kept."""
    known = before.flips[-1:] == (CLEARED,)
    return HealMemory(
        last_seen=before.last_seen, state=before.state,
        flips=before.flips if known else (*before.flips, CLEARED)[-REMEMBERED:],
    )  # fmt: skip


def of_states(
    memory: Memory, reasons: Mapping[str, Sequence[str]], settled: Collection[str], *, asleep: Collection[str],
    held: Collection[str], unseen: AbstractSet[str], clear: int, now: float,
) -> dict[str, StateMemory]:  # fmt: skip
    """Every unhealthy state after this look.

    `reasons`: state -> keys of the drifts that show it; `settled`: states of which one reason was there long enough by
    itself. States in `asleep`, and those whose last reasons are `unseen`, are left as they are: this look could not
    see them. Those in `held` are not there and not clear either. A state is forgotten, with its attempts and timer, once it was clear for `clear` looks in a row.
    """
    after = {}
    for key, keys in reasons.items():
        before = memory.states.get(key, NO_STATE)
        after[key] = StateMemory(
            since=before.since or now, restless=0 if key in settled else before.restless + 1,
            attempts=before.attempts, not_before=before.not_before, acted_at=before.acted_at, clean=0,
            reasons=tuple(keys),
        )  # fmt: skip
    for key, before in memory.states.items():
        if key in after:
            continue
        if key in asleep or not unseen.isdisjoint(before.reasons):
            after[key] = before
        elif key in held:
            after[key] = before._replace(restless=0, clean=0)
        elif before.clean + 1 < clear:
            after[key] = before._replace(restless=0, clean=before.clean + 1)
    return after


def wait(attempts: int, first: float, limit: float) -> float:
    """Seconds to wait after so many attempts before this one: doubled each time, up to the limit."""
    return min(first * 2.0 ** min(attempts, 60), limit)


def dated(drifts: Iterable[Drift], memory: Memory, now: float) -> list[Drift]:
    """The drifts, each with when it was first seen."""
    found = []
    for drift in drifts:
        known = memory.drifts.get(drift.key, FRESH)
        since = known.first_seen or drift.since or now
        found.append(drift if drift.since == since else drift.model_copy(update={"since": since}))
    return found
