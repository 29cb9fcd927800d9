"""What the controller does to a live run: look at Terraform, heal in place, restart, settle an ended attempt."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from akotf.apply.heal import heal
from akotf.errors import AkotfError, BackendError, TelemetryUnavailable, TerraformError
from akotf.model.config import ScopeKind
from akotf.model.drift import Action, Decision, Drift, Observation
from akotf.model.run import AttemptOutcome, AttemptStatus, Run, RunState
from akotf.model.tree import FileTree
from akotf.model.units import format_duration
from akotf.monitor import detect
from akotf.pipeline import recording
from akotf.pipeline.judging import judge_heal
from akotf.pipeline.live import (
    BASELINE_ADDRESS,
    Live,
    live_of,
    require_here,
    starting,
    state_of,
    status_of,
    stored,
)
from akotf.pipeline.session import Session
from akotf.run import attempts
from akotf.run.registry import load_request

#: After these the run goes back to the queue by itself, at most MAX_ATTEMPTS times.
RETRIED = frozenset({AttemptOutcome.PREEMPTED, AttemptOutcome.NODE_FAILED, AttemptOutcome.RESTARTED})
MAX_ATTEMPTS = 10

#: Seconds to wait for somebody who is settling or healing the same run.
SETTLE_WAIT = 120.0

#: Seconds between asking a training to save and leave, and forcing it.
GRACE = 30.0

#: Why a replacement is told and not done.
NO_REPLACEMENT = (
    "nothing here replaces a node under a live run: drain it, and apply again when the run has ended"
)


def terraform_drift(s: Session, live: Live) -> list[Drift] | None:
    """Infrastructure drift, from the plan JSON of the live root. None when Terraform can't tell: never "no drift"."""
    terraform = s.terraform()
    try:
        tfplan = terraform.plan(s.layout.root(live.deployment), targets=("module.local_gpu",))
    except TerraformError as error:
        s.emit("note", f"terraform could not be asked for drift: {error.message}")
        return None
    try:
        return detect.infrastructure(
            tfplan, node=live.deployment.placement, baseline_address=BASELINE_ADDRESS
        )
    finally:
        terraform.discard(tfplan)


def cost_drift(live: Live, observation: Observation | None, now: float) -> list[Drift]:
    """The run's cost so far and to its end against the budget; nothing without a budget, or a price in its currency."""
    budget, monitor = live.state.environment.objective.budget, live.state.environment.monitor
    offer, started = live.candidate.offer, live.run.attempts[0].started_at
    if budget is None or not offer.price or offer.currency != budget.currency or not started:
        return []
    rate = float(offer.price) * live.candidate.nodes
    hours = max(0.0, now - dt.datetime.fromisoformat(started).timestamp()) / 3600
    spending = detect.Spending(rate * hours, rate, budget.currency, _hours_left(observation))
    return detect.cost(
        spending, float(budget.amount), node=live.deployment.placement, now=now, warn_at=monitor.warn_at,
        stop_at=monitor.stop_at,
    )  # fmt: skip


def _hours_left(observation: Observation | None) -> float | None:
    """Hours to the last step at the present pace; None while it is not known."""
    if observation is None or not detect.has_step_time(observation):
        return None
    progress = observation.progress or {}
    if not progress.get("total_steps"):
        return None
    return float(max(0, progress["total_steps"] - progress["step"]) * progress["step_time"]) / 3600


def stop(s: Session, live: Live, decision: Decision) -> Live:
    """End the run for good, as its limits say: it is asked to save a checkpoint, then forced."""
    s.emit("heal", decision)
    body = {
        "reason": decision.reason,
        "drifts": [d.to_json() for d in decision.drifts],
        "of_attempt": live.request.attempt,
    }
    s.journal.append("decision.stop", body, environment=live.run.environment, subject=live.run.id)
    return cancel(s, live, grace=GRACE)


def heal_in_place(s: Session, live: Live, decision: Decision) -> None:
    """Put approved values back through Terraform, on the approved tree and the named addresses only."""
    with s.leases.acquire(s.layout.environment.name, "heal"):
        s.emit("heal", decision)
        result = heal(
            s.terraform(),
            s.layout.root(live.deployment),
            FileTree.from_json(stored(s, live.run.tree)),
            decision,
            judge=lambda tfplan: judge_heal(s, live.state, tfplan),
            journal=s.journal,
            environment=live.run.environment,
            deployment=live.deployment,
            on_event=lambda event: s.emit("terraform", event),
        )
    s.emit("healed" if result.applied else "heal-deferred", (decision, result.deferred_reason))


