"""What a crash left in an environment, settled, with a plain account of what was found and done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from akotf.errors import Locked
from akotf.model.journal import Entry
from akotf.model.run import Run
from akotf.pipeline import healing, provisioning
from akotf.pipeline.session import Session
from akotf.run import attempts
from akotf.run.registry import load_request

#: What begins with an intent in the journal, and how each ends.
_OPERATIONS = {"apply": ("apply.done", "apply.failed"), "destroy": ("destroy.done", "destroy.failed")}


@dataclass(frozen=True)
class Found:
    """One thing that a crash left. `settled`: nothing is left to do; else `done` says what to do."""

    what: str
    done: str
    settled: bool = True

    def to_json(self) -> dict[str, Any]:
        """JSON data with stable keys."""
        return {"what": self.what, "done": self.done, "settled": self.settled}


def recover(s: Session) -> tuple[list[Found], Run | None]:
    """Settle what processes of akotf that died left: leases, submissions, ends, evidence, operations of Terraform.

    Returns the account (empty: no crash left anything) and the latest run as it stands now. Safe to call at any time
    and again; what a living process has in hand is left to it.
    """
    found = _leases(s)
    before = attempts.latest(s.layout)
    started = before is not None and not before.state.final and bool(before.attempts) and _known(s, before)
    evidence = before is not None and s.layout.run_evidence(before.id).is_dir()
    deployed = {d.id for d in provisioning.deployments(s)} if before is not None else set()
    after = healing.settle(s)
    if before is not None and after is not None:
        found += _run(before, after, started=started)
        if before.state.final and not evidence and s.layout.run_evidence(after.id).is_dir():
            found.append(Found(f"run {after.id} had ended without its evidence", "the evidence is written"))
        gone = deployed - {d.id for d in provisioning.deployments(s)}
        found += [
            Found(f"the machines of {name} were to go and stood", "they are destroyed")
            for name in sorted(gone)
        ]
    found += _operations(s)
    return found, after


def _leases(s: Session) -> list[Found]:
    found = []
    for lease, why in s.leases.abandoned():
        try:
            with s.leases.acquire(lease.key, "recover"):
                pass  # taken from the dead and given back
        except Locked:
            continue  # somebody else was faster
        found.append(
            Found(f"a lease on {lease.key} for {lease.operation}, and {why}", "the lease is free again")
        )
    return found


def _known(s: Session, run: Run) -> bool:
    """Whether the backend has the last attempt already, though its submission is not on record."""
    if run.attempts[-1].handle is not None:
        return True
    request = load_request(s.layout, run.id, run.attempts[-1].number)
    return s.backend(run.backend).find(request) is not None


def _run(before: Run, after: Run, *, started: bool) -> list[Found]:
    if before.state.final or not before.attempts or before.id != after.id:
        return []
    found, last = [], before.attempts[-1]
    if last.handle is None:
        done = "it had started and is taken over" if started else "it had not started and was started now"
        found.append(Found(f"the submission of attempt {last.number} of run {before.id} was cut off", done))
    if after.state.final:
        reason = f": {after.attempts[-1].reason}" if after.attempts[-1].reason else ""
        found.append(
            Found(f"run {after.id} ended while nobody watched", f"it is on record as {after.state}{reason}")
        )
    elif len(after.attempts) > len(before.attempts):
        outcome = after.attempts[len(before.attempts) - 1].outcome
        resumed = after.attempts[-1].resumed_from.rsplit("/", 1)[-1] or "the beginning"
        found.append(
            Found(
                f"attempt {last.number} of run {after.id} was {outcome} while nobody watched",
                f"attempt {after.attempts[-1].number} goes on from {resumed}",
            )
        )
    return found


def _operations(s: Session) -> list[Found]:
    """Applies and destroys that began and never ended, by the journal; those under a living lease are somebody's."""
    if s.leases.holder(s.layout.environment.name) is not None or not any(s.journal.entries()):
        return []
    deployed = {deployment.id for deployment in provisioning.deployments(s)}
    last: dict[tuple[str, str], Entry] = {}
    for entry in s.journal.entries():
        operation = entry.kind.partition(".")[0]
        if operation in _OPERATIONS and (
            entry.kind.endswith(".intent") or entry.kind in _OPERATIONS[operation]
        ):
            last[operation, entry.subject] = entry
    found = []
    for (operation, deployment), entry in sorted(last.items()):
        later = [e for (_, name), e in last.items() if name == deployment and e.sequence > entry.sequence]
        if not entry.kind.endswith(".intent") or any(e.kind in ("apply.done", "destroy.done") for e in later):
            continue
        addresses = ", ".join(change["address"] for change in entry.body.get("changes", ())) or "no resource"
        what = f"akotf {operation} of {deployment} was cut off at {entry.time} while Terraform worked on {addresses}"
        if operation == "destroy" and deployment not in deployed:
            s.journal.append("destroy.done", entry.body, environment=entry.environment, subject=deployment)
            found.append(Found(what, "Terraform had finished; that is on record now"))
            continue
        done = f"what it had finished is in the state; akotf {operation} {s.layout.environment} does the rest"
        found.append(Found(what, done, settled=False))
    return found
