"""Values to the process that needs them: in files that only this user reads, for as long as the start takes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from akotf.errors import (
    AkotfError,
    BackendError,
    MissingDependency,
    SecretError,
    StoreError,
    TransientBackendError,
)
from akotf.facts.files import write_atomic
from akotf.model.run import AttemptStatus, Handle, LogChunk, RunRequest
from akotf.ports import Backend, SecretSource


class HandingOver:
    """Backend: another one that finds the secrets of a request in its files.

    They are resolved last of all, just before the submit, and again for each attempt: so a restart takes a value that
    was rotated. The backend removes the files when the process has started; here they go when none was started.
    """

    def __init__(self, backend: Backend, references: Mapping[str, str], source: SecretSource) -> None:
        self.name = backend.name
        self._backend = backend
        self._references = references
        self._source = source

    def find(self, request: RunRequest) -> Handle | None:
        """As the backend behind."""
        return self._backend.find(request)

    def submit(self, request: RunRequest) -> Handle:
        """Resolve, write, submit. BackendError, or TransientBackendError, when a secret can't be had."""
        try:
            values = self._source.resolve({name: self._references[name] for name in request.secrets})
        except (SecretError, MissingDependency) as error:
            kind = TransientBackendError if error.retryable else BackendError
            raise kind(error.message, where=request.key, remedy=error.remedy) from None
        try:
            write(request, values)
            return self._backend.submit(request)
        except AkotfError as error:
            if not error.retryable:  # else the start may come late, and needs them
                clear(request)
            raise
        except BaseException:
            clear(request)
            raise

    def status(self, request: RunRequest, handle: Handle) -> AttemptStatus:
        """As the backend behind."""
        return self._backend.status(request, handle)

    def logs(
        self, request: RunRequest, handle: Handle, stream: str, cursor: int, limit: int = 65536
    ) -> LogChunk:
        """As the backend behind."""
        return self._backend.logs(request, handle, stream, cursor, limit)

    def cancel(self, request: RunRequest, handle: Handle, grace: float) -> AttemptStatus:
        """As the backend behind."""
        return self._backend.cancel(request, handle, grace)


def write(request: RunRequest, values: Mapping[str, bytes]) -> None:
    """The files that `request.secrets` names, mode 0600 in a folder of mode 0700. StoreError when they can't be."""
    try:
        for name, path in request.secrets.items():
            folder = Path(path).parent
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            write_atomic(path, values[name], 0o600, durable=False)
    except OSError as error:
        raise StoreError(
            f"the secrets of {request.key} can't be handed over: {error.strerror}",
            where=request.attempt_directory, remedy="free space or mend permissions, then run again",
        ) from None  # fmt: skip


def clear(request: RunRequest) -> None:
    """Remove the files, also half-written ones."""
    for folder in {Path(path).parent for path in request.secrets.values()}:
        shutil.rmtree(folder, ignore_errors=True)
