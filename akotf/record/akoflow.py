"""A run in AkôFlow's own records: ArtifactManifest (schemaVersion 1) and ExecutionTrace, as generation v1.0.8 has them.

Field names and types follow `internal/domain/execution/artifact_observation.go` and `execution.go`; what is unknown
and may be left out is left out. Times of the trace count in seconds from the run's creation, those of the manifest
are Unix seconds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from akotf.model.plan import Candidate
from akotf.model.run import Attempt, AttemptOutcome, Run, RunState
from akotf.model.statement import OutputManifest

ACTIVITY = "train"  # the activity of the pattern that leaves outputs

_TASK = {
    AttemptOutcome.SUCCEEDED: "completed",
    AttemptOutcome.CANCELLED: "cancelled",
    AttemptOutcome.FAILED: "failed",
    AttemptOutcome.PREEMPTED: "failed",
    AttemptOutcome.NODE_FAILED: "failed",
    AttemptOutcome.RESTARTED: "cancelled",
}


def artifact_manifest(run: Run, outputs: OutputManifest) -> dict[str, Any]:
    """AkôFlow's ArtifactManifest of the last attempt. Links are no artifacts there and are left out."""
    files = [
        {"path": file.path, "change": "created", "sizeBytes": file.size, "checksum": f"sha256:{file.sha256}"}
        for file in outputs.files
        if not file.link
    ]
    last = run.attempts[-1] if run.attempts else None
    return {
        "schemaVersion": 1,
        "runId": run.id,
        "activityId": ACTIVITY,
        "attempt": last.number if last else 0,
        "runtime": run.backend,
        "root": "outputs",
        "startedAt": unix(run.created_at),
        "finishedAt": unix(run.ended_at),
        "exitCode": _exit_code(run, last),
        "files": files,
        "phases": [_phase(attempt) for attempt in run.attempts],
        "summary": {
            "initialFiles": 0,
            "finalFiles": len(files),
            "createdFiles": len(files),
            "modifiedFiles": 0,
            "deletedFiles": 0,
            "outputBytes": sum(file.size for file in outputs.files if not file.link),
        },
    }


def execution_trace(
    run: Run, candidate: Candidate, prediction: Mapping[str, Any], plan_id: str
) -> dict[str, Any]:
    """AkôFlow's ExecutionTrace: one task for each attempt. `prediction` is the body of `prediction.recorded`."""
    cost = float(prediction.get("observed_cost") or 0.0)
    makespan = float(prediction.get("observed_time") or unix(run.ended_at) - unix(run.created_at))
    phases = prediction.get("phases") or {}
    tasks = [_task(run, attempt, candidate) for attempt in run.attempts]
    compute = sum(task["runtimeSeconds"] for task in tasks)
    queue = float((phases.get("queue") or {}).get("observed") or 0.0)
    for task in tasks:  # by the time that each attempt held the machine
        task["cost"] = cost * task["runtimeSeconds"] / compute if compute else 0.0
    return {
        "runId": run.id,
        "planId": plan_id,
        "mode": "real",
        "predicted": {
            "makespanSeconds": candidate.time.value if candidate.time else 0.0,
            "cost": candidate.cost.value if candidate.cost else 0.0,
            "feasible": candidate.feasible,
        },
        "executed": {
            "makespanSeconds": makespan,
            "cost": cost,
            "computeSeconds": compute,
            "transferSeconds": 0.0,
            "queueSeconds": queue,
            "interferenceSeconds": 0.0,
            "overheadSeconds": max(0.0, makespan - compute - queue),
            "feasible": run.state is RunState.SUCCEEDED,
        },
        "tasks": tasks,
        "transfers": [],
    }


def unix(iso: str) -> float:
    """Unix seconds of an ISO 8601 time; 0 when it is empty."""
    return dt.datetime.fromisoformat(iso).timestamp() if iso else 0.0


def _exit_code(run: Run, last: Attempt | None) -> int:
    if last and last.exit_code is not None:
        return last.exit_code
    return 0 if run.state is RunState.SUCCEEDED else 1


def _phase(attempt: Attempt) -> dict[str, Any]:
    started, finished = unix(attempt.started_at), unix(attempt.ended_at)
    phase = {
        "phase": f"attempt-{attempt.number}",
        "status": attempt.outcome.value if attempt.outcome else "running",
        "startedAt": started,
        "finishedAt": finished,
        "durationSeconds": max(0.0, finished - started),
    }
    return phase | ({"error": attempt.reason} if attempt.reason else {})


def _task(run: Run, attempt: Attempt, candidate: Candidate) -> dict[str, Any]:
    created = unix(run.created_at)
    started = max(0.0, unix(attempt.started_at) - created) if attempt.started_at else 0.0
    finished = max(started, unix(attempt.ended_at) - created) if attempt.ended_at else started
    task = {
        "id": f"{run.id}-a{attempt.number}",
        "executionRunId": run.id,
        "planAssignmentId": candidate.id,
        "activityId": ACTIVITY,
        "plannedResourceId": candidate.offer.id,
        "allocatedResourceId": candidate.offer.id,
        "runtimeId": run.backend,
        "attempt": attempt.number,
        "status": _TASK[attempt.outcome] if attempt.outcome else "running",
        "readyAt": 0.0,
        "dataReadyAt": 0.0,
        "queuedAt": 0.0,
        "startedAt": started,
        "finishedAt": finished,
        "runtimeSeconds": finished - started,
        "queueSeconds": started if attempt.number == 1 else 0.0,
        "transferSeconds": 0.0,
        "transferBytes": 0,
        "interferenceSeconds": 0.0,
        "overheadSeconds": 0.0,
        "cost": 0.0,
        "metadata": {
            "outcome": attempt.outcome.value if attempt.outcome else "",
            "resumedFrom": attempt.resumed_from,
        },
    }
    return task | ({"failureReason": attempt.reason} if attempt.reason else {})
