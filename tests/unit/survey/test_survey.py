"""Snapshots: three kinds of scopes, sources and dates on every figure, notes for what can't be read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from akotf.clouds.prices import load_prices
from akotf.model.config import (
    CheckpointSpec,
    DesiredState,
    EnvironmentSpec,
    ImageSpec,
    Limits,
    Market,
    ModelSpec,
    RunSpec,
    ScopeKind,
    TemplateRef,
    WorkloadSpec,
)
from akotf.model.plan import Offer, Snapshot
from akotf.model.profile import unmeasured_cpu
from akotf.model.units import GPUS
from akotf.survey.devices import known_gpu
from akotf.survey.survey import survey

NOW = "2026-11-30T12:00:00Z"
MACHINE = {"hostname": "Node-7.example.org", "cpus": 16, "memory": 64 * 2**30}
CPU = unmeasured_cpu(16, 64 * 2**30, "test").model_copy(update={"measured_at": "2026-11-29T08:00:00Z"})
NODES = {"count": 4, "gpu": "A100-80GB", "gpus": 4, "cpus": 64, "memory": "512 GiB", "bandwidth": 200e9}


def state(**scopes: dict[str, Any]) -> DesiredState:
    environment = EnvironmentSpec.model_validate(
        {"version": 1, "name": "test", "owner": "me", "template": "gpu-training@1.0.0", "scopes": scopes}
    )
    run = RunSpec(
        image=ImageSpec(reference="x@sha256:0", process=True), command=("python",),
        limits=Limits(memory="4 GiB", wall_time="1h"), checkpoint=CheckpointSpec(interval_steps=10),
        workload=WorkloadSpec(
            model=ModelSpec(layers=1, hidden=8, heads=1, vocabulary=8, sequence=8), global_batch=1, steps=1
        ),
    )  # fmt: skip
    return DesiredState(
        environment=environment, template=TemplateRef(name="gpu-training", version="1.0.0", content="sha256:0"),
        parameters={}, run=run, folder=Path("/e"), template_folder=Path("/t"),
    )  # fmt: skip


def take(machine: dict[str, Any] | None = None, devices: Any = (CPU,), **scopes: dict[str, Any]) -> Snapshot:
    return survey(state(**scopes), devices, machine or MACHINE, load_prices(), now=NOW)


def one(snapshot: Snapshot) -> Offer:
    (offer,) = snapshot.offers
    return offer


def test_this_machine_from_measured_figures() -> None:
    offer = one(take(desk={"kind": "local"}))
    assert (offer.id, offer.placement, offer.backend) == ("desk/node-7/cpu", "node-7", "local")
    assert (offer.gpus, offer.cpus, offer.memory, offer.max_nodes) == (0, 16, 64 * 2**30, 1)
    assert (offer.price, offer.price_source) == (Decimal(0), "own machine, no price declared")
    assert offer.source == "measured here 2026-11-29"
    assert offer.interruptions_per_hour == 0


def test_gpus_of_this_machine_are_offers_of_their_own() -> None:
    machine = {**MACHINE, "gpus": {"L4-24GB": 2}}
    scope = {"kind": "local", "price": "0.25 USD/gpu/h"}
    cpu, gpu = take(machine, (CPU, known_gpu("L4-24GB")), desk=scope).offers
    assert (gpu.id, gpu.gpus, gpu.price) == ("desk/node-7/L4-24GB", 2, Decimal("0.50"))
    assert cpu.price is None  # a price for GPUs says nothing of the CPU: unknown, not free
    assert "nothing of a node without GPUs" in cpu.price_source


@pytest.mark.parametrize("hostname", ["", "...", "_"])
def test_a_machine_without_a_name(hostname: str) -> None:
    assert one(take({**MACHINE, "hostname": hostname}, desk={"kind": "local"})).placement == "local"


def test_a_partition_from_its_declared_inventory() -> None:
    scope = {
        "kind": "hpc",
        "partition": "gpu",
        "nodes": NODES,
        "queue_wait": "45m",
        "price": "0.60 USD/gpu/h",
    }
    offer = one(take(campus=scope))
    assert (offer.id, offer.backend, offer.kind) == ("campus/gpu/A100-80GB", "slurm", ScopeKind.HPC)
    assert (offer.gpus, offer.max_nodes, offer.network) == (4, 4, 25e9)  # 200 Gbit/s
    assert (offer.price, offer.price_source) == (Decimal("2.40"), "declared: 0.60 USD/gpu/h")
    assert offer.queue_wait.value == 2700
    assert offer.queue_wait.low < 2700 < offer.queue_wait.high
    assert offer.queue_wait.source == "declared: queue_wait 45m"
    # Kokolis et al.: 6.50 failures per 1000 days of 8-GPU nodes; these have half the GPUs.
    assert offer.interruptions_per_hour * 24 * 1000 == pytest.approx(6.50 / 2)


def test_a_rate_for_a_gpu_counts_the_gpus_that_the_run_takes() -> None:
    """0.60 USD an hour and GPU: one of a node's four costs 0.60, all four 2.40; whole nodes cost what they cost."""
    wanted = state(campus={"kind": "hpc", "nodes": NODES, "price": "0.60 USD/gpu/h"})
    for gpus, price in ((1, "0.60"), (4, "2.40")):
        limits = wanted.run.limits.model_copy(update={"gpus": gpus})
        asked = wanted.model_copy(update={"run": wanted.run.model_copy(update={"limits": limits})})
        offer = one(survey(asked, (CPU,), MACHINE, load_prices(), now=NOW))
        assert (offer.gpus, offer.price) == (4, Decimal(price))
    assert one(take(campus={"kind": "hpc", "nodes": NODES, "price": "3 USD/node/h"})).price == 3


