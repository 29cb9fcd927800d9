"""Decisions about drift: each property has a test of its name."""

from __future__ import annotations

import pytest

from akotf.model.config import MonitorSpec, Window
from akotf.model.drift import Action, Drift, DriftClass, Memory
from akotf.monitor.decide import HealPolicy, decide, policy_of

POLICY = HealPolicy()


def drift(field: str = "hyperparameters.file.learning_rate", observed: object = 0.1, **more: object) -> Drift:
    values: dict = {"kind": DriftClass.CONFIGURATION, "node": "n1", "field": field, "approved": 0.001,
              "observed": observed, "source": "agent", "address": "module.local_gpu.akotf_baseline.this"}  # fmt: skip
    return Drift.model_validate({**values, **more})


def acts(decisions: tuple) -> list[Action]:
    return [d.action for d in decisions if d.action not in {Action.IGNORE, Action.ALERT}]


def test_nothing_is_healed_on_first_sight() -> None:
    first, memory = decide([drift()], Memory(), now=0.0, policy=POLICY)
    assert acts(first) == []
    second, _ = decide([drift()], memory, now=2.0, policy=POLICY)
    assert acts(second) == [Action.HEAL_IN_PLACE]
    assert second[0].addresses == ("module.local_gpu.akotf_baseline.this",)


def test_a_value_in_use_is_healed_by_a_restart_and_one_on_disk_in_place() -> None:
    drifts = [drift(), drift("hyperparameters.in_use.learning_rate"), drift("limits.open_files")]
    _, memory = decide(drifts, Memory(), now=0.0, policy=POLICY)
    decisions, _ = decide(drifts, memory, now=2.0, policy=POLICY)
    assert [(d.action, len(d.drifts)) for d in decisions] == [(Action.HEAL_IN_PLACE, 2), (Action.RESTART, 1)]


def test_waits_grow_exponentially_and_attempts_are_bounded() -> None:
    memory = Memory()
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
    memory = Memory()
    for second in (0.0, 1.0, 3.0):
        _, memory = decide([drift()], memory, now=second, policy=POLICY)
    _, memory = decide([], memory, now=4.0, policy=POLICY)
    _, memory = decide([drift()], memory, now=5.0, policy=POLICY)
    decisions, _ = decide([drift()], memory, now=6.0, policy=POLICY)
    assert acts(decisions) == [Action.HEAL_IN_PLACE]


def test_values_that_change_back_and_forth_stop_healing_and_are_told() -> None:
    memory = Memory()
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
    _, memory = decide([drift()], Memory(), now=0.0, policy=policy)
    decisions, _ = decide([drift()], memory, now=9.0, policy=policy)
    assert [d.action for d in decisions] == [Action.ALERT]


def test_performance_is_told_and_never_healed() -> None:
    slow = drift("performance.step_time", 9.0, kind=DriftClass.PERFORMANCE)
    _, memory = decide([slow], Memory(), now=0.0, policy=POLICY)
    decisions, _ = decide([slow], memory, now=9.0, policy=POLICY)
    assert [d.action for d in decisions] == [Action.ALERT]


# -- what heals what --------------------------------------------------------------------------------------------------


def twice(*drifts: Drift, policy: HealPolicy = POLICY) -> list[tuple[Action, str]]:
    """What is decided at the second of two equal looks."""
    _, memory = decide(drifts, Memory(), now=0.0, policy=policy)
    decisions, _ = decide(drifts, memory, now=5.0, policy=policy)
    return [(d.action, d.reason) for d in decisions]


LOST = drift("capacity.node", "DOWN", kind=DriftClass.CAPACITY, source="backend", approved="up")
HANG = drift("liveness.steps", 700.0, kind=DriftClass.PERFORMANCE, source="history", approved=600.0)
SPENT = drift("cost.stop", 25.1, kind=DriftClass.COST, source="prices", approved=25.0)
MIG = drift("gpu.0.mig", "enabled", kind=DriftClass.RUNTIME, approved="disabled")
AMI = drift(
    "aws_instance.n1", {"ami": "b"}, kind=DriftClass.INFRASTRUCTURE, source="terraform", disruptive=True
)


@pytest.mark.parametrize(
    ("found", "action"),
    [
        (LOST, Action.RESTART), (HANG, Action.RESTART), (SPENT, Action.STOP), (MIG, Action.ALERT), (AMI, Action.ALERT),
        (drift("libraries.torch", "2.5.0", kind=DriftClass.RUNTIME), Action.RESTART),
        (drift("cost.total", 21.0, kind=DriftClass.COST), Action.ALERT),
        (drift("limits.open_files", {"1": ["a"], "2": ["b"]}, approved=None, source="peers"), Action.ALERT),
        (drift("aws_security_group.sg", {"ingress": []}, kind=DriftClass.INFRASTRUCTURE, source="terraform"), Action.HEAL_IN_PLACE),
    ],
)  # fmt: skip
def test_each_class_has_its_remedy(found: Drift, action: Action) -> None:
    assert [a for a, _ in twice(found)] == [action]


def test_a_node_is_replaced_only_with_consent() -> None:
    ((action, reason),) = twice(AMI)
    assert action is Action.ALERT
    assert "monitor.consent has no `replace`" in reason
    consenting = policy_of(MonitorSpec(consent=("replace",)), heal=True)
    assert [a for a, _ in twice(AMI, policy=consenting)] == [Action.REPLACE]