def restart(s: Session, live: Live, decision: Decision) -> Live:
    """Stop the attempt and go on from the last complete checkpoint with the approved values."""
    with s.leases.acquire(s.layout.environment.name, "heal"):
        number = live.request.attempt
        live = _on_record(s, live)
        if live.run.state.final or live.request.attempt != number:
            return live  # somebody else restarted or ended it meanwhile
        s.emit("heal", decision)
        body = {
            "action": decision.action.value,
            "drifts": [d.to_json() for d in decision.drifts],
            "of_attempt": number,
        }
        s.journal.append("heal.intent", body, environment=live.run.environment, subject=live.run.id)
        restarted = _next_attempt(s, live, AttemptOutcome.RESTARTED, decision.reason)
        if restarted.run.state.final:
            return restarted  # it succeeded meanwhile, or has no wall time left: nothing was healed
        s.journal.append(
            "heal.done",
            {**body, "attempt": restarted.request.attempt, "resumed_from": restarted.request.resume_from},
            environment=live.run.environment,
            subject=live.run.id,
        )
    s.emit("healed", (decision, ""))
    return restarted


def attempt_ended(s: Session, live: Live, status: AttemptStatus, *, for_good: bool = False) -> Live:
    """Settle an ended attempt: another attempt after preemption or node loss, else the run's end and its evidence.

    Several processes may see the same end (apply, monitor, cancel): one settles it, the others get its result.
    `for_good`: somebody asked for the end, so that no outcome sends the run back to the queue.
    """
    with s.leases.acquire(s.layout.environment.name, "settle", timeout=SETTLE_WAIT):
        number = live.request.attempt
        ended = _on_record(s, live)
        if not ended.run.state.final and ended.request.attempt == number:
            ended = _settled(s, ended, status, for_good=for_good)
    if ended.run.state.final:
        recording.record(s, ended)
        s.emit("ended", ended.run)
    return ended


def _settled(s: Session, live: Live, status: AttemptStatus, *, for_good: bool) -> Live:
    # What is on record of the attempt stands: a crash may have come between its end and the attempt after it.
    told = attempts.on_record(live.run, s.journal)
    status = told or status
    if told is None and status.state is RunState.SUCCEEDED and (missing := recording.missing_outputs(live)):
        # An exit code of 0 is the program's word; the declared files are what was wanted.
        reason = f"the training ended with exit code 0 and left no {', '.join(missing)} in AKOTF_OUTPUTS"
        status = status.model_copy(
            update={"state": RunState.FAILED, "outcome": AttemptOutcome.FAILED, "reason": reason}
        )
    if status.outcome is AttemptOutcome.CANCELLED and not for_good and _restart_cut_off(s, live):
        status = status.model_copy(update={"outcome": AttemptOutcome.RESTARTED, "state": RunState.FAILED})
    outcome = live.run.attempts[-1].outcome or status.outcome or AttemptOutcome.FAILED
    retried = outcome in RETRIED
    if retried and not for_good and live.request.attempt < MAX_ATTEMPTS:
        return _next_attempt(s, live, outcome, status.reason)
    run = attempts.finish(live.run, status, layout=s.layout, journal=s.journal, clock=s.clock)
    if retried:
        state, reason = RunState.FAILED, f"{outcome}, and a run gets {MAX_ATTEMPTS} attempts at most"
        if for_good:
            state, reason = RunState.CANCELLED, f"cancelled when its attempt was {outcome} already"
        run = attempts.end_queued(run, state, reason, layout=s.layout, journal=s.journal, clock=s.clock)
    return replace(live, run=run)


def _restart_cut_off(s: Session, live: Live) -> bool:
    """Whether the attempt was stopped by a restart of ours that a crash ended: nobody wanted the run to end."""
    restarts = [
        entry.kind
        for entry in s.journal.entries(subject=live.run.id)
        if entry.kind in ("heal.intent", "heal.done", "heal.failed")
        and entry.body.get("action") == Action.RESTART.value
        and entry.body.get("of_attempt") == live.request.attempt
    ]
    return restarts[-1:] == ["heal.intent"]


def settle(s: Session) -> Run | None:
    """Bring the latest run on record up to what really is: a cut-off submission, an end that nobody watched."""
    run = attempts.latest(s.layout)
    if run is None or not run.attempts:
        return run
    run = submitted(s, run)
    if run.state.final:
        _record_late(s, run)
        return run
    live = live_of(s, run)
    status = status_of(s, live)
    return attempt_ended(s, live, status).run if status.state.final else run


def submitted(s: Session, run: Run) -> Run:
    """The run with its last attempt at the backend: a submission that a crash cut off is adopted or done again.

    Who wants to end such a run asks for this too: what the crash had set going may start a moment later.
    """
    if run.state.final or not run.attempts or run.attempts[-1].handle is not None:
        return run
    require_here(s, run)
    with s.leases.acquire(s.layout.environment.name, "settle", timeout=SETTLE_WAIT):
        # From disk again: who held the lease may have submitted it.
        return _recovered(s, attempts.load_run(s.layout, run.id))


def _record_late(s: Session, run: Run) -> None:
    """Evidence and teardown that a crash cut off; a failure is told and stops nobody."""
    number = _last_submitted(run)
    if not number or s.leases.holder(s.layout.environment.name) is not None:
        return  # nothing to tell of, or somebody is at work: he does it, or leaves it to the next
    try:
        recording.record(s, live_of(s, run, attempt=number))
    except AkotfError as error:
        s.emit("note", f"the evidence of {run.id} can't be completed: {error.message}")


