"""From what was chosen and provisioned to what a backend is asked: pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from akotf.model.config import DesiredState
from akotf.model.layout import Layout
from akotf.model.plan import Candidate
from akotf.model.run import Run, RunRequest
from akotf.model.tfplan import Deployment


def run_id(environment: str, created_at: str, suffix: str) -> str:
    """`quickstart-20261130-214655-3f2a`: sorts by time; `suffix` tells two of one second apart."""
    moment = dt.datetime.fromisoformat(created_at).astimezone(dt.UTC)
    return f"{environment}-{moment:%Y%m%d-%H%M%S}-{suffix}"


def attempt_key(run: str, number: int) -> str:
    """The key that makes an attempt start once."""
    return f"{run}-a{number}"


def build_request(
    run: Run, *, state: DesiredState, candidate: Candidate, deployment: Deployment, layout: Layout,
    outputs: Mapping[str, Any], number: int = 1,
) -> RunRequest:  # fmt: skip
    """The request of a run's attempt on what Terraform leased: `gpu_indices` and `cpu_slots` of `outputs`."""
    spec = state.run
    directory = Path(run.directory)
    return RunRequest(
        key=attempt_key(run.id, number),
        run_id=run.id,
        attempt=number,
        environment_name=run.environment,
        deployment=deployment.id,
        baseline_digest=run.baseline,
        command=spec.command,
        working_directory=str(state.folder),
        run_directory=str(directory),
        attempt_directory=str(directory / f"attempt-{number}"),
        node_directory=str(layout.node(deployment)),
        environment=spec.environment,
        secrets=secret_files(spec.secrets, f"{directory}/attempt-{number}"),
        limits=spec.limits,
        processes=candidate.processes,
        nodes=candidate.nodes,
        devices=tuple(int(index) for index in outputs.get("gpu_indices") or ()),
        cpu_slots=tuple(int(slot) for slot in outputs.get("cpu_slots") or ()),
        storage=spec.storage,
        image=spec.image.reference,
        checkpoint_keep=spec.checkpoint.keep,
    )


def next_request(request: RunRequest, *, resume_from: str, wall_time: float) -> RunRequest:
    """The same request for the following attempt; `wall_time`: seconds that the run has left."""
    number = request.attempt + 1
    folder = f"{request.run_directory}/attempt-{number}"
    return request.model_copy(update={
        "key": attempt_key(request.run_id, number),
        "attempt": number,
        "attempt_directory": folder,
        "secrets": secret_files(request.secrets, folder),
        "resume_from": resume_from,
        "limits": request.limits.model_copy(update={"wall_time": wall_time}),
    })  # fmt: skip


def secret_files(variables: Iterable[str], attempt_directory: str) -> dict[str, str]:
    """Where each secret variable's value is handed over: a private folder of the attempt, gone once it has started."""
    return {name: f"{attempt_directory}/secrets/{name}" for name in variables}


def wall_time_left(run: Run, request: RunRequest) -> float:
    """Seconds of the run's wall time after its last attempt; the last request says what it began with."""
    attempt = run.attempts[-1]
    if not attempt.started_at or not attempt.ended_at:
        return request.limits.wall_time
    used = dt.datetime.fromisoformat(attempt.ended_at) - dt.datetime.fromisoformat(attempt.started_at)
    return request.limits.wall_time - max(0.0, used.total_seconds())
