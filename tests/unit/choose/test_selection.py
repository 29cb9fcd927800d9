"""The choice: budget, deadline, preference, a reason against each loser, the cheapest relaxation."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from akotf.choose.selection import choose
from akotf.model.config import Baseline, CheckpointSpec, ImageSpec, Limits, Objective, ScopeKind
from akotf.model.plan import Candidate, Infeasibility, Offer, PlanInputs, PlanResult, Selection, Snapshot
from akotf.model.profile import WorkloadProfile, unmeasured_cpu
from akotf.model.units import Estimate, Money

GIB = 2**30
NOTHING = Estimate.exact(0, "s", "test")


def spread(value: float, unit: str) -> Estimate:
    return Estimate(value=value, low=value / 2, high=value * 2, unit=unit, source="test")


def candidate(
    name: str, time: float | None, cost: float | None, *faults: Infeasibility, unit: str = "USD", **offer: Any
) -> Candidate:
    scope = name.split("/")[0]
    values: dict[str, Any] = {
        "id": name, "scope": scope, "kind": ScopeKind.LOCAL, "backend": "local", "placement": "p", "machine": "m",
        "device": unmeasured_cpu(2, GIB, "test"), "gpus": 0, "cpus": 2, "memory": 16 * GIB, "max_nodes": 1,
        "price": Decimal(1), "price_source": "test", "queue_wait": NOTHING, "provisioning": NOTHING, "source": "test",
    }  # fmt: skip
    return Candidate(
        id=name, scope=scope, offer=Offer(**{**values, **offer}), nodes=1, processes=1, feasible=not faults,
        reasons=faults, time=None if time is None else spread(time, "s"),
        cost=None if cost is None else spread(cost, unit),
    )  # fmt: skip


def fault(limit: str, needed: float, available: float, unit: str = "bytes") -> Infeasibility:
    return Infeasibility(
        limit=limit, needed=needed, available=available, unit=unit, message=f"breaks {limit}"
    )


def pick(*candidates: Candidate, only_scope: str = "", **objective: Any) -> Selection:
    limits = Limits(memory=GIB, wall_time=3600.0)
    inputs = PlanInputs(
        planner="1", environment="test", limits=limits, template="t@1", only_scope=only_scope,
        baseline=Baseline(hyperparameters={}, environment={}, limits=limits, image=ImageSpec(reference="x")),
        workload=WorkloadProfile(
            flops=1, bytes_moved=1, parameters=1, tokens=1, steps=1, precision="fp32", state_bytes=1,
            activation_bytes=1, global_batch=1, checkpoint_bytes=1, source="test",
        ),
        checkpoint=CheckpointSpec(interval_steps=1), objective=Objective(**objective),
        snapshot=Snapshot(taken_at="2026-11-30T00:00:00Z", offers=()),
    )  # fmt: skip
    return choose(inputs, PlanResult(planner="1", inputs=inputs.digest(), candidates=candidates))


def reasons(selection: Selection) -> dict[str, str]:
    return {loser.candidate: loser.reason for loser in selection.losers}


SLOW = candidate("desk/slow", 600, 0)
FAST = candidate("aws/fast", 60, 2)
MIDDLE = candidate("campus/middle", 300, 0.5)


def test_cost_is_preferred_by_default() -> None:
    selection = pick(FAST, SLOW, MIDDLE)
    assert selection.winner == "desk/slow"
    assert selection.order == ("desk/slow", "campus/middle", "aws/fast")
    assert reasons(selection) == {
        "aws/fast": "costs 2.00 USD more, but takes 9m less",
        "campus/middle": "costs 0.50 USD more, but takes 5m less",
    }


def test_time_is_preferred_when_asked() -> None:
    selection = pick(FAST, SLOW, MIDDLE, prefer="time")
    assert selection.order == ("aws/fast", "campus/middle", "desk/slow")
    assert reasons(selection)["desk/slow"] == "takes 9m longer, but costs 2.00 USD less"


def test_ties_go_by_the_other_figure_and_then_by_name() -> None:
    assert pick(candidate("b", 60, 1), candidate("a", 90, 1)).winner == "b"
    twins = pick(candidate("b", 60, 1), candidate("a", 60, 1))
    assert twins.winner == "a"
    assert reasons(twins) == {"b": "costs and takes the same; the winner comes first by name"}


def test_a_difference_under_a_cent_is_no_nothing() -> None:
    selection = pick(candidate("a", 60, 0.001), candidate("b", 60, 0.004))
    assert reasons(selection) == {"b": "costs less than 0.01 USD more"}


def test_budget_and_deadline_exclude() -> None:
    selection = pick(FAST, SLOW, MIDDLE, budget=Money(amount=Decimal(1)), deadline=400.0)
    assert selection.winner == "campus/middle"
    assert selection.order == ("campus/middle",)
    assert reasons(selection) == {
        "aws/fast": "costs 2.00 USD, 1.00 USD over the budget of 1.00 USD",
        "desk/slow": "takes 10m, 3m 20s over the deadline of 6m 40s",
    }


def test_limits_are_held_against_the_value_and_the_high_end_is_noted() -> None:
    selection = pick(MIDDLE, budget=Money(amount=Decimal("0.50")), deadline=300.0)
    assert selection.winner == "campus/middle"
    assert selection.notes == (
        "at the high end of its interval it costs 1.00 USD, over the budget of 0.50 USD",
        "at the high end of its interval it takes 10m, over the deadline of 5m",
    )
    assert pick(MIDDLE, budget=Money(amount=Decimal(1)), deadline=600.0).notes == ()


def test_what_the_planner_found_infeasible_stays_so() -> None:
    broken = candidate("campus/small", None, None, fault("memory", 2, 1), fault("cpus", 4, 2))
    selection = pick(broken, FAST)
    assert selection.winner == "aws/fast"
    assert reasons(selection) == {"campus/small": "breaks memory; breaks cpus"}


def test_an_unknown_price_never_wins_against_a_budget() -> None:
    unknown = candidate("a/unknown", 1, None, price_source="no price declared")
    selection = pick(unknown, FAST, budget=Money(amount=Decimal(100)), prefer="time")
    assert selection.winner == "aws/fast"
    assert reasons(selection)["a/unknown"] == (
        "has no known price (no price declared), so it can't be held against the budget"
    )


def test_without_a_budget_an_unknown_price_comes_last() -> None:
    unknown = candidate("a/unknown", 1, None)
    selection = pick(unknown, FAST)
    assert selection.order == ("aws/fast", "a/unknown")
    assert reasons(selection)["a/unknown"] == "has no known price, but takes 59s less"
    assert pick(unknown, FAST, prefer="time").winner == "a/unknown"


def test_another_currency_is_not_compared() -> None:
    euros = candidate("campus/euros", 60, 0.01, unit="EUR")
    selection = pick(euros, FAST, budget=Money(amount=Decimal(5)))
    assert reasons(selection) == {"campus/euros": "is priced in EUR, and the budget is in USD"}
    assert pick(euros, FAST, SLOW).winner == "desk/slow"


def test_a_choice_restricted_to_a_scope() -> None:
    selection = pick(FAST, SLOW, MIDDLE, only_scope="campus")
    assert selection.winner == "campus/middle"
    assert selection.order == ("campus/middle",)
    assert set(reasons(selection).values()) == {"the choice is restricted to scope campus"}


def test_every_loser_has_a_reason() -> None:
    selection = pick(FAST, SLOW, MIDDLE)
    assert len(selection.losers) == 2
    assert all(loser.reason for loser in selection.losers)


# -- nothing feasible ---------------------------------------------------------------------------------------------


def test_the_smallest_change_of_a_limit_is_the_relaxation() -> None:
    """Budget 1 USD: 2 USD is twice that; deadline 5 min: 10 min twice, but 5.5 min only a tenth more."""
    near = candidate("campus/near", 330, 0.5)
    selection = pick(FAST, SLOW, near, budget=Money(amount=Decimal(1)), deadline=59.0)
    assert selection.winner is None
    assert selection.order == ()
    assert selection.binding == "deadline"
    assert selection.relaxation is not None
    assert selection.relaxation.candidate == "campus/near"
    selection = pick(FAST, SLOW, near, budget=Money(amount=Decimal(1)), deadline=300.0)
    relaxation = selection.relaxation
    assert relaxation is not None
    assert (relaxation.candidate, relaxation.limit, relaxation.to, relaxation.unit) == (
        "campus/near", "deadline", 360.0, "s",
    )  # fmt: skip
    assert relaxation.message == "raise objective.deadline to 6m: then campus/near is feasible"


def test_a_relaxed_limit_makes_its_candidate_win() -> None:
    selection = pick(FAST, budget=Money(amount=Decimal("1.99")))
    assert selection.binding == "budget"
    assert selection.relaxation is not None
    assert selection.relaxation.to == 2.0
    again = pick(FAST, budget=Money(amount=Decimal(str(selection.relaxation.to))))
    assert again.winner == selection.relaxation.candidate


@pytest.mark.parametrize(
    ("cost", "to"), [(1.10, 1.10), (1.104, 1.11), (1.105, 1.11), (1.1000001, 1.11), (0.29, 0.29)]
)
def test_a_budget_is_raised_to_the_cent_that_is_enough(cost: float, to: float) -> None:
    relaxation = pick(candidate("aws/x", 60, cost), budget=Money(amount=Decimal("0.01"))).relaxation
    assert relaxation is not None
    assert relaxation.to == to


def test_one_limit_is_relaxed_before_two() -> None:
    both = candidate("a/both", 310, 1.05)
    one = candidate("b/one", 300, 3)
    relaxation = pick(both, one, budget=Money(amount=Decimal(1)), deadline=300.0).relaxation
    assert relaxation is not None
    assert relaxation.candidate == "b/one"
    relaxation = pick(both, budget=Money(amount=Decimal(1)), deadline=300.0).relaxation
    assert relaxation is not None
    assert relaxation.message == (
        "raise objective.budget to 1.05 USD and objective.deadline to 6m: then a/both is feasible"
    )


def test_memory_limits_of_a_cpu_can_be_raised_and_those_of_a_gpu_not() -> None:
    short = fault("memory", 2.2 * GIB, GIB)
    relaxation = pick(candidate("desk/cpu", None, None, short)).relaxation
    assert relaxation is not None
    assert relaxation.to == 2.5 * GIB
    assert relaxation.message == "raise limits.memory to 2.5 GiB: then desk/cpu is feasible"
    gpu = pick(candidate("desk/gpu", None, None, short, gpus=1))
    assert gpu.relaxation is None
    assert gpu.binding == "memory"


def test_fewer_gpus_are_a_relaxation() -> None:
    selection = pick(candidate("campus/four", None, None, fault("gpus", 8, 4, "GPUs")))
    assert selection.relaxation is not None
    assert selection.relaxation.message == "lower limits.gpus to 4: then campus/four is feasible"
    assert pick(candidate("desk/none", None, None, fault("gpus", 8, 0, "GPUs"))).relaxation is None


def test_nothing_on_offer() -> None:
    assert pick().binding == "no scope offers a machine"
    assert pick(FAST, only_scope="campus").binding == "scope campus"


@pytest.mark.parametrize("prefer", ["cost", "time"])
def test_the_choice_does_not_depend_on_the_order_of_candidates(prefer: str) -> None:
    assert pick(FAST, SLOW, MIDDLE, prefer=prefer).order == pick(MIDDLE, SLOW, FAST, prefer=prefer).order
