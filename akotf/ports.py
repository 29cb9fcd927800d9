"""The protocols that stages and adapters meet at. Wiring binds them; tests bind in-memory doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from akotf.model.journal import Entry
from akotf.model.lease import Lease
from akotf.model.plan import Offer
from akotf.model.run import AttemptStatus, Handle, LogChunk, RunRequest
from akotf.model.tfplan import TfPlan

Event = Mapping[str, Any]  # one line of Terraform's -json output


class Clock(Protocol):
    """Time, as an argument."""

    def now(self) -> float:
        """Unix seconds."""

    def iso(self) -> str:
        """The same moment as ISO 8601 in UTC, with `Z`."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class Backend(Protocol):
    """Where runs run. Every backend passes `akotf.testing.BackendContract`."""

    name: str

    def find(self, request: RunRequest) -> Handle | None:
        """The attempt with this request's key, if the backend knows it (also after our own crash)."""

    def submit(self, request: RunRequest) -> Handle:
        """Start the attempt once. A second call with the same key returns the same handle."""

    def status(self, request: RunRequest, handle: Handle) -> AttemptStatus:
        """Its state now. TransientBackendError when the backend can't be asked."""

    def logs(
        self, request: RunRequest, handle: Handle, stream: str, cursor: int, limit: int = 65536
    ) -> LogChunk:
        """Bytes of `stdout` or `stderr` from `cursor` on."""

    def cancel(self, request: RunRequest, handle: Handle, grace: float) -> AttemptStatus:
        """Ask to stop (TERM), then force (KILL) after `grace` seconds; returns when it is over."""


class Terraform(Protocol):
    """Terraform or OpenTofu >= 1.10."""

    def version(self) -> str:
        """`1.11.4`."""

    def init(self, root: Path, on_event: Callable[[Event], None] | None = None) -> None:
        """Prepare the root; network only where a provider must be fetched."""

    def validate(self, root: Path) -> list[dict[str, Any]]:
        """Terraform's own diagnostics."""

    def plan(
        self, root: Path, *, targets: Sequence[str] = (), destroy: bool = False, refresh_only: bool = False,
        refresh: bool = True, on_event: Callable[[Event], None] | None = None,
    ) -> TfPlan:  # fmt: skip
        """Plan into a 0600 file and read it as JSON. The caller deletes `path` by `discard`."""

    def apply(self, plan: TfPlan, on_event: Callable[[Event], None] | None = None) -> None:
        """Apply exactly that saved plan."""

    def discard(self, plan: TfPlan) -> None:
        """Delete the saved plan: it holds secrets in clear."""

    def outputs(self, root: Path) -> dict[str, Any]:
        """Output values of the state."""

    def state(self, root: Path) -> dict[str, Any]:
        """`terraform show -json` of the state; {} when there is none."""


class Inventory(Protocol):
    """A scope that can be asked what it offers."""

    def offers(self) -> Sequence[Offer]:
        """What the scope can give now."""


class TelemetrySource(Protocol):
    """Reads a node's agent."""

    def read(self, node_directory: Path) -> Any:
        """An `Observation`. TelemetryUnavailable when the agent can't be reached."""


class LeaseStore(Protocol):
    """One holder at a time for each key."""

    def acquire(self, key: str, operation: str, timeout: float = 0.0) -> AbstractContextManager[Lease]:
        """The lease while the context lasts (heartbeats included). Locked when somebody else has it after `timeout`."""

    def holder(self, key: str) -> Lease | None:
        """Who holds it now."""

    def abandoned(self) -> list[tuple[Lease, str]]:
        """Leases whose holder is dead, each with how that is known; whoever acquires one takes it over."""


class Journal(Protocol):
    """Append-only and hash-chained."""

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        """Durable (fsync) when it returns."""

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        """In order."""


class ObjectStore(Protocol):
    """Immutable bytes by digest."""

    def put(self, data: Any) -> str:
        """Store JSON data (canonical) or bytes; returns the `sha256:` digest."""

    def get(self, digest: str) -> bytes:
        """The bytes; IntegrityError when they don't match, StoreError when they are not there."""


class SecretSource(Protocol):
    """Resolves secret references, last of all."""

    def resolve(self, references: Mapping[str, str]) -> dict[str, bytes]:
        """Values by the names that `references` gives them. SecretError with all faults at once, never with a value."""

    def known(self) -> tuple[bytes, ...]:
        """The values that were resolved since this process began: what must not be printed, packed or recorded."""
