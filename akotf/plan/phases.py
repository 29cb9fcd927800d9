"""The phases of a run in seconds, each with interval and source; together they are its time."""

from __future__ import annotations

from akotf.model.config import CheckpointSpec, ScopeKind
from akotf.model.profile import WorkloadProfile
from akotf.model.units import Estimate, add_estimates
from akotf.model.words import clock
from akotf.plan.interruptions import daly, lost_share
from akotf.plan.steptime import Placement

_NOTHING = Estimate.exact(0.0, "s", "none")
#: From the process's start to the first step: interpreter, framework, data, model.
_STARTUP = {
    "cpu": Estimate(
        value=5, low=2, high=15, unit="s", source="default: start of Python and PyTorch on a CPU"
    ),
    "gpu": Estimate(value=15, low=6, high=60, unit="s", source="default: start of Python, PyTorch and CUDA"),
}
_RENDEZVOUS = Estimate(value=10, low=3, high=60, unit="s", source="default: torchrun over several nodes")
#: Bytes a second at which a scope takes in data, and at which it saves checkpoints.
_STAGING = {
    ScopeKind.HPC: Estimate(
        value=100e6, low=20e6, high=1e9, unit="bytes/s", source="default: copy to a shared file system"
    ),
    ScopeKind.CLOUD: Estimate(
        value=30e6, low=5e6, high=200e6, unit="bytes/s", source="default: upload to a cloud"
    ),
}
_SAVING = Estimate(
    value=400e6, low=80e6, high=2e9, unit="bytes/s", source="default: write and digest on a disk"
)
#: Interruptions an hour that nobody lives to see: one in a hundred thousand years.
_NEVER = 1e-9
#: The formula holds for small losses; beyond nine tenths the candidate is infeasible or as good as that.
_WORST_SHARE = 0.9
_SAVE_LATENCY = 0.05  # s: fsync of files and manifest


def phases(
    workload: WorkloadProfile, checkpoint: CheckpointSpec, placement: Placement, step: Estimate
) -> dict[str, Estimate]:
    """All phases but interruptions, in order."""
    offer = placement.offer
    startup = _STARTUP["gpu" if placement.on_gpu else "cpu"]
    if placement.nodes > 1:
        startup = add_estimates([startup, _RENDEZVOUS], f"{startup.source}; {_RENDEZVOUS.source}")
    training = step.scaled(workload.steps).model_copy(
        update={"source": f"{workload.steps} steps; {step.source}"}
    )
    return {
        "queue": offer.queue_wait,
        "provisioning": offer.provisioning,
        "staging": _staging(workload, offer.kind),
        "startup": startup,
        "training": training,
        "checkpoints": saving(workload).scaled(max(1, workload.steps // checkpoint.interval_steps)),
    }


def saving(workload: WorkloadProfile) -> Estimate:
    """Seconds that one checkpoint blocks the training."""
    size = workload.checkpoint_bytes
    return Estimate(
        value=size / _SAVING.value + _SAVE_LATENCY,
        low=size / _SAVING.high + _SAVE_LATENCY / 2,
        high=size / _SAVING.low + _SAVE_LATENCY * 4,
        unit="s",
        source=_SAVING.source,
    )


def interruptions(
    workload: WorkloadProfile, checkpoint: CheckpointSpec, placement: Placement, spans: dict[str, Estimate],
    step: Estimate,
) -> tuple[Estimate, float]:  # fmt: skip
    """Expected seconds lost to interruptions, and the interruptions an hour that would stop all progress.

    Each costs a new machine, a start, and half the work between two checkpoints; without durable checkpoints, half
    of all the work. Kokolis et al. 2025: with share x lost, productive time T takes T / (1 - x).
    """
    rate = placement.offer.interruptions_per_hour * placement.nodes
    value, low, high = (
        _lost(getattr(step, pick), spans, checkpoint, workload, rate, pick)
        for pick in ("value", "low", "high")
    )
    interval = _interval(step.value, checkpoint, workload)
    recovery = spans["provisioning"].value + spans["startup"].value
    bearable = 3600 / (recovery + interval / 2)
    if rate < _NEVER:
        return _NOTHING, bearable
    mtbf = 3600 / rate
    optimum = daly(saving(workload).value, mtbf)
    source = (
        f"{placement.offer.source}; every {clock(mtbf)}, checkpoints every {clock(interval)} "
        f"(Daly's optimum {clock(optimum)})"
    )
    return Estimate(value=value, low=low, high=high, unit="s", source=source), bearable


def _lost(
    step: float, spans: dict[str, Estimate], checkpoint: CheckpointSpec, workload: WorkloadProfile, rate: float,
    pick: str,
) -> float:  # fmt: skip
    if rate < _NEVER:
        return 0.0
    work = getattr(spans["training"], pick) + getattr(spans["checkpoints"], pick)
    recovery = getattr(spans["provisioning"], pick) + getattr(spans["startup"], pick)
    share = min(lost_share(_interval(step, checkpoint, workload), recovery, 3600 / rate), _WORST_SHARE)
    return float(work * share / (1 - share))


def _interval(step: float, checkpoint: CheckpointSpec, workload: WorkloadProfile) -> float:
    steps = checkpoint.interval_steps if checkpoint.durable else workload.steps
    return step * min(steps, workload.steps)


def _staging(workload: WorkloadProfile, kind: ScopeKind) -> Estimate:
    if kind is ScopeKind.LOCAL or not workload.dataset_bytes:
        return Estimate.exact(0.0, "s", "data is there")
    rate, size = _STAGING[kind], workload.dataset_bytes
    return Estimate(
        value=size / rate.value, low=size / rate.high, high=size / rate.low, unit="s", source=rate.source
    )
