"""Candidates: every offer at every sensible number of nodes, feasible or why not, with predicted time and cost."""

from __future__ import annotations

from akotf.model.config import ScopeKind
from akotf.model.plan import Candidate, Infeasibility, Offer, PlanInputs, PlanResult
from akotf.model.units import Estimate, add_estimates
from akotf.model.words import clock
from akotf.plan import feasibility
from akotf.plan.phases import interruptions, phases
from akotf.plan.steptime import Placement, step_time

#: Clouds bill by the second, a minute at least (AWS, Google Cloud and Azure for Linux machines).
_LEAST_BILLED = 60.0


def plan(inputs: PlanInputs) -> PlanResult:
    """All candidates, in the order of the snapshot's offers. Pure: equal inputs give equal bytes."""
    candidates = [
        _candidate(inputs, offer, nodes)
        for offer in inputs.snapshot.offers
        for nodes in node_counts(min(offer.max_nodes, inputs.limits.nodes))
    ]
    return PlanResult(planner=inputs.planner, inputs=inputs.digest(), candidates=tuple(candidates))


def node_counts(most: int) -> list[int]:
    """1, 2, 4, ... and the most itself: doublings are what schedulers and collectives like."""
    counts = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return counts if counts and counts[-1] == most else [*counts, most]


def _candidate(inputs: PlanInputs, offer: Offer, nodes: int) -> Candidate:
    faults = feasibility.machine_faults(offer, inputs.limits)
    gpus = inputs.limits.gpus_of(offer.gpus)
    processes = gpus or inputs.processes
    head = Candidate(
        id=f"{offer.id}/n{nodes}", scope=offer.scope, offer=offer, nodes=nodes, processes=processes,
        feasible=False, reasons=tuple(faults),
    )  # fmt: skip
    if nodes * processes > inputs.workload.global_batch:
        faults.append(feasibility.batch_fault(inputs.workload, nodes * processes))
    sharded = _sharded(inputs, offer, nodes, processes, faults)
    if faults:
        return head.model_copy(update={"reasons": tuple(faults)})
    placement = Placement(
        offer=offer, nodes=nodes, processes=processes, cpus=min(inputs.limits.cpus, offer.cpus),
        on_gpu=gpus > 0, sharded=sharded,
    )  # fmt: skip
    return _predicted(inputs, head, placement)


def _sharded(
    inputs: PlanInputs, offer: Offer, nodes: int, processes: int, faults: list[Infeasibility]
) -> bool:
    """Whether the state must be sharded to fit; a fault is added when it does not fit even so."""
    workload, on_gpu = inputs.workload, offer.gpus > 0
    free = feasibility.memory_free(offer, inputs.limits, processes, on_gpu)
    workers = nodes * processes
    if feasibility.memory_needed(workload, workers, False, on_gpu) <= free:
        return False
    needed = feasibility.memory_needed(workload, workers, workers > 1, on_gpu)
    if needed > free:
        faults.append(feasibility.memory_fault(needed, free, on_gpu))
    return workers > 1


def _predicted(inputs: PlanInputs, head: Candidate, placement: Placement) -> Candidate:
    offer = placement.offer
    device = offer.device.name if placement.on_gpu else "cpu"
    calibration = inputs.calibration.entries.get(f"{device}/{offer.backend}/{inputs.template}")
    step = step_time(inputs.workload, placement, calibration)
    spans = phases(inputs.workload, inputs.checkpoint, placement, step)
    spans["interruptions"], bearable = interruptions(
        inputs.workload, inputs.checkpoint, placement, spans, step
    )
    time = add_estimates(list(spans.values()), step.source)
    faults = []
    rate = offer.interruptions_per_hour * placement.nodes
    if rate >= bearable:
        faults.append(feasibility.interruption_fault(rate, bearable))
    running = time.value - spans["queue"].value - spans["provisioning"].value
    if running > inputs.limits.wall_time:
        text = f"runs {clock(running)}, its wall time is {clock(inputs.limits.wall_time)}"
        faults.append(feasibility.wall_time_fault(running, inputs.limits.wall_time, text))
    return head.model_copy(
        update={
            "feasible": not faults, "reasons": tuple(faults), "step_time": step, "phases": spans, "time": time,
            "cost": _cost(offer, placement.nodes, time, spans["queue"]),
            "parallelism": "sharded" if placement.sharded else "data",
        }
    )  # fmt: skip


def _cost(offer: Offer, nodes: int, time: Estimate, queue: Estimate) -> Estimate | None:
    """Price of the nodes from provisioning to the end; waiting in a queue costs nothing. None: price unknown."""
    if offer.price is None:
        return None
    least = _LEAST_BILLED if offer.kind is ScopeKind.CLOUD else 0.0
    rate = float(offer.price) * nodes / 3600
    billed = (time.value - queue.value, time.low - queue.low, time.high - queue.high)
    value, low, high = (max(least, seconds) * rate for seconds in billed)
    return Estimate(value=value, low=low, high=high, unit=offer.currency, source=offer.price_source)
