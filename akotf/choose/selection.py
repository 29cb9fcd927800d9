"""The choice among candidates: budget and deadline first, then what is preferred; a reason against each loser.

Budget and deadline are held against the predicted value, not against the high end of its interval: the high end adds
worst case to worst case, and holding it would refuse nearly every queue and spot machine. Where the winner's high end
breaks a limit, the selection says so in its notes. An unknown price never wins against a budget, and a price in
another currency counts as unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from akotf.choose.relaxation import relax
from akotf.model.config import Objective
from akotf.model.plan import Candidate, Infeasibility, Loser, PlanInputs, PlanResult, Selection
from akotf.model.units import Estimate
from akotf.model.words import clock, excess, money

_OLD_PRICE = "days old"  # as the survey writes it


@dataclass(frozen=True)
class _Judged:
    """A candidate with every limit it breaks, and its cost in the currency of the choice (None: unknown)."""

    candidate: Candidate
    faults: tuple[Infeasibility, ...]
    cost: Estimate | None


def choose(inputs: PlanInputs, result: PlanResult) -> Selection:
    """The selection record. Pure; `winner` is None when nothing is feasible, then with binding limit and relaxation."""
    objective = inputs.objective
    currency = _currency(objective, result)
    judged = [_judge(candidate, objective, currency) for candidate in result.candidates]
    inside = [j for j in judged if not inputs.only_scope or j.candidate.scope == inputs.only_scope]
    ranked = sorted((j for j in inside if not j.faults), key=lambda j: _rank(j, objective))
    winner = ranked[0] if ranked else None
    losers = tuple(
        Loser(candidate=j.candidate.id, reason=_reason(j, winner, objective, inputs.only_scope))
        for j in judged
        if winner is None or j.candidate.id != winner.candidate.id
    )
    selection = Selection(
        inputs=result.inputs,
        order=tuple(j.candidate.id for j in ranked),
        winner=winner.candidate.id if winner else None,
        losers=losers,
        notes=_notes(winner, objective) if winner else (),
    )
    if winner:
        return selection
    relaxation = relax([(j.candidate, j.faults) for j in inside])
    binding = relaxation.limit if relaxation else _unbound(inputs, inside)
    return selection.model_copy(update={"binding": binding, "relaxation": relaxation})


def _currency(objective: Objective, result: PlanResult) -> str:
    """The budget's currency; without a budget that of most candidates, the first by name among equals."""
    if objective.budget:
        return objective.budget.currency
    seen = [candidate.cost.unit for candidate in result.candidates if candidate.cost]
    return min(set(seen), key=lambda unit: (-seen.count(unit), unit), default="USD")


def _judge(candidate: Candidate, objective: Objective, currency: str) -> _Judged:
    cost = candidate.cost if candidate.cost and candidate.cost.unit == currency else None
    faults = list(candidate.reasons)
    if candidate.time is not None:
        faults += _over_deadline(candidate.time, objective) + _over_budget(candidate, cost, objective)
    return _Judged(candidate, tuple(faults), cost)


def _over_deadline(time: Estimate, objective: Objective) -> list[Infeasibility]:
    limit = objective.deadline
    if limit is None or time.value <= limit:
        return []
    message = f"takes {clock(time.value)}, {clock(time.value - limit)} over the deadline of {clock(limit)}"
    return [Infeasibility(limit="deadline", needed=time.value, available=limit, unit="s", message=message)]


def _over_budget(candidate: Candidate, cost: Estimate | None, objective: Objective) -> list[Infeasibility]:
    if objective.budget is None:
        return []
    limit, currency = float(objective.budget.amount), objective.budget.currency
    if candidate.cost is not None and cost is None:
        text = f"is priced in {candidate.cost.unit}, and the budget is in {currency}"
        return [Infeasibility(limit="price", needed=0, available=0, unit=currency, message=text)]
    if cost is None:
        text = f"has no known price ({candidate.offer.price_source}), so it can't be held against the budget"
        return [Infeasibility(limit="price", needed=0, available=0, unit=currency, message=text)]
    if cost.value <= limit:
        return []
    over = excess(cost.value - limit, currency)
    text = f"costs {money(cost.value, currency)}, {over} over the budget of {money(limit, currency)}"
    return [Infeasibility(limit="budget", needed=cost.value, available=limit, unit=currency, message=text)]


