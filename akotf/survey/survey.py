"""What the environment's scopes offer now: one dated snapshot of machines, prices and waits.

Local machines come from measured figures, HPC partitions from their declared inventory, clouds from the price book.
A scope that can't be read becomes a note; it never stops the others.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from akotf.clouds.prices import PriceRow
from akotf.model.config import DesiredState, Limits, Market, ScopeKind, ScopeSpec
from akotf.model.plan import Offer, Snapshot
from akotf.model.profile import DeviceProfile, unmeasured_cpu
from akotf.model.units import Estimate, Rate, format_duration
from akotf.survey.devices import known_gpu

#: An older price is still used, and said to be old.
_FRESH_DAYS = 30
_AT_ONCE = Estimate.exact(0.0, "s", "no queue")
_LOCAL_PROVISIONING = Estimate(value=2, low=1, high=8, unit="s", source="default: a local Terraform apply")
_HPC_PROVISIONING = Estimate(value=20, low=5, high=120, unit="s", source="default: prologue of a batch job")
_CLOUD_PROVISIONING = Estimate(
    value=240, low=120, high=600, unit="s", source="default: start of a GPU machine and pull of an 8 GB image"
)
_UNDECLARED_WAIT = Estimate(
    value=1800, low=0, high=86400, unit="s", source="default: no queue_wait is declared"
)
#: Failures of 8-GPU nodes in a research cluster: 6.50 per 1000 node-days (Kokolis et al., HPCA 2025, RSC-1).
_FAILURES_PER_GPU_HOUR = 6.50e-3 / 24 / 8
#: Reclaims of a spot machine: one in about two days, well over AWS's highest class (above 20 % a month), because
#: that class has no upper end.
_SPOT_RECLAIMS_PER_HOUR = 0.02
#: Most machines that a cloud account is taken to get without a quota on record.
_CLOUD_NODES = 64


def survey(
    state: DesiredState,
    devices: Sequence[DeviceProfile],
    machine: Mapping[str, Any],
    prices: Sequence[PriceRow],
    *,
    now: str,
) -> Snapshot:
    """Offers of every scope, in the order of the environment.

    `devices` are this machine's measured ones; `machine` has hostname, cpus and memory (bytes), and gpus, the count of
    each measured GPU by name (absent: one each). `now` is ISO 8601 in UTC and stands in the snapshot.
    """
    offers: list[Offer] = []
    notes: list[str] = []
    today = dt.datetime.fromisoformat(now).date()
    for name, scope in state.environment.scopes.items():
        if scope.kind is ScopeKind.LOCAL:
            found = list(_local(name, scope, devices, machine, state.run.limits))
        elif scope.kind is ScopeKind.HPC:
            found = list(_hpc(name, scope, state.run.limits))
        else:
            found = list(_cloud(name, scope, prices, today))
        offers += found
        if not found:
            notes.append(_why_nothing(name, scope, prices))
    return Snapshot(taken_at=now, offers=tuple(offers), notes=tuple(notes))


def _local(
    name: str, scope: ScopeSpec, devices: Sequence[DeviceProfile], machine: Mapping[str, Any], limits: Limits
) -> Iterator[Offer]:
    placement = re.sub(r"[^a-z0-9-]+", "-", str(machine.get("hostname", "")).split(".")[0].lower()).strip("-")
    placement = placement or "local"
    counts = machine.get("gpus", {})
    for device in devices:
        gpus = 0 if device.name == "cpu" else int(counts.get(device.name, 1))
        price, price_source = _node_price(
            scope.price, _charged(limits, gpus), free="own machine, no price declared"
        )
        source = f"measured here {device.measured_at[:10]}" if device.measured_at else "not measured"
        yield Offer(
            id=f"{name}/{placement}/{device.name}", scope=name, kind=scope.kind, backend=scope.backend or "local",
            placement=placement, machine=device.name, device=device, gpus=gpus, cpus=int(machine["cpus"]),
            memory=int(machine["memory"]), max_nodes=1, price=price, currency=_currency(scope.price),
            price_source=price_source, queue_wait=_AT_ONCE, provisioning=_LOCAL_PROVISIONING, source=source,
        )  # fmt: skip


def _hpc(name: str, scope: ScopeSpec, limits: Limits) -> Iterator[Offer]:
    nodes = scope.nodes
    if nodes is None:
        return
    gpus = nodes.gpus if nodes.gpu else 0
    device = (
        known_gpu(nodes.gpu)
        if nodes.gpu and gpus
        else unmeasured_cpu(nodes.cpus, nodes.memory, "default: server cores, not measured")
    )
    price, price_source = _node_price(scope.price, _charged(limits, gpus), free="")
    placement = scope.partition or "default"
    yield Offer(
        id=f"{name}/{placement}/{device.name}", scope=name, kind=scope.kind, backend=scope.backend or "slurm",
        placement=placement, machine=device.name, device=device, gpus=gpus, cpus=nodes.cpus, memory=nodes.memory,
        max_nodes=nodes.count, network=nodes.bandwidth / 8 if nodes.bandwidth else None, price=price,
        currency=_currency(scope.price), price_source=price_source, queue_wait=_queue(scope),
        provisioning=_HPC_PROVISIONING, interruptions_per_hour=_FAILURES_PER_GPU_HOUR * max(gpus, 1),
        source="declared inventory; node failures as in Kokolis et al. 2025",
    )  # fmt: skip


def _cloud(name: str, scope: ScopeSpec, prices: Sequence[PriceRow], today: dt.date) -> Iterator[Offer]:
    for region in scope.regions:
        for row in prices:
            if (row.provider, row.region) != (scope.provider, region):
                continue
            for market in scope.market:
                yield _cloud_offer(name, scope, row, market, today)


def _cloud_offer(name: str, scope: ScopeSpec, row: PriceRow, market: Market, today: dt.date) -> Offer:
    spot = market is Market.SPOT
    rate = _SPOT_RECLAIMS_PER_HOUR if spot else _FAILURES_PER_GPU_HOUR * row.gpus
    why = "spot reclaims: default, once in two days" if spot else "node failures as in Kokolis et al. 2025"
    return Offer(
        id=f"{name}/{row.region}/{row.instance_type}/{market}", scope=name, kind=scope.kind,
        backend=scope.backend or row.provider, placement=row.region, machine=row.instance_type, market=market,
        device=known_gpu(row.gpu), gpus=row.gpus, cpus=row.vcpus, memory=int(row.memory_gib * 2**30),
        max_nodes=_CLOUD_NODES, network=row.network_gbps * 1e9 / 8, price=row.price(market), currency=row.currency,
        price_source=_price_source(row, market, today), queue_wait=_AT_ONCE, provisioning=_CLOUD_PROVISIONING,
        interruptions_per_hour=rate, source=f"price book; {why}",
    )  # fmt: skip


def _price_source(row: PriceRow, market: Market, today: dt.date) -> str:
    if row.price(market) is None:
        return f"no {market} price in the price book"
    age = (today - row.dated(market)).days
    old = f", {age} days old" if age > _FRESH_DAYS else ""
    return f"price book of {row.dated(market)}{old}"


def _charged(limits: Limits, gpus: int) -> int:
    """The GPUs of a node that a rate for a GPU counts: those the run takes; all where it can't take any of them."""
    return limits.gpus_of(gpus) or gpus


