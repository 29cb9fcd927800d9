"""The journal on SQLite: append-only, hash-chained, safe for several processes at once."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from akotf.errors import StoreError
from akotf.facts.files import sync_folder
from akotf.model.base import canonical_json
from akotf.model.chain import check_chain, seal
from akotf.model.finding import Finding
from akotf.model.journal import Actor, Entry
from akotf.ports import Clock
from akotf.store.files import make_folder, network_filesystem, store_error

SCHEMA = 1
_BUSY = 60.0  # s that a writer waits for another; an append holds the lock for milliseconds
_PAGE = 500  # entries read at a time, so that a reader never blocks a checkpoint for long

_CREATE = f"""
CREATE TABLE akotf_schema (number INTEGER NOT NULL);
INSERT INTO akotf_schema VALUES ({SCHEMA});
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    environment TEXT NOT NULL,
    subject TEXT NOT NULL,
    actor TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE
);
CREATE INDEX entries_subject ON entries (subject, sequence);
CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER entries_never_go BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
"""  # noqa: S608 - a constant of ours, not text of a user
_COLUMNS = "sequence, schema_version, time, kind, environment, subject, actor, body, previous, hash"


class SqliteJournal:
    """`ports.Journal` in one SQLite file. Nothing is opened, and no file made, before the first append.

    Each operation opens and closes its own connection: threads and forks need no care, and between appends the file
    is complete by itself (no -wal beside it) and can be copied.
    """

    def __init__(self, path: Path, *, clock: Clock, actor: Actor) -> None:
        self._path = path
        self._clock = clock
        self._actor = actor

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        """Durable (fsync) when it returns. StoreError when it can't be written or the body is no JSON data."""
        if not self._path.exists():
            _create(self._path)
        try:
            with closing(_connect(self._path)) as database:
                database.execute("BEGIN IMMEDIATE")  # from here to COMMIT nobody else extends the chain
                last = database.execute(
                    f"SELECT {_COLUMNS} FROM entries ORDER BY sequence DESC LIMIT 1"  # noqa: S608
                ).fetchone()
                entry = seal(
                    Entry.model_validate(_row(last)) if last else None,
                    time=self._clock.iso(),
                    kind=kind,
                    environment=environment,
                    subject=subject,
                    actor=self._actor,
                    body=body,
                )
                database.execute(
                    f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                    _values(entry),
                )
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise _wrapped(self._path, error) from error
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the entry {kind} can't be written: {error}", where=str(self._path),
                remedy="bodies hold JSON data only; if the journal itself is damaged, `akotf audit verify` names the entry",
            ) from error  # fmt: skip
        return entry

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        """In order; nothing when there is no journal yet."""
        clauses, values = ["sequence > ?"], []
        for column, value in (("subject", subject), ("kind", kind)):
            if value:
                clauses.append(f"{column} = ?")
                values.append(value)
        query = (
            f"SELECT {_COLUMNS} FROM entries WHERE {' AND '.join(clauses)} ORDER BY sequence LIMIT {_PAGE}"  # noqa: S608
        )
        while self._path.exists():
            page = _select(self._path, query, (after, *values))
            for row in page:
                yield _entry(self._path, row)
            if len(page) < _PAGE:
                return
            after = int(page[-1][0])

    def head(self) -> str:
        """The hash of the last entry, to keep elsewhere: with it `verify` finds a truncated end. Empty when none."""
        if not self._path.exists():
            return ""
        rows = _select(self._path, "SELECT hash FROM entries ORDER BY sequence DESC LIMIT 1", ())
        return str(rows[0][0]) if rows else ""


def verify(path: Path, head: str | None = None) -> list[Finding]:
    """What is wrong with the journal at `path`, entry by entry; [] when its chain is intact. See `check_chain`.

    StoreError when there is no journal, or SQLite can't read the file at all.
    """
    if not path.exists():
        raise StoreError(
            "there is no journal", where=str(path), remedy="`akotf plan` or `akotf apply` begins one"
        )
    rows = _select(path, f"SELECT {_COLUMNS} FROM entries ORDER BY sequence", ())  # noqa: S608
    findings = check_chain((_row(row) for row in rows), head=head)
    names = {
        str(row[0]) for row in _select(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'", ())
    }
    for trigger in sorted({"entries_never_change", "entries_never_go"} - names):
        gone = f"the trigger {trigger}, which keeps the journal append-only, was removed"
        findings.append(
            Finding(
                rule="journal/unprotected", message=gone, remedy="find out who could write to the journal"
            )
        )
    return findings


def _create(path: Path) -> None:
    """Make an empty journal: built aside and linked into place, so that nobody ever sees half of one."""
    make_folder(path.parent)
    if kind := network_filesystem(path.parent):
        raise StoreError(
            f"lies on {kind}, a network file system on which SQLite can't keep a journal safely", where=str(path),
            remedy="keep the environment folder on a local disk",
        )  # fmt: skip
    try:
        with tempfile.TemporaryDirectory(prefix=".journal-", dir=path.parent) as folder:
            fresh = Path(folder) / "journal.db"
            with closing(sqlite3.connect(fresh, isolation_level=None)) as database:
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(_CREATE)
            with suppress(FileExistsError):  # another process was first, with the same content
                os.link(fresh, path)
        sync_folder(path.parent)
    except OSError as error:
        raise store_error(path, error) from error
    except sqlite3.Error as error:
        raise _wrapped(path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    """An open connection to a journal of our schema."""
    # A reader in a folder that nobody can write needs no lock file: WAL would insist on making one.
    frozen = not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    uri = path.absolute().as_uri() + ("?mode=ro&immutable=1" if frozen else "?mode=rw")
    database = sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = FULL")
        number = database.execute("SELECT number FROM akotf_schema").fetchone()
        if number is None or number[0] != SCHEMA:
            raise StoreError(
                f"has schema {number[0] if number else 'none'}; this akotf knows schema {SCHEMA}", where=str(path),
                remedy="use the akotf that wrote it, or a newer one",
            )  # fmt: skip
    except BaseException:
        database.close()
        raise
    return database


def _select(path: Path, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    try:
        with closing(_connect(path)) as database:
            return database.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise _wrapped(path, error) from error


def _values(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.sequence, entry.schema_version, entry.time, entry.kind, entry.environment, entry.subject,
        canonical_json(entry.actor).decode(), canonical_json(entry.body).decode(), entry.previous, entry.hash,
    )  # fmt: skip


def _row(values: tuple[Any, ...]) -> dict[str, Any]:
    row = dict(zip(_COLUMNS.split(", "), values, strict=True))
    for name in ("actor", "body"):
        with suppress(
            ValueError, TypeError
        ):  # what is no JSON stays text, and the entry then counts as changed
            row[name] = json.loads(row[name])
    return row


def _entry(path: Path, values: tuple[Any, ...]) -> Entry:
    try:
        return Entry.model_validate(_row(values))
    except ValueError as error:
        raise StoreError(
            f"entry {values[0]} can't be read",
            where=str(path),
            remedy="`akotf audit verify` says what was changed",
        ) from error


def _wrapped(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        remedy = "free some space on this disk, then run the command again: no entry was half written"
    elif "malformed" in text or "not a database" in text or "no such table" in text:
        remedy = (
            "the file is damaged or is no journal: restore it from a copy, or move it away to begin a new one"
        )
    elif "locked" in text or "busy" in text:
        remedy = "another process keeps it locked: end it, then try again"
    else:
        remedy = "check that the folder and the file are yours and writable, on a local disk"
    return StoreError(f"the journal can't be used: {text}", where=str(path), remedy=remedy)
