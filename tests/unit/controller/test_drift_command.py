"""What `akotf drift` says: no drift, drift, and what it could not see."""

from __future__ import annotations

from typing import Any

from akotf.cli.drift_command import told
from akotf.errors import TelemetryUnavailable
from akotf.model.run import AttemptOutcome


def test_what_can_not_be_read_is_not_called_no_drift(world: Any) -> None:
    live = world.start()
    world.sees(world.healthy(live))
    assert told(world.controller(live).look(live, refresh=False)).endswith("no drift")

    world.sees(TelemetryUnavailable("the agent can't be asked"))
    said = told(world.controller(live).look(live, refresh=False))
    assert "not known whether it drifted" in said
    assert "no drift" not in said


def test_a_run_that_has_ended_has_nothing_to_compare(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    assert told(world.controller(live).look(live, refresh=False)) == (
        f"run {live.run.id} is succeeded: nothing is live to compare"
    )
