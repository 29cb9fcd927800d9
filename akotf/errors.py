"""The tree of deliberate errors.

Each error says what happened, where, what to do about it (`remedy`), and whether the same call can
succeed later without a change (`retryable`). `exit_code` is what the command line returns for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class AkotfError(Exception):
    """Base of all deliberate errors."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"\n  remedy: {self.remedy}" if self.remedy else ""
        return f"{place}{self.message}{remedy}"


class UsageError(AkotfError):
    """The command line or an argument is wrong."""

    code = "usage"


class ConfigError(AkotfError):
    """The desired state has faults; `findings` holds all of them (`akotf.model.finding.Finding`)."""

    code = "config"

    def __init__(
        self, message: str, findings: Sequence[Any] = (), *, where: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.findings = tuple(findings)


class IsolationError(AkotfError):
    """A limited child ran out of time or memory, or died."""

    code = "isolation"


class PolicyDenied(AkotfError):
    """A rule refuses the change; `findings` holds the verdicts."""

    exit_code = 3
    code = "policy-denied"

    def __init__(
        self, message: str, findings: Sequence[Any] = (), *, where: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.findings = tuple(findings)


class ApprovalError(AkotfError):
    """What would be applied is not what was approved, or nobody approved it."""

    exit_code = 3
    code = "approval"


class NoFeasibleCandidate(AkotfError):
    """No candidate meets limits, budget and deadline. `selection` holds the reasons and the cheapest relaxation."""

    exit_code = 4
    code = "no-feasible-candidate"

    def __init__(self, message: str, selection: Any = None, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.selection = selection


class Locked(AkotfError):
    """Somebody else holds the lease. The message says who, since when, for what."""

    exit_code = 5
    code = "locked"
    retryable = True


class RunFailed(AkotfError):
    """The training run ended without success; `run` is that run."""

    exit_code = 6
    code = "run-failed"

    def __init__(self, message: str, run: Any = None, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.run = run


class Interrupted(AkotfError):
    """A person or the system asked us to stop."""

    exit_code = 130
    code = "interrupted"


class TerraformError(AkotfError):
    """Terraform reported errors; `diagnostics` holds its own diagnostics (dicts with severity, summary, detail)."""

    code = "terraform"

    def __init__(
        self, message: str, diagnostics: Sequence[dict[str, Any]] = (), *, where: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.diagnostics = tuple(diagnostics)


class BackendError(AkotfError):
    """A backend could not do what it was asked."""

    code = "backend"


class TransientBackendError(BackendError):
    """A backend could not be reached or was busy: the run's state is unknown, not failed."""

    code = "backend-transient"
    retryable = True


class TelemetryUnavailable(AkotfError):
    """A node's agent can't be reached or read. Never counts as drift or failure."""

    code = "telemetry"
    retryable = True


class StoreError(AkotfError):
    """The journal, the object store or a lease can't be read or written."""

    code = "store"


class IntegrityError(AkotfError):
    """Evidence, a template or the journal is not what its digest says."""

    code = "integrity"


class CheckpointError(AkotfError):
    """Checkpoints exist and none of them is complete."""

    code = "checkpoint"


class MissingDependency(AkotfError):
    """A program or package that this command needs is not installed."""

    code = "missing-dependency"


class SecretError(AkotfError):
    """Secrets can't be had; `findings` holds one fault for each reference, never a value."""

    code = "secret"

    def __init__(
        self, message: str, findings: Sequence[Any] = (), *, where: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.findings = tuple(findings)


class SecretUnavailable(SecretError):
    """Secrets can't be had now, because their service does not answer: the same call can succeed later."""

    code = "secret-unavailable"
    retryable = True
