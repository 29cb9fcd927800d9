"""One node against its baseline as `facts.compare` would tell it, and nodes against each other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from akotf.facts.compare import compare
from akotf.model.drift import Action, DriftClass, Memory, Observation
from akotf.monitor import detect
from akotf.monitor.decide import HealPolicy, decide

NAMES = ("a", "b", "open_files", "cpus")
GROUPS = ("hyperparameters", "environment", "limits", "libraries", "gpu_settings")
scalars = st.one_of(
    st.sampled_from([0, 1, 1.0, 2, True, False, "1", "x", None, "hmac-sha256:ab", "hmac-sha256:cd"])
)
baselines = st.dictionaries(
    st.sampled_from(GROUPS), st.dictionaries(st.sampled_from(NAMES), scalars, max_size=3)
)
fields = st.sampled_from(
    [f"{g}.{n}" for g in ("hyperparameters.file", "hyperparameters.in_use", "environment", "limits", "libraries",
                          "gpu.0", "gpu.1", "process") for n in NAMES]
)  # fmt: skip
hidden = st.lists(st.sampled_from(["limits", "environment.a", "gpu", "hyperparameters.file"]), max_size=2)


@given(baselines, st.lists(st.tuples(st.dictionaries(fields, scalars, max_size=12), hidden), max_size=4))
def test_many_nodes_are_compared_as_each_alone(baseline: Any, nodes: Any) -> None:
    """The short way says exactly what the long one does: 1 is 1.0 and never true, what was not read is no difference."""
    ready = detect.Approved(baseline)
    for facts, unreadable in nodes:
        node = Observation(
            node="n", time=1.0, live=True, facts=facts, unreadable=dict.fromkeys(unreadable, "no")
        )
        assert ready.differences(node) == compare(baseline, facts, unreadable)


@given(baselines, st.dictionaries(fields, scalars, max_size=12), fields, scalars)
def test_what_the_baseline_does_not_say_can_not_drift(
    baseline: Any, facts: Any, extra: str, value: Any
) -> None:
    """Another fact changes nothing unless its name is declared; order of facts never does."""
    before = detect.configuration(baseline, Observation(node="n", time=1.0, live=True, facts=facts))
    turned = dict(reversed(facts.items()))
    assert detect.configuration(baseline, Observation(node="n", time=1.0, live=True, facts=turned)) == before
    more = {"process." + extra: value, **facts}
    assert detect.configuration(baseline, Observation(node="n", time=1.0, live=True, facts=more)) == before


def test_absent_counts_and_is_told_as_absent() -> None:
    node = Observation(node="n", time=7.0, live=True, facts={"environment.B": "2", "limits.open_files": 4096})
    (drift,) = detect.configuration(
        {"environment": {"A": "1", "B": "2"}, "limits": {"open_files": 4096}}, node
    )
    assert (drift.field, drift.approved, drift.observed, drift.since) == ("environment.A", "1", None, 7.0)


def test_one_is_one_point_zero_and_never_true() -> None:
    for approved, observed, differs in (
        (1, True, True),
        (True, 1, True),
        (1, 1.0, False),
        (0, False, True),
        (2.0, 2, False),
    ):
        node = Observation(node="n", time=1.0, live=True, facts={"hyperparameters.file.a": observed})
        found = detect.configuration({"hyperparameters": {"a": approved}}, node)
        assert bool(found) is differs, (approved, observed)


def gpu(node: str, **settings: Any) -> Observation:
    return Observation(node=node, time=9.0, live=True, facts={f"gpu.0.{k}": v for k, v in settings.items()})


def test_gpu_settings_drift_where_the_baseline_declares_them() -> None:
    declared = {"gpu_settings": {"driver": "570.86", "power_limit_watts": "700", "persistence": "enabled", "ecc": "enabled",
                                 "mig": "disabled"}}  # fmt: skip
    right = {
        "driver": "570.86",
        "power_limit_watts": 700.0,
        "persistence": "enabled",
        "ecc": "enabled",
        "mig": "disabled",
    }
    assert detect.configuration(declared, gpu("n", **right)) == []
    for name, wrong in (("driver", "460.73"), ("power_limit_watts", 400.0), ("persistence", "disabled"),
                        ("ecc", "disabled"), ("mig", "enabled")):  # fmt: skip
        (drift,) = detect.configuration(declared, gpu("n", **{**right, name: wrong}))
        assert (drift.kind, drift.field, drift.observed) == (DriftClass.RUNTIME, f"gpu.0.{name}", wrong)
    undeclared = gpu("n", **{**right, "compute_mode": "prohibited"})
    assert detect.configuration(declared, undeclared) == []


def test_nodes_that_disagree_without_a_baseline_are_told_and_nothing_is_healed() -> None:
    nodes = [gpu("n1", driver="570.86"), gpu("n2", driver="460.73"), gpu("n3", driver="570.86"), gpu("n4")]
    (drift,) = detect.disagreements(nodes)
    assert (drift.field, drift.node, drift.approved) == ("gpu.0.driver", "*", None)
    assert drift.observed == {'"460.73"': ["n2"], '"570.86"': ["n1", "n3"]}
    memory = Memory()
    for now in range(20):
        decisions, memory = decide([drift], memory, now=float(now), policy=HealPolicy())
        assert [d.action for d in decisions] == [Action.ALERT]
    assert "no baseline says which node is right" in decisions[0].reason
    # what is declared is compared with the declaration, node by node; what differs by nature is no disagreement
    assert detect.disagreements(nodes, {"gpu_settings": {"driver": "570.86"}}) == []
    assert detect.disagreements([gpu("n1", uuid="GPU-1"), gpu("n2", uuid="GPU-2")]) == []
    assert detect.disagreements(nodes[:1]) == detect.disagreements([]) == []


def test_a_variable_that_one_rank_has_is_a_disagreement() -> None:
    """NCCL's variables set on one rank only: the value differs, wherever all told one."""
    one, two = (
        Observation(node=n, time=1.0, live=True, facts={"environment.NCCL_ALGO": v, "environment.HOME": n})
        for n, v in (("n1", "Ring"), ("n2", None))
    )
    assert [(d.field, d.observed) for d in detect.disagreements([one, two])] == [
        ("environment.NCCL_ALGO", {'"Ring"': ["n1"], "null": ["n2"]})
    ]
