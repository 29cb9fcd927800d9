"""Slowness: against the prediction, against the run's own past, among peers; figures beside what they follow from."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from akotf.model.drift import DriftClass, Observation, Trend
from akotf.model.units import Estimate
from akotf.monitor import detect
from akotf.monitor.performance import CUSUM_H, CUSUM_K, LEARN, SAMPLE_STEPS, deviation


def at(step: int, step_time: float, **more: Any) -> Observation:
    progress = {"step": step, "step_time": step_time, "phase": "train", **more}
    return Observation(node="n1", time=float(step), live=True, progress=progress)


def follow(values: list[float], trend: Trend | None = None, start: int = 20) -> tuple[Trend, int | None]:
    """The trend after these samples and the index of the first that raises an alarm."""
    trend, first = trend or Trend(), None
    for index, value in enumerate(values):
        now = at(start + index * SAMPLE_STEPS, value)
        trend = detect.follow_trend(trend, now)
        if first is None and detect.against_past(trend, now):
            first = index
    return trend, first


def noise(mean: float, deviation: float, count: int, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(mean, deviation) for _ in range(count)]


def test_the_past_is_learned_from_its_first_samples() -> None:
    values = noise(0.2, 0.004, LEARN)
    trend, first = follow(values)
    mean = sum(values) / LEARN
    assert first is None
    assert trend.mean == pytest.approx(mean)
    assert deviation(trend) == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / (LEARN - 1)))


def test_five_percent_slower_from_one_moment_on_is_told_and_never_healed() -> None:
    """149 to 140 TFLOP/s is 6.4% more time: with 1% noise that is 6 deviations, and CUSUM gains 5.5 at a sample."""
    trend, _ = follow(noise(0.149, 0.00149, LEARN))
    trend, first = follow(noise(0.149 * 149 / 140, 0.00149, 20, seed=2), trend, start=2000)
    assert first is not None
    assert first <= 5
    (drift,) = detect.against_past(trend, at(9999, 0.16))
    assert (drift.kind, drift.field, drift.source) == (DriftClass.PERFORMANCE, "performance.trend", "history")
    assert drift.observed == pytest.approx(0.149 * 149 / 140, rel=0.02)
    assert "CUSUM k=0.5 h=10" in drift.tolerance


def test_a_steady_run_raises_no_alarm_in_a_day_of_samples() -> None:
    """One sample in 20 steps: 17280 of them. Siegmund: (e^b - b - 1) / (2 k^2) = 1.4e5 samples between false alarms."""
    b = 2 * CUSUM_K * (CUSUM_H + 1.166)
    assert (math.exp(b) - b - 1) / (2 * CUSUM_K**2) == pytest.approx(1.41e5, rel=0.01)
    trend, _ = follow(noise(0.2, 0.01, LEARN, seed=3))
    calm = trend.model_copy(
        update={"mean": 0.2, "squares": (LEARN - 1) * 0.01**2, "level": 0.2}
    )  # as if learned for ever
    _, first = follow(noise(0.2, 0.01, 17280, seed=4), calm, start=2000)
    assert first is None


def test_a_shift_of_nobodys_loss_is_not_told_and_a_recovery_clears() -> None:
    trend, _ = follow([0.2] * LEARN)
    _, small = follow([0.2 * 1.02] * 200, trend, start=2000)
    assert small is None  # 2% for certain, and less than 3%
    slow, first = follow([0.3] * 50, trend, start=2000)
    assert first == 0  # 50 deviations: at once
    back, _ = follow([0.2] * 30, slow, start=9000)
    assert detect.against_past(back, at(20000, 0.2)) == []


def test_only_new_samples_of_a_warm_training_are_counted() -> None:
    trend = detect.follow_trend(Trend(), at(19, 9.0))
    assert trend == Trend()
    trend = detect.follow_trend(trend, at(20, 0.2))
    assert (trend.samples, trend.step) == (1, 20)
    blank = Observation(
        node="n1", time=60.0, live=True, progress={"step": 60, "step_time": None, "phase": "train"}
    )
    for one in (at(39, 9.0), at(60, 9.0, phase="evaluate"), blank):
        assert detect.follow_trend(trend, one) == trend
    assert detect.follow_trend(trend, at(40, 0.2)).samples == 2


def test_another_attempt_keeps_the_past_and_forgets_what_was_summed_up() -> None:
    trend, _ = follow([0.2] * LEARN)
    slow, _ = follow([0.3] * 10, trend, start=2000)
    again = detect.follow_trend(slow, at(500, 0.2))
    assert (again.mean, again.cusum, again.step) == (slow.mean, 0.0, 500)
    assert detect.against_past(again, at(500, 0.2)) == []


PREDICTED = Estimate(value=0.1, low=0.05, high=0.2, unit="s", source="test")


def test_throughput_counts_all_that_is_between_the_steps() -> None:
    """0.2 s a step predicted at most: 5 steps/s of 4e12 FLOP are 2e13 FLOP/s; half of it is the least."""
    now = at(100, 0.1)
    assert detect.throughput(now, 2.5, 4e12, PREDICTED) == []
    (drift,) = detect.throughput(now, 2.4, 4e12, PREDICTED, device_flops=1e14)
    assert (drift.field, drift.approved, drift.observed) == ("performance.throughput", 2e13, 9.6e12)
    assert "9.6% of what the devices give" in drift.tolerance
    assert detect.throughput(now, None, 4e12, PREDICTED) == detect.throughput(now, 0.1, 4e12, None) == []
    assert detect.throughput(now, 0.1, 0.0, PREDICTED) == []


def test_a_straggler_is_found_by_median_and_mad() -> None:
    """Median 1.00, deviations 0.01 0 0.01 0.02 0.2: MAD 0.01, so 0.2 is 0.2 x 0.6745 / 0.01 = 13.5 scores."""
    times = {"n1": 0.99, "n2": 1.0, "n3": 1.01, "n4": 0.98, "n5": 1.2}
    assert [(d.node, d.approved, d.observed) for d in detect.stragglers(times, now=1.0)] == [("n5", 1.0, 1.2)]
    assert [d.node for d in detect.stragglers({"a": 1.0, "b": 1.0, "c": 1.3}, now=1.0)] == ["c"]  # MAD 0
    assert detect.stragglers({"a": 1.0, "b": 1.0, "c": 1.04}, now=1.0) == []  # sure, and less than 5%
    assert detect.stragglers({"a": 1.0, "b": 1.0, "c": 0.5}, now=1.0) == []  # fast is no fault
    assert detect.stragglers({"a": 1.0, "b": 9.0}, now=1.0) == []  # two: nobody knows which is right
    wide = {"a": 1.0, "b": 1.4, "c": 1.8, "d": 2.0}  # median 1.6, MAD 0.3: 2.0 is 0.9 scores
    assert detect.stragglers(wide, now=1.0) == []
