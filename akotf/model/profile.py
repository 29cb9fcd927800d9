"""What the workload asks of a machine, and what a device gives."""

from __future__ import annotations

from akotf.model.base import Frozen
from akotf.model.units import Estimate

#: Bytes of one stored activation, working weight or gradient, by precision.
ELEMENT_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 2}


class WorkloadProfile(Frozen):
    """One optimisation step over the whole global batch. All figures are of the whole job, not of one device."""

    flops: float  # forward + backward
    bytes_moved: float  # device memory traffic of weights, gradients, optimiser state and activations
    parameters: int
    tokens: int  # a step
    steps: int
    precision: str
    state_bytes: int  # weights, gradients and optimiser state
    activation_bytes: int  # of one sequence
    global_batch: int
    checkpoint_bytes: int
    dataset_bytes: int = 0
    width: int = 0  # inner size of the matrix products (the hidden size); 0 = large
    kernels: int = 0  # operations of forward and backward in one step
    optimizer_kernels: int = (
        0  # operations of an optimiser that loops over tensors, as on CPUs; GPUs join them
    )
    micro_batch: int | None = None  # sequences a process holds at once; None = its whole share
    source: str  # `declared: formula ...` or `traced: torch meta tensors`


class DeviceProfile(Frozen):
    """What one device achieves."""

    name: str  # canonical GPU name, or `cpu`
    flops: dict[str, Estimate]  # precision -> achieved FLOP/s in large matrix products
    bandwidth: Estimate  # bytes/s of device memory
    memory: int  # bytes
    measured_at: str = ""  # ISO 8601 when measured here
    fingerprint: str = ""  # of the machine, when measured here
    small_flops: Estimate | None = (
        None  # achieved FLOP/s in matrix products 128 wide; None = as in large ones
    )
    overhead: Estimate | None = None  # s to start one operation; None = nothing worth counting
    threads: int = 0  # of a CPU: threads the figures were taken with


def unmeasured_cpu(cpus: int, memory: int, source: str) -> DeviceProfile:
    """A CPU that nobody measured: what server cores of 2015 to 2025 give in PyTorch, so the interval is wide."""
    flops = Estimate(value=30e9 * cpus, low=8e9 * cpus, high=120e9 * cpus, unit="FLOP/s", source=source)
    bandwidth = Estimate(value=4e9 * cpus, low=2e9 * cpus, high=12e9 * cpus, unit="bytes/s", source=source)
    overhead = Estimate(value=8e-6, low=4e-6, high=30e-6, unit="s", source=source)
    return DeviceProfile(
        name="cpu", flops={"fp32": flops}, bandwidth=bandwidth, memory=memory, small_flops=flops.scaled(0.6),
        overhead=overhead, threads=cpus,
    )  # fmt: skip


class Calibration(Frozen):
    """Observed over predicted step time, per (device, backend, template): multiplies the next prediction.

    `ratio` is the geometric mean of observed/predicted over `samples` runs; `spread` its geometric standard deviation.
    """

    ratio: float
    spread: float
    samples: int


class CalibrationTable(Frozen):
    """All calibrations by key `device/backend/template`; the digest stands in the provenance."""

    entries: dict[str, Calibration] = {}
