"""The SQLite journal: durable, append-only, chained; several processes at once; bad places."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from akotf.errors import StoreError
from akotf.model.journal import GENESIS, Actor
from akotf.store.files import network_filesystem
from akotf.store.journal import SqliteJournal, verify

ACTOR = Actor(user="ana", host="node1")


class TickingClock:
    """A second passes with every look."""

    def __init__(self) -> None:
        self.seconds = 1_764_000_000.0

    def now(self) -> float:
        self.seconds += 1
        return self.seconds

    def iso(self) -> str:
        return f"2026-11-30T21:50:{int(self.now()) % 60:02d}Z"

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def journal(path: Path) -> SqliteJournal:
    return SqliteJournal(path, clock=TickingClock(), actor=ACTOR)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "j" / "journal.db"
    writer = journal(path)
    for number in range(6):
        writer.append("drift.seen", {"n": number}, environment="demo", subject=f"run-{number % 2}")
    return path


def test_nothing_is_made_before_the_first_append(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.db"
    assert list(journal(path).entries()) == []
    assert journal(path).head() == ""
    assert not path.parent.exists()


def test_entries_are_chained_from_one_and_come_back_equal(tmp_path: Path) -> None:
    writer = journal(tmp_path / "journal.db")
    body = {"text": "ô\n", "float": 0.1, "big": 2**70, "none": None, "list": [1, {"a": True}]}
    first = writer.append("plan.made", body, environment="demo")
    second = writer.append("apply.done", {}, environment="demo", subject="demo/ws/local")
    assert (first.sequence, first.previous, second.sequence, second.previous) == (1, GENESIS, 2, first.hash)
    assert list(writer.entries()) == [first, second]
    assert first.body == body
    assert first.actor == ACTOR
    assert writer.head() == second.hash
    assert verify(tmp_path / "journal.db", head=second.hash) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["journal.db"]  # complete by itself


@pytest.mark.parametrize("name", ["a b", "what?mode=ro", "#1", "100%20", "größe"])
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "journal.db"
    entry = journal(path).append("plan.made", {}, environment="demo")
    assert list(journal(path).entries()) == [entry]
    assert path.is_file()


def test_entries_are_filtered(filled: Path) -> None:
    reader = journal(filled)
    assert [e.sequence for e in reader.entries(subject="run-1")] == [2, 4, 6]
    assert [e.sequence for e in reader.entries(kind="drift.seen", after=4)] == [5, 6]
    assert list(reader.entries(kind="plan.made")) == []


def test_more_than_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("akotf.store.journal._PAGE", 3)
    writer = journal(tmp_path / "journal.db")
    for _ in range(7):
        writer.append("drift.seen", {}, environment="demo")
    assert [e.sequence for e in writer.entries()] == [1, 2, 3, 4, 5, 6, 7]
    assert [e.sequence for e in writer.entries(after=3)] == [4, 5, 6, 7]


@pytest.mark.parametrize(
    "statement", ["UPDATE entries SET kind = 'x'", "DELETE FROM entries WHERE sequence = 6"]
)
def test_entries_can_not_be_changed_or_deleted(filled: Path, statement: str) -> None:
    with (
        closing(sqlite3.connect(filled)) as database,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        database.execute(statement)
    assert verify(filled) == []


def tamper(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TRIGGER entries_never_change")
        database.execute("DROP TRIGGER entries_never_go")
        for statement in statements:
            database.execute(statement)
        database.commit()


CASES = {
    "body": (["UPDATE entries SET body = '{\"n\":9}' WHERE sequence = 3"], ["journal/changed: entry 3 "]),
    "not json": (["UPDATE entries SET body = '{' WHERE sequence = 3"], ["journal/changed: entry 3 can't be read"]),
    "no number": (["UPDATE entries SET body = '{\"n\":NaN}' WHERE sequence = 3"], ["journal/changed: entry 3 "]),
    "no object": (["UPDATE entries SET body = '[1]' WHERE sequence = 3"], ["journal/changed: entry 3 "]),
    "time": (["UPDATE entries SET time = '2020-01-01T00:00:00Z' WHERE sequence = 1"], ["journal/changed: entry 1 "]),
    "user": (["UPDATE entries SET actor = replace(actor, 'ana', 'bob') WHERE sequence = 6"], ["journal/changed: entry 6 "]),
    "removed": (["DELETE FROM entries WHERE sequence = 4"], ["journal/missing: entry 4 is missing"]),
    "removed two": (["DELETE FROM entries WHERE sequence IN (1, 2)"], ["journal/missing: entries 1 to 2 are missing"]),
    "swapped": (
        [
            "UPDATE entries SET sequence = 99 WHERE sequence = 2",
            "UPDATE entries SET sequence = 2 WHERE sequence = 3",
            "UPDATE entries SET sequence = 3 WHERE sequence = 99",
        ],
        ["journal/reordered: entry 2 was written as entry 3", "journal/reordered: entry 3 was written as entry 2"],
    ),
    "removed and closed up": (
        ["DELETE FROM entries WHERE sequence = 4", "UPDATE entries SET sequence = 4 WHERE sequence = 5",
         "UPDATE entries SET sequence = 5 WHERE sequence = 6"],
        ["journal/reordered: entry 4 was written as entry 5", "journal/reordered: entry 5 was written as entry 6"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_verify_names_what_was_done(filled: Path, case: str) -> None:
    statements, expected = CASES[case]
    tamper(filled, *statements)
    found = [f"{f.rule}: {f.message}" for f in verify(filled)]
    for start in expected:
        assert any(line.startswith(start) for line in found), found
    assert any("entries_never_change" in line for line in found)  # and that the guard was taken away


def test_a_rewritten_entry_with_a_right_hash_breaks_the_link(filled: Path) -> None:
    entry = next(iter(journal(filled).entries(after=2)))
    forged = entry.model_copy(update={"body": {"n": 7}})
    tamper(
        filled,
        f"UPDATE entries SET body = '{json.dumps(forged.body)}', hash = '{forged.expected_hash()}' WHERE sequence = 3",
    )
    assert [f.rule for f in verify(filled) if f.rule != "journal/unprotected"] == ["journal/relinked"]


def test_a_truncated_tail_is_found_with_a_head(filled: Path) -> None:
    head = journal(filled).head()
    tamper(filled, "DELETE FROM entries WHERE sequence > 4")
    assert {f.rule for f in verify(filled)} == {"journal/unprotected"}
    assert [f.message for f in verify(filled, head=head) if f.rule == "journal/truncated"] == [
        f"entries after 4 are missing: the known head {head} is not in the journal"
    ]


WRITER = """
import sys
from pathlib import Path
from akotf.model.journal import Actor
from akotf.store.journal import SqliteJournal