def _on_record(s: Session, live: Live) -> Live:
    """The run as it is on record now, by whoever wrote it; to be called under the lease."""
    run = _recovered(s, attempts.load_run(s.layout, live.run.id))
    if run.attempts[-1].number == live.request.attempt:
        return replace(live, run=run)
    return live_of(s, run, attempt=_last_submitted(run))


def _recovered(s: Session, run: Run) -> Run:
    """A submission that a crash cut off is adopted or done again."""
    backend = s.backend(run.backend)
    cut_off = not run.state.final and bool(run.attempts) and run.attempts[-1].handle is None
    if cut_off and load_request(s.layout, run.id, run.attempts[-1].number).secrets:
        backend = starting(s, run.backend, state_of(s, run))
    return attempts.recover(run, layout=s.layout, backend=backend, journal=s.journal, clock=s.clock)


def _last_submitted(run: Run) -> int:
    """The last attempt that a backend knows; 0 when none."""
    return max((a.number for a in run.attempts if a.handle is not None), default=0)


def outlived(s: Session, live: Live) -> bool:
    """Whether the run is older than its environment's `lifecycle.ttl`, the hard end; told once it is."""
    ttl = live.state.environment.lifecycle.ttl
    if ttl is None or s.clock.now() - dt.datetime.fromisoformat(live.run.created_at).timestamp() < ttl:
        return False
    s.emit(
        "note", f"run {live.run.id} has reached its lifecycle.ttl of {format_duration(ttl)}: it is cancelled"
    )
    return True


def cancel(s: Session, live: Live, *, grace: float) -> Live:
    """Stop the run for good: ask, then force; its end is recorded. An attempt that somebody started meanwhile, too."""
    while not live.run.state.final:
        status = s.backend(live.run.backend).cancel(live.request, live.handle, grace)
        if not status.state.final:
            raise BackendError(
                f"run {live.run.id} is {status.state} after it was told to stop: {status.reason or status.native}",
                remedy="try again; if it goes on, end it where it runs",
            )
        live = attempt_ended(s, live, status, for_good=True)
    return live


def cancel_alone(s: Session, run: Run, *, grace: float) -> Run:
    """Stop a run of which nothing but `run.json` and `request.json` is left: it ends, without evidence."""
    request, handle = attempts.current(s.layout, run)
    status = s.backend(run.backend).cancel(request, handle, grace)
    return attempts.finish(run, status, layout=s.layout, journal=s.journal, clock=s.clock)


def heal_failed(s: Session, live: Live, decision: Decision, error: AkotfError) -> None:
    """Tell and record a heal that failed; the controller backs off by itself."""
    s.journal.append(
        "heal.failed",
        {
            "action": decision.action.value,
            "drifts": [d.to_json() for d in decision.drifts],
            "of_attempt": live.request.attempt,
            "error": str(error),
        },
        environment=live.run.environment,
        subject=live.run.id,
    )
    s.emit("heal-failed", (decision, str(error)))


def revive_agent(s: Session, live: Live, interval: float) -> None:
    """Start the node's agent again where that is ours to do; a failure is told, it is not drift."""
    if live.candidate.offer.kind is not ScopeKind.LOCAL:
        return
    try:
        s.telemetry.start_agent(live.node_directory, interval=interval)
    except TelemetryUnavailable as error:
        s.emit("note", f"the agent does not start: {error.message}")


def open_drifts(s: Session, run: Run) -> dict[str, Drift]:
    """What is on record as drifted of a run and not as cleared, by key."""
    found: dict[str, Drift] = {}
    for entry in s.journal.entries(subject=run.id):
        if entry.kind == "drift.seen":
            drift = Drift.model_validate(entry.body)
            found[drift.key] = drift
        elif entry.kind == "drift.cleared":
            found.pop(Drift.model_validate(entry.body).key, None)
    return found


def tell_drift(s: Session, live: Live, drift: Drift, *, known: bool) -> None:
    """A drift that was not there at the look before; `known`: somebody else who watches has put it on record."""
    if not known:
        s.journal.append("drift.seen", drift.to_json(), environment=live.run.environment, subject=live.run.id)
    s.emit("drift", drift)


def tell_cleared(s: Session, live: Live, drift: Drift, *, known: bool) -> None:
    """A drift that is gone; `known`: somebody else who watches has put that on record."""
    if not known:
        s.journal.append(
            "drift.cleared", drift.to_json(), environment=live.run.environment, subject=live.run.id
        )
    s.emit("cleared", drift)


def _next_attempt(s: Session, live: Live, outcome: AttemptOutcome, reason: str) -> Live:
    run = attempts.restart(
        live.run, live.request, live.handle, outcome=outcome, reason=reason, grace=GRACE, layout=s.layout,
        backend=starting(s, live.run.backend, live.state), journal=s.journal, clock=s.clock,
        approved=live.baseline.hyperparameters,
    )  # fmt: skip
    request, handle = attempts.current(s.layout, run)
    restarted = replace(live, run=run, request=request, handle=handle)
    s.emit("started", run)
    return restarted