def _rank(judged: _Judged, objective: Objective) -> tuple[bool, float, bool, float, str]:
    """What is preferred, then the other, then the name. An unknown cost comes after all known ones."""
    time = judged.candidate.time
    seconds = time.value if time else 0.0
    unknown, cost = judged.cost is None, judged.cost.value if judged.cost else 0.0
    if objective.prefer == "time":
        return (False, seconds, unknown, cost, judged.candidate.id)
    return (unknown, cost, False, seconds, judged.candidate.id)


def _reason(loser: _Judged, winner: _Judged | None, objective: Objective, only_scope: str) -> str:
    if only_scope and loser.candidate.scope != only_scope:
        return f"the choice is restricted to scope {only_scope}"
    if loser.faults:
        return "; ".join(fault.message for fault in loser.faults)
    if winner is None or winner.candidate.time is None or loser.candidate.time is None:
        return "nothing is feasible"
    worse: list[str] = []
    better: list[str] = []
    cost = _cost_words(loser, winner)
    time = _time_words(loser.candidate.time.value - winner.candidate.time.value)
    for words in (time, cost) if objective.prefer == "time" else (cost, time):
        if words:
            (better if words.endswith("less") else worse).append(words)
    if not worse and not better:
        return "costs and takes the same; the winner comes first by name"
    return ", but ".join(" and ".join(words) for words in (worse, better) if words)


def _cost_words(loser: _Judged, winner: _Judged) -> str:
    if loser.cost is None:
        return "" if winner.cost is None else "has no known price"
    if winner.cost is None or loser.cost.value == winner.cost.value:
        return ""
    difference, unit = loser.cost.value - winner.cost.value, loser.cost.unit
    return f"costs {excess(abs(difference), unit)} {'more' if difference > 0 else 'less'}"


def _time_words(difference: float) -> str:
    if difference == 0:
        return ""
    return f"takes {clock(abs(difference))} {'longer' if difference > 0 else 'less'}"


def _notes(winner: _Judged, objective: Objective) -> tuple[str, ...]:
    """What to know of the winner before approving it."""
    notes = []
    candidate, cost = winner.candidate, winner.cost
    if objective.budget and cost and cost.high > float(objective.budget.amount):
        limit = money(float(objective.budget.amount), cost.unit)
        notes.append(
            f"at the high end of its interval it costs {money(cost.high, cost.unit)}, over the budget of {limit}"
        )
    if objective.deadline is not None and candidate.time and candidate.time.high > objective.deadline:
        high, limit = clock(candidate.time.high), clock(objective.deadline)
        notes.append(f"at the high end of its interval it takes {high}, over the deadline of {limit}")
    if _OLD_PRICE in candidate.offer.price_source:
        notes.append(f"its price is from a {candidate.offer.price_source}")
    if candidate.cost is None:
        notes.append(f"its price is unknown: {candidate.offer.price_source}")
    if candidate.parallelism == "sharded":
        notes.append("its state fits only when sharded over the processes (FSDP or ZeRO stage 3)")
    return tuple(notes)


def _unbound(inputs: PlanInputs, inside: list[_Judged]) -> str:
    """The limit in the way when no single number relaxes it: the one that most candidates break."""
    limits = [fault.limit for judged in inside for fault in judged.faults]
    if not limits:
        return f"scope {inputs.only_scope}" if inputs.only_scope else "no scope offers a machine"
    return min(set(limits), key=lambda limit: (-limits.count(limit), limit))
