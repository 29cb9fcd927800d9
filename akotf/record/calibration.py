"""Predicted against observed: the error of a prediction, and the calibration of the next. Pure.

The entry `prediction.recorded` that ends a run holds (times in seconds):

    key                   device/backend/template, as in `CalibrationTable`
    predicted_step_time   what the planner said WITHOUT its calibration, so that calibrations never compound
    calibrated_step_time  what the candidate table showed
    observed_step_time    from the heartbeats
    step_time_error, time_error, cost_error      observed / shown - 1; null where one side is unknown
    predicted_time, observed_time, predicted_cost, observed_cost, currency
    phases                by phase: predicted, low, high, observed, error, within (inside the interval)
    run, candidate, planner, inputs, calibration (digest of the table used)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from akotf.model.journal import Entry
from akotf.model.plan import Candidate, PlanInputs
from akotf.model.profile import Calibration, CalibrationTable
from akotf.model.run import Run
from akotf.model.units import Estimate

Pair = tuple[str, float, float]  # key, predicted step time (uncalibrated), observed step time


@dataclass(frozen=True)
class Observed:
    """What a run really took: seconds, and money in the offer's currency. None where nothing was measured."""

    time: float
    step_time: float | None = None
    cost: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)


def table(pairs: Iterable[Pair]) -> CalibrationTable:
    """Geometric mean and geometric standard deviation of observed/predicted, by key.

    Ratios multiply, so their mean is geometric: one run twice as slow and one twice as fast as predicted give 1.
    The deviation of one run alone is 1 (nothing known of the spread). Pairs that are not positive are left out.
    """
    logs: dict[str, list[float]] = {}
    for key, predicted, observed in pairs:
        if predicted > 0 and observed > 0 and math.isfinite(predicted) and math.isfinite(observed):
            logs.setdefault(key, []).append(math.log(observed) - math.log(predicted))
    entries = {}
    for key, values in sorted(logs.items()):
        mean = math.fsum(values) / len(values)
        squares = math.fsum((value - mean) ** 2 for value in values)
        deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
        entries[key] = Calibration(ratio=math.exp(mean), spread=math.exp(deviation), samples=len(values))
    return CalibrationTable(entries=entries)


def pairs_from(entries: Iterable[Entry]) -> list[Pair]:
    """The pairs of all `prediction.recorded` entries that have both times, in order."""
    pairs = []
    for entry in entries:
        if entry.kind != "prediction.recorded":
            continue
        predicted, observed = entry.body.get("predicted_step_time"), entry.body.get("observed_step_time")
        if isinstance(predicted, (int, float)) and isinstance(observed, (int, float)):
            pairs.append((str(entry.body.get("key", "")), float(predicted), float(observed)))
    return pairs


def calibration_key(candidate: Candidate, inputs: PlanInputs) -> str:
    """`device/backend/template` of a candidate."""
    return f"{candidate.offer.device.name}/{candidate.offer.backend}/{inputs.template}"


def uncalibrated_step_time(candidate: Candidate, inputs: PlanInputs) -> float | None:
    """The candidate's step time (s) as it was before the calibration in its inputs multiplied it."""
    if candidate.step_time is None:
        return None
    known = inputs.calibration.entries.get(calibration_key(candidate, inputs))
    return candidate.step_time.value / (known.ratio if known else 1.0)


def observed_cost(candidate: Candidate, seconds: float) -> float | None:
    """What `seconds` of the candidate's nodes cost by the offer's price; None when the price is unknown."""
    price = candidate.offer.price
    return None if price is None else float(price) * candidate.nodes * seconds / 3600


def prediction_error(candidate: Candidate, observed: Observed) -> dict[str, Any]:
    """Predicted, observed and relative error (observed / predicted - 1) of step time, time, cost and every phase."""
    return {
        "step_time": _compare(candidate.step_time, observed.step_time),
        "time": _compare(candidate.time, observed.time),
        "cost": _compare(candidate.cost, observed.cost),
        "phases": {
            name: _compare(candidate.phases.get(name), observed.phases.get(name))
            for name in sorted({*candidate.phases, *observed.phases})
        },
    }


def prediction_body(candidate: Candidate, inputs: PlanInputs, observed: Observed, run: Run) -> dict[str, Any]:
    """The body of `prediction.recorded`; see the head of this file."""
    error = prediction_error(candidate, observed)
    return {
        "schema": 1,
        "run": run.id,
        "candidate": candidate.id,
        "planner": inputs.planner,
        "inputs": inputs.digest(),
        "calibration": inputs.calibration.digest(),
        "key": calibration_key(candidate, inputs),
        "predicted_step_time": uncalibrated_step_time(candidate, inputs),
        "calibrated_step_time": error["step_time"]["predicted"],
        "observed_step_time": observed.step_time,
        "step_time_error": error["step_time"]["error"],
        "predicted_time": error["time"]["predicted"],
        "observed_time": observed.time,
        "time_error": error["time"]["error"],
        "predicted_cost": error["cost"]["predicted"],
        "observed_cost": observed.cost,
        "cost_error": error["cost"]["error"],
        "currency": candidate.offer.currency,
        "phases": error["phases"],
    }


def _compare(predicted: Estimate | None, observed: float | None) -> dict[str, Any]:
    row: dict[str, Any] = {"predicted": None, "low": None, "high": None, "observed": observed}
    if predicted is not None:
        row |= {"predicted": predicted.value, "low": predicted.low, "high": predicted.high}
    row |= {"error": None, "within": None}
    if predicted is not None and observed is not None:
        row["within"] = predicted.low <= observed <= predicted.high
        row["error"] = observed / predicted.value - 1 if predicted.value else None
    return row
