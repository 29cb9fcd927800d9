"""Step times by hand, and against published throughputs."""

from __future__ import annotations

from math import sqrt
from statistics import fmean
from typing import Any

import pytest

from akotf.model.config import ModelSpec, WorkloadSpec
from akotf.model.profile import Calibration
from akotf.plan.steptime import Placement, step_time, usable_precision
from akotf.profiling.formulas import declared
from akotf.survey.devices import known_gpu


def placed(offer: Any, nodes: int = 1, processes: int = 1, **changes: Any) -> Placement:
    values = {"cpus": 2, "on_gpu": offer.device.name != "cpu", "sharded": False, **changes}
    return Placement(offer=offer, nodes=nodes, processes=processes, **values)


def test_one_gpu_by_hand(make: Any) -> None:
    """100 TFLOP at 100 TFLOP/s and 2 GB at 1 TB/s: 1.002 s."""
    step = step_time(make.workload(), placed(make.offer()), None)
    assert step.value == pytest.approx(1.002)
    assert step.low < step.value < step.high
    assert step.source == "declared FLOPs over test"


def test_a_ring_of_four_by_hand(make: Any) -> None:
    """A quarter of FLOPs and activations, the whole state, 2 x 3/4 x 62.5 MB over NVLink at 200 GB/s, nine tenths hidden."""
    step = step_time(make.workload(), placed(make.offer(), processes=4), None)
    ring = 2 * 3 / 4 * 62.5e6 / 200e9
    assert step.value == pytest.approx(0.25 + (1e9 + 0.25e9) / 1e12 + 0.1 * ring)


def test_a_slow_network_is_not_hidden(make: Any) -> None:
    """Two nodes at 10 MB/s: 62.5 MB take 6.25 s, of which two thirds of half a second hide."""
    step = step_time(make.workload(), placed(make.offer(network=10e6), nodes=2), None)
    compute = 0.5 + 1.5e9 / 1e12
    assert step.value == pytest.approx(compute + 6.25 - 2 / 3 * compute)


def test_sharded_state_is_read_in_shares_and_sent_half_again(make: Any) -> None:
    plain = step_time(make.workload(), placed(make.offer(network=10e6), nodes=2), None)
    sharded = step_time(make.workload(), placed(make.offer(network=10e6), nodes=2, sharded=True), None)
    saved = 0.5e9 / 1e12 / 3  # a third of it would not hide any communication
    assert sharded.value - plain.value == pytest.approx(0.5 * 6.25 - saved)


def test_a_gpu_hides_the_start_of_operations_and_a_cpu_does_not(make: Any) -> None:
    start = make.figure(1e-3, "s")
    workload = make.workload(kernels=500, optimizer_kernels=500)
    on_gpu = step_time(workload, placed(make.offer(device=make.device(overhead=start))), None)
    assert on_gpu.value == pytest.approx(1.002)  # 500 starts take half a second, less than the work
    small = make.workload(kernels=5000, optimizer_kernels=500)
    assert step_time(
        small, placed(make.offer(device=make.device(overhead=start))), None
    ).value == pytest.approx(5.0)
    cpu = make.offer(device=make.cpu(overhead=start), gpus=0)
    workload = workload.model_copy(update={"flops": 100e9, "precision": "fp32"})
    assert step_time(workload, placed(cpu), None).value == pytest.approx(1.0 + 2e9 / 20e9 + 1.0)


def test_a_run_with_half_the_cores_takes_twice_as_long(make: Any) -> None:
    cpu = make.offer(device=make.cpu(), gpus=0)
    workload = make.workload(flops=100e9, precision="fp32")
    whole, half = (step_time(workload, placed(cpu, cpus=cpus), None) for cpus in (2, 1))
    assert half.value == pytest.approx(2 * whole.value)