class Fixed:
    def now(self): return 0.0
    def iso(self): return "2026-11-30T00:00:00Z"
    def sleep(self, seconds): pass

journal = SqliteJournal(Path(sys.argv[1]), clock=Fixed(), actor=Actor(user=sys.argv[2], host="h"))
for number in range(int(sys.argv[3])):
    journal.append("drift.seen", {"writer": sys.argv[2], "number": number}, environment="demo")
"""


def test_four_processes_append_without_a_fork_or_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"w{n}", "50"],
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        )
        for n in range(4)
    ]
    assert [w.wait(timeout=120) for w in writers] == [0, 0, 0, 0]
    entries = list(journal(path).entries())
    assert [e.sequence for e in entries] == list(range(1, 201))
    assert verify(path) == []
    for n in range(4):  # each one's entries are all there, in the order it wrote them
        assert [e.body["number"] for e in entries if e.body["writer"] == f"w{n}"] == list(range(50))


def test_an_unknown_schema_is_refused(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as database:
        database.execute("UPDATE akotf_schema SET number = 2")
        database.commit()
    for use in (
        lambda: journal(filled).append("x", {}, environment="e"),
        lambda: list(journal(filled).entries()),
        lambda: verify(filled),
    ):
        with pytest.raises(StoreError, match="has schema 2; this akotf knows schema 1") as caught:
            use()
        assert "newer" in caught.value.remedy


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to be read as one" * 40])
def test_a_file_that_is_no_journal(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        journal(path).append("x", {}, environment="e")
    assert caught.value.where == str(path)
    assert "restore it from a copy" in caught.value.remedy
    assert path.read_bytes() == content  # never overwritten


def test_a_body_that_is_no_json_leaves_no_entry(tmp_path: Path) -> None:
    writer = journal(tmp_path / "journal.db")
    writer.append("x", {"n": 1}, environment="e")
    for body in ({"n": float("nan")}, {"n": object()}, {"n": "\ud800"}):
        with pytest.raises(StoreError, match="JSON"):
            writer.append("x", body, environment="e")
    assert [e.body for e in writer.entries()] == [{"n": 1}]


def test_a_place_that_can_not_be_written() -> None:
    path = Path("/proc/akotf/journal.db")
    with pytest.raises(StoreError) as caught:
        journal(path).append("x", {}, environment="e")
    assert "/proc/akotf" in caught.value.where
    assert "writable" in caught.value.remedy


def test_a_journal_in_a_folder_that_nobody_can_write_is_read(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # root may write everywhere, so the answer of the kernel is given here
    monkeypatch.setattr("akotf.store.journal.os.access", lambda path, mode: False)
    assert len(list(journal(filled).entries())) == 6
    with pytest.raises(StoreError, match="readonly"):
        journal(filled).append("x", {}, environment="e")


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal(path).append("x", {}, environment="e")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))\n"  # writes then fail as on a full disk
    script = limit + WRITER.replace('"number": number', '"number": "x" * 20000')
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), "w", "9"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "akotf.errors.StoreError" in done.stderr
    assert "free some space" in done.stderr
    assert verify(path) == []
    kept = len(list(journal(path).entries()))
    journal(path).append("y", {}, environment="e")
    assert len(list(journal(path).entries())) == kept + 1


MOUNTS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/local rw - xfs /dev/sdb rw
32 22 0:41 / /scratch rw - lustre mds@tcp:/scratch rw
33 22 0:42 / /with\\040space rw - nfs server:/x rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", ""),
        ("/home/ana/env", "nfs4"),
        ("/home/local/env", ""),
        ("/homework", ""),
        ("/scratch", "lustre"),
        ("/with space/a", "nfs"),
    ],
)
def test_network_file_systems_are_known_by_their_mount(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_filesystem(Path(path), mounts) == kind


def test_no_journal_is_begun_on_a_network_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("akotf.store.journal.network_filesystem", lambda path: "lustre")
    with pytest.raises(StoreError, match="lies on lustre") as caught:
        journal(tmp_path / "journal.db").append("x", {}, environment="e")
    assert "local disk" in caught.value.remedy


def test_verify_without_a_journal(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no journal"):
        verify(tmp_path / "journal.db")
