"""Leases as files: one holder at a time for each key, also between processes and after a crash.

A lease is a JSON file; who reads or writes it holds a lock (flock) on the guard file beside it, for an instant only.
The holder's heartbeat moves `expires` on. A holder on this host is judged by its process: alive, it keeps the lease
however late its heartbeat; dead, the lease is taken over at once. A holder on another host loses it at `expires`.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from akotf.errors import Locked, StoreError
from akotf.facts.process import alive, boot_id, process_start
from akotf.model.base import canonical_json, digest
from akotf.model.journal import Actor
from akotf.model.lease import Lease
from akotf.model.units import format_duration
from akotf.ports import Clock
from akotf.store.files import make_folder, network_filesystem, store_error, write_atomic

TTL = 60.0  # s without a heartbeat after which another host may take the lease
_POLL = 0.2  # s between looks while waiting


class FileLeases:
    """`ports.LeaseStore` in a folder. `on_takeover` hears of a lease taken from a dead holder, with the reason."""

    def __init__(
        self, folder: Path, *, clock: Clock, identity: Actor, ttl: float = TTL,
        on_takeover: Callable[[Lease, str], None] | None = None,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._clock = clock
        self._identity = identity
        self._ttl = ttl
        self._on_takeover = on_takeover

    def acquire(self, key: str, operation: str, timeout: float = 0.0) -> AbstractContextManager[Lease]:
        """The lease while the context lasts. Locked when somebody else has it after `timeout` seconds."""
        return self._hold(key, operation, timeout)

    def holder(self, key: str) -> Lease | None:
        """Who holds it now; a lease whose holder is dead is nobody's."""
        lease = self._read(key)
        return None if lease is None or self._stale(lease) else lease

    def abandoned(self) -> list[tuple[Lease, str]]:
        """Leases whose holder is dead, each with how that is known."""
        leases = [self._read_file(path) for path in sorted(self._folder.glob("*.lease"))]
        return [(lease, why) for lease in leases if lease is not None and (why := self._stale(lease))]

    def check(self, lease: Lease) -> None:
        """Before a write under the lease: renew it. Locked when it was lost to somebody else meanwhile."""
        with self._guard(lease.key):
            current = self._read(lease.key)
            if current is None or current.token != lease.token:
                by = f"{_name(current)} holds it now" if current else "nobody holds it now"
                raise Locked(
                    f"the lease on {lease.key} for {lease.operation} was lost: {by}", where=str(self._folder),
                    remedy="run the command again: what was applied so far is in the state and the journal",
                )  # fmt: skip
            self._write(current.model_copy(update={"expires": self._clock.now() + self._ttl}))

    @contextmanager
    def _hold(self, key: str, operation: str, timeout: float) -> Iterator[Lease]:
        lease = self._wait(key, operation, timeout)
        stop = threading.Event()
        heart = threading.Thread(target=self._beat, args=(lease, stop), name=f"lease {key}", daemon=True)
        heart.start()
        try:
            yield lease
        finally:
            stop.set()
            heart.join()
            self._release(lease)

    def _wait(self, key: str, operation: str, timeout: float) -> Lease:
        make_folder(self._folder)
        if kind := network_filesystem(self._folder):
            raise StoreError(
                f"lies on {kind}, a network file system on which locks can't be trusted", where=str(self._folder),
                remedy="keep the environment folder on a local disk",
            )  # fmt: skip
        deadline = self._clock.now() + timeout
        while True:
            lease, ours = self._try(key, operation)
            if ours:
                return lease
            if self._clock.now() >= deadline:
                raise self._locked(lease, timeout)
            self._clock.sleep(min(_POLL, max(deadline - self._clock.now(), 0.0)))

    def _try(self, key: str, operation: str) -> tuple[Lease, bool]:
        """A lease, and whether it is ours; else it is the one in the way."""
        with self._guard(key):
            current = self._read(key)
            reason = self._stale(current) if current else ""
            if current and not reason:
                return current, False
            now = self._clock.now()
            lease = Lease(
                key=key, token=uuid.uuid4().hex, holder=self._identity.user, host=self._host(), pid=os.getpid(),
                pid_start=process_start(os.getpid()) or "", boot_id=boot_id(), operation=operation, since=now,
                expires=now + self._ttl,
            )  # fmt: skip
            self._write(lease)
        if current and self._on_takeover:
            self._on_takeover(current, reason)
        return lease, True

    def _stale(self, lease: Lease) -> str:
        """Why the lease is nobody's any more; empty while it is held."""
        if lease.host == self._host():
            if alive(lease.pid, lease.pid_start, lease.boot_id):
                return ""
            return f"process {lease.pid} of {lease.holder} has ended"
        if self._clock.now() >= lease.expires:
            return f"no heartbeat from {lease.host} for {_age(self._clock.now() - lease.expires + self._ttl)}"
        return ""

    def _beat(self, lease: Lease, stop: threading.Event) -> None:
        """Renew until told to stop, or until the lease is lost: then `check` tells the holder."""
        while not stop.wait(self._ttl / 4):
            try:
                self.check(lease)
            except Locked:
                return
            except StoreError:
                continue  # a full disk may have room again at the next beat

    def _release(self, lease: Lease) -> None:
        if not self._folder.is_dir():
            return  # the operation itself removed everything
        with self._guard(lease.key):
            current = self._read(lease.key)
            if current is not None and current.token == lease.token:
                with suppress(FileNotFoundError):
                    self._file(lease.key).unlink()

    def _locked(self, current: Lease, timeout: float) -> Locked:
        now = self._clock.now()
        waited = f" (waited {_age(timeout)})" if timeout else ""
        return Locked(
            f"{current.key} is locked by {_name(current)} for {current.operation}, since {_age(now - current.since)}"
            f"{waited}",
            where=str(self._file(current.key)),
            remedy="wait for it with `--lock-timeout 10m`, or end that process if it hangs",
        )

    @contextmanager
    def _guard(self, key: str) -> Iterator[None]:
        path = self._file(key).with_suffix(".guard")
        try:
            # for reading: another user of a shared folder may lock it too, and learn who holds the lease
            handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise store_error(path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _read(self, key: str) -> Lease | None:
        return self._read_file(self._file(key))

    def _read_file(self, path: Path) -> Lease | None:
        try:
            return Lease.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise store_error(path, error) from error
        except ValueError as error:
            raise StoreError(
                "the lease can't be read", where=str(path),
                remedy="when no akotf is at work on this environment, delete the file",
            ) from error  # fmt: skip

    def _write(self, lease: Lease) -> None:
        path = self._file(lease.key)
        try:
            write_atomic(path, canonical_json(lease))
        except OSError as error:
            raise store_error(path, error) from error

    def _file(self, key: str) -> Path:
        name = quote(key, safe="")
        return self._folder / f"{name if len(name) <= 200 else digest(key)[7:]}.lease"

    def _host(self) -> str:
        return self._identity.host or socket.gethostname()


def _name(lease: Lease) -> str:
    return f"{lease.holder}@{lease.host} (process {lease.pid})"


def _age(seconds: float) -> str:
    return format_duration(float(max(0, round(seconds))))
