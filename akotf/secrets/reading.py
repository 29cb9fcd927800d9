"""What every scheme's reader has in common: how it is asked, and how it says that a secret can't be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from akotf.errors import MissingDependency
from akotf.model.secret import Reference

#: Seconds until a service must have answered; a start waits for it.
CONNECT_TIMEOUT, READ_TIMEOUT = 5.0, 15.0


class Unresolved(Exception):
    """One secret can't be had: why, what to do, and whether it may be there later. Never holds a value."""

    def __init__(self, why: str, remedy: str, *, retryable: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy
        self.retryable = retryable


@dataclass(frozen=True)
class Surroundings:
    """Where secrets are looked for: the environment folder, and akotf's own environment variables."""

    folder: Path
    variables: Mapping[str, str]


class Reader(Protocol):
    """Reads the secrets of one scheme."""

    def read(self, reference: Reference) -> bytes:
        """The whole secret, without regard to `reference.key`. Unresolved or MissingDependency when it can't be had."""


def missing(package: str, extra: str) -> MissingDependency:
    """The error for a reader whose SDK is not installed."""
    return MissingDependency(f"{package} is not installed", remedy=f"pip install 'akotf[{extra}]'")


def unanswered(service: str) -> Unresolved:
    """The service can't be reached, is overloaded or out of order."""
    return Unresolved(
        f"{service} does not answer", "check the network and the service, then try again", retryable=True
    )
