"""Leases: one holder at a time, also between processes, after a crash and over hosts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from akotf.errors import Locked, StoreError
from akotf.model.journal import Actor
from akotf.model.lease import Lease
from akotf.store.leases import FileLeases

ANA = Actor(user="ana", host="node1")
KEY = "demo/workstation/local"


class ManualClock:
    """Time that passes only when somebody sleeps or the test says so."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.seconds

    def iso(self) -> str:
        return "2026-11-30T00:00:00Z"

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


def leases(
    folder: Path, clock: ManualClock | None = None, identity: Actor = ANA, **options: object
) -> FileLeases:
    return FileLeases(folder, clock=clock or ManualClock(), identity=identity, **options)  # type: ignore[arg-type]


def test_a_lease_says_who_what_and_since_when_and_ends_with_the_context(tmp_path: Path) -> None:
    store = leases(tmp_path)
    assert store.holder(KEY) is None
    with store.acquire(KEY, "apply") as lease:
        assert store.holder(KEY) == lease
        assert (lease.holder, lease.host, lease.pid, lease.operation) == (
            "ana",
            "node1",
            os.getpid(),
            "apply",
        )
        assert lease.pid_start == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        assert (lease.since, lease.expires) == (1_000_000.0, 1_000_060.0)
        with store.acquire("demo/other/local", "apply"):
            pass  # another key is another lease
    assert store.holder(KEY) is None


def test_the_second_is_told_who_since_when_for_what(tmp_path: Path) -> None:
    clock = ManualClock()
    with leases(tmp_path, clock).acquire(KEY, "apply"):
        clock.seconds += 133
        with (
            pytest.raises(Locked) as caught,
            leases(tmp_path, clock, Actor(user="bob", host="node1")).acquire(KEY, "destroy"),
        ):
            pytest.fail("two holders")
    text = str(caught.value)
    assert f"{KEY} is locked by ana@node1 (process {os.getpid()}) for apply, since 2m 13s" in text
    assert "--lock-timeout" in caught.value.remedy
    assert caught.value.exit_code == 5


