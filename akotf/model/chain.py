"""The journal's hash chain: how an entry is made, and what a broken chain looks like. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from akotf.model.base import canonical_json
from akotf.model.finding import Finding
from akotf.model.journal import GENESIS, Actor, Entry

_REMEDY = "compare with a copy of the journal from before, and find out who could write to it"
_SEARCH = 16  # so many wrong entries are looked up for where they came from; more are only called changed


def seal(
    previous: Entry | None, *, time: str, kind: str, environment: str, subject: str, actor: Actor,
    body: Mapping[str, Any],
) -> Entry:  # fmt: skip
    """The entry that follows `previous` (None: the first). ValueError or TypeError when the body is no JSON data."""
    entry = Entry(
        sequence=previous.sequence + 1 if previous else 1,
        time=time,
        kind=kind,
        environment=environment,
        subject=subject,
        actor=actor,
        # Through JSON once, so that the hash is the same before and after it was stored.
        body=json.loads(canonical_json(dict(body))),
        previous=previous.hash if previous else GENESIS,
        hash="",
    )
    return entry.model_copy(update={"hash": entry.expected_hash()})


def _broken(rule: str, message: str) -> Finding:
    return Finding(rule=f"journal/{rule}", message=message, remedy=_REMEDY)


def check_chain(rows: Iterable[Mapping[str, Any]], *, head: str | None = None) -> list[Finding]:
    """Everything wrong with the rows of a journal, in the order they are stored; an intact chain gives [].

    A row is an `Entry` as JSON. Changed, missing, reordered and removed entries are named by their sequence. What was
    cut off at the end leaves an intact chain: only `head`, the hash of an entry known to have been there, finds it.
    """
    findings: list[Finding] = []
    entries: list[Entry] = []
    for place, row in enumerate(rows, start=1):
        try:
            entries.append(Entry.model_validate(row))
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(str(part) for part in fault["loc"])
            number = row.get("sequence", place) if isinstance(row, Mapping) else place
            findings.append(_broken("changed", f"entry {number} can't be read: {where}: {fault['msg']}"))
    findings += _check_links(entries)
    if head is not None and head not in {entry.hash for entry in entries}:
        last = entries[-1].sequence if entries else 0
        findings.append(
            _broken(
                "truncated", f"entries after {last} are missing: the known head {head} is not in the journal"
            )
        )
    return findings


def _check_links(entries: Sequence[Entry]) -> list[Finding]:
    findings: list[Finding] = []
    expected, previous, searched = 1, GENESIS, 0
    for entry in entries:
        honest = _honest(entry)
        if not honest:
            source = _written_as(entry, len(entries)) if searched < _SEARCH else None
            searched += 1
            findings.append(
                _broken("reordered", f"entry {entry.sequence} was written as entry {source}")
                if source
                else _broken("changed", f"entry {entry.sequence} was changed after it was written")
            )
        if entry.sequence > expected:
            gap = f"entry {expected} is" if entry.sequence == expected + 1 else (
                f"entries {expected} to {entry.sequence - 1} are"
            )  # fmt: skip
            findings.append(_broken("missing", f"{gap} missing"))
        elif entry.sequence < expected:
            findings.append(
                _broken(
                    "reordered", f"entry {entry.sequence} stands after entry {expected - 1}, out of order"
                )
            )
        elif honest and entry.previous != previous:
            before = "the journal's beginning" if entry.sequence == 1 else f"entry {entry.sequence - 1}"
            findings.append(
                _broken(
                    "relinked", f"entry {entry.sequence} does not follow {before}: one of them was replaced"
                )
            )
        expected, previous = entry.sequence + 1, entry.hash
    return findings


def _honest(entry: Entry) -> bool:
    try:
        return entry.expected_hash() == entry.hash
    except ValueError:  # what JSON can't say (NaN, a lone surrogate) was never written by us
        return False


def _written_as(entry: Entry, count: int) -> int | None:
    """The sequence under which the entry's hash is honest, if it is one near those of this journal."""
    for sequence in range(1, count + _SEARCH):
        if _honest(entry.model_copy(update={"sequence": sequence})):
            return sequence
    return None
