"""Cost drift: what a run has cost and will cost, against its budget. Amounts in one currency; times in hours."""

from __future__ import annotations

from dataclasses import dataclass

from akotf.model.drift import Drift, DriftClass

#: Field of the drift that stops a run.
STOP_FIELD = "cost.stop"


@dataclass(frozen=True)
class Spending:
    """What is known of a run's cost now. `rate` an hour for all its machines; `left` hours to its end, when known."""

    spent: float
    rate: float
    currency: str
    left: float | None = None


def cost(
    spending: Spending, budget: float, *, node: str, now: float, warn_at: float, stop_at: float
) -> list[Drift]:
    """Total and rate against the budget: warn at a share of it, stop at another, both relative to `budget`.

    A total that will exceed the budget at the present rate is told as soon as that is known.
    """
    found = []
    share = f"of {budget:g} {spending.currency}"
    if spending.spent >= budget * stop_at:
        found.append((STOP_FIELD, budget * stop_at, spending.spent, f"{stop_at:.0%} {share}"))
    elif spending.spent >= budget * warn_at:
        found.append(("cost.total", budget * warn_at, spending.spent, f"{warn_at:.0%} {share}"))
    if spending.left is not None and (forecast := spending.spent + spending.rate * spending.left) > budget:
        found.append(("cost.forecast", budget, forecast, f"100% {share} at the end"))
    return [
        Drift(
            kind=DriftClass.COST, node=node, field=field, approved=round(approved, 4), observed=round(observed, 4),
            source="prices", since=now, tolerance=tolerance,
        )
        for field, approved, observed, tolerance in found
    ]  # fmt: skip
