"""The in-memory doubles behave as their ports promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.errors import Locked, StoreError, TelemetryUnavailable
from akotf.model.drift import Observation
from akotf.model.journal import GENESIS
from akotf.model.tfplan import ResourceChange
from akotf.testing.doubles import (
    FakeClock,
    MemoryJournal,
    MemoryLeases,
    MemoryObjects,
    MemoryTerraform,
    StaticTelemetry,
)  # fmt: skip

ROOT = Path("/root/of/a/deployment")


def test_journal_is_a_hash_chain() -> None:
    journal = MemoryJournal()
    for number in range(3):
        journal.append("run.intent", {"number": number}, environment="e", subject=f"r{number % 2}")
    assert [entry.sequence for entry in journal.rows] == [1, 2, 3]
    assert [entry.previous for entry in journal.rows] == [GENESIS, *(e.hash for e in journal.rows[:2])]
    assert all(entry.hash == entry.expected_hash() for entry in journal.rows)
    assert [e.sequence for e in journal.entries(subject="r0")] == [1, 3]
    assert [e.sequence for e in journal.entries(after=1, kind="run.intent")] == [2, 3]
    with pytest.raises(TypeError):
        journal.append("run.intent", {"bad": object()}, environment="e")


def test_lease_has_one_holder_and_is_free_afterwards() -> None:
    clock = FakeClock()
    leases = MemoryLeases(clock)
    with leases.acquire("env", "apply") as lease:
        assert leases.holder("env") == lease
        with pytest.raises(Locked, match="apply"), leases.acquire("env", "destroy", timeout=5):
            pass
        assert clock.slept == [5]
    assert leases.holder("env") is None


def test_objects_by_digest() -> None:
    objects = MemoryObjects()
    assert objects.put({"b": 1, "a": 2}) == objects.put({"a": 2, "b": 1})
    assert objects.get(objects.put(b"bytes")) == b"bytes"
    with pytest.raises(StoreError):
        objects.get("sha256:0")


def test_terraform_applies_what_it_planned_and_only_that() -> None:
    change, other = (
        ResourceChange(
            address=address, type="akotf_baseline", actions=("update",), before={"a": 1}, after={"a": 2}
        )
        for address in ("module.x.this", "module.y.this")
    )
    terraform = MemoryTerraform({str(ROOT): [change, other]})
    planned = terraform.plan(ROOT, targets=("module.x.this",))
    assert planned.changes == (change,)
    terraform.apply(planned)
    assert terraform.plan(ROOT).changes == (other,)
    assert not terraform.plan(ROOT, refresh_only=True).has_changes
    assert terraform.state(ROOT) == {}
    terraform.values[str(ROOT)] = {"cpu_slots": [0]}
    assert terraform.state(ROOT)["values"]["outputs"]["cpu_slots"]["value"] == [0]


def test_telemetry_in_order_and_the_last_for_ever() -> None:
    first, last = (Observation(node="n", time=float(moment), live=True) for moment in (1, 2))
    source = StaticTelemetry(first, TelemetryUnavailable("away"), last)
    assert source.read(ROOT) == first
    with pytest.raises(TelemetryUnavailable):
        source.read(ROOT)
    assert source.read(ROOT) == source.read(ROOT) == last
    with pytest.raises(TelemetryUnavailable):
        StaticTelemetry().read(ROOT)
