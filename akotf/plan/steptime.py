"""How long one optimisation step takes on a machine: an analytic model, kernel class by kernel class.

Matrix products run at the device's achieved FLOP/s for their width, all other kernels at its memory bandwidth, and
each kernel has a cost to start. Processes are data parallel; gradients are reduced over a ring, ``2 (n-1)/n`` of their
bytes through the slowest link (Patarasuk and Yuan 2009), 1.5 times that when the state is sharded (ZeRO stage 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, log2

from akotf.model.gpus import has_fast_links
from akotf.model.plan import Offer
from akotf.model.profile import ELEMENT_BYTES, Calibration, DeviceProfile, WorkloadProfile
from akotf.model.units import Estimate

#: What a device runs in place of a precision that it lacks.
_INSTEAD = {
    "fp8": ("bf16", "fp16", "tf32", "fp32"),
    "bf16": ("fp16", "tf32", "fp32"),
    "fp16": ("bf16", "tf32", "fp32"),
    "tf32": ("fp32",),
    "fp32": ("tf32",),
}
_SMALL_WIDTH = 128  # of DeviceProfile.small_flops
_LARGE_WIDTH = {"cpu": 1024, "gpu": 4096}  # from here on a product counts as large
#: Bytes a second between the GPUs of one node: NVLink as NCCL achieves it, else PCIe 4.0; between CPU processes.
_INSIDE = {"nvlink": 200e9, "pcie": 12e9, "cpu": 1e9}
_UNKNOWN_NETWORK = 1.25e9  # 10 Gbit/s
#: Of the throughput that a product reaches alone, what it reaches inside a training on GPUs (clocks under sustained
#: power, shapes, kernels between): median of 113 published A100 trainings (llm-foundry) over this model, 0.73. H100
#: trainings were held out and come to 0.60 to 0.79. A CPU's short benchmark has no such gap.
_SUSTAINED = {"gpu": 0.73, "cpu": 1.0}
#: The model's own error where nothing calibrates it: published analytic models lie 4 to 15 % off, ours ignores more.
_MODEL_LOW, _MODEL_HIGH = 0.8, 1.35
#: The narrowest interval that a calibration can leave: run to run noise of one machine.
_NOISE = 1.05


@dataclass(frozen=True)
class Placement:
    """How a candidate spreads the work."""

    offer: Offer
    nodes: int
    processes: int  # a node
    cpus: int  # a node, that the run may use
    on_gpu: bool
    sharded: bool

    @property
    def workers(self) -> int:
        """All processes."""
        return self.nodes * self.processes


def step_time(workload: WorkloadProfile, placement: Placement, calibration: Calibration | None) -> Estimate:
    """Seconds a step, with the interval that the device's figures and the model's error span."""
    device = placement.offer.device
    precision = usable_precision(device, workload.precision)
    times = [_seconds(workload, placement, precision, pick) for pick in (_value, _fast, _slow)]
    source = f"{workload.source.split(':')[0]} FLOPs over {device.flops[precision].source}"
    if precision != workload.precision:
        source += f" in {precision}"
    raw = Estimate(
        value=times[0], low=times[1] * _MODEL_LOW, high=times[2] * _MODEL_HIGH, unit="s", source=source
    )
    return raw if calibration is None else calibrated(raw, calibration)


def calibrated(raw: Estimate, calibration: Calibration) -> Estimate:
    """A prediction times what past runs took over what was predicted for them; the interval is what they spread.

    Two geometric standard deviations, widened for few samples, never wider than the interval without calibration.
    """
    value = raw.value * calibration.ratio
    spread = max(calibration.spread, _NOISE) ** 2 * (1 + 0.1 / calibration.samples)
    wide_low, wide_high = raw.value / raw.low, raw.high / raw.value
    runs = "1 past run" if calibration.samples == 1 else f"{calibration.samples} past runs"
    return Estimate(
        value=value,
        low=value / min(spread, wide_low),
        high=value * min(spread, wide_high),
        unit="s",
        source=f"{raw.source}, calibrated by {runs}",
    )


def usable_precision(device: DeviceProfile, wanted: str) -> str:
    """The precision that the device computes in when `wanted` is asked."""
    for precision in (wanted, *_INSTEAD[wanted]):
        if precision in device.flops:
            return precision
    return next(iter(sorted(device.flops)))


_Pick = Callable[[Estimate], float]


def _value(figure: Estimate) -> float:
    return figure.value


def _fast(figure: Estimate) -> float:
    return figure.low if figure.unit == "s" else figure.high


def _slow(figure: Estimate) -> float:
    return figure.high if figure.unit == "s" else figure.low


def _seconds(workload: WorkloadProfile, placement: Placement, precision: str, pick: _Pick) -> float:
    device, workers = placement.offer.device, placement.workers
    share = _cpu_share(placement)
    products = workload.flops / workers / (_throughput(device, workload.width, precision, pick) * share)
    state = 2 * workload.state_bytes
    moved = (workload.bytes_moved - state) / workers + (state / workers if placement.sharded else state)
    busy = products + moved / (pick(device.bandwidth) * share)
    kernels = workload.kernels + (0 if placement.on_gpu else workload.optimizer_kernels)
    starts = kernels * (pick(device.overhead) if device.overhead else 0.0)
    # A GPU runs while the host starts the next kernels; a CPU does both itself.
    compute = max(busy, starts) if placement.on_gpu else busy + starts
    return compute + _exposed(_all_reduce(workload, placement), compute, pick)


def _cpu_share(placement: Placement) -> float:
    """The part of a CPU's measured throughput that one process has: its cores over those measured."""
    threads = placement.offer.device.threads
    if placement.on_gpu or not threads:
        return 1.0
    return placement.cpus / threads / placement.processes


def _throughput(device: DeviceProfile, width: int, precision: str, pick: _Pick) -> float:
    """FLOP/s for products of this width: between the small and the large figure on a log-log line."""
    kind = "cpu" if device.name == "cpu" else "gpu"
    large = pick(device.flops[precision]) * _SUSTAINED[kind]
    full = _LARGE_WIDTH[kind]
    if device.small_flops is None or not width or width >= full:
        return large
    small = min(pick(device.small_flops) * _SUSTAINED[kind], large)
    if width <= _SMALL_WIDTH:
        return small
    position = log2(width / _SMALL_WIDTH) / log2(full / _SMALL_WIDTH)
    return exp(log(small) + position * (log(large) - log(small)))


def _all_reduce(workload: WorkloadProfile, placement: Placement) -> float:
    """Seconds to reduce the gradients over a ring of all processes."""
    workers = placement.workers
    if workers == 1:
        return 0.0
    bandwidth = _INSIDE["cpu"]
    if placement.on_gpu:
        name = placement.offer.device.name
        bandwidth = _INSIDE["nvlink" if has_fast_links(name) else "pcie"]
    if placement.nodes > 1:
        bandwidth = min(bandwidth, placement.offer.network or _UNKNOWN_NETWORK)
    size = workload.parameters * ELEMENT_BYTES[workload.precision]
    return (1.5 if placement.sharded else 1.0) * 2 * (workers - 1) / workers * size / bandwidth


def _exposed(communication: float, compute: float, pick: _Pick) -> float:
    """The part of the reduction that the backward pass (two thirds of the step) does not hide."""
    hidden = 2 / 3 * compute
    if pick is _fast:
        return max(0.0, communication - hidden)
    if pick is _slow:
        return communication
    return max(0.1 * communication, communication - hidden)
