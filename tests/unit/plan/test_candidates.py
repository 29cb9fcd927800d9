"""Candidates: which, feasible or why not, their phases and cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from akotf.model.base import canonical_json
from akotf.model.config import CheckpointSpec, Market, ScopeKind
from akotf.model.plan import Candidate, PlanInputs
from akotf.model.profile import Calibration, CalibrationTable
from akotf.plan.candidates import node_counts, plan

GIB = 2**30


def only(inputs: PlanInputs) -> Candidate:
    (candidate,) = plan(inputs).candidates
    return candidate


def limits_broken(candidate: Candidate) -> list[str]:
    return [fault.limit for fault in candidate.reasons]


@pytest.mark.parametrize(
    ("most", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])]
)
def test_node_counts_are_doublings_and_the_most(most: int, counts: list[int]) -> None:
    assert node_counts(most) == counts


def test_candidates_have_stable_readable_ids(make: Any) -> None:
    inputs = make.inputs(make.offer(), limits=make.limits(nodes=4))
    assert [c.id for c in plan(inputs).candidates] == [f"site/here/node/n{n}" for n in (1, 2, 4)]


def test_a_plan_is_the_same_bytes_again(make: Any) -> None:
    inputs = make.inputs(make.offer(), make.offer(id="b/b/b", scope="b"), limits=make.limits(nodes=3))
    again = PlanInputs.model_validate_json(canonical_json(inputs.to_json()))
    assert canonical_json(plan(inputs).to_json()) == canonical_json(plan(again).to_json())
    assert plan(inputs).inputs == inputs.digest()


def test_the_phases_add_up_to_the_time(make: Any) -> None:
    offer = make.offer(
        kind=ScopeKind.CLOUD, queue_wait=make.figure(600, "s", 2), provisioning=make.figure(240, "s", 2),
        interruptions_per_hour=0.02,
    )  # fmt: skip
    candidate = only(make.inputs(offer, workload=make.workload(dataset_bytes=3_000_000_000)))
    assert list(candidate.phases) == [
        "queue", "provisioning", "staging", "startup", "training", "checkpoints", "interruptions",
    ]  # fmt: skip
    assert candidate.time is not None
    for pick in ("value", "low", "high"):
        total = sum(getattr(span, pick) for span in candidate.phases.values())
        assert getattr(candidate.time, pick) == pytest.approx(total)
    assert candidate.phases["training"].value == pytest.approx(100 * 1.002)
    assert candidate.phases["staging"].value == pytest.approx(100)  # 3 GB at 30 MB/s
    assert candidate.phases["checkpoints"].value == pytest.approx(2 * (1 + 0.05))  # two of 400 MB at 400 MB/s
    assert all(span.source for span in candidate.phases.values())


def test_cost_is_price_times_nodes_times_time_without_the_queue(make: Any) -> None:
    offer = make.offer(price=Decimal("7.20"), queue_wait=make.figure(3600, "s"))
    inputs = make.inputs(offer, limits=make.limits(nodes=2))
    for nodes, candidate in zip((1, 2), plan(inputs).candidates, strict=True):
        assert candidate.time is not None
        assert candidate.cost is not None
        assert candidate.cost.value == pytest.approx((candidate.time.value - 3600) * 7.20 / 3600 * nodes)
        assert (candidate.cost.unit, candidate.cost.source) == ("USD", "declared")


def test_an_unknown_price_is_an_unknown_cost(make: Any) -> None:
    candidate = only(make.inputs(make.offer(price=None)))
    assert candidate.cost is None
    assert candidate.feasible


def test_a_cloud_bills_a_minute_at_least(make: Any) -> None:
    offer = make.offer(kind=ScopeKind.CLOUD, price=Decimal(3600))
    candidate = only(make.inputs(offer, workload=make.workload(steps=1, flops=1e9)))
    assert candidate.cost is not None
    assert candidate.cost.value == pytest.approx(60)


def test_interruptions_by_hand(make: Any) -> None:
    """Once an hour; 100 s to start again and 25 steps lost each time: x = (100 + 15 + 25) / 3600 of the work."""
    offer = make.offer(
        market=Market.SPOT, interruptions_per_hour=1.0, provisioning=make.figure(100, "s"),
        device=make.device(bandwidth=make.figure(1e20, "bytes/s")),
    )  # fmt: skip
    workload = make.workload(checkpoint_bytes=0, steps=1000)
    candidate = only(make.inputs(offer, workload=workload))
    work, share = 1000 + 20 * 0.05, (100 + 15 + 25) / 3600
    assert candidate.phases["interruptions"].value == pytest.approx(work * share / (1 - share))
    assert "Daly's optimum" in candidate.phases["interruptions"].source


def test_interruptions_faster_than_checkpoints_are_infeasible(make: Any) -> None:
    offer = make.offer(interruptions_per_hour=20.0)
    checkpoint = CheckpointSpec(interval_steps=50, durable=False)
    candidate = only(make.inputs(offer, workload=make.workload(steps=1000), checkpoint=checkpoint))
    assert limits_broken(candidate) == ["interruptions"]
    assert candidate.time is not None
    assert candidate.time.low <= candidate.time.value <= candidate.time.high


def test_memory_of_a_gpu_comes_first(make: Any) -> None:
    """16 bytes a parameter of 7e9 are 104 GiB: more than a card of 80 GiB holds, less than two hold in shares."""
    workload = make.workload(parameters=7_000_000_000, state_bytes=112_000_000_000)
    one = only(make.inputs(make.offer(), workload=workload))
    (fault,) = one.reasons
    assert fault.limit == "memory"
    assert fault.needed == pytest.approx(112e9 + 64 * 10e6 + 600 * 2**20)
    assert fault.available == int(80 * GIB * 0.92)
    assert fault.message == "needs 105.5 GiB a GPU, has 73.6 GiB"
    two = only(make.inputs(make.offer(), workload=workload, limits=make.limits(gpus=2)))
    assert two.feasible
    assert two.parallelism == "sharded"


def test_micro_batches_bound_the_activations(make: Any) -> None:
    workload = make.workload(activation_bytes=10 * GIB)
    assert limits_broken(only(make.inputs(make.offer(), workload=workload))) == ["memory"]
    accumulated = workload.model_copy(update={"micro_batch": 2})
    assert only(make.inputs(make.offer(), workload=accumulated)).feasible


def test_a_cpu_run_is_held_to_its_own_memory_limit(make: Any) -> None:
    offer = make.offer(device=make.cpu(), gpus=0, memory=512 * GIB)
    workload = make.workload(state_bytes=4 * GIB, precision="fp32")
    candidate = only(make.inputs(offer, workload=workload, limits=make.limits(gpus=0)))
    (fault,) = candidate.reasons
    assert (fault.limit, fault.available, fault.unit) == ("memory", 4 * GIB, "bytes")


@pytest.mark.parametrize(
    ("offer", "limits", "broken"),
    [
        ({"gpus": 2}, {"gpus": 4}, ["gpus"]),
        ({"cpus": 1}, {}, ["cpus"]),
        ({"memory": 2 * GIB}, {}, ["memory"]),
        ({}, {"gpu": "H100-80GB"}, ["gpu-model"]),
        ({}, {"gpus": 0}, ["gpus"]),  # a GPU machine for a run that asks for none
        (
            {"gpus": 2, "cpus": 1},
            {"gpus": 4, "gpu": "A100-40GB"},
            ["gpus", "gpu-model", "cpus"],
        ),  # all at once
        ({}, {"wall_time": 60.0}, ["wall-time"]),
        ({}, {"gpu": "A100-80GB"}, []),
    ],
)
def test_every_broken_limit_is_named(
    make: Any, offer: dict[str, Any], limits: dict[str, Any], broken: list[str]
) -> None:
    candidate = only(make.inputs(make.offer(**offer), limits=make.limits(**limits)))
    assert limits_broken(candidate) == broken
    assert candidate.feasible == (not broken)
    assert all(fault.message for fault in candidate.reasons)


def test_more_processes_than_sequences(make: Any) -> None:
    inputs = make.inputs(make.offer(), workload=make.workload(global_batch=4), limits=make.limits(gpus=8))
    (fault,) = only(inputs).reasons
    assert (fault.limit, fault.needed, fault.available) == ("batch", 8, 4)


def test_an_optional_gpu_is_taken_where_there_is_one(make: Any) -> None:
    limits = make.limits(gpus=0, gpus_optional=True)
    cpu = make.offer(id="a/a/cpu", device=make.cpu(), gpus=0)
    workload = make.workload(precision="fp32", flops=1e9)
    gpu = make.offer(device=make.device(flops={"fp32": make.figure(10e12)}))
    on_cpu, on_gpu = plan(make.inputs(cpu, gpu, workload=workload, limits=limits, processes=2)).candidates
    assert on_cpu.feasible
    assert on_gpu.feasible
    assert (on_cpu.processes, on_gpu.processes) == (2, 1)


def test_calibration_is_looked_up_by_device_backend_and_template(make: Any) -> None:
    plain = only(make.inputs(make.offer()))
    table = CalibrationTable(
        entries={
            "A100-80GB/slurm/gpu-training@1.0.0": Calibration(ratio=1.5, spread=1.0, samples=2),
            "A100-80GB/local/gpu-training@1.0.0": Calibration(ratio=9.0, spread=1.0, samples=2),
        }
    )
    calibrated = only(make.inputs(make.offer(), calibration=table))
    assert plain.step_time is not None
    assert calibrated.step_time is not None
    assert calibrated.step_time.value == pytest.approx(1.5 * plain.step_time.value)


def test_more_nodes_take_less_time(make: Any) -> None:
    times = [
        c.time.value
        for c in plan(make.inputs(make.offer(), limits=make.limits(nodes=4))).candidates
        if c.time
    ]
    # The rendezvous of several nodes costs ten seconds; half of the training is fifty.
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(("asked", "there", "fits"), [
    ("A100-80GB", "A100-80GB-SXM", True), ("A100-80GB", "A100-80GB-PCIe", True), ("A100-80GB-SXM", "A100-80GB-SXM", True),
    ("A100-80GB-SXM", "A100-80GB-PCIe", False), ("A100-80GB-SXM", "A100-80GB", False), ("A100-80GB", "A100-40GB-SXM", False),
])  # fmt: skip
def test_a_card_of_another_memory_or_form_is_not_what_was_asked_for(
    make: Any, asked: str, there: str, fits: bool
) -> None:
    offer = make.offer(device=make.device(name=there))
    candidate = only(make.inputs(offer, limits=make.limits(gpu=asked)))
    assert limits_broken(candidate) == ([] if fits else ["gpu-model"])
