"""In-memory doubles of the ports: small, real classes with the behaviour the protocols promise."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akotf.errors import Locked, SecretError, SecretUnavailable, StoreError, TelemetryUnavailable
from akotf.model.base import canonical_json, digest
from akotf.model.chain import seal
from akotf.model.drift import Observation
from akotf.model.journal import Actor, Entry
from akotf.model.lease import Lease
from akotf.model.run import AttemptOutcome, AttemptStatus, Handle, LogChunk, RunRequest, RunState
from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.ports import (
    Backend,
    Clock,
    Event,
    Journal,
    LeaseStore,
    ObjectStore,
    SecretSource,
    TelemetrySource,
    Terraform,
)

ACTOR = Actor(user="tester", host="test-host")


class FakeClock:
    """A clock that stands still until it is told to sleep or to advance."""

    def __init__(self, now: float = 1_796_000_000.0) -> None:
        self._now = now
        self.slept: list[float] = []

    def now(self) -> float:
        """Unix seconds."""
        return self._now

    def iso(self) -> str:
        """The same moment as ISO 8601 in UTC."""
        return dt.datetime.fromtimestamp(self._now, dt.UTC).isoformat().replace("+00:00", "Z")

    def sleep(self, seconds: float) -> None:
        """Advance at once; `slept` remembers it."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


class MemoryJournal:
    """A hash-chained journal in a list."""

    def __init__(self, clock: FakeClock | None = None, actor: Actor = ACTOR) -> None:
        self.clock = clock or FakeClock()
        self.actor = actor
        self.rows: list[Entry] = []

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        """Add an entry; what is not JSON data is refused as a durable journal would."""
        entry = seal(
            self.rows[-1] if self.rows else None, time=self.clock.iso(), kind=kind, environment=environment,
            subject=subject, actor=self.actor, body=body,
        )  # fmt: skip
        self.rows.append(entry)
        return entry

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        """In order; empty filters let all through."""
        for entry in list(self.rows):
            if entry.sequence > after and subject in ("", entry.subject) and kind in ("", entry.kind):
                yield entry

    def kinds(self) -> list[str]:
        """The kinds so far, in order."""
        return [entry.kind for entry in self.rows]


class MemoryObjects:
    """Immutable bytes by digest, in a dict."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def put(self, data: Any) -> str:
        """Store JSON data or bytes."""
        blob = data if isinstance(data, bytes) else canonical_json(data)
        key = digest(blob)
        self.blobs[key] = blob
        return key

    def get(self, key: str) -> bytes:
        """The bytes; StoreError when they are not there."""
        try:
            return self.blobs[key]
        except KeyError:
            raise StoreError(f"object {key} is not here", remedy="plan again") from None


class MemoryLeases:
    """One holder a key; nobody waits, because time stands still in a test."""

    def __init__(self, clock: FakeClock | None = None, holder: str = "tester") -> None:
        self.clock = clock or FakeClock()
        self.name = holder
        self.held: dict[str, Lease] = {}
        self.dead: set[str] = set()  # tokens of leases whose holder died: the test says which
        self.taken: list[tuple[str, str]] = []

    def acquire(self, key: str, operation: str, timeout: float = 0.0) -> AbstractContextManager[Lease]:
        """The lease while the context lasts; Locked when it is held, after `timeout` seconds of the clock."""
        return self._hold(key, operation, timeout)

    @contextmanager
    def _hold(self, key: str, operation: str, timeout: float) -> Iterator[Lease]:
        other = self.held.get(key)
        if other is not None and other.token not in self.dead:
            self.clock.sleep(timeout)
            raise Locked(
                f"{key} is held by {other.holder} for {other.operation} since {other.since:.0f}",
                remedy="wait until it is free",
            )
        now = self.clock.now()
        lease = Lease(
            key=key, token=f"{key}#{len(self.taken) + 1}", holder=self.name, host="test-host", pid=1,
            operation=operation, since=now, expires=now + 60,
        )  # fmt: skip
        self.held[key] = lease
        self.taken.append((key, operation))
        try:
            yield lease
        finally:
            self.held.pop(key, None)

    def holder(self, key: str) -> Lease | None:
        """Who holds it now."""
        lease = self.held.get(key)
        return None if lease is None or lease.token in self.dead else lease

    def abandoned(self) -> list[tuple[Lease, str]]:
        """The held leases that the test says are a dead process's."""
        return [(lease, f"{lease.holder} died") for lease in self.held.values() if lease.token in self.dead]


