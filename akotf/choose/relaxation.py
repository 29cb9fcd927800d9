"""The cheapest change of a limit that would make something feasible."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from akotf.model.plan import Candidate, Infeasibility, Relaxation
from akotf.model.words import clock, money

#: Limits that a person can set, with what to write; the others need another machine.
_SETTINGS = {
    "budget": "objective.budget",
    "deadline": "objective.deadline",
    "wall-time": "limits.wall_time",
    "memory": "limits.memory",
    "gpus": "limits.gpus",
    "cpus": "limits.cpus",
}
_GIB = 2**30


def relax(judged: Sequence[tuple[Candidate, tuple[Infeasibility, ...]]]) -> Relaxation | None:
    """The relaxation with the smallest relative change, among candidates that a change of settings makes feasible.

    A candidate with fewer broken limits comes first; then the one whose worst limit is broken least; then the id.
    None when no setting would help.
    """
    options = [
        (len(faults), max(_change(fault) for fault in faults), candidate.id, candidate, faults)
        for candidate, faults in judged
        if faults and all(_settable(candidate, fault) for fault in faults)
    ]
    if not options:
        return None
    *_, candidate, faults = min(options, key=lambda option: option[:3])
    worst = max(faults, key=_change)
    to, words = _target(worst)
    others = [f"{_SETTINGS[fault.limit]} to {_target(fault)[1]}" for fault in faults if fault is not worst]
    change = " and ".join([f"{_SETTINGS[worst.limit]} to {words}", *others])
    verb = "lower" if worst.needed > worst.available and worst.limit in ("gpus", "cpus") else "raise"
    return Relaxation(
        candidate=candidate.id, limit=worst.limit, to=to, unit=worst.unit,
        message=f"{verb} {change}: then {candidate.id} is feasible",
    )  # fmt: skip


def _settable(candidate: Candidate, fault: Infeasibility) -> bool:
    if fault.limit == "memory":  # the run's own limit on a CPU; a GPU's memory is what it is
        return candidate.offer.gpus == 0 and fault.needed <= candidate.offer.memory
    if fault.limit in ("gpus", "cpus"):  # asking for less; with none there, there is nothing to ask for
        return fault.needed > fault.available > 0
    return fault.limit in _SETTINGS


def _change(fault: Infeasibility) -> float:
    """How far the limit must move, relative to what it is."""
    low, high = sorted((fault.needed, fault.available))
    return high / low if low > 0 else float("inf")


def _target(fault: Infeasibility) -> tuple[float, str]:
    """The new value, rounded to what one would write, and its text."""
    if fault.limit == "budget":
        amount = round(fault.needed, 2)  # the cent itself where it is enough: 1.10 and not 1.11
        amount = amount if amount >= fault.needed else round(amount + 0.01, 2)
        return amount, money(amount, fault.unit)
    if fault.unit == "s":
        seconds = float(ceil(fault.needed / 60) * 60)
        return seconds, clock(seconds)
    if fault.unit == "bytes":
        size = ceil(fault.needed / _GIB * 2) / 2
        return size * _GIB, f"{size:g} GiB"
    return fault.available, f"{fault.available:g}"
