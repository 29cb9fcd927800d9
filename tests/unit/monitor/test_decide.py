"""Decisions about drift: each property has a test of its name."""

from __future__ import annotations

from akotf.model.drift import Action, Drift, DriftClass
from akotf.monitor.decide import HealPolicy, decide

POLICY = HealPolicy()


def drift(field: str = "hyperparameters.file.learning_rate", observed: object = 0.1, **more: object) -> Drift:
    values = {"kind": DriftClass.CONFIGURATION, "node": "n1", "field": field, "approved": 0.001,
              "observed": observed, "source": "agent", "address": "module.local_gpu.akotf_baseline.this"}  # fmt: skip
    return Drift.model_validate({**values, **more})


def acts(decisions: tuple) -> list[Action]:
    return [d.action for d in decisions if d.action not in {Action.IGNORE, Action.ALERT}]


def test_nothing_is_healed_on_first_sight() -> None:
    first, memory = decide([drift()], {}, now=0.0, policy=POLICY)
    assert acts(first) == []
    second, _ = decide([drift()], memory, now=2.0, policy=POLICY)
    assert acts(second) == [Action.HEAL_IN_PLACE]
    assert second[0].addresses == ("module.local_gpu.akotf_baseline.this",)


def test_a_value_in_use_is_healed_by_a_restart_and_one_on_disk_in_place() -> None:
    drifts = [drift(), drift("hyperparameters.in_use.learning_rate"), drift("limits.open_files")]
    _, memory = decide(drifts, {}, now=0.0, policy=POLICY)
    decisions, _ = decide(drifts, memory, now=2.0, policy=POLICY)
    assert [(d.action, len(d.drifts)) for d in decisions] == [(Action.HEAL_IN_PLACE, 2), (Action.RESTART, 1)]


def test_waits_grow_exponentially_and_attempts_are_bounded() -> None:
    memory: dict = {}
    healed_at = []
    for second in range(600):
        decisions, memory = decide([drift()], memory, now=float(second), policy=POLICY)
        if acts(decisions):
            healed_at.append(second)
    # second sighting at 1; then waits of 2, 4, 8 and 16 s; after 5 attempts it is only told
    assert healed_at == [1, 3, 7, 15, 31]
    assert decisions[0].action is Action.ALERT
    assert "5 times without lasting effect" in decisions[0].reason


def test_back_off_is_reset_when_the_drift_clears() -> None:
    memory: dict = {}
    for second in (0.0, 1.0, 3.0):
        _, memory = decide([drift()], memory, now=second, policy=POLICY)
    _, memory = decide([], memory, now=4.0, policy=POLICY)
    _, memory = decide([drift()], memory, now=5.0, policy=POLICY)
    decisions, _ = decide([drift()], memory, now=6.0, policy=POLICY)
    assert acts(decisions) == [Action.HEAL_IN_PLACE]


def test_values_that_change_back_and_forth_stop_healing_and_are_told() -> None:
    memory: dict = {}
    heals, last = 0, ()
    for cycle in range(10):
        for offset, present in ((0, True), (1, True), (2, False)):
            last, memory = decide(
                [drift()] if present else [], memory, now=cycle * 10.0 + offset, policy=POLICY
            )
            heals += len(acts(last))
            if present:
                told = last
    assert heals == 3  # drift, approved, drift, approved, drift, approved, then the seventh value is a fight
    assert told[0].action is Action.ALERT
    assert "back and forth" in told[0].reason


def test_with_heal_alert_nothing_is_healed() -> None:
    policy = HealPolicy(heal=False)
    _, memory = decide([drift()], {}, now=0.0, policy=policy)
    decisions, _ = decide([drift()], memory, now=9.0, policy=policy)
    assert [d.action for d in decisions] == [Action.ALERT]


def test_performance_is_told_and_never_healed() -> None:
    slow = drift("performance.step_time", 9.0, kind=DriftClass.PERFORMANCE)
    _, memory = decide([slow], {}, now=0.0, policy=POLICY)
    decisions, _ = decide([slow], memory, now=9.0, policy=POLICY)
    assert [d.action for d in decisions] == [Action.ALERT]