def test_a_partition_without_price_or_wait() -> None:
    offer = one(take(campus={"kind": "hpc", "nodes": NODES}))
    assert offer.price is None
    assert offer.price_source == "no price declared"
    assert offer.queue_wait.source.startswith("default")
    assert offer.queue_wait.high == 86400


def test_a_partition_of_cpus() -> None:
    nodes = {"count": 2, "cpus": 32, "memory": "64 GiB"}
    offer = one(take(campus={"kind": "hpc", "nodes": nodes, "price": "1 EUR/node/h"}))
    assert (offer.gpus, offer.device.name, offer.price, offer.currency) == (0, "cpu", Decimal(1), "EUR")


def test_a_cloud_from_the_price_book() -> None:
    snapshot = take(
        aws={"kind": "cloud", "provider": "aws", "regions": ["us-east-1"], "market": ["spot", "on-demand"]}
    )
    offers = {offer.id: offer for offer in snapshot.offers}
    assert len(offers) == len(snapshot.offers)
    spot, listed = (offers[f"aws/us-east-1/g5.xlarge/{market}"] for market in ("spot", "on-demand"))
    assert (listed.price, listed.market, listed.placement) == (
        Decimal("1.006"),
        Market.ON_DEMAND,
        "us-east-1",
    )
    assert spot.price is not None
    assert spot.price < listed.price  # type: ignore[operator]
    assert spot.interruptions_per_hour > listed.interruptions_per_hour > 0
    assert "default" in spot.source
    assert offers["aws/us-east-1/g5.2xlarge/spot"].price is None
    assert offers["aws/us-east-1/g5.2xlarge/spot"].price_source == "no spot price in the price book"
    assert listed.network == 2.5e9 / 8


@pytest.mark.parametrize(
    ("now", "source"),
    [
        ("2026-10-24T00:00:00Z", "price book of 2026-09-24"),
        ("2026-10-25T00:00:00Z", "price book of 2026-09-24, 31 days old"),
    ],
)
def test_a_price_older_than_30_days_is_said_to_be_old(now: str, source: str) -> None:
    row = next(row for row in load_prices() if row.instance_type == "g5.xlarge" and row.region == "us-east-1")
    scope = {"kind": "cloud", "provider": "aws", "regions": ["us-east-1"]}
    offer = one(survey(state(aws=scope), (), MACHINE, (row,), now=now))
    assert offer.price_source == source


def test_scopes_that_cant_be_read_are_notes() -> None:
    snapshot = take(
        devices=(),
        desk={"kind": "local"},
        campus={"kind": "hpc"},
        aws={"kind": "cloud", "provider": "aws", "regions": ["eu-west-9"]},
        gcp={"kind": "cloud", "provider": "gcp", "regions": ["us-central1"]},
    )
    assert snapshot.offers == ()
    desk, campus, aws, gcp = snapshot.notes
    assert "no device was measured" in desk
    assert "declare scopes.campus.nodes" in campus
    assert "eu-west-9" in aws
    assert "us-east-1" in aws
    assert "nothing of gcp" in gcp


def test_a_snapshot_is_dated_and_in_the_order_of_the_environment() -> None:
    snapshot = take(campus={"kind": "hpc", "nodes": NODES}, desk={"kind": "local"})
    assert snapshot.taken_at == NOW
    assert [offer.scope for offer in snapshot.offers] == ["campus", "desk"]
    assert snapshot.digest() == take(campus={"kind": "hpc", "nodes": NODES}, desk={"kind": "local"}).digest()


@pytest.mark.parametrize("name", GPUS)
def test_every_canonical_gpu_has_figures(name: str) -> None:
    device = known_gpu(name)
    assert device.memory == GPUS[name][0]
    for figure in (*device.flops.values(), device.bandwidth):
        assert 0 < figure.low <= figure.value <= figure.high
        assert figure.source


def test_achieved_figures_are_those_published() -> None:
    """stas00/ml-engineering, MAMF: A100 271.2, H100 794.5, MI300X 668.4 TFLOP/s in bf16."""
    published = {"A100-80GB": 271.2e12, "H100-80GB": 794.5e12, "MI300X-192GB": 668.4e12}
    assert {name: known_gpu(name).flops["bf16"].value for name in published} == pytest.approx(published)
    assert "bf16" not in known_gpu("T4-16GB").flops  # Turing has no bf16


def test_a_price_row_is_of_a_known_gpu() -> None:
    assert all(known_gpu(row.gpu) for row in load_prices())