def test_the_environment_says_what_is_ignored_told_and_by_which_script() -> None:
    spec = MonitorSpec.model_validate({
        "ignore": ["limits.*"], "classes": {"runtime": "alert", "capacity": "ignore"},
        "remedies": {"runtime": "fix/driver.sh", "capacity": "fix/never.sh"},
    })  # fmt: skip
    policy = policy_of(spec, heal=True)
    library = drift("libraries.torch", "2.5.0", kind=DriftClass.RUNTIME)
    drifts = [drift("limits.open_files", 1), library, LOST, drift()]
    _, memory = decide(drifts, Memory(), now=0.0, policy=policy)
    decisions, _ = decide(drifts, memory, now=5.0, policy=policy)
    assert [(d.action, d.drifts[0].field, d.hook) for d in decisions] == [
        (Action.HEAL_IN_PLACE, "hyperparameters.file.learning_rate", ""),
        (Action.IGNORE, "limits.open_files", ""),
        (Action.ALERT, "libraries.torch", "fix/driver.sh"),
        (Action.IGNORE, "capacity.node", ""),
    ]


def test_a_spent_budget_stops_the_run_even_where_drift_is_only_told_and_in_a_freeze() -> None:
    always = Window(start="00:00", end="23:59", reason="inventory")
    assert [a for a, _ in twice(SPENT, policy=HealPolicy(heal=False, freeze=(always,)))] == [Action.STOP]
    assert [a for a, _ in twice(SPENT, policy=HealPolicy(classes={DriftClass.COST: "alert"}))] == [
        Action.ALERT
    ]


def test_a_freeze_is_told_with_its_reason_and_end() -> None:
    always = Window(start="00:00", end="23:59", reason="inventory")
    ((action, reason),) = twice(drift(), policy=HealPolicy(freeze=(always,)))
    assert (action, reason) == (Action.ALERT, "healing is frozen until 23:59 UTC: inventory")


def test_a_fight_is_told_with_the_fields_and_their_values() -> None:
    group = drift("aws_security_group.sg", {"ingress": ["22"]}, kind=DriftClass.INFRASTRUCTURE, source="terraform",
                  approved={"ingress": []})  # fmt: skip
    memory, said = Memory(), []
    for look in range(12):
        decisions, memory = decide([group] if look % 3 else [], memory, now=look * 10.0, policy=POLICY)
        said += [(look, d.action, d.reason) for d in decisions if d.action is not Action.IGNORE]
    # looks 1 and 2: seen twice, healed; gone at 3; there again at 4: the same fix would be needed twice running
    assert [(look, action) for look, action, _ in said[:3]] == [
        (2, Action.HEAL_IN_PLACE), (4, Action.ALERT), (5, Action.ALERT)
    ]  # fmt: skip
    assert said[1][2] == (
        'aws_security_group.sg (ingress) changes back and forth between {"ingress": ["22"]} and {"ingress": []} '
        "(approved): somebody else sets it; not healed again"
    )


def test_measured_values_are_no_fight() -> None:
    memory = Memory()
    for look in range(30):
        late = HANG.model_copy(update={"observed": 700.0 + look})
        decisions, memory = decide([late], memory, now=look * 5.0, policy=POLICY)
        assert "back and forth" not in decisions[0].reason
    assert len(memory.drifts[HANG.key].flips) == 1


def test_a_node_is_replaced_after_the_former_is_healthy_again() -> None:
    policy = HealPolicy(consent=frozenset({"replace"}), recovery=100.0)
    first, second = (AMI.model_copy(update={"node": n, "field": f"aws_instance.{n}"}) for n in ("n1", "n2"))
    cpu = drift("limits.cpus", 1, node="n1")
    memory, done = Memory(), []
    script: list[tuple[list[Drift], set[str]]] = [
        ([first, second], {"n1", "n2"}), ([first, second], {"n1", "n2"}),  # n1 is replaced
        ([second], {"n2"}), ([second], {"n2"}), ([second], {"n2"}),  # nobody hears of n1
        ([second, cpu], {"n1", "n2"}),  # it is there, and not right
        ([second], {"n1", "n2"}), ([second], {"n1", "n2"}),  # right, twice: n2 is next
    ]  # fmt: skip
    for look, (drifts, observed) in enumerate(script):
        decisions, memory = decide(drifts, memory, now=look * 10.0, policy=policy, observed=observed)
        done += [(look, d.drifts[0].node) for d in decisions if d.action is Action.REPLACE]
        if look == 4:
            assert decisions[0].reason == "one node at a time: n1 was replaced and is not healthy yet"
    assert done == [(1, "n1"), (7, "n2")]


def test_a_replacement_that_never_gets_healthy_is_told() -> None:
    policy = HealPolicy(consent=frozenset({"replace"}), recovery=100.0)
    first, second = (AMI.model_copy(update={"node": n, "field": f"aws_instance.{n}"}) for n in ("n1", "n2"))
    memory = Memory()
    for now in (0.0, 5.0):
        _, memory = decide([first, second], memory, now=now, policy=policy, observed={"n1", "n2"})
    early, memory = decide([second], memory, now=100.0, policy=policy, observed={"n2"})
    late, memory = decide([second], memory, now=106.0, policy=policy, observed={"n2"})
    assert [d.action for d in (*early, *late)] == [Action.IGNORE, Action.ALERT]


def test_memory_survives_a_restart_of_the_monitor_as_json() -> None:
    memory = Memory()
    for now in (0.0, 2.0, 3.0):
        _, memory = decide([drift(), LOST], memory, now=now, policy=POLICY, revision="sha256:a")
    kept = Memory.model_validate_json(memory.model_dump_json())
    assert kept == memory
    again = decide([drift(), LOST], kept, now=4.0, policy=POLICY, revision="sha256:a")
    assert again == decide([drift(), LOST], memory, now=4.0, policy=POLICY, revision="sha256:a")
    assert kept.states["*:restart-from-checkpoint"].attempts == 1
