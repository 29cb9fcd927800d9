"""Liveness: watched time without a step; silence, lateness and jumping clocks are no hang, utilisation is no life."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akotf.model.drift import Observation, Pace
from akotf.monitor import detect

START = 1_796_000_000.0
FAST = detect.Expectation(floor=60.0, phase=300.0)


def look(time: float, step: int, phase: str = "train", **more: Any) -> Observation:
    progress = {"step": step, "phase": phase}
    return Observation(**{"node": "n1", "time": START + time, "live": True, "progress": progress, **more})


def watch(
    observations: list[Observation], expectation: detect.Expectation = FAST, late: float = 0.0
) -> list[bool]:
    """Whether each look calls it a hang."""
    pace, found = Pace(), []
    for one in observations:
        now = one.time + late
        pace = detect.pace_of(pace, one, now=now, expectation=expectation)
        found.append(bool(detect.hang(pace, one, now=now, expectation=expectation)))
    return found


def frozen(seconds: int, step: int = 100, start: int = 0, **more: Any) -> list[Observation]:
    """Looks every 5 s at a training that steps ten times and then no more."""
    moving = [look(start + 5.0 * n, step - 10 + n) for n in range(11)]
    return moving + [look(start + 50.0 + t, step, **more) for t in range(5, seconds + 1, 5)]


def test_full_utilisation_without_steps_is_a_hang() -> None:
    busy = {"gpu_0_utilization": 100.0, "gpu_1_utilization": 100.0}
    said = watch(frozen(70, metrics=busy))
    assert said.index(True) == 11 + 12  # the first look after 60 s without a step: 65 s
    pace = Pace()
    for one in frozen(70, metrics=busy):
        pace = detect.pace_of(pace, one, now=one.time, expectation=FAST)
    (drift,) = detect.hang(pace, one, now=one.time, expectation=FAST)
    assert (drift.field, drift.approved, drift.observed) == ("liveness.steps", 60.0, 70.0)
    assert "GPUs 100% busy" in drift.tolerance
    assert drift.since == one.time - 70.0


def test_the_expectation_is_learned_from_slow_steps() -> None:
    """20 s a step: ten times the 95% quantile is 200 s, more than the floor."""
    slow = [look(20.0 * n, n) for n in range(12)]
    still = [look(220.0 + t, 11) for t in range(5, 216, 5)]
    said = watch(slow + still)
    assert said.index(True) == 12 + 40  # 205 s


@pytest.mark.parametrize("phase", ["setup", "compile", "evaluate", "checkpoint", "quantise"])
def test_other_phases_are_given_longer(phase: str) -> None:
    moving = [look(5.0 * n, n) for n in range(10)]
    resting = [look(45.0 + t, 9, phase) for t in range(5, 400, 5)]
    said = watch(moving + resting)
    # training (60 s) and the phase (300 s), each once
    assert said.index(True) == 10 + 72


def test_phases_that_alternate_do_not_put_it_off_for_ever() -> None:
    moving = [look(5.0 * n, n) for n in range(10)]
    resting = [look(45.0 + t, 9, ("evaluate", "checkpoint")[(t // 5) % 2]) for t in range(5, 1000, 5)]
    assert watch(moving + resting).index(True) == 10 + 132  # 60 + 300 + 300 s: the look at 665 s


def test_the_first_step_may_take_as_long_as_a_setup() -> None:
    said = watch(
        [look(float(t), 0, "setup") for t in range(0, 100, 5)]
        + [look(float(t), 0) for t in range(100, 800, 5)]
    )
    assert said.index(True) == 121  # set-up and the first training step: 300 s each


def test_a_heartbeat_that_is_missing_or_late_is_no_hang() -> None:
    lost = [look(50.0 + t, 100, progress=None) for t in range(5, 4000, 5)]
    assert not any(watch(frozen(5) + lost))
    late = frozen(4000)
    assert not any(watch(late, late=31.0))  # old telemetry
    assert not any(watch([look(5.0 * n, 7, live=False) for n in range(900)]))  # the backend tells of its end
    assert not any(watch([look(5.0 * n, 7, "done") for n in range(900)]))


def test_a_look_after_a_long_silence_counts_no_more_than_a_minute() -> None:
    moving = [look(5.0 * n, n) for n in range(10)]
    assert watch([*moving, look(45.0 + 3600, 9)]) == [False] * 11
    assert not any(
        watch([*moving, look(40.0, 9), look(-3600.0, 9), look(-3595.0, 9)])
    )  # a clock that was put back
    ahead = [*moving, look(7200.0, 9), look(7205.0, 9)]  # put forward: 60 s and 5 s at most
    assert watch(ahead)[-2:] == [False, True]


def test_another_attempt_begins_anew() -> None:
    old = frozen(60, facts={"process.attempt": 1})
    new = [look(115.0 + t, 100, facts={"process.attempt": 2}) for t in range(0, 300, 5)]
    assert not any(watch(old + new))
    again = [look(115.0 + t, 90, facts={"process.attempt": 1}) for t in range(0, 300, 5)]
    assert not any(watch(old + again))


@given(st.lists(st.tuples(st.floats(0.1, 55.0), st.integers(1, 50)), max_size=60))
def test_a_training_that_steps_is_never_called_a_hang(history: list[tuple[float, int]]) -> None:
    now, step, looks = 0.0, 0, []
    for passed, steps in history:
        now, step = now + passed, step + steps
        looks.append(look(now, step))
    assert not any(watch(looks))


@given(
    st.lists(
        st.tuples(st.floats(0.1, 4000.0), st.sampled_from(["deaf", "late", "dead", "blank"])), max_size=60
    )
)
def test_looks_that_tell_nothing_never_make_a_hang(history: list[tuple[float, str]]) -> None:
    pace = Pace(process="/", seen=1.0, step=9, phase="train", idle=59.0, phases=("train",), moved=True)
    now = START
    for passed, kind in history:
        now += passed
        one = look(now - START - (60.0 if kind == "late" else 0.0), 9, live=kind != "dead",
                   progress=None if kind in {"deaf", "blank"} else {"step": 9})  # fmt: skip
        pace = detect.pace_of(pace, one, now=now, expectation=FAST)
        assert detect.hang(pace, one, now=now, expectation=FAST) == []
        assert pace.idle == 59.0


def test_steps_per_second_are_told_once_enough_was_watched_and_follow_what_is_now() -> None:
    """10 steps in 5 s; the first look after the first step begins to count, so 600 s are over at look 121."""
    pace, rates = Pace(), []
    for n in range(800):
        step = 10 * n if n <= 200 else 2000 + 2 * (n - 200)  # 2 steps a second, then 0.4
        pace = detect.pace_of(pace, look(5.0 * n, step), now=START + 5.0 * n, expectation=FAST)
        rates.append(detect.steps_per_second(pace))
    assert rates[120] is None
    assert rates[121:201] == [pytest.approx(2.0)] * 80
    last = rates[-1]
    assert last is not None
    assert 0.4 <= last < 0.6


def test_a_setup_is_no_part_of_the_throughput() -> None:
    pace = Pace()
    looks = [look(5.0 * n, 0, "setup") for n in range(200)] + [
        look(1000.0 + 5 * n, 10 * n) for n in range(1, 130)
    ]
    for one in looks:
        pace = detect.pace_of(pace, one, now=one.time, expectation=FAST)
    assert detect.steps_per_second(pace) == pytest.approx(2.0)
