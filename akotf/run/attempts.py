"""Attempts of a run: submitted once each, observed, ended, continued from the newest complete checkpoint.

The order that a crash can't spoil: intent in the journal, look up by key, create with the key inside, record.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.errors import BackendError, CheckpointError, StoreError
from akotf.model.config import DesiredState
from akotf.model.layout import Layout
from akotf.model.plan import Candidate
from akotf.model.run import Attempt, AttemptOutcome, AttemptStatus, Handle, Run, RunRequest, RunState
from akotf.model.tfplan import Deployment
from akotf.ports import Backend, Clock, Journal
from akotf.run.checkpoints import newest_complete
from akotf.run.registry import (
    latest,
    list_runs,
    load_request,
    load_run,
    save_request,
    save_run,
    train_totals,
)
from akotf.run.requests import build_request, next_request, run_id, wall_time_left
from akotf.run.states import REQUEUED, advance

__all__ = [
    "advance", "current", "end_queued", "finish", "latest", "list_runs", "load_run", "new_run", "observe", "on_record", "recover", "restart",
    "start", "train_totals",
]  # fmt: skip


def new_run(
    *, state: DesiredState, candidate: Candidate, deployment: Deployment, layout: Layout, created_at: str,
    suffix: str, inputs: str, baseline: str, chosen: str = "", tree: str = "", approval: str = "",
) -> Run:  # fmt: skip
    """A run that has not started; the digests name what was approved for it."""
    identity = run_id(state.environment.name, created_at, suffix)
    return Run(
        id=identity, environment=state.environment.name, deployment=deployment.id, scope=candidate.scope,
        backend=candidate.offer.backend, revision=state.revision(), baseline=baseline, candidate=candidate.id,
        inputs=inputs, chosen=chosen, tree=tree, approval=approval, state=RunState.QUEUED,
        created_at=created_at, directory=str(layout.run(identity)),
    )  # fmt: skip


def start(
    run: Run, *, state: DesiredState, candidate: Candidate, deployment: Deployment, layout: Layout,
    outputs: Mapping[str, Any], backend: Backend, journal: Journal, clock: Clock,
) -> Run:  # fmt: skip
    """Submit the first attempt on what Terraform's `outputs` leased. Errors of the backend end the run as failed."""
    request = build_request(
        run, state=state, candidate=candidate, deployment=deployment, layout=layout, outputs=outputs
    )
    run = run.model_copy(update={"gpus": len(request.devices)})
    return _submit(run, request, layout=layout, backend=backend, journal=journal, clock=clock)


def recover(run: Run, *, layout: Layout, backend: Backend, journal: Journal, clock: Clock) -> Run:
    """Settle an attempt whose submission a crash cut off: adopted when the backend has it, else started now."""
    if run.state.final or not run.attempts or run.attempts[-1].handle is not None:
        return run
    request = load_request(layout, run.id, run.attempts[-1].number)
    return _submit(run, request, layout=layout, backend=backend, journal=journal, clock=clock)


def current(layout: Layout, run: Run, attempt: int = 0) -> tuple[RunRequest, Handle]:
    """Request and handle of an attempt, the last one by default. StoreError when it was never submitted."""
    found = [a for a in run.attempts if attempt in (0, a.number)]
    handle = found[-1].handle if found else None
    if handle is None:
        raise StoreError(
            f"run {run.id} has no submitted attempt" + (f" {attempt}" if attempt else ""),
            where=run.directory,
            remedy="akotf apply settles a submission that was cut off",
        )
    return load_request(layout, run.id, found[-1].number), handle


def observe(run: Run, *, layout: Layout, backend: Backend, clock: Clock) -> tuple[Run, AttemptStatus]:
    """Ask the backend and advance the run accordingly; nothing is written."""
    request, handle = current(layout, run)
    status = backend.status(request, handle)
    return advance(run, status, clock.iso()), status


def finish(run: Run, status: AttemptStatus, *, layout: Layout, journal: Journal, clock: Clock) -> Run:
    """Record how the current attempt ended, and with it the run, unless the attempt's outcome sends it back to queued.

    A run that has ended, or a status that is not an end, changes nothing. The journal comes first, and what it says
    already stands: a crash between the two leaves nothing that is on disk and not on record.
    """
    ended = advance(run, on_record(run, journal) or status, clock.iso())
    if ended == run:
        return run
    attempt = ended.attempts[-1]
    if attempt.outcome is not None:
        body = attempt.model_dump(mode="json", exclude={"handle"})
        _once("attempt.ended", body, run, journal, same="number")
    if ended.state.final:
        _journal_end(ended, attempt.reason, journal)
    return save_run(layout, ended)


def on_record(run: Run, journal: Journal) -> AttemptStatus | None:
    """How the journal says that the current attempt ended; None when it says nothing of that."""
    for entry in journal.entries(subject=run.id, kind="attempt.ended"):
        attempt = Attempt.model_validate(entry.body)
        if run.attempts and attempt.number == run.attempts[-1].number and attempt.outcome is not None:
            return AttemptStatus(
                state=_ENDS.get(attempt.outcome, RunState.FAILED), outcome=attempt.outcome, reason=attempt.reason,
                exit_code=attempt.exit_code, started_at=attempt.started_at, ended_at=attempt.ended_at,
            )  # fmt: skip
    return None


