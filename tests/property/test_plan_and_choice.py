"""Properties of planning and choosing that hold for all inputs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.choose.selection import choose
from akotf.model.base import canonical_json
from akotf.model.config import Baseline, CheckpointSpec, ImageSpec, Limits, Market, Objective, ScopeKind
from akotf.model.plan import Candidate, Chosen, Offer, PlanInputs, PlanResult, Selection, Snapshot
from akotf.model.profile import Calibration, CalibrationTable, DeviceProfile, WorkloadProfile
from akotf.model.units import Estimate, Money
from akotf.plan.candidates import plan
from akotf.report.candidates import markdown, text_selection

GIB = 2**30


@st.composite
def figures(draw: st.DrawFn, low: float, high: float, unit: str) -> Estimate:
    value = draw(st.floats(low, high))
    spread = draw(st.floats(1, 10))
    return Estimate(value=value, low=value / spread, high=value * spread, unit=unit, source="drawn")


@st.composite
def offers(draw: st.DrawFn, name: str) -> Offer:
    on_gpu = draw(st.booleans())
    device = DeviceProfile(
        name=draw(st.sampled_from(["A100-80GB", "H100-80GB"])) if on_gpu else "cpu",
        flops={"bf16" if on_gpu else "fp32": draw(figures(1e10, 1e15, "FLOP/s"))},
        bandwidth=draw(figures(1e9, 1e13, "bytes/s")), memory=draw(st.integers(1, 160)) * GIB,
        overhead=draw(st.none() | figures(1e-6, 1e-4, "s")), threads=0 if on_gpu else draw(st.integers(0, 64)),
    )  # fmt: skip
    scope = draw(st.sampled_from(["desk", "campus", "aws"]))
    return Offer(
        id=f"{scope}/{name}", scope=scope, kind=draw(st.sampled_from(ScopeKind)), backend="b", placement="p",
        machine="m", market=draw(st.sampled_from(Market)), device=device,
        gpus=draw(st.integers(1, 8)) if on_gpu else 0, cpus=draw(st.integers(1, 128)),
        memory=draw(st.integers(1, 1024)) * GIB, max_nodes=draw(st.integers(1, 16)),
        network=draw(st.none() | st.floats(1e6, 1e12)),
        price=draw(st.none() | st.decimals(0, 1000, places=4)), currency=draw(st.sampled_from(["USD", "EUR"])),
        price_source="drawn", queue_wait=draw(figures(0, 1e5, "s")), provisioning=draw(figures(0, 1e4, "s")),
        interruptions_per_hour=draw(st.floats(0, 50)), source="drawn",
    )  # fmt: skip


@st.composite
def planned(draw: st.DrawFn) -> PlanInputs:
    limits = Limits(
        nodes=draw(st.integers(1, 16)), gpus=draw(st.integers(0, 8)), gpus_optional=draw(st.booleans()),
        gpu=draw(st.none() | st.just("A100-80GB")), cpus=draw(st.integers(1, 64)),
        memory=draw(st.integers(1, 64)) * GIB, wall_time=draw(st.floats(1, 1e6)),
    )  # fmt: skip
    workload = WorkloadProfile(
        flops=draw(st.floats(1, 1e20)), bytes_moved=draw(st.floats(0, 1e15)) + 2e12,
        parameters=draw(st.integers(1, 10**12)), tokens=1, steps=draw(st.integers(1, 10**5)),
        precision=draw(st.sampled_from(["fp32", "bf16", "fp8"])), state_bytes=draw(st.integers(1, 10**12)),
        activation_bytes=draw(st.integers(1, 10**11)), global_batch=draw(st.integers(1, 4096)),
        checkpoint_bytes=draw(st.integers(0, 10**12)), dataset_bytes=draw(st.integers(0, 10**12)),
        width=draw(st.sampled_from([0, 64, 300, 4096])), kernels=draw(st.integers(0, 10**4)),
        micro_batch=draw(st.none() | st.integers(1, 64)), source="drawn: x",
    )  # fmt: skip
    calibration = Calibration(
        ratio=draw(st.floats(0.1, 10)), spread=draw(st.floats(1, 5)), samples=draw(st.integers(1, 9))
    )
    return PlanInputs(
        planner="1", environment="e", limits=limits, workload=workload, template="t@1",
        baseline=Baseline(hyperparameters={}, environment={}, limits=limits, image=ImageSpec(reference="x")),
        checkpoint=CheckpointSpec(interval_steps=draw(st.integers(1, 1000)), durable=draw(st.booleans())),
        objective=draw(objectives()), calibration=CalibrationTable(entries={"A100-80GB/b/t@1": calibration}),
        snapshot=Snapshot(
            taken_at="2026-11-30T00:00:00Z", offers=tuple(draw(offers(f"o{n}")) for n in range(draw(st.integers(0, 5))))
        ),
    )  # fmt: skip


@st.composite
def objectives(draw: st.DrawFn) -> Objective:
    budget = draw(st.none() | st.decimals(0, 10**6, places=2))
    return Objective(
        budget=None if budget is None else Money(amount=budget, currency="USD"),
        deadline=draw(st.none() | st.floats(0, 1e7)), prefer=draw(st.sampled_from(["cost", "time"])),
    )  # fmt: skip


def chosen(inputs: PlanInputs) -> tuple[PlanResult, Selection]:
    result = plan(inputs)
    return result, choose(inputs, result)


def find(result: PlanResult, name: str | None) -> Candidate:
    return next(candidate for candidate in result.candidates if candidate.id == name)


@given(planned())
@settings(max_examples=50, deadline=None)
def test_replay_gives_the_same_bytes(inputs: PlanInputs) -> None:
    """Frozen, read back and planned again: nothing but the inputs decides."""
    first = [canonical_json(part.to_json()) for part in chosen(inputs)]
    again = PlanInputs.model_validate_json(canonical_json(inputs.to_json()))
    assert [canonical_json(part.to_json()) for part in chosen(again)] == first


@given(planned())
@settings(max_examples=50, deadline=None)
def test_figures_lie_in_their_intervals(inputs: PlanInputs) -> None:
    for candidate in plan(inputs).candidates:
        for figure in (candidate.step_time, candidate.time, candidate.cost, *candidate.phases.values()):
            if figure is not None:
                assert 0 <= figure.low <= figure.value * (1 + 1e-9)
                assert figure.value <= figure.high * (1 + 1e-9)
                assert figure.source
        assert candidate.feasible == (not candidate.reasons)
        assert candidate.time is not None or not candidate.feasible


@given(planned())
@settings(max_examples=50, deadline=None)
def test_the_winner_is_feasible_and_within_limits(inputs: PlanInputs) -> None:
    result, selection = chosen(inputs)
    objective = inputs.objective
    for name in selection.order:
        candidate = find(result, name)
        assert candidate.feasible
        assert candidate.time is not None
        assert objective.deadline is None or candidate.time.value <= objective.deadline
        if objective.budget is not None:
            assert candidate.cost is not None
            assert candidate.cost.unit == objective.budget.currency
            assert candidate.cost.value <= float(objective.budget.amount)
    assert selection.winner == (selection.order[0] if selection.order else None)


@given(planned())
@settings(max_examples=50, deadline=None)
def test_the_order_is_sorted_and_everyone_is_accounted_for(inputs: PlanInputs) -> None:
    result, selection = chosen(inputs)
    if inputs.objective.prefer == "time":
        times = [find(result, name).time for name in selection.order]
        assert [t.value for t in times if t] == sorted(t.value for t in times if t)
    elif inputs.objective.budget is not None:
        costs = [find(result, name).cost for name in selection.order]
        assert [c.value for c in costs if c] == sorted(c.value for c in costs if c)
    losers = {loser.candidate for loser in selection.losers}
    assert losers | ({selection.winner} - {None}) == {candidate.id for candidate in result.candidates}
    assert selection.winner not in losers
    assert all(loser.reason for loser in selection.losers)


@given(planned(), st.decimals(0, 10**5, places=2), st.floats(0, 1e6))
@settings(max_examples=50, deadline=None)
def test_more_budget_or_time_never_makes_a_worse_choice(
    inputs: PlanInputs, more: Decimal, later: float
) -> None:
    objective = inputs.objective
    richer = objective.model_copy(
        update={
            "budget": None if objective.budget is None else Money(amount=objective.budget.amount + more),
            "deadline": None if objective.deadline is None else objective.deadline + later,
        }
    )
    result, before = chosen(inputs)
    after = choose(inputs.model_copy(update={"objective": richer}), result)
    assert set(before.order) <= set(after.order)
    if before.winner is None:
        return
    old, new = find(result, before.winner), find(result, after.winner)
    if objective.prefer == "time":
        assert new.time is not None
        assert old.time is not None
        assert new.time.value <= old.time.value
    elif new.cost is not None and old.cost is not None and new.cost.unit == old.cost.unit:
        assert new.cost.value <= old.cost.value


@given(planned())
@settings(max_examples=50, deadline=None)
def test_a_relaxation_of_one_limit_of_the_objective_works(inputs: PlanInputs) -> None:
    """What the selection advises makes its candidate feasible."""
    result, selection = chosen(inputs)
    relaxation = selection.relaxation
    if relaxation is None or relaxation.limit not in ("budget", "deadline") or " and " in relaxation.message:
        return
    assert selection.winner is None
    change: dict[str, Any] = {"deadline": relaxation.to}
    if relaxation.limit == "budget":
        change = {"budget": Money(amount=Decimal(repr(relaxation.to)), currency=relaxation.unit)}
    eased = inputs.model_copy(update={"objective": inputs.objective.model_copy(update=change)})
    assert relaxation.candidate in choose(eased, result).order


@given(planned())
@settings(max_examples=30, deadline=None)
def test_reports_never_fail(inputs: PlanInputs) -> None:
    result, selection = chosen(inputs)
    both = Chosen(plan=result, selection=selection)
    text = "\n".join(text_selection(both))
    assert (selection.winner or "nothing is feasible") in text
    assert all(candidate.id in markdown(both) for candidate in result.candidates)
