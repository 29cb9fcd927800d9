"""Whether a machine can run the training at all, and by how much it can't. Memory comes first."""

from __future__ import annotations

from math import ceil

from akotf.model.config import Limits
from akotf.model.plan import Infeasibility, Offer
from akotf.model.profile import WorkloadProfile
from akotf.model.units import GPUS, gpu_fits

#: Of a GPU's memory: what the driver and the allocator's fragments leave (Calculon and vTrain use 0.9 to 0.95).
_USABLE = 0.92
#: A process with PyTorch on a CPU, and a CUDA context on a GPU.
_PROCESS_BYTES = {"cpu": 400 * 2**20, "gpu": 600 * 2**20}
_GIB = 2**30


def memory_needed(workload: WorkloadProfile, workers: int, sharded: bool, on_gpu: bool) -> int:
    """Bytes that one process holds: state (a share of it when sharded), activations of its sequences, itself.

    A sharded process also holds one gathered copy of the layer at work; that is below the interval of the formula.
    """
    share = ceil(workload.global_batch / workers)
    held = min(share, workload.micro_batch or share)
    state = ceil(workload.state_bytes / workers) if sharded else workload.state_bytes
    return state + held * workload.activation_bytes + _PROCESS_BYTES["gpu" if on_gpu else "cpu"]


def memory_free(offer: Offer, limits: Limits, processes: int, on_gpu: bool) -> int:
    """Bytes that one process may hold: of its GPU, or its share of the run's memory limit on the node."""
    if on_gpu:
        return int(offer.device.memory * _USABLE)
    return min(limits.memory, offer.memory) // processes


def machine_faults(offer: Offer, limits: Limits) -> list[Infeasibility]:
    """Every limit of the run that one node of this offer breaks, memory of the training apart."""
    faults = []
    if limits.gpus > offer.gpus and not limits.gpus_optional:
        faults.append(
            _fault(
                "gpus", limits.gpus, offer.gpus, "GPUs", f"needs {limits.gpus} GPUs a node, has {offer.gpus}"
            )
        )
    if offer.gpus and not limits.gpus_of(offer.gpus):
        message = "is a GPU machine, and the run asks for no GPU; set limits.gpus or gpus_optional"
        faults.append(_fault("gpus", 0, offer.gpus, "GPUs", message))
    if limits.gpu and offer.gpus and not gpu_fits(limits.gpu, offer.device.name):
        message = f"needs {limits.gpu}, has {offer.device.name}"
        needed = GPUS[limits.gpu].memory
        faults.append(_fault("gpu-model", needed, offer.device.memory, "bytes", message))
    if limits.cpus > offer.cpus:
        faults.append(
            _fault(
                "cpus", limits.cpus, offer.cpus, "CPUs", f"needs {limits.cpus} CPUs a node, has {offer.cpus}"
            )
        )
    if limits.memory > offer.memory:
        message = f"the run's memory limit is {limits.memory / _GIB:.1f} GiB, a node has {offer.memory / _GIB:.1f} GiB"
        faults.append(_fault("memory", limits.memory, offer.memory, "bytes", message))
    return faults


def memory_fault(needed: int, free: int, on_gpu: bool) -> Infeasibility:
    """The training itself does not fit."""
    where = "GPU" if on_gpu else "process"
    return _fault(
        "memory", needed, free, "bytes",
        f"needs {needed / _GIB:.1f} GiB a {where}, has {free / _GIB:.1f} GiB",
    )  # fmt: skip


def batch_fault(workload: WorkloadProfile, workers: int) -> Infeasibility:
    """More processes than sequences in a step."""
    message = f"{workers} processes share a batch of {workload.global_batch} sequences"
    return _fault("batch", workers, workload.global_batch, "sequences", message)


def wall_time_fault(needed: float, limit: float, text: str) -> Infeasibility:
    """The run is cut off by its own wall time."""
    return _fault("wall-time", needed, limit, "s", text)


def interruption_fault(rate: float, bearable: float) -> Infeasibility:
    """The machine is taken away faster than work is saved."""
    message = f"is interrupted {rate:.3g} times an hour, and gets on with fewer than {bearable:.3g}"
    return _fault("interruptions", rate, bearable, "1/h", message)


def _fault(limit: str, needed: float, available: float, unit: str, message: str) -> Infeasibility:
    return Infeasibility(limit=limit, needed=needed, available=available, unit=unit, message=message)