_ENDS = {AttemptOutcome.SUCCEEDED: RunState.SUCCEEDED, AttemptOutcome.CANCELLED: RunState.CANCELLED}


def restart(
    run: Run, request: RunRequest, handle: Handle, *, outcome: AttemptOutcome, reason: str, grace: float,
    layout: Layout, backend: Backend, journal: Journal, clock: Clock, approved: Mapping[str, Any] | None = None,
) -> Run:  # fmt: skip
    """End the attempt (TERM, then KILL after `grace` seconds) and start the next from the newest complete checkpoint.

    `outcome` is RESTARTED, PREEMPTED or NODE_FAILED, `approved` the baseline's hyperparameters: checkpoints trained
    with others are passed over. A training that had succeeded meanwhile is left as succeeded. CheckpointError, after
    the run is on record as failed, when checkpoints exist and none is complete.
    """
    status = backend.cancel(request, handle, grace)
    if status.outcome is not AttemptOutcome.SUCCEEDED:
        status = status.model_copy(update={"outcome": outcome, "state": RunState.FAILED, "reason": reason})
    run = finish(run, status, layout=layout, journal=journal, clock=clock)
    if run.attempts[-1].outcome not in REQUEUED:
        return run
    left = wall_time_left(run, request)
    if left <= 0:
        return _fail(run, "time_limit: no wall time is left for another attempt", layout, journal, clock)
    try:
        checkpoint, passed_over = newest_complete(Path(request.run_directory) / "checkpoints", approved)
    except CheckpointError as error:
        _fail(run, str(error), layout, journal, clock)
        raise
    following = next_request(request, resume_from=str(checkpoint or ""), wall_time=left)
    return _submit(
        run,
        following,
        layout=layout,
        backend=backend,
        journal=journal,
        clock=clock,
        passed_over=tuple(passed_over),
    )


def _submit(
    run: Run, request: RunRequest, *, layout: Layout, backend: Backend, journal: Journal, clock: Clock,
    passed_over: tuple[str, ...] = (),
) -> Run:  # fmt: skip
    """Intent, look-up, creation, record. `passed_over`: newer checkpoints that are not gone on from, and why."""
    attempt = Attempt(
        number=request.attempt,
        started_at=clock.iso(),
        resumed_from=request.resume_from,
        passed_over=passed_over,
    )
    before = tuple(a for a in run.attempts if a.number != request.attempt)
    run = run.model_copy(update={"attempts": (*before, attempt), "state": RunState.STARTING})
    save_request(request)
    save_run(layout, run)
    body = {"key": request.key, "backend": backend.name, "request": request.digest()}
    journal.append("run.intent", body, environment=run.environment, subject=run.id)
    try:
        handle = backend.find(request) or backend.submit(request)
    except BackendError as error:
        if not error.retryable:  # else the run stays as it is, to be recovered
            status = AttemptStatus(state=RunState.FAILED, outcome=AttemptOutcome.FAILED, reason=str(error))
            finish(run, status, layout=layout, journal=journal, clock=clock)
        raise
    attempt = attempt.model_copy(update={"handle": handle})
    _once("run.submitted", {**body, "handle": handle.to_json()}, run, journal, same="key")
    started = {
        "number": attempt.number,
        "resumed_from": attempt.resumed_from,
        "passed_over": list(attempt.passed_over),
        "started_at": attempt.started_at,
    }
    _once("attempt.started", started, run, journal, same="number")
    return save_run(
        layout, run.model_copy(update={"attempts": (*before, attempt), "state": RunState.RUNNING})
    )


def _once(kind: str, body: Mapping[str, Any], run: Run, journal: Journal, *, same: str) -> None:
    """Put it on record unless a process that died right after has done so: an entry of the run with the same `same`."""
    for entry in journal.entries(subject=run.id, kind=kind):
        if entry.body.get(same) == body[same]:
            return
    journal.append(kind, body, environment=run.environment, subject=run.id)


def end_queued(
    run: Run, state: RunState, reason: str, *, layout: Layout, journal: Journal, clock: Clock
) -> Run:  # fmt: skip
    """End a run between two attempts: it can't go on, or nobody wants it to. A final run stays as it is."""
    if run.state.final:
        return run
    ended = run.model_copy(update={"state": state, "ended_at": clock.iso()})
    _journal_end(ended, reason, journal)
    return save_run(layout, ended)


def _fail(run: Run, reason: str, layout: Layout, journal: Journal, clock: Clock) -> Run:
    return end_queued(run, RunState.FAILED, reason, layout=layout, journal=journal, clock=clock)


def _journal_end(run: Run, reason: str, journal: Journal) -> None:
    body = {
        "state": run.state.value,
        "attempts": len(run.attempts),
        "reason": reason,
        "ended_at": run.ended_at,
    }
    _once("run.ended", body, run, journal, same="attempts")
