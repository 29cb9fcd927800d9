"""Journal entries and their hash chain."""

from __future__ import annotations

from typing import Any

from akotf.model.base import Frozen, canonical_json, digest

GENESIS = "sha256:" + "0" * 64


class Actor(Frozen):
    """Who, from where."""

    user: str
    host: str
    source: str = "cli"  # cli | ci | monitor | activity
    commit: str = ""


class Entry(Frozen):
    """One append-only record. `hash` covers everything else, `previous` the entry before."""

    schema_version: int = 1
    sequence: int  # from 1, without gaps
    time: str  # ISO 8601, UTC
    kind: str  # plan.made, apply.intent, apply.done, run.submitted, drift.seen, heal.done, ...
    environment: str
    subject: str = ""  # run id or deployment id
    actor: Actor
    body: dict[str, Any]
    previous: str
    hash: str

    def expected_hash(self) -> str:
        """The hash that an honest entry has."""
        return digest(canonical_json(self.model_dump(mode="json", exclude={"hash"})))