def _node_price(rate: Rate | None, gpus: int, free: str) -> tuple[Decimal | None, str]:
    """The price of one node for one hour. A rate for a GPU prices nodes that have GPUs."""
    if rate is None:
        return (Decimal(0), free) if free else (None, "no price declared")
    if rate.per == "node":
        return rate.amount, f"declared: {rate}"
    if not gpus:
        return None, f"declared: {rate}, which says nothing of a node without GPUs"
    return rate.amount * gpus, f"declared: {rate}"


def _currency(rate: Rate | None) -> str:
    return rate.currency if rate else "USD"


def _queue(scope: ScopeSpec) -> Estimate:
    """A declared typical wait is a middle: queues are skewed, so from a fifth of it to four times it."""
    if scope.queue_wait is None:
        return _UNDECLARED_WAIT
    wait = scope.queue_wait
    return Estimate(
        value=wait,
        low=wait / 5,
        high=wait * 4,
        unit="s",
        source=f"declared: queue_wait {format_duration(wait)}",
    )


def _why_nothing(name: str, scope: ScopeSpec, prices: Sequence[PriceRow]) -> str:
    if scope.kind is ScopeKind.LOCAL:
        return f"{name}: no device was measured on this machine"
    if scope.kind is ScopeKind.HPC:
        return f"{name}: nothing is known of its nodes; declare scopes.{name}.nodes"
    known = sorted({row.region for row in prices if row.provider == scope.provider})
    have = f"it has {', '.join(known)}" if known else f"it has nothing of {scope.provider or 'a provider'}"
    return f"{name}: no machine of {', '.join(scope.regions) or 'any region'} is in the price book; {have}"