class MemorySecrets:
    """Secrets by reference; one that is not there can't be had, now or for good as `retryable` says."""

    def __init__(self, values: Mapping[str, bytes] | None = None) -> None:
        self.values = dict(values or {})
        self.retryable = False
        self.given: dict[bytes, None] = {}

    def resolve(self, references: Mapping[str, str]) -> dict[str, bytes]:
        """The values; SecretError names the variables that have none."""
        gone = [name for name, reference in references.items() if reference not in self.values]
        found = {n: self.values[r] for n, r in references.items() if n not in gone}
        self.given.update(dict.fromkeys(found.values()))
        if gone:
            raise (SecretUnavailable if self.retryable else SecretError)(
                f"{', '.join(gone)} can't be had", remedy="store it"
            )
        return found

    def known(self) -> tuple[bytes, ...]:
        """What was given out."""
        return tuple(self.given)


class MemoryBackend:
    """A backend whose attempts end when the test says so. `started` counts real starts by key."""

    name = "memory"

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self.requests: dict[str, RunRequest] = {}
        self.secrets: dict[str, dict[str, bytes]] = {}  # what was handed over, by key and variable
        self.states: dict[str, AttemptStatus] = {}
        self.output: dict[tuple[str, str], bytes] = {}

    def find(self, request: RunRequest) -> Handle | None:
        """The attempt with this key."""
        return self._handle(request.key) if request.key in self.started else None

    def submit(self, request: RunRequest) -> Handle:
        """Start once."""
        if request.key not in self.started:
            self.started[request.key] = 1
            self.requests[request.key] = request
            self.secrets[request.key] = {n: Path(p).read_bytes() for n, p in request.secrets.items()}
            for path in request.secrets.values():
                Path(path).unlink()
            self.states[request.key] = AttemptStatus(state=RunState.RUNNING, native="running")
        return self._handle(request.key)

    def _handle(self, key: str) -> Handle:
        return Handle(backend=self.name, native_id=key, key=key)

    def status(self, request: RunRequest, handle: Handle) -> AttemptStatus:
        """What the test last said."""
        unknown = AttemptStatus(
            state=RunState.UNKNOWN, native="unknown", reason=f"{request.key} never started"
        )
        return self.states.get(handle.key, unknown)

    def end(self, key: str, outcome: AttemptOutcome, exit_code: int | None = None, reason: str = "") -> None:
        """Let an attempt end."""
        ends = {AttemptOutcome.SUCCEEDED: RunState.SUCCEEDED, AttemptOutcome.CANCELLED: RunState.CANCELLED}
        self.states[key] = AttemptStatus(
            state=ends.get(outcome, RunState.FAILED), outcome=outcome, exit_code=exit_code, reason=reason,
            native="ended",
        )  # fmt: skip

    def logs(
        self, request: RunRequest, handle: Handle, stream: str, cursor: int, limit: int = 65536
    ) -> LogChunk:
        """Bytes that the test put into `output[key, stream]`."""
        data = self.output.get((request.key or handle.key, stream), b"")[cursor : cursor + limit]
        return LogChunk(data=data, cursor=cursor + len(data))

    def cancel(self, request: RunRequest, handle: Handle, grace: float) -> AttemptStatus:
        """End a running attempt as cancelled; a final one keeps its end."""
        if handle.key in self.states and not self.states[handle.key].state.final:
            self.end(handle.key, AttemptOutcome.CANCELLED, reason=f"cancelled with {grace:g} s of grace")
        return self.status(request, handle)


