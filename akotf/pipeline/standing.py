"""How a run stands now: what `akotf status` shows."""

from __future__ import annotations

from typing import Any

from akotf.errors import TelemetryUnavailable
from akotf.model.run import Run
from akotf.pipeline.live import live_of, status_of
from akotf.pipeline.recording import drift_counts
from akotf.pipeline.session import Session
from akotf.run.checkpoints import complete_steps


def standing(s: Session, run: Run) -> dict[str, Any]:
    """Run, attempt, progress, checkpoints and drift, as JSON data with stable keys."""
    live = live_of(s, run)
    state, native = run.state.value, ""
    observation = None
    if not run.state.final:
        status = status_of(s, live)
        state, native = status.state.value, status.native
        try:
            observation = s.telemetry.read(live.node_directory)
        except TelemetryUnavailable as error:
            s.emit("note", f"telemetry is not available: {error.message}")
    progress = (observation.progress if observation else None) or {}
    return {
        "schema": 1,
        "run": run.id,
        "environment": run.environment,
        "deployment": run.deployment,
        "backend": run.backend,
        "state": state,
        "native": native,
        "attempt": live.request.attempt,
        "pid": progress.get("pid") or None,
        "step": progress.get("step"),
        "total_steps": progress.get("total_steps"),
        "loss": progress.get("loss"),
        "step_time": progress.get("step_time"),
        "phase": progress.get("phase"),
        "checkpoints": complete_steps(s.layout.run(run.id) / "checkpoints"),
        "node_directory": str(live.node_directory),
        "root": str(s.layout.root(live.deployment)),
        "run_directory": run.directory,
        "evidence": str(s.layout.run_evidence(run.id)) if s.layout.run_evidence(run.id).is_dir() else None,
        "drift": drift_counts(list(s.journal.entries()), run),
    }
