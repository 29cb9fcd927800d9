"""Decisions about drift, for any history of drifts: what never happens, and what always does."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.facts.compare import restart_only
from akotf.model.config import Window
from akotf.model.drift import Action, Decision, Drift, DriftClass, Memory
from akotf.monitor.decide import CLEARED, IN_PLACE, HealPolicy, decide
from akotf.monitor.remedies import remedy_for, state_of

NODES = ("n1", "n2", "n3")
FIELDS = (
    "hyperparameters.file.learning_rate", "hyperparameters.in_use.learning_rate", "limits.open_files",
    "environment.OMP_NUM_THREADS", "libraries.torch", "gpu.0.power_limit", "performance.step_time",
    "liveness.steps", "capacity.node", "cost.stop", "cost.total", "module.local_gpu.akotf_local_pool.this",
    "aws_instance.replaced", "aws_instance.other",
)  # fmt: skip
RESTARTS = ("hyperparameters.in_use.learning_rate", "environment.OMP_NUM_THREADS", "libraries.torch", "capacity.node",
            "liveness.steps")  # fmt: skip
REPLACES = ("aws_instance.replaced", "aws_instance.other")
ACTS = frozenset({Action.HEAL_IN_PLACE, Action.RESTART, Action.REPLACE, Action.STOP})
KINDS = {
    "performance": DriftClass.PERFORMANCE, "liveness": DriftClass.PERFORMANCE, "capacity": DriftClass.CAPACITY,
    "cost": DriftClass.COST, "module": DriftClass.INFRASTRUCTURE, "aws_instance": DriftClass.INFRASTRUCTURE,
    "libraries": DriftClass.RUNTIME, "gpu": DriftClass.RUNTIME,
}  # fmt: skip


def drift(field: str, observed: Any = 2, node: str = "n1") -> Drift:
    kind = KINDS.get(field.split(".")[0], DriftClass.CONFIGURATION)
    infra = kind is DriftClass.INFRASTRUCTURE
    return Drift(
        kind=kind, node=node, field=field, approved=1, observed=observed, source="terraform" if infra else "agent",
        address=field if infra else "module.local_gpu.akotf_baseline.this", disruptive=field in REPLACES,
    )  # fmt: skip


def wants(one: Drift) -> Action:
    return remedy_for(one)[0]


#: One look: how much time has passed since the one before, and which fields of which nodes differ, with the value seen.
seen = st.dictionaries(
    st.tuples(st.sampled_from(FIELDS), st.sampled_from(NODES)), st.sampled_from([2, "x", None, 0.5, True]), max_size=5
)  # fmt: skip
histories = st.lists(st.tuples(st.floats(0.01, 400.0), seen), max_size=30)
WHOLE_DAY = (Window(start="00:00", end="12:00"), Window(start="12:00", end="00:00"))
policies = st.builds(
    HealPolicy, heal=st.booleans(), sightings=st.integers(1, 4), clear=st.integers(1, 3), attempts=st.integers(1, 6),
    backoff=st.floats(0.1, 30.0), backoff_limit=st.floats(30.0, 500.0), flips=st.integers(2, 10),
    settle=st.floats(0.0, 1000.0), consent=st.sampled_from([frozenset(), frozenset({"replace"})]),
)  # fmt: skip


class Step:
    """What one look was given and gave."""

    def __init__(self, now: float, drifts: list[Drift], before: Memory, policy: HealPolicy) -> None:
        self.now, self.drifts, self.before = now, drifts, before
        self.decisions, self.after = decide(drifts, before, now=now, policy=policy)

    def acted(self) -> list[tuple[Decision, Drift]]:
        return [(d, one) for d in self.decisions if d.action in ACTS for one in d.drifts]


def play(history: Any, policy: HealPolicy) -> list[Step]:
    steps: list[Step] = []
    now, memory = 1_796_000_000.0, Memory()
    for passed, fields in history:
        now += passed
        drifts = [drift(f, v, node) for (f, node), v in fields.items()]
        steps.append(Step(now, drifts, memory, policy))
        memory = steps[-1].after
    return steps


def waits_double(times: Sequence[float], policy: HealPolicy) -> None:
    """The wait after the n-th attempt is backoff x 2^(n-1), never more than the limit."""
    for n, (one, two) in enumerate(itertools.pairwise(times)):
        assert two - one >= min(policy.backoff * 2**n, policy.backoff_limit) - 1e-6


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
        kept = step.before.model_copy(deep=True)
        again = decide(list(step.drifts), kept, now=step.now, policy=policy)
        assert again == (step.decisions, step.after)
        assert kept == step.before


@given(histories, policies)
def test_nothing_is_done_before_it_was_seen_often_enough_in_a_row(history: Any, policy: HealPolicy) -> None:
    """The field itself, or (by reasons that alternate) the state of the node that it belongs to."""
    fields: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for step in play(history, policy):
        fields = Counter({one.key: fields[one.key] + 1 for one in step.drifts})
        states = Counter({s: states[s] + 1 for s in {state_of(wants(one), one) for one in step.drifts}})
        for decision, one in step.acted():
            assert max(fields[one.key], states[state_of(decision.action, one)]) >= policy.sightings


@given(histories, policies, st.sampled_from([f for f in FIELDS if f != "cost.stop"]))
def test_a_single_reason_must_be_there_often_enough_by_itself(
    history: Any, policy: HealPolicy, field: str
) -> None:
    single = [(t, {k: v for k, v in fields.items() if k == (field, "n1")}) for t, fields in history]
    row = 0
    for step in play(single, policy):
        row = row + 1 if step.drifts else 0
        assert not step.acted() or row >= policy.sightings


@given(histories, policies)
def test_attempts_in_place_are_bounded_between_two_times_that_a_drift_was_gone(
    history: Any, policy: HealPolicy
) -> None:
    times: dict[str, list[float]] = {}
    for step in play(history, policy):
        present = {one.key for one in step.drifts}
        times = {key: found for key, found in times.items() if key in present}
        for decision, one in step.acted():
            if decision.action is Action.HEAL_IN_PLACE:
                times.setdefault(one.key, []).append(step.now)
        for found in times.values():
            assert len(found) <= policy.attempts
            waits_double(found, policy)


@given(histories, policies)
def test_restarts_and_replacements_are_bounded_until_their_state_was_clear_for_some_looks(
    history: Any, policy: HealPolicy
) -> None:
    times: dict[str, list[float]] = {}
    clean: Counter[str] = Counter()
    for step in play(history, policy):
        present = {state_of(wants(one), one) for one in step.drifts}
        clean = Counter({s: 0 if s in present else clean[s] + 1 for s in {*times, *present}})
        times = {s: found for s, found in times.items() if clean[s] < policy.clear}
        acted = {state_of(d.action, one) for d, one in step.acted() if d.action is not Action.HEAL_IN_PLACE}
        for state in acted:
            times.setdefault(state, []).append(step.now)
        for found in times.values():
            assert len(found) <= policy.attempts
            waits_double(found, policy)


@given(
    st.lists(st.tuples(st.floats(0.01, 60.0), st.sets(st.sampled_from(RESTARTS), min_size=1)), max_size=40),
    policies,
)
def test_reasons_that_alternate_reset_neither_timer_nor_attempts(reasons: Any, policy: HealPolicy) -> None:
    """The node needs a restart at every look, each time for whatever reason: as if it were always the same one."""
    alternating = [(t, {(f, "n1"): 2 for f in sorted(fields)}) for t, fields in reasons]
    steps = play(alternating, HealPolicy(**{**vars(policy), "heal": True, "flips": 99, "settle": 1e6}))
    times = [s.now for s in steps if any(d.action is Action.RESTART for d in s.decisions)]
    assert len(times) <= policy.attempts
    waits_double(times, policy)
    if len(steps) >= policy.sightings:  # and it is not put off for ever by their alternation
        assert times and times[0] == steps[policy.sightings - 1].now


@given(
    st.integers(1, 8),
    st.floats(0.5, 10.0),
    st.floats(20.0, 300.0),
    st.sampled_from(["limits.open_files", "libraries.torch"]),
)
def test_a_drift_that_stays_is_tried_at_growing_intervals_and_not_for_ever(
    attempts: int, backoff: float, limit: float, field: str
) -> None:
    """Looked at all the time, the n-th wait is exactly the first look after backoff x 2^(n-1), at most the limit."""
    policy = HealPolicy(sightings=1, attempts=attempts, backoff=backoff, backoff_limit=limit)
    times: list[float] = []
    memory, now, interval = Memory(), 0.0, 1.0
    while now < attempts * (limit + 1) + 20:
        now += interval
        decisions, memory = decide([drift(field)], memory, now=now, policy=policy)
        times += [now for d in decisions if d.action in ACTS]
    assert len(times) == attempts
    assert "without lasting effect" in decisions[0].reason
    for n, (one, two) in enumerate(itertools.pairwise(times)):
        wait = min(backoff * 2**n, limit)
        assert wait - 1e-9 <= two - one <= wait + interval + 1e-9


@given(st.sampled_from(["limits.open_files", "libraries.torch"]), st.integers(1, 5), st.integers(2, 3))
def test_a_new_revision_starts_anew(field: str, attempts: int, sightings: int) -> None:
    policy = HealPolicy(attempts=attempts, sightings=sightings, backoff=1.0, backoff_limit=1.0)

    def acts(memory: Memory, revision: str, start: float) -> tuple[list[int], Memory]:
        done = []
        for look in range(attempts + sightings + 5):
            now = start + 2.0 * look
            found, memory = decide([drift(field)], memory, now=now, policy=policy, revision=revision)
            done += [look for d in found if d.action in ACTS]
        return done, memory

    first, memory = acts(Memory(), "sha256:a", 0.0)
    same, memory = acts(memory, "sha256:a", 100.0)
    other, _ = acts(memory, "sha256:b", 200.0)
    assert first == other == list(range(sightings - 1, sightings - 1 + attempts))
    assert same == []


@given(histories, policies)
def test_with_heal_alert_only_a_spent_budget_does_anything(history: Any, policy: HealPolicy) -> None:
    for step in play(history, HealPolicy(**{**vars(policy), "heal": False})):
        assert {d.action for d, _ in step.acted()} <= {Action.STOP}


@given(histories, policies, st.booleans())
def test_in_a_freeze_nothing_is_healed_and_deny_beats_allow(
    history: Any, policy: HealPolicy, allowed: bool
) -> None:
    frozen = HealPolicy(**{**vars(policy), "freeze": WHOLE_DAY, "allow": WHOLE_DAY if allowed else ()})
    for step in play(history, frozen):
        assert {d.action for d, _ in step.acted()} <= {Action.STOP}


@given(histories, policies)
def test_no_node_is_replaced_without_consent(history: Any, policy: HealPolicy) -> None:
    for step in play(history, policy):
        replaced = [one for d, one in step.acted() if d.action is Action.REPLACE]
        assert not replaced or "replace" in policy.consent
        for decision, one in step.acted():  # and nothing else is done about what takes a replacement
            assert not one.disruptive or decision.action is Action.REPLACE


@given(st.lists(st.tuples(st.floats(0.01, 100.0), st.sets(st.sampled_from(NODES)), st.sets(st.sampled_from(NODES))), max_size=40),
       st.integers(1, 3), st.integers(1, 3))  # fmt: skip
def test_one_node_at_a_time_and_the_next_only_after_the_former_is_healthy(
    looks: Any, sightings: int, clear: int
) -> None:
    """`bad`: nodes that need a replacement; `heard`: nodes that can be read at all."""
    policy = HealPolicy(sightings=sightings, clear=clear, consent=frozenset({"replace"}))
    memory, now = Memory(), 0.0
    busy, healthy = "", 0
    for passed, bad, heard in looks:
        now += passed
        drifts = [drift(REPLACES[0], node=node) for node in sorted(bad & heard)]
        unseen = {drift(REPLACES[0], node=node).key for node in set(NODES) - heard}
        decisions, memory = decide(drifts, memory, now=now, policy=policy, observed=heard, unseen=unseen)
        if busy and busy in heard:
            healthy = 0 if busy in bad else healthy + 1
        replaced = {one.node for d in decisions if d.action is Action.REPLACE for one in d.drifts}
        assert len(replaced) <= 1
        if busy and healthy < clear:
            assert replaced <= {busy}
        elif busy:
            busy = ""
        if replaced:
            busy, healthy = replaced.pop(), 0


@given(histories, policies, st.lists(st.booleans(), min_size=30, max_size=30))
def test_looks_that_see_nothing_heal_nothing_and_change_nothing(
    history: Any, policy: HealPolicy, blind: list[bool]
) -> None:
    """Unreachable, unreadable or late: as if there had been no such look."""
    steps = play(history, policy)
    keys = {drift(field, node=node).key for field in FIELDS for node in NODES}
    memory, now = Memory(), 1_796_000_000.0
    for (passed, _), step, extra in zip(history, steps, blind, strict=False):
        if extra:
            for look in (0.1, 0.5):
                found, memory = decide([], memory, now=now + passed * look, policy=policy, unseen=keys)
                assert found == ()
        now += passed
        decisions, memory = decide(step.drifts, memory, now=now, policy=policy)
        assert decisions == step.decisions


@given(histories, policies, st.sampled_from(FIELDS), st.sampled_from(list(DriftClass)))
def test_what_somebody_else_owns_is_left_alone(
    history: Any, policy: HealPolicy, field: str, kind: DriftClass
) -> None:
    mine = HealPolicy(
        **{**vars(policy), "ignore": (field.split(".")[0] + ".*",), "classes": {kind: "ignore"}}
    )
    for step in play(history, mine):
        for decision in step.decisions:
            for one in decision.drifts:
                if one.kind is kind or one.field.startswith(field.split(".")[0] + "."):
                    assert decision.action is Action.IGNORE


@given(st.sampled_from([f for f in FIELDS if KINDS.get(f.split(".")[0]) not in
                        {DriftClass.PERFORMANCE, DriftClass.CAPACITY, DriftClass.COST}]), st.integers(2, 8))  # fmt: skip
def test_two_sides_that_undo_each_other_stop_the_healing_and_the_field_is_named(
    field: str, flips: int
) -> None:
    """Drifted, approved, drifted, approved ...: after more changes than allowed it is only told, for good."""
    policy = HealPolicy(sightings=1, flips=flips, consent=frozenset({"replace"}))
    memory, told = Memory(), []
    for cycle in range(3 * flips):
        decisions, memory = decide([drift(field)], memory, now=cycle * 20.0, policy=policy)
        told += decisions
        _, memory = decide([], memory, now=cycle * 20.0 + 10.0, policy=policy)
    # values so far at the n-th sighting (from 0): n drifts and n times approved before it, and itself: 2n + 1
    for n, decision in enumerate(told):
        if 2 * n + 1 > flips:
            assert decision.action is Action.ALERT
            if wants(decision.drifts[0]) is not Action.ALERT:
                assert field in decision.reason
                assert "back and forth between 2 and 1 (approved)" in decision.reason


@given(st.lists(st.integers(0, 10_000), min_size=12, max_size=12, unique=True))
def test_a_value_that_never_stands_still_is_a_fight(values: list[int]) -> None:
    memory, acted = Memory(), 0
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
    took in, a lost node and a hang; slowness, cost and GPU settings are told."""
    for step in play(history, policy):
        for decision, one in step.acted():
            if decision.action is Action.HEAL_IN_PLACE:
                assert one.field.startswith(IN_PLACE) or one.kind is DriftClass.INFRASTRUCTURE
                assert one.address in decision.addresses
            elif decision.action is Action.RESTART:
                assert restart_only(one.field) or one.field in {"liveness.steps", "capacity.node"}
                assert decision.addresses == ()
            elif decision.action is Action.STOP:
                assert one.field == "cost.stop"
            assert decision.reason


@given(histories, policies)
def test_files_are_put_back_before_a_process_is_started_from_them(history: Any, policy: HealPolicy) -> None:
    order = [Action.STOP, Action.HEAL_IN_PLACE, Action.REPLACE, Action.RESTART]
    for step in play(history, policy):
        done = [d.action for d in step.decisions if d.action in ACTS]
        assert done == sorted(set(done), key=order.index)


@given(histories, policies)
@settings(max_examples=50)
def test_memory_holds_nothing_of_what_is_long_gone_and_stays_small(history: Any, policy: HealPolicy) -> None:
    for step in play(history, policy):
        present = {one.key for one in step.drifts}
        for key, memory in step.after.drifts.items():
            assert len(memory.flips) <= 16
            assert key in present or step.now - memory.last_seen < policy.settle
            assert key in present or memory.flips[-1] == CLEARED
            assert (memory.sightings > 0) == (key in present)
        assert all(state.clean < policy.clear for state in step.after.states.values())
        assert Memory.model_validate(step.after.to_json()) == step.after