def test_narrow_products_lie_between_small_and_large(make: Any) -> None:
    """On a log-log line from 128 (a quarter of the speed) to 1024: at 362, half-way, the geometric mean."""
    cpu = make.offer(device=make.cpu(small_flops=make.figure(25e9)), gpus=0)

    def seconds(width: int) -> float:
        workload = make.workload(flops=100e9, precision="fp32", width=width, bytes_moved=1e9)
        return step_time(workload, placed(cpu), None).value - 0.05

    assert seconds(64) == seconds(128) == pytest.approx(4.0)
    assert seconds(362) == pytest.approx(4 / sqrt(4), rel=0.001)
    assert seconds(1024) == seconds(0) == pytest.approx(1.0)


def test_a_device_without_the_precision_takes_the_next(make: Any) -> None:
    t4 = known_gpu("T4-16GB")
    assert usable_precision(t4, "bf16") == "fp16"
    assert usable_precision(make.cpu(), "bf16") == "fp32"
    step = step_time(make.workload(), placed(make.offer(device=make.cpu(), gpus=0)), None)
    assert step.source.endswith("in fp32")


def test_calibration_multiplies_and_narrows(make: Any) -> None:
    raw = step_time(make.workload(), placed(make.offer()), None)
    once = step_time(make.workload(), placed(make.offer()), Calibration(ratio=2.0, spread=1.0, samples=1))
    often = step_time(make.workload(), placed(make.offer()), Calibration(ratio=2.0, spread=1.0, samples=50))
    wild = step_time(make.workload(), placed(make.offer()), Calibration(ratio=2.0, spread=9.0, samples=3))
    assert once.value == pytest.approx(2 * raw.value)
    assert once.high / once.low < raw.high / raw.low
    assert often.high / often.low < once.high / once.low
    assert wild.high / wild.low == pytest.approx(raw.high / raw.low)
    assert once.source.endswith("calibrated by 1 past run")


# llm-foundry, scripts/train/benchmarking/README.md at 8c8dd48 (Apache-2.0): MPT models, sequence 2048, vocabulary 50368,
# no recomputation; and NVIDIA/dgxc-benchmarking (MIT), nemo_megatron/README_175b.md and paxml/README_5b.md, vocabulary
# 51200. GPU, GPUs, layers, hidden, heads, global batch, tokens/s a GPU.
PUBLISHED = [
    ("H100-80GB", 128, 96, 12288, 96, 256, 492.96),
    ("H100-80GB", 2048, 96, 12288, 96, 4096, 482.45),
    ("H100-80GB", 64, 24, 4096, 32, 256, 12740.28),
    ("H100-80GB", 512, 32, 4096, 32, 3072, 9670),
    ("H100-80GB", 512, 32, 2560, 20, 4096, 21664),
    ("H100-80GB", 64, 40, 5120, 40, 128, 4800),
    ("H100-80GB", 32, 24, 1536, 12, 768, 67971),
    ("A100-80GB", 8, 40, 5120, 40, 48, 2262),
    ("A100-80GB", 8, 32, 4096, 32, 96, 4641),
    ("A100-80GB", 8, 32, 2560, 20, 160, 10811),
    ("A100-80GB", 8, 24, 1536, 12, 384, 32434),
    ("A100-40GB", 128, 32, 2560, 20, 768, 9538),
    ("A100-40GB", 128, 24, 1536, 12, 1536, 28940),
]


def test_published_throughputs_lie_in_the_interval(make: Any) -> None:
    """One number is fitted, on the A100 rows. A planner that knew one MFU for everything errs by 20 %."""
    errors = []
    for gpu, gpus, layers, hidden, heads, batch, tokens in PUBLISHED:
        model = ModelSpec(
            layers=layers, hidden=hidden, heads=heads, vocabulary=50368, sequence=2048, fused_attention=True
        )
        workload = declared(WorkloadSpec(model=model, global_batch=batch, steps=1, precision="bf16"))
        offer = make.offer(device=known_gpu(gpu), network=200e9)
        step = step_time(workload, placed(offer, nodes=gpus // 8, processes=8, sharded=True), None)
        observed = batch * 2048 / (tokens * gpus)
        assert step.low <= observed <= step.high, (gpu, hidden, step, observed)
        errors.append(abs(step.value / observed - 1))
    assert fmean(errors) < 0.15
