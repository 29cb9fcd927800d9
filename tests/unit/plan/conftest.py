"""Offers, workloads and inputs that the planner's tests vary."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from akotf.model.config import Baseline, CheckpointSpec, ImageSpec, Limits, Objective, ScopeKind
from akotf.model.plan import Offer, PlanInputs, Snapshot
from akotf.model.profile import DeviceProfile, WorkloadProfile
from akotf.model.units import Estimate

GIB = 2**30


def figure(value: float, unit: str = "FLOP/s", spread: float = 1.0) -> Estimate:
    return Estimate(value=value, low=value / spread, high=value * spread, unit=unit, source="test")


def device_of(**changes: Any) -> DeviceProfile:
    """A GPU that sustains 100 TFLOP/s in a training, 1 TB/s and 80 GiB that starts operations for free."""
    values: dict[str, Any] = {
        "name": "A100-80GB", "flops": {"bf16": figure(100e12 / 0.73)}, "bandwidth": figure(1e12, "bytes/s"), "memory": 80 * GIB,
    }  # fmt: skip
    return DeviceProfile(**{**values, **changes})


def cpu_of(**changes: Any) -> DeviceProfile:
    """Two threads of 100 GFLOP/s together, 20 GB/s."""
    values: dict[str, Any] = {
        "name": "cpu", "flops": {"fp32": figure(100e9)}, "bandwidth": figure(20e9, "bytes/s"), "memory": 16 * GIB,
        "threads": 2,
    }  # fmt: skip
    return DeviceProfile(**{**values, **changes})


def offer_of(**changes: Any) -> Offer:
    """A node of 8 such GPUs at 8 USD an hour, there at once."""
    values: dict[str, Any] = {
        "id": "site/here/node", "scope": "site", "kind": ScopeKind.HPC, "backend": "slurm", "placement": "here",
        "machine": "node", "device": device_of(), "gpus": 8, "cpus": 64, "memory": 512 * GIB, "max_nodes": 4,
        "network": 50e9, "price": Decimal(8), "price_source": "declared", "queue_wait": figure(0, "s"),
        "provisioning": figure(0, "s"), "source": "test",
    }  # fmt: skip
    return Offer(**{**values, **changes})


def workload_of(**changes: Any) -> WorkloadProfile:
    """100 steps of 100 TFLOP that move 1 GB of state and 1 GB of activations."""
    values: dict[str, Any] = {
        "flops": 100e12, "bytes_moved": 2e9, "parameters": 31_250_000, "tokens": 65536, "steps": 100,
        "precision": "bf16", "state_bytes": 500_000_000, "activation_bytes": 10_000_000, "global_batch": 64,
        "checkpoint_bytes": 400_000_000, "source": "declared: formula",
    }  # fmt: skip
    return WorkloadProfile(**{**values, **changes})


def limits_of(**changes: Any) -> Limits:
    return Limits(**{"gpus": 1, "cpus": 2, "memory": 4 * GIB, "wall_time": 86400.0, **changes})


def inputs_of(*offers: Offer, **changes: Any) -> PlanInputs:
    limits = changes.pop("limits", limits_of())
    values: dict[str, Any] = {
        "planner": "1", "environment": "test",
        "baseline": Baseline(
            hyperparameters={}, environment={}, limits=limits, image=ImageSpec(reference="x@sha256:0", process=True)
        ),
        "workload": workload_of(), "limits": limits, "checkpoint": CheckpointSpec(interval_steps=50),
        "template": "gpu-training@1.0.0", "objective": Objective(),
        "snapshot": Snapshot(taken_at="2026-11-30T00:00:00Z", offers=offers),
    }  # fmt: skip
    return PlanInputs(**{**values, **changes})


class Make:
    """The builders above, for tests to vary."""

    figure = staticmethod(figure)
    device: Callable[..., DeviceProfile] = staticmethod(device_of)
    cpu: Callable[..., DeviceProfile] = staticmethod(cpu_of)
    offer: Callable[..., Offer] = staticmethod(offer_of)
    workload: Callable[..., WorkloadProfile] = staticmethod(workload_of)
    limits: Callable[..., Limits] = staticmethod(limits_of)
    inputs: Callable[..., PlanInputs] = staticmethod(inputs_of)


@pytest.fixture
def make() -> Make:
    return Make()