class MemoryTerraform:
    """Terraform whose plans are given: `planned[root]` is what the next plan of that root shows."""

    def __init__(self, planned: Mapping[str, Sequence[ResourceChange]] | None = None) -> None:
        self.planned: dict[str, tuple[ResourceChange, ...]] = {
            k: tuple(v) for k, v in (planned or {}).items()
        }
        self.drift: dict[str, tuple[ResourceChange, ...]] = {}
        self.values: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.applied: list[TfPlan] = []
        self.discarded: list[TfPlan] = []

    def version(self) -> str:
        """The version it claims."""
        return "1.11.4"

    def init(self, root: Path, on_event: Callable[[Event], None] | None = None) -> None:
        """Remembered in `calls`."""
        self._call("init", root, on_event)

    def validate(self, root: Path) -> list[dict[str, Any]]:
        """No diagnostics."""
        self._call("validate", root, None)
        return []

    def plan(
        self, root: Path, *, targets: Sequence[str] = (), destroy: bool = False, refresh_only: bool = False,
        refresh: bool = True, on_event: Callable[[Event], None] | None = None,
    ) -> TfPlan:  # fmt: skip
        """The given changes, those in `targets` (resources, modules) when there are any; none when only refreshing."""
        self._call("plan -refresh-only" if refresh_only else "plan", root, on_event)
        changes = () if refresh_only else self.planned.get(str(root), ())
        if targets:
            changes = tuple(
                c for c in changes if any(f"{c.address}.".startswith(f"{target}.") for target in targets)
            )
        return TfPlan(
            root=str(root), changes=changes, drift=self.drift.get(str(root), ()) if refresh else (),
            terraform_version=self.version(), destroy=destroy, targets=tuple(targets), path=f"{root}/saved.tfplan",
        )  # fmt: skip

    def apply(self, plan: TfPlan, on_event: Callable[[Event], None] | None = None) -> None:
        """What was planned is done: those changes and drifts are gone."""
        self._call("apply", Path(plan.root), on_event)
        self.applied.append(plan)
        done = {change.address for change in plan.changes}
        for table in (self.planned, self.drift):
            table[plan.root] = tuple(c for c in table.get(plan.root, ()) if c.address not in done)

    def discard(self, plan: TfPlan) -> None:
        """Remembered in `discarded`."""
        self.discarded.append(plan)

    def outputs(self, root: Path) -> dict[str, Any]:
        """What the test put into `values`."""
        return self.values.get(str(root), {})

    def state(self, root: Path) -> dict[str, Any]:
        """The outputs as a state would hold them; {} when there are none."""
        values = self.values.get(str(root))
        if values is None:
            return {}
        return {"values": {"outputs": {name: {"value": value} for name, value in values.items()}}}

    def _call(self, name: str, root: Path, on_event: Callable[[Event], None] | None) -> None:
        self.calls.append((name, str(root)))
        if on_event is not None:
            on_event({"@level": "info", "@message": name, "type": "log"})


class StaticTelemetry:
    """Telemetry that gives its observations one after the other, the last one for ever."""

    def __init__(self, *observations: Observation | TelemetryUnavailable) -> None:
        self.observations = list(observations)
        self.reads: list[Path] = []
        self.agents: list[tuple[Path, float]] = []

    def start_agent(self, node_directory: Path, interval: float = 5.0, linger: float = 30.0) -> None:
        """Remembered in `agents` as (folder, interval)."""
        if linger <= 0:
            raise ValueError("an agent lingers for a positive time")
        self.agents.append((node_directory, interval))

    def read(self, node_directory: Path) -> Observation:
        """The next observation, or the given error raised."""
        self.reads.append(node_directory)
        if not self.observations:
            raise TelemetryUnavailable("no agent here", where=str(node_directory), remedy="start the agent")
        found = self.observations.pop(0) if len(self.observations) > 1 else self.observations[0]
        if isinstance(found, TelemetryUnavailable):
            raise found
        return found


if TYPE_CHECKING:  # the type checker proves that each double is what its port says
    _clock: Clock = FakeClock()
    _backend: Backend = MemoryBackend()
    _journal: Journal = MemoryJournal()
    _leases: LeaseStore = MemoryLeases()
    _objects: ObjectStore = MemoryObjects()
    _secrets: SecretSource = MemorySecrets()
    _telemetry: TelemetrySource = StaticTelemetry()
    _terraform: Terraform = MemoryTerraform()
