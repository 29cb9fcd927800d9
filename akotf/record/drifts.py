"""The story of a run's drifts, told from the journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from akotf.model.journal import Entry
from akotf.model.run import Run

_KINDS = ("drift.", "decision.", "heal.")


def of_run(entries: Sequence[Entry], run: Run) -> list[Entry]:
    """The entries about a run: those with its id, and those of its deployment since its first."""
    first = next((entry.sequence for entry in entries if entry.subject == run.id), None)
    if first is None:
        return []
    return [e for e in entries if e.sequence >= first and e.subject in {run.id, run.deployment}]


def drift_history(entries: Sequence[Entry], run: Run) -> dict[str, Any]:
    """Each drift of the run with what became of it, and all entries about drift and heals as they stand in the journal.

    A drift is healed when a `heal.done` that names it follows; when it was seen again later, that is another drift.
    """
    about = [entry for entry in of_run(entries, run) if entry.kind.startswith(_KINDS)]
    drifts: list[dict[str, Any]] = []
    for entry in about:
        if entry.kind == "drift.seen":
            drifts.append(_seen(entry))
        elif entry.kind == "heal.done":
            _mark(drifts, _named(entry), healed=entry.time, action=entry.body.get("action", "heal-in-place"))
        elif entry.kind == "drift.cleared":
            _mark(drifts, {_key(entry.body)}, cleared=entry.time)
    return {
        "schema": 1,
        "drifts": drifts,
        "healed": sum(1 for drift in drifts if drift["healed"]),
        "entries": [{"sequence": e.sequence, "time": e.time, "kind": e.kind, "body": e.body} for e in about],
    }


def _seen(entry: Entry) -> dict[str, Any]:
    names = ("kind", "node", "field", "approved", "observed", "source")
    found = {name: entry.body.get(name) for name in names}
    return {"key": _key(entry.body), **found, "seen": entry.time, "healed": "", "action": "", "cleared": ""}


def _key(body: dict[str, Any]) -> str:
    return f"{body.get('node', '')}:{body.get('field', '')}"


def _named(entry: Entry) -> set[str]:
    """The keys of the drifts that a heal says it healed."""
    named = entry.body.get("drifts", ())
    return {drift if isinstance(drift, str) else _key(drift) for drift in named}


def _mark(drifts: Iterable[dict[str, Any]], keys: set[str], **values: str) -> None:
    for drift in drifts:
        if drift["key"] in keys:
            drift.update({name: value for name, value in values.items() if not drift[name]})
