"""The end of a run: what it took against what was predicted, its evidence, and tearing down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akotf.errors import AkotfError
from akotf.model.journal import Entry
from akotf.model.run import Run, RunState
from akotf.pipeline import provisioning
from akotf.pipeline.guarding import secret_values
from akotf.pipeline.live import Live
from akotf.pipeline.session import Session
from akotf.record import calibration
from akotf.record.calibration import Observed
from akotf.record.drifts import drift_history
from akotf.record.evidence import write_evidence
from akotf.run import attempts


def record(s: Session, live: Live) -> None:
    """Prediction error and evidence of an ended run, once; then machines go as the lifecycle says.

    Called again, it takes up what a crash cut off: machines that were to go and are still there.
    """
    with s.leases.acquire(f"{s.layout.environment.name}-record", "record", timeout=120.0):
        written = s.layout.run_evidence(live.run.id).is_dir()
        if not written:
            _write(s, live)
        elif not any(s.journal.entries(kind="evidence.written", subject=live.run.id)):
            _tell_written(s, live)  # a crash came between the two
    if written and not provisioning.is_deployed(s, live.deployment):
        return
    wanted = live.state.environment.lifecycle.teardown
    if wanted == "always" or (wanted == "on-success" and live.run.state is RunState.SUCCEEDED):
        _tear_down(s, live)


def _write(s: Session, live: Live) -> None:
    body = calibration.prediction_body(live.candidate, live.inputs, observe(s, live), live.run)
    told = any(s.journal.entries(kind="prediction.recorded", subject=live.run.id))  # before a crash
    if live.run.state is RunState.SUCCEEDED and not told:
        # Only a run that did all its work teaches the planner; the others keep their error as evidence.
        s.journal.append("prediction.recorded", body, environment=live.run.environment, subject=live.run.id)
    values, unknown = secret_values(s, live)
    if unknown:
        s.emit("note", f"the evidence can't be searched for every secret of the run: {unknown}")
    folder = write_evidence(
        s.layout.run_evidence(live.run.id),
        run=live.run,
        state=live.state,
        chosen=live.chosen,
        inputs=live.inputs,
        approval=live.approval,
        baseline=live.baseline,
        entries=list(s.journal.entries()),
        prediction=body,
        terraform=terraform_facts(s, live),
        outputs_directory=s.layout.run(live.run.id) / "outputs",
        signer=s.signer(),
        secrets=values,
        on_redacted=lambda name: s.emit("note", f"a secret's value was taken out of the evidence's {name}"),
    )
    _tell_written(s, live)
    s.emit("recorded", {"prediction": body, "evidence": str(folder), "run": live.run.id})


def _tell_written(s: Session, live: Live) -> None:
    folder = str(s.layout.run_evidence(live.run.id))
    s.journal.append(
        "evidence.written", {"folder": folder}, environment=live.run.environment, subject=live.run.id
    )


def _tear_down(s: Session, live: Live) -> None:
    try:
        provisioning.tear_down(s, live.state, live.deployment, lock_timeout=60.0)
    except AkotfError as error:
        s.emit(
            "note",
            f"tearing down failed: {error.message}; try again with: akotf destroy {s.layout.environment}",
        )
        s.journal.append(
            "destroy.failed",
            {"error": str(error)},
            environment=live.run.environment,
            subject=live.deployment.id,
        )


def missing_outputs(live: Live) -> list[str]:
    """Declared outputs that the run has not left."""
    folder = Path(live.request.run_directory) / "outputs"
    return [name for name in live.state.run.outputs if not (folder / name).is_file()]


def observe(s: Session, live: Live) -> Observed:
    """What the run took: wall time from creation to its end, cost of the machines, mean step time of all attempts."""
    run = live.run
    total = _seconds(run.created_at, run.ended_at)
    started = run.attempts[0].started_at if run.attempts else ""
    waited = _seconds(run.created_at, started) if started else 0.0
    totals = [attempts.train_totals(s.layout, run, attempt.number) for attempt in run.attempts]
    seconds, steps = sum(t[0] for t in totals), sum(t[1] for t in totals)
    return Observed(
        time=total,
        step_time=seconds / steps if steps else None,
        cost=calibration.observed_cost(live.candidate, total - waited),
        phases={"queue": waited, "training": seconds},
    )


def terraform_facts(s: Session, live: Live) -> dict[str, Any]:
    """Which Terraform, which tree, which state."""
    document = s.terraform().state(s.layout.root(live.deployment))
    return {
        "version": s.terraform().version(),
        "tree": live.run.tree,
        "state": {k: document[k] for k in ("serial", "lineage") if k in document},
    }


def records(s: Session) -> list[dict[str, Any]]:
    """All runs of the environment, newest last: predicted, observed and drift."""
    predictions = {e.subject: e.body for e in s.journal.entries(kind="prediction.recorded")}
    return [_row(s, run, predictions.get(run.id, {})) for run in attempts.list_runs(s.layout)]


def drift_counts(entries: Sequence[Entry], run: Run) -> dict[str, list[str]]:
    """Fields of a run that drifted, by the journal: seen, healed (by us, and gone since) and still open.

    A slow spell that ends by itself is neither healed nor open.
    """
    drifts = drift_history(entries, run)["drifts"]
    return {
        "seen": [d["field"] for d in drifts],
        "healed": [d["field"] for d in drifts if d["healed"] and d["cleared"]],
        "open": [d["field"] for d in drifts if not d["cleared"]],
    }


def _row(s: Session, run: Run, prediction: dict[str, Any]) -> dict[str, Any]:
    cost = prediction.get("observed_cost")
    return {
        "run": run.id,
        "state": run.state.value,
        "scope": run.scope,
        "candidate": run.candidate,
        "attempts": len(run.attempts),
        "predicted_time": prediction.get("predicted_time"),
        "observed_time": prediction.get("observed_time"),
        "time_error": prediction.get("time_error"),
        "predicted_step_time": prediction.get("calibrated_step_time"),
        "observed_step_time": prediction.get("observed_step_time"),
        "step_time_error": prediction.get("step_time_error"),
        "observed_cost": None if cost is None else f"{cost:.2f} {prediction.get('currency', '')}".strip(),
        "drift": drift_counts(list(s.journal.entries()), run),
        "inputs": run.inputs,
        "evidence": str(s.layout.run_evidence(run.id)) if s.layout.run_evidence(run.id).is_dir() else None,
    }


def _seconds(start: str, end: str) -> float:
    if not start or not end:
        return 0.0
    return max(0.0, (dt.datetime.fromisoformat(end) - dt.datetime.fromisoformat(start)).total_seconds())
