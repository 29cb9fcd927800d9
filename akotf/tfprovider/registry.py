"""The registry of leases on one machine: a file for each deployment, changed under one lock."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from akotf.errors import AkotfError
from akotf.facts.files import read_json, remove, write_json_atomic

SCHEMA = 1
_WAIT = 30.0  # s for the lock, which is held for milliseconds
_PAUSE = 0.05  # s


class Entry(NamedTuple):
    """One deployment's lease."""

    deployment: str
    gpus: tuple[int, ...]
    cpus: tuple[int, ...]
    uid: int
    user: str
    environment: str  # folder of the environment, "" when not known
    since: str  # ISO 8601, UTC

    @property
    def abandoned(self) -> bool:
        """True when the environment folder is gone, and with it the state that could give the lease back."""
        return self.environment != "" and not Path(self.environment).exists()

    def holder(self) -> str:
        """For messages: who holds it, from where, since when."""
        where = f", {self.environment}" if self.environment else ""
        return f"{self.deployment} (user {self.user}{where}, since {self.since})"


class RegistryError(AkotfError):
    """The registry can't be read or changed, or has not what is asked for."""

    code = "pool"


class Registry:
    """Leases in a folder. Every method but `locked` is to be called under the lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator[Registry]:
        """Hold the registry's lock; the folder is made when it is missing."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (self.folder / "lock").open("a")
        except OSError as error:
            raise RegistryError(f"the pool registry can't be opened: {error}",
                                remedy=f"Check who owns {self.folder}.") from None  # fmt: skip
        with file:
            self._lock(file.fileno())
            yield self

    def _lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RegistryError(
                        f"the pool registry {self.folder} is locked for more than {_WAIT:.0f} s",
                        remedy="Look for another Terraform that hangs.",
                    ) from None
                time.sleep(_PAUSE)

    def path(self, deployment: str) -> Path:
        """The deployment's file: readable, and never the same for two deployments."""
        readable = re.sub(r"[^A-Za-z0-9.-]+", "_", deployment)[:80]
        return self.folder / f"{readable}-{hashlib.sha256(deployment.encode()).hexdigest()[:12]}.json"

    def read(self, deployment: str) -> Entry | None:
        """The deployment's lease, or None."""
        path = self.path(deployment)
        return self._read(path) if path.exists() else None

    def entries(self) -> list[Entry]:
        """All leases of the machine whose environment folder is still there."""
        found = (self._read(path) for path in sorted(self.folder.glob("*.json")))
        return [entry for entry in found if not entry.abandoned]

    def write(self, entry: Entry) -> None:
        """Keep a lease."""
        write_json_atomic(self.path(entry.deployment), {"schema": SCHEMA, **entry._asdict()}, mode=0o644)

    def remove(self, deployment: str) -> None:
        """Free a lease; none is fine."""
        remove(self.path(deployment))

    def _read(self, path: Path) -> Entry:
        try:
            data = read_json(path)
            if data["schema"] != SCHEMA:
                raise ValueError(f"schema {data['schema']!r} is unknown")
            return Entry(
                deployment=str(data["deployment"]), gpus=_indices(data["gpus"]), cpus=_indices(data["cpus"]),
                uid=int(data["uid"]), user=str(data["user"]), environment=str(data["environment"]),
                since=str(data["since"]),
            )  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError) as error:
            # What it holds is unknown, so nothing can be given out safely
            raise RegistryError(f"lease {path} can't be read: {error}",
                                remedy="Repair it, or remove it when its owner is gone.") from None  # fmt: skip


def _indices(values: Any) -> tuple[int, ...]:
    return tuple(sorted(int(value) for value in values))


def default_folder(environment: dict[str, str] | None = None) -> Path:
    """`$XDG_STATE_HOME/akotf/pools`, else `~/.local/state/akotf/pools`, else a folder of ours under /var/tmp."""
    variables = dict(os.environ) if environment is None else environment
    state = variables.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "akotf" / "pools"
    home = variables.get("HOME", "")
    if Path(home).is_absolute() and os.access(home, os.W_OK):
        return Path(home) / ".local" / "state" / "akotf" / "pools"
    return Path(f"/var/tmp/akotf-{os.getuid()}/pools")  # noqa: S108 - made 0700, named by user, survives a reboot


def new_entry(deployment: str, gpus: Iterable[int], cpus: Iterable[int], environment: str) -> Entry:
    """A lease of the present user from now on."""
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)  # a container's user without an account
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Entry(deployment, tuple(sorted(gpus)), tuple(sorted(cpus)), uid, user, environment, since)


def take(
    kind: str, count: int, present: Iterable[int], mine: Iterable[int], others: dict[int, Entry]
) -> tuple[int, ...]:
    """`count` indices for one deployment: those it has first, then the lowest free ones.

    `present` are those that exist, `others` those leased to someone else. RegistryError names the holders when too few
    are free.
    """
    there = sorted(set(present))
    kept = [index for index in sorted(set(mine)) if index in there and index not in others]
    free = [index for index in there if index not in others and index not in kept]
    chosen = (kept + free)[:count]
    if len(chosen) < count:
        holders = [f"{kind} {i}: {others[i].holder()}" for i in there if i in others]
        raise RegistryError(
            f"{count} {kind}s asked for, {len(kept) + len(free)} of {len(there)} free on this machine",
            remedy="\n".join([*holders, "Ask for fewer, or destroy the deployment that holds them."])
            if holders
            else "Ask for fewer.",
        )
    return tuple(sorted(chosen))
