"""Performance drift: the step time against the prediction, against the run's own past, and against its peers.

Parameters and where they are from:
- CUSUM with k = 0.5 and h = 10 standard deviations. Page, "Continuous inspection schemes" (Biometrika 41, 1954);
  Siegmund's approximation (Sequential Analysis, 1985) gives one false alarm in (e^b - b - 1) / (2 k^2) samples with
  b = 2 k (h + 1.166): 1.4e5, and a step of two standard deviations is seen after about 7 samples.
- EWMA with lambda = 0.2 and limits of 4 standard deviations of the EWMA, sqrt(lambda / (2 - lambda)) of one sample's.
  Roberts, "Control chart tests based on geometric moving averages" (Technometrics 1, 1959); Lucas and Saccucci (1990).
- Modified z-score over 3.5 with the MAD, 0.6745 standard deviations of a normal distribution. Iglewicz and Hoaglin,
  "How to detect and handle outliers" (ASQC, 1993).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from akotf.model.drift import Drift, DriftClass, Observation, Trend
from akotf.model.units import Estimate

#: How far the step time may exceed the upper end of its predicted interval before it counts as drift.
STEP_TIME_TOLERANCE = 2.0

#: Steps before the step time is compared: the first ones warm caches and compile.
WARM_UP_STEPS = 20

#: Steps between two samples of the trend: the heartbeat's step time is the mean of the last 20.
SAMPLE_STEPS = 20
LEARN = 30  # samples that make the run's own past
CUSUM_K, CUSUM_H = 0.5, 10.0
EWMA_LAMBDA, EWMA_LIMIT = 0.2, 4.0

#: Slower by less is nobody's loss, however sure it is; and nothing is measured better than this.
LEAST_SHIFT = 0.03
LEAST_DEVIATION = 0.01

STRAGGLER_SCORE, STRAGGLER_SHIFT = 3.5, 0.05
PEERS = 3


def performance(observation: Observation, predicted: Estimate | None) -> list[Drift]:
    """The step time against its predicted interval; nothing before warm-up or without a prediction."""
    if predicted is None or not has_step_time(observation):
        return []
    step_time = (observation.progress or {})["step_time"]
    if step_time <= predicted.high * STEP_TIME_TOLERANCE:
        return []
    tolerance = f"{STEP_TIME_TOLERANCE:g} x the upper end of the predicted interval"
    return [_slow(observation, "performance.step_time", predicted.high, step_time, "prediction", tolerance)]


def has_step_time(observation: Observation) -> bool:
    """Whether the step time can be compared now: it trains and is warm."""
    progress = observation.progress or {}
    return (
        progress.get("step_time") is not None
        and progress.get("step", 0) >= WARM_UP_STEPS
        and progress.get("phase", "train") == "train"
    )


def follow_trend(before: Trend, observation: Observation) -> Trend:
    """The trend with one more sample, when there is a new one: at least SAMPLE_STEPS after the last.

    The first LEARN samples make the run's own past and are then left alone, so that a slow decline is not learned.
    """
    if not has_step_time(observation):
        return before
    progress = observation.progress or {}
    step, value = int(progress["step"]), float(progress["step_time"])
    if step < before.step:  # another attempt: the past stays, what was summed up does not
        before = before.model_copy(update={"step": -1, "cusum": 0.0, "level": before.mean})
    if before.step >= 0 and step - before.step < SAMPLE_STEPS:
        return before
    if before.samples < LEARN:
        samples = before.samples + 1
        mean = before.mean + (value - before.mean) / samples
        squares = before.squares + (value - before.mean) * (value - mean)
        return Trend(samples=samples, mean=mean, squares=squares, level=mean, step=step)
    score = (value - before.mean) / deviation(before)
    # Held below twice the limit, so that a run that is right again is soon seen to be.
    cusum = min(max(0.0, before.cusum + score - CUSUM_K), 2 * CUSUM_H)
    level = before.level + EWMA_LAMBDA * (value - before.level)
    return before.model_copy(update={"level": level, "cusum": cusum, "step": step})


def deviation(trend: Trend) -> float:
    """Standard deviation of one sample, s; never below 1% of the mean."""
    measured = math.sqrt(trend.squares / max(1, trend.samples - 1))
    return max(measured, LEAST_DEVIATION * trend.mean, 1e-9)


def against_past(trend: Trend, observation: Observation) -> list[Drift]:
    """The step time against the run's own past: CUSUM finds a small shift, EWMA a large one at once."""
    if trend.samples < LEARN or not has_step_time(observation):
        return []
    limit = EWMA_LIMIT * deviation(trend) * math.sqrt(EWMA_LAMBDA / (2 - EWMA_LAMBDA))
    shifted = trend.level > trend.mean * (1 + LEAST_SHIFT)
    if not shifted or (trend.cusum <= CUSUM_H and trend.level <= trend.mean + limit):
        return []
    tolerance = f"CUSUM k={CUSUM_K:g} h={CUSUM_H:g}, EWMA lambda={EWMA_LAMBDA:g} L={EWMA_LIMIT:g}, at least {LEAST_SHIFT:.0%}"
    return [_slow(observation, "performance.trend", trend.mean, trend.level, "history", tolerance)]


def throughput(
    observation: Observation, steps_per_second: float | None, flops: float, predicted: Estimate | None, *,
    device_flops: float = 0.0,
) -> list[Drift]:  # fmt: skip
    """Steps over wall time, with all that is between them, against the prediction; in FLOP/s of the whole job.

    `steps_per_second` is measured (`liveness.pace_of`), `flops` of one step, `device_flops` what all devices of the job
    achieve in large matrix products: with it the share of it that is used is told.
    """
    if predicted is None or steps_per_second is None or flops <= 0 or not has_step_time(observation):
        return []
    approved, found = flops / predicted.high, flops * steps_per_second
    if found * STEP_TIME_TOLERANCE >= approved:
        return []
    share = f", {found / device_flops:.1%} of what the devices give" if device_flops else ""
    tolerance = f"half of the lower end of the predicted FLOP/s{share}"
    return [_slow(observation, "performance.throughput", approved, found, "prediction", tolerance)]


def stragglers(step_times: Mapping[str, float], *, now: float) -> list[Drift]:
    """Nodes that are slow among their peers, by median and MAD. `step_times`: node -> s of its own work a step.

    In synchronous training all nodes wait for each other: what is compared must be taken before the collective.
    Fewer than three nodes say nothing of who is slow.
    """
    if len(step_times) < PEERS:
        return []
    middle = statistics.median(step_times.values())
    spread = statistics.median(abs(value - middle) for value in step_times.values())
    sigma = max(spread / 0.6745, LEAST_DEVIATION * middle, 1e-9)
    return [
        Drift(
            kind=DriftClass.PERFORMANCE, node=node, field="performance.straggler", approved=round(middle, 6),
            observed=round(value, 6), source="peers", since=now,
            tolerance=f"{STRAGGLER_SCORE:g} modified z-scores over the median of {len(step_times)} nodes, at least {STRAGGLER_SHIFT:.0%}",
        )
        for node, value in sorted(step_times.items())
        if (value - middle) / sigma > STRAGGLER_SCORE and value > middle * (1 + STRAGGLER_SHIFT)
    ]  # fmt: skip


def _slow(
    observation: Observation, field: str, approved: float, found: float, source: str, tolerance: str
) -> Drift:
    return Drift(
        kind=DriftClass.PERFORMANCE, node=observation.node, field=field, approved=round(approved, 6),
        observed=round(found, 6), source=source, since=observation.time, tolerance=tolerance,
    )  # fmt: skip
