"""Prediction errors and what the next planning learns from them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from akotf.model.profile import Calibration, CalibrationTable
from akotf.model.units import Estimate
from akotf.record.calibration import (
    Observed,
    calibration_key,
    observed_cost,
    pairs_from,
    prediction_body,
    prediction_error,
    table,
)

KEY = "cpu/local/gpu-training@1.0.0"


def test_ratio_and_spread_are_geometric() -> None:
    """ln(1/2) and ln 2: mean 0, sample variance 2 (ln 2)^2, so the spread is exp(sqrt 2 ln 2) = 2^sqrt 2 = 2.665."""
    made = table([(KEY, 2.0, 1.0), (KEY, 1.0, 2.0), ("other/b/t", 1.0, 3.0)])
    assert made.entries[KEY].ratio == pytest.approx(1.0)
    assert made.entries[KEY].spread == pytest.approx(2 ** math.sqrt(2))
    assert made.entries[KEY].samples == 2
    other = made.entries["other/b/t"]
    assert (other.ratio, other.spread, other.samples) == (pytest.approx(3.0), 1.0, 1)


def test_useless_pairs_teach_nothing() -> None:
    assert table([]) == CalibrationTable()
    assert (
        table([(KEY, 0.0, 1.0), (KEY, 1.0, -1.0), (KEY, math.inf, 1.0), (KEY, 1.0, math.nan)])
        == CalibrationTable()
    )


def test_the_key_names_device_backend_and_template(ended: Any) -> None:
    assert calibration_key(ended.chosen.winner(), ended.inputs) == KEY


def test_errors_by_phase(ended: Any) -> None:
    error = prediction_error(
        ended.chosen.winner(),
        Observed(time=60.0, step_time=0.4, cost=None, phases={"training": 40.0, "queue": 3.0}),
    )
    assert error["step_time"]["error"] == pytest.approx(-0.2)  # 0.4 of 0.5
    assert error["step_time"]["within"] is True  # 0.375 to 0.625
    assert error["time"]["error"] == pytest.approx(60 / 54 - 1)
    assert error["cost"]["error"] is None
    assert error["phases"]["queue"]["error"] is None  # predicted 0: no relative error
    assert error["phases"]["queue"]["within"] is False
    assert error["phases"]["startup"] == {
        "predicted": 4.0,
        "low": 3.0,
        "high": 5.0,
        "observed": None,
        "error": None,
        "within": None,
    }


def test_the_cost_is_price_times_nodes_times_hours(ended: Any) -> None:
    """0.36 USD an hour x 1 node x 80 s / 3600 = 0.008 USD."""
    assert observed_cost(ended.chosen.winner(), 80.0) == pytest.approx(0.008)
    free = ended.chosen.winner().offer.model_copy(update={"price": None})
    assert observed_cost(ended.chosen.winner().model_copy(update={"offer": free}), 80.0) is None


def test_the_recorded_pair_is_uncalibrated(ended: Any) -> None:
    """The winner says 0.5 s a step; with a calibration of 1.25 in its inputs the model itself said 0.4 s."""
    inputs = ended.inputs.model_copy(
        update={"calibration": CalibrationTable(entries={KEY: Calibration(ratio=1.25, spread=1, samples=1)})}
    )
    body = prediction_body(ended.chosen.winner(), inputs, Observed(time=60, step_time=0.6), ended.run)
    assert (body["key"], body["predicted_step_time"], body["calibrated_step_time"]) == (
        KEY,
        pytest.approx(0.4),
        0.5,
    )
    assert body["step_time_error"] == pytest.approx(0.2)
    assert body["calibration"] == inputs.calibration.digest()


def test_pairs_come_from_the_journal(ended: Any) -> None:
    ended.log("prediction.recorded", {"key": KEY, "predicted_step_time": 0.5, "observed_step_time": None})
    ended.log("drift.seen", {"key": KEY, "predicted_step_time": 0.5, "observed_step_time": 9.0})
    assert pairs_from(ended.entries) == [(KEY, 0.5, 0.6)]


def test_after_two_runs_the_error_is_gone_and_calibrations_do_not_compound(ended: Any) -> None:
    """The model says 0.5 s, the machine takes 0.6 s, run after run: off by 20%, then by nothing, and so it stays."""
    errors, inputs = [], ended.inputs
    for _ in range(4):
        known = inputs.calibration.entries.get(KEY)
        step = Estimate.exact(0.5 * (known.ratio if known else 1.0), "s", "model x calibration")
        shown = ended.chosen.winner().model_copy(update={"step_time": step})
        body = prediction_body(shown, inputs, Observed(time=60, step_time=0.6), ended.run)
        errors.append(body["step_time_error"])
        ended.log("prediction.recorded", body)
        inputs = inputs.model_copy(update={"calibration": table(pairs_from(ended.entries))})
    assert errors[0] == pytest.approx(0.2)
    assert errors[1:] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
