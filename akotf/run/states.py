"""What a backend's answer means for the run: pure."""

from __future__ import annotations

from akotf.model.run import Attempt, AttemptOutcome, AttemptStatus, Run, RunState

#: After these the attempt is over and the run is not: it waits for its next attempt.
REQUEUED = frozenset({AttemptOutcome.PREEMPTED, AttemptOutcome.NODE_FAILED, AttemptOutcome.RESTARTED})


def advance(run: Run, status: AttemptStatus, at: str) -> Run:
    """The run after its backend said `status` of the current attempt at the moment `at` (ISO 8601).

    UNKNOWN changes nothing: an answer that can't be read is not a failure. A final run stays as it is.
    """
    if run.state.final or status.state is RunState.UNKNOWN or not run.attempts:
        return run
    over = status.state.final or status.outcome is not None
    if not over:
        return run.model_copy(update={"state": status.state})
    if run.attempts[-1].outcome is not None:  # already settled
        return run
    attempt = close(run.attempts[-1], status, at)
    update: dict[str, object] = {"attempts": (*run.attempts[:-1], attempt)}
    if attempt.outcome in REQUEUED:
        update["state"] = RunState.QUEUED
    else:
        update |= {"state": status.state, "ended_at": attempt.ended_at}
    return run.model_copy(update=update)


def close(attempt: Attempt, status: AttemptStatus, at: str) -> Attempt:
    """The attempt as it ended; a backend that tells no outcome has it read from the state."""
    words = {RunState.SUCCEEDED: AttemptOutcome.SUCCEEDED, RunState.CANCELLED: AttemptOutcome.CANCELLED}
    return attempt.model_copy(update={
        "outcome": status.outcome or words.get(status.state, AttemptOutcome.FAILED),
        "started_at": status.started_at or attempt.started_at,
        "ended_at": status.ended_at or at,
        "exit_code": status.exit_code,
        "reason": status.reason,
    })  # fmt: skip
