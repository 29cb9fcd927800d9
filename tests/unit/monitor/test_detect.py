"""Detection: the declared side against one observation, and Terraform's plan JSON."""

from __future__ import annotations

from typing import Any

import pytest

from akotf.model.drift import DriftClass, Observation
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.model.units import Estimate
from akotf.monitor import detect

DECLARED: dict[str, dict[str, Any]] = {
    "hyperparameters": {"learning_rate": 0.001}, "environment": {"OMP_NUM_THREADS": "2"},
    "limits": {"open_files": 4096}, "libraries": {"torch": "2.6.0"}, "gpu_settings": {"power_limit": "300"},
}  # fmt: skip
RIGHT = {
    "hyperparameters.file.learning_rate": 0.001, "hyperparameters.in_use.learning_rate": 0.001,
    "environment.OMP_NUM_THREADS": "2", "limits.open_files": 4096, "libraries.torch": "2.6.0",
    "gpu.0.power_limit": 300.0,
}  # fmt: skip


def observed(progress: dict[str, Any] | None = None, unreadable: Any = (), **facts: Any) -> Observation:
    changed = {name.replace("__", "."): value for name, value in facts.items()}
    return Observation(
        node="n1", time=1.0, live=True, facts={**RIGHT, **changed}, progress=progress,
        unreadable=dict.fromkeys(unreadable, "no"),
    )  # fmt: skip


def test_a_node_on_its_baseline_has_no_drift() -> None:
    assert detect.configuration(DECLARED, observed()) == []


@pytest.mark.parametrize(
    ("fact", "value", "approved", "kind", "source"),
    [
        ("hyperparameters.file.learning_rate", 0.003, 0.001, DriftClass.CONFIGURATION, "agent"),
        ("hyperparameters.in_use.learning_rate", 0.01, 0.001, DriftClass.CONFIGURATION, "heartbeat"),
        ("environment.OMP_NUM_THREADS", None, "2", DriftClass.CONFIGURATION, "agent"),
        ("limits.open_files", 512, 4096, DriftClass.CONFIGURATION, "agent"),
        ("libraries.torch", "2.5.0", "2.6.0", DriftClass.RUNTIME, "agent"),
        ("gpu.0.power_limit", 250.0, "300", DriftClass.RUNTIME, "agent"),
    ],
)
def test_each_group_drifts_in_its_class(
    fact: str, value: Any, approved: Any, kind: DriftClass, source: str
) -> None:
    (drift,) = detect.configuration(DECLARED, observed(**{fact: value}), address="the.baseline")
    assert (drift.field, drift.approved, drift.observed) == (fact, approved, value)
    assert (drift.kind, drift.source, drift.address, drift.key) == (
        kind, source, "the.baseline", f"n1:{fact}",
    )  # fmt: skip


def test_an_unread_fact_is_no_drift() -> None:
    facts = {k: v for k, v in RIGHT.items() if not k.startswith("limits.")}
    blind = Observation(node="n1", time=1.0, live=True, facts=facts, unreadable={"limits": "not permitted"})
    assert detect.configuration(DECLARED, blind) == []
    told = observed(limits__open_files=1, unreadable=["limits"])
    assert detect.configuration(DECLARED, told) == []


def test_a_slow_step_is_drift_beyond_twice_the_upper_end_after_warm_up_while_it_trains() -> None:
    predicted = Estimate(value=0.1, low=0.05, high=0.2, unit="s", source="test")

    def found(**progress: Any) -> list[Any]:
        whole = {"step": 20, "step_time": 0.41, "phase": "train", **progress}
        return [(d.approved, d.observed) for d in detect.performance(observed(whole), predicted)]

    assert found() == [(0.2, 0.41)]
    assert found(step_time=0.4) == []  # 2 x 0.2
    assert found(step=19) == []
    assert found(phase="evaluate") == []
    assert found(step_time=None) == []
    assert detect.performance(observed({"step": 50, "step_time": 9.0}), None) == []
    assert detect.performance(observed(None), predicted) == []


def test_terraforms_plan_counts_what_would_change_but_for_bookkeeping() -> None:
    def change(address: str, actions: tuple[str, ...], before: Any, after: Any) -> ResourceChange:
        return ResourceChange(
            address=address, type=address.split(".")[-2], actions=actions, before=before, after=after
        )

    baseline = "module.local_gpu.akotf_baseline.this"
    rows = (
        change("terraform_data.akotf", ("update",), {"input": 1}, {"input": 2}),
        change("module.m.akotf_pool.same", ("no-op",), {"a": 1}, {"a": 1}),
        change("module.m.akotf_pool.read", ("read",), None, {"a": 1}),
        change(baseline, ("update",), {"a": 1}, {"a": 2}),
        change("module.m.akotf_pool.edited", ("update",), {"a": 1, "b": 1}, {"a": 2, "b": 1}),
        change("module.m.akotf_pool.gone", ("create",), None, {"a": 1}),
    )
    plan = TfPlan(root="/r", changes=rows)
    found = detect.infrastructure(plan, node="desk", baseline_address=baseline)
    assert [(d.field, d.approved, d.observed) for d in found] == [
        ("module.m.akotf_pool.edited", {"a": 2}, {"a": 1}),
        ("module.m.akotf_pool.gone", "present", None),
    ]
    assert {(d.kind, d.source, d.node) for d in found} == {(DriftClass.INFRASTRUCTURE, "terraform", "desk")}
    gone = TfPlan(root="/r", changes=(change(baseline, ("create",), None, {"a": 1}),))
    assert [d.field for d in detect.infrastructure(gone, node="desk", baseline_address=baseline)] == [
        baseline
    ]
