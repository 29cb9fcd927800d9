"""Decisions about drift, for any history of drifts: what never happens, and what always does."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.facts.compare import restart_only
from akotf.model.drift import Action, Decision, Drift, DriftClass, HealMemory
from akotf.monitor.decide import CLEARED, IN_PLACE, HealPolicy, decide

FIELDS = (
    "hyperparameters.file.learning_rate", "hyperparameters.in_use.learning_rate", "limits.open_files",
    "environment.OMP_NUM_THREADS", "libraries.torch", "gpu.0.power_limit", "performance.step_time",
    "module.local_gpu.akotf_local_pool.this",
)  # fmt: skip
ACTS = frozenset({Action.HEAL_IN_PLACE, Action.RESTART})


def drift(field: str, observed: Any) -> Drift:
    kind = DriftClass.CONFIGURATION
    if field.startswith("performance"):
        kind = DriftClass.PERFORMANCE
    elif field.startswith("module"):
        kind = DriftClass.INFRASTRUCTURE
    address = field if kind is DriftClass.INFRASTRUCTURE else "module.local_gpu.akotf_baseline.this"
    return Drift(
        kind=kind, node="n1", field=field, approved=1, observed=observed, source="agent", address=address
    )


#: One look: how much time has passed since the one before, and which fields differ, with the value seen.
looks = st.tuples(
    st.floats(0.01, 400.0),
    st.dictionaries(st.sampled_from(FIELDS), st.sampled_from([2, "x", None, 0.5, True]), max_size=5),
)
histories = st.lists(looks, max_size=40)
policies = st.builds(
    HealPolicy, heal=st.booleans(), sightings=st.integers(1, 4), attempts=st.integers(1, 6),
    backoff=st.floats(0.1, 30.0), backoff_limit=st.floats(30.0, 500.0), flips=st.integers(2, 10),
    settle=st.floats(0.0, 1000.0),
)  # fmt: skip


class Step:
    """What one look was given and gave."""

    def __init__(
        self, now: float, drifts: list[Drift], before: dict[str, HealMemory], policy: HealPolicy
    ) -> None:
        self.now, self.drifts, self.before = now, drifts, before
        self.decisions, self.after = decide(drifts, before, now=now, policy=policy)

    def acted(self) -> list[tuple[Decision, Drift]]:
        return [(d, one) for d in self.decisions if d.action in ACTS for one in d.drifts]


def play(history: list[tuple[float, dict[str, Any]]], policy: HealPolicy) -> list[Step]:
    steps: list[Step] = []
    now, memory = 1_796_000_000.0, {}
    for passed, fields in history:
        now += passed
        steps.append(Step(now, [drift(f, v) for f, v in fields.items()], memory, policy))
        memory = steps[-1].after
    return steps


@given(histories, policies)
def test_every_drift_stands_in_exactly_one_decision(history: Any, policy: HealPolicy) -> None:
    for step in play(history, policy):
        decided = Counter(one.key for d in step.decisions for one in d.drifts)
        assert decided == Counter(one.key for one in step.drifts)


@given(histories, policies)
def test_the_same_arguments_give_the_same_decisions_and_are_not_changed(
    history: Any, policy: HealPolicy
) -> None:
    for step in play(history, policy):
        kept = dict(step.before)
        again = decide(list(step.drifts), kept, now=step.now, policy=policy)
        assert again == (step.decisions, step.after)
        assert kept == step.before


@given(histories, policies)
def test_nothing_is_done_before_it_was_seen_often_enough_in_a_row(history: Any, policy: HealPolicy) -> None:
    rows: Counter[str] = Counter()
    for step in play(history, policy):
        present = {one.key for one in step.drifts}
        rows = Counter({key: rows[key] + 1 for key in present})
        for _, one in step.acted():
            assert rows[one.key] >= policy.sightings


@given(histories, policies)
def test_attempts_are_bounded_between_two_times_that_a_drift_was_gone(
    history: Any, policy: HealPolicy
) -> None:
    tried: Counter[str] = Counter()
    for step in play(history, policy):
        present = {one.key for one in step.drifts}
        tried = Counter({key: n for key, n in tried.items() if key in present})
        tried.update(one.key for _, one in step.acted())
        assert all(n <= policy.attempts for n in tried.values())


@given(histories, policies)
def test_waits_double_up_to_their_limit_and_start_anew_when_the_drift_is_gone(
    history: Any, policy: HealPolicy
) -> None:
    attempts: dict[str, list[float]] = {}
    for step in play(history, policy):
        present = {one.key for one in step.drifts}
        attempts = {key: times for key, times in attempts.items() if key in present}
        for _, one in step.acted():
            times = attempts.setdefault(one.key, [])
            if times:  # the wait after the n-th attempt is backoff x 2^(n-1), never more than the limit
                wait = min(policy.backoff * 2 ** (len(times) - 1), policy.backoff_limit)
                assert step.now - times[-1] >= wait - 1e-6
            times.append(step.now)


@given(st.integers(1, 8), st.floats(0.5, 10.0), st.floats(20.0, 300.0))
def test_a_drift_that_stays_is_tried_at_growing_intervals(
    attempts: int, backoff: float, limit: float
) -> None:
    """Looked at all the time, the n-th wait is exactly the first look after backoff x 2^(n-1), at most the limit."""
    policy = HealPolicy(sightings=1, attempts=attempts, backoff=backoff, backoff_limit=limit)
    times: list[float] = []
    memory: dict[str, HealMemory] = {}
    now, interval = 0.0, 0.5
    while len(times) < attempts:
        now += interval
        decisions, memory = decide([drift("limits.open_files", 2)], memory, now=now, policy=policy)
        times += [now for d in decisions if d.action in ACTS]
        assert now < attempts * (limit + 1) + 10
    for n, (one, two) in enumerate(itertools.pairwise(times)):
        wait = min(backoff * 2**n, limit)
        assert wait - 1e-9 <= two - one <= wait + interval + 1e-9


@given(histories, policies)
def test_with_heal_alert_nothing_is_ever_done(history: Any, policy: HealPolicy) -> None:
    for step in play(history, HealPolicy(heal=False, sightings=policy.sightings, flips=policy.flips)):
        assert step.acted() == []
        assert {d.action for d in step.decisions} <= {Action.ALERT}


@given(st.sampled_from(FIELDS), st.integers(2, 8))
def test_two_sides_that_undo_each_other_stop_the_healing(field: str, flips: int) -> None:
    """Drifted, approved, drifted, approved ...: after more changes than allowed it is only told, for good."""
    policy = HealPolicy(sightings=1, flips=flips)
    memory: dict[str, HealMemory] = {}
    told: list[set[Action]] = []
    for cycle in range(3 * flips):
        decisions, memory = decide([drift(field, 2)], memory, now=cycle * 20.0, policy=policy)
        told.append({d.action for d in decisions})
        _, memory = decide([], memory, now=cycle * 20.0 + 10.0, policy=policy)
    # values so far at the n-th sighting (from 0): n drifts and n times approved before it, and itself: 2n + 1
    for n, actions in enumerate(told):
        if 2 * n + 1 > flips:
            assert actions == {Action.ALERT}


@given(st.lists(st.integers(0, 10_000), min_size=12, max_size=12, unique=True))
def test_a_value_that_never_stands_still_is_a_fight(values: list[int]) -> None:
    memory: dict[str, HealMemory] = {}
    acted = 0
    for n, value in enumerate(values):
        field = "limits.open_files"
        decisions, memory = decide(
            [drift(field, value)], memory, now=n * 1000.0, policy=HealPolicy(attempts=99)
        )
        acted += sum(d.action in ACTS for d in decisions)
    assert decisions[0].action is Action.ALERT
    assert "back and forth" in decisions[0].reason
    assert acted <= HealPolicy().flips


@given(histories, policies)
def test_what_is_done_can_help(history: Any, policy: HealPolicy) -> None:
    """In place only what can be put back while it trains, and only where Terraform can; a restart for what a process
    took in; performance and GPU settings are told."""
    for step in play(history, policy):
        for decision, one in step.acted():
            if decision.action is Action.HEAL_IN_PLACE:
                assert one.field.startswith(IN_PLACE) or one.kind is DriftClass.INFRASTRUCTURE
                assert one.address in decision.addresses
            else:
                assert restart_only(one.field)
                assert decision.addresses == ()
            assert decision.reason


@given(histories, policies)
def test_files_are_put_back_before_a_process_is_started_from_them(history: Any, policy: HealPolicy) -> None:
    order = [Action.HEAL_IN_PLACE, Action.RESTART]
    for step in play(history, policy):
        done = [d.action for d in step.decisions if d.action in ACTS]
        assert done == sorted(set(done), key=order.index)


@given(histories, policies)
@settings(max_examples=50)
def test_memory_holds_nothing_of_what_is_long_gone_and_stays_small(history: Any, policy: HealPolicy) -> None:
    steps = play(history, policy)
    for step in steps:
        present = {one.key for one in step.drifts}
        for key, memory in step.after.items():
            assert len(memory.flips) <= 16
            assert key in present or step.now - memory.last_seen < policy.settle
            assert key in present or memory.flips[-1] == CLEARED
            assert (memory.sightings > 0) == (key in present)
