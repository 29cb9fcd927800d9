"""Capacity drift: nodes that the backend says are lost. A node that nobody can reach is not one of them."""

from __future__ import annotations

from collections.abc import Sequence

from akotf.model.drift import Drift, DriftClass, NodeStatus


def capacity(nodes: Sequence[NodeStatus], *, now: float) -> list[Drift]:
    """Each node of the run that the backend calls lost, in its own word. No answer is no loss."""
    return [
        Drift(
            kind=DriftClass.CAPACITY, node=status.node, field="capacity.node", approved="up",
            observed=" ".join(part for part in (status.native or "lost", status.reason) if part), source="backend",
            since=now,
        )
        for status in nodes
        if status.state == "lost"
    ]  # fmt: skip
