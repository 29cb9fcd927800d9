"""A journal that never takes in a value that this process has resolved: what is on record stays there for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from akotf.model.journal import Entry
from akotf.ports import Journal, SecretSource
from akotf.secrets.redaction import SHORTEST_ON_RECORD, Redactor


class RedactingJournal:
    """Journal: another one, behind a redactor of what `secrets` has given out."""

    def __init__(self, journal: Journal, secrets: SecretSource) -> None:
        self._journal = journal
        self._secrets = secrets

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        """As the journal behind, with MARKER in place of each value."""
        clean = Redactor(self._secrets.known(), SHORTEST_ON_RECORD).data(dict(body))
        return self._journal.append(kind, clean, environment=environment, subject=subject)

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        """As the journal behind."""
        return self._journal.entries(subject=subject, kind=kind, after=after)
