"""Cost against a budget of 20 USD; nodes that the backend calls lost."""

from __future__ import annotations

from typing import Any

import pytest

from akotf.model.drift import DriftClass, NodeStatus
from akotf.monitor import detect


def found(spent: float, *, rate: float = 4.0, left: float | None = None, **shares: float) -> list[Any]:
    shares = {"warn_at": 0.8, "stop_at": 1.0, **shares}
    drifts = detect.cost(detect.Spending(spent, rate, "USD", left), 20.0, node="desk", now=7.0, **shares)
    assert all(d.kind is DriftClass.COST and d.source == "prices" for d in drifts)
    return [(d.field, d.approved, d.observed) for d in drifts]


def test_a_budget_is_warned_of_and_then_stops_the_run() -> None:
    assert found(15.99) == []
    assert found(16.0) == [("cost.total", 16.0, 16.0)]
    assert found(19.99) == [("cost.total", 16.0, 19.99)]
    assert found(20.0) == [("cost.stop", 20.0, 20.0)]
    assert found(21.0, stop_at=1.1) == [("cost.total", 16.0, 21.0)]
    assert found(10.0, stop_at=0.5) == [("cost.stop", 10.0, 10.0)]


def test_a_total_that_will_exceed_the_budget_is_told_before() -> None:
    """6 USD and 3.5 h at 4 USD an hour are 20 USD; a minute more is too much."""
    assert found(6.0, left=3.5) == []
    assert found(6.0, left=3.6) == [("cost.forecast", 20.0, pytest.approx(20.4))]


def test_only_what_the_backend_calls_lost_is_lost() -> None:
    nodes = [
        NodeStatus(node="n1", state="up", native="IDLE"), NodeStatus(node="n2", state="unknown", native="NO NETWORK"),
        NodeStatus(node="n3", state="lost", native="DOWN", reason="not responding"),
    ]  # fmt: skip
    assert [(d.node, d.field, d.observed, d.source) for d in detect.capacity(nodes, now=1.0)] == [
        ("n3", "capacity.node", "DOWN not responding", "backend")
    ]