def test_waiting_ends_when_the_lease_is_free(tmp_path: Path) -> None:
    clock = ManualClock()
    first = leases(tmp_path, clock).acquire(KEY, "apply")
    first.__enter__()

    class FreeingClock(ManualClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(self.slept) == 3:
                first.__exit__(None, None, None)

    with leases(tmp_path, FreeingClock()).acquire(KEY, "heal", timeout=60) as lease:
        assert lease.operation == "heal"
        assert lease.since == pytest.approx(1_000_000.6)  # three looks, 0.2 s apart


def test_waiting_has_an_end(tmp_path: Path) -> None:
    clock = ManualClock()
    with leases(tmp_path, clock).acquire(KEY, "apply"):
        began = clock.seconds
        with (
            pytest.raises(Locked, match=r"\(waited 5s\)"),
            leases(tmp_path, clock).acquire(KEY, "heal", timeout=5),
        ):
            pytest.fail("two holders")
        assert clock.seconds - began == pytest.approx(5)


def test_an_error_inside_frees_the_lease(tmp_path: Path) -> None:
    store = leases(tmp_path)
    with pytest.raises(ZeroDivisionError), store.acquire(KEY, "apply"):
        raise ZeroDivisionError
    assert store.holder(KEY) is None
    assert not [t for t in threading.enumerate() if t.name.startswith("lease ")]  # no heartbeat goes on


def plant(folder: Path, store: FileLeases, **changes: object) -> Lease:
    """Leave a lease behind as a crash would, changed as said."""
    with store.acquire(KEY, "apply") as lease:
        (path,) = folder.glob("*.lease")
        left = lease.model_copy(update=changes)
        path.unlink()
    path.write_text(left.model_dump_json())
    return left


def test_a_reused_pid_of_the_dead_holder_does_not_keep_the_lease(tmp_path: Path) -> None:
    said: list[tuple[Lease, str]] = []
    store = leases(tmp_path, on_takeover=lambda lease, reason: said.append((lease, reason)))
    left = plant(tmp_path, store, pid_start="1", token="old")  # this very pid, but begun at another time
    assert store.holder(KEY) is None
    assert store.abandoned() == [(left, f"process {os.getpid()} of ana has ended")]
    with store.acquire(KEY, "apply") as lease:
        assert lease.token != "old"
        assert store.abandoned() == []
    assert said == [(left, f"process {os.getpid()} of ana has ended")]


def test_a_holder_before_a_reboot_is_dead(tmp_path: Path) -> None:
    store = leases(tmp_path)
    plant(tmp_path, store, boot_id="00000000-0000-0000-0000-000000000000")
    with store.acquire(KEY, "apply") as lease:
        assert store.holder(KEY) == lease


def test_a_live_holder_here_keeps_its_lease_however_late(tmp_path: Path) -> None:
    clock = ManualClock()
    with leases(tmp_path, clock).acquire(KEY, "apply"):
        clock.seconds += 86_400
        with pytest.raises(Locked), leases(tmp_path, clock).acquire(KEY, "heal"):
            pytest.fail("two holders")


def test_another_host_loses_its_lease_at_expiry_only(tmp_path: Path) -> None:
    clock = ManualClock()
    said: list[str] = []
    store = leases(tmp_path, clock, on_takeover=lambda lease, reason: said.append(reason))
    plant(tmp_path, store, host="node2", pid=1, expires=clock.seconds + 60)
    clock.seconds += 59.9
    with pytest.raises(Locked, match="ana@node2"), store.acquire(KEY, "apply"):
        pytest.fail("two holders")
    clock.seconds += 0.1
    with store.acquire(KEY, "apply"):
        pass
    assert said == ["no heartbeat from node2 for 1m"]


def test_a_lost_lease_is_noticed_before_the_next_write_and_never_freed_by_the_loser(tmp_path: Path) -> None:
    clock = ManualClock()
    store = leases(tmp_path, clock)
    with store.acquire(KEY, "apply") as lease:
        store.check(lease)
        (path,) = tmp_path.glob("*.lease")
        theirs = lease.model_copy(update={"token": "theirs", "holder": "bob", "host": "node2"})
        path.write_text(theirs.model_dump_json())
        with pytest.raises(Locked, match="was lost: bob@node2"):
            store.check(lease)
    assert store.holder(KEY) == theirs
    path.unlink()
    with pytest.raises(Locked, match="nobody holds it now"):
        store.check(lease)


def test_check_renews(tmp_path: Path) -> None:
    clock = ManualClock()
    store = leases(tmp_path, clock)
    with store.acquire(KEY, "apply") as lease:
        clock.seconds += 40
        store.check(lease)
        held = store.holder(KEY)
        assert held is not None
        assert held.expires == clock.seconds + 60


def test_the_heartbeat_renews_by_itself(tmp_path: Path) -> None:
    clock = ManualClock()
    store = leases(tmp_path, clock, ttl=0.2)  # beats each 0.05 s
    with store.acquire(KEY, "apply") as lease:
        clock.seconds += 1000
        for _ in range(200):
            held = store.holder(KEY)
            assert held is not None
            if held.expires > lease.expires:
                break
            time.sleep(0.05)
        assert held.expires == pytest.approx(clock.seconds + 0.2)


def test_a_damaged_lease_is_told(tmp_path: Path) -> None:
    store = leases(tmp_path)
    plant(tmp_path, store)
    next(tmp_path.glob("*.lease")).write_text("{")
    with pytest.raises(StoreError, match="can't be read") as caught, store.acquire(KEY, "apply"):
        pytest.fail("a guess")
    assert "delete the file" in caught.value.remedy


def test_odd_and_long_keys_are_files_of_their_own(tmp_path: Path) -> None:
    store = leases(tmp_path)
    keys = ["a/b", "a%2Fb", "..", "k" * 300, "k" * 301]
    held = [store.acquire(key, "apply") for key in keys]
    for one in held:
        one.__enter__()
    assert [store.holder(key).key for key in keys] == keys  # type: ignore[union-attr]
    for one in held:
        one.__exit__(None, None, None)
    assert all(p.parent == tmp_path for p in tmp_path.rglob("*"))


def test_the_folder_may_vanish_under_the_lease(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    with leases(folder).acquire(KEY, "destroy"):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    with leases(folder).acquire(KEY, "apply") as lease:  # and it can be taken again
        assert leases(folder).holder(KEY) == lease


RACER = """
import sys, time
from pathlib import Path
from akotf.errors import Locked
from akotf.model.journal import Actor
from akotf.store.leases import FileLeases

class Real:
    def now(self): return time.time()
    def iso(self): return ""
    def sleep(self, seconds): time.sleep(seconds)

folder, me, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
store = FileLeases(folder, clock=Real(), identity=Actor(user=me, host="h"))
if mode == "die":
    held = store.acquire("k", "apply")  # kept: a context that is dropped would end
    held.__enter__()
    print("held", flush=True)
    time.sleep(600)
inside = folder / "inside"
for _ in range(3):
    with store.acquire("k", "apply", timeout=120):
        inside.mkdir()  # fails when somebody else is inside
        time.sleep(0.01)
        inside.rmdir()
print("done")
"""


def racer(folder: Path, name: str, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RACER, str(folder), name, mode], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip


def test_ten_processes_take_turns(tmp_path: Path) -> None:
    racers = [racer(tmp_path, f"r{n}", "race") for n in range(10)]
    assert [r.communicate(timeout=200)[0] for r in racers] == ["done\n"] * 10
    assert [r.returncode for r in racers] == [0] * 10


def test_the_lease_of_a_killed_process_is_taken_over_at_once(tmp_path: Path) -> None:
    victim = racer(tmp_path, "victim", "die")
    assert victim.stdout is not None
    assert victim.stdout.readline() == "held\n"
    store = leases(tmp_path, identity=Actor(user="ana", host="h"))
    try:
        with pytest.raises(Locked, match="victim@h"), store.acquire("k", "apply"):
            pytest.fail("two holders")
    finally:
        victim.kill()
        victim.communicate()
    with store.acquire("k", "apply"):
        pass
