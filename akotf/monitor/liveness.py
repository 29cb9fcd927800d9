"""Liveness: progress of steps against a learned expectation, never utilisation and never silence alone.

A hang is watched time without a step: only looks at a process that lives, through telemetry that is fresh, count, and of
the time between two looks at most GAP, so that a deaf agent, a late monitor or a clock that jumps makes no hang. Devices
may be 100% busy all the while (BLOOM lost 18 hours that way).
"""

from __future__ import annotations

from dataclasses import dataclass

from akotf.model.drift import Drift, DriftClass, Observation, Pace

#: Most of the time between two looks that counts as watched, s.
GAP = 60.0

#: Recent paces that the expectation is learned from, and how many make one.
REMEMBERED, ENOUGH = 64, 5


#: Watched time that makes a throughput, s.
WINDOW = 600.0


@dataclass(frozen=True)
class Expectation:
    """How long a run may go without a step. Times in seconds.

    The floor is what NCCL's watchdog waits for a collective (kProcessGroupNCCLDefaultTimeout, 10 min). Phases other than
    training have no steps by nature, so they are given longer.
    """

    floor: float = 600.0
    quantile: float = 0.95  # of the past paces
    factor: float = 10.0  # times that
    phase: float = 1800.0  # setup, compile, evaluate, checkpoint, and phases of the training's own
    late: float = 30.0  # an observation older than this tells nothing

    def of(self, pace: Pace, phase: str) -> float:
        """Longest time in `phase` that is no hang."""
        if phase != "train" or not pace.moved:  # the first steps compile
            return max(self.phase, self.floor)
        if len(pace.paces) < ENOUGH:
            return self.floor
        ordered = sorted(pace.paces)
        return max(
            self.floor, self.factor * ordered[min(len(ordered) - 1, int(self.quantile * len(ordered)))]
        )

    def allowed(self, pace: Pace) -> float:
        """Longest time without a step: each phase since the last one counts once, however often they alternate."""
        return sum(self.of(pace, phase) for phase in pace.phases)


def pace_of(before: Pace, observation: Observation, *, now: float, expectation: Expectation) -> Pace:
    """The pace after one more look; unchanged when the look says nothing of progress."""
    if not judgeable(observation, now=now, expectation=expectation):
        # Nothing was watched; the next look begins anew.
        return before.model_copy(update={"seen": 0.0}) if before.seen else before
    progress = observation.progress or {}
    step, phase = int(progress["step"]), str(progress.get("phase", "train"))
    process = f"{observation.facts.get('process.attempt', '')}/{observation.facts.get('process.start', '')}"
    passed = min(max(0.0, observation.time - before.seen), GAP) if before.seen else 0.0
    faded = 0.5 if before.watched > 2 * WINDOW else 1.0
    watched = (before.watched + passed) * faded if before.moved else 0.0
    fresh = Pace(process=process, seen=observation.time, step=step, phase=phase, phases=(phase,))
    if (
        step < before.step or before.step < 0 or process != before.process
    ):  # the first look, or another attempt
        return fresh
    if step == before.step:
        phases = before.phases if phase in before.phases else (*before.phases, phase)
        return before.model_copy(
            update={"seen": observation.time, "phase": phase, "phases": phases, "idle": before.idle + passed,
                    "watched": watched, "advanced": before.advanced * faded}
        )  # fmt: skip
    done = step - before.step
    whole = before.idle + passed
    mine = whole / done if phase == "train" and before.phases in ((), ("train",)) and whole else None
    paces = before.paces if mine is None else (*before.paces, mine)[-REMEMBERED:]
    return fresh.model_copy(
        update={"paces": paces, "moved": True, "watched": watched,
                "advanced": (before.advanced + done) * faded if before.moved else 0.0}
    )  # fmt: skip


def judgeable(observation: Observation | None, *, now: float, expectation: Expectation) -> bool:
    """Whether the look tells of progress: a live process, fresh telemetry, a heartbeat of a run that is not done."""
    if observation is None or not observation.live or observation.progress is None:
        return False
    if abs(now - observation.time) > expectation.late:
        return False
    return "step" in observation.progress and observation.progress.get("phase") != "done"


def hang(pace: Pace, observation: Observation, *, now: float, expectation: Expectation) -> list[Drift]:
    """A run that lives and makes no step for longer than expected."""
    if not judgeable(observation, now=now, expectation=expectation):
        return []
    limit = expectation.allowed(pace)
    if pace.idle <= limit:
        return []
    busy = [v for k, v in observation.metrics.items() if k.startswith("gpu_") and k.endswith("_utilization")]
    said = f"; GPUs {max(busy):.0f}% busy" if busy else ""
    learned = f"{expectation.factor:g} x the {expectation.quantile:.0%} quantile of {len(pace.paces)} paces"
    return [
        Drift(
            kind=DriftClass.PERFORMANCE, node=observation.node, field="liveness.steps", approved=round(limit, 1),
            observed=round(pace.idle, 1), source="history", since=now - pace.idle,
            tolerance=f"no step {pace.step + 1} in phase {' and '.join(pace.phases)}; {learned}, at least {expectation.floor:g} s{said}",
        )
    ]  # fmt: skip


def steps_per_second(pace: Pace) -> float | None:
    """Steps over watched time since the first step, of the last WINDOW or two; None before that has passed."""
    return pace.advanced / pace.watched if pace.watched >= WINDOW else None
