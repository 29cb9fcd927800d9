"""The price book: dated list prices of GPU machines, one fact a row, with its source.

`prices.csv` is small on purpose: families that a training uses, not a catalogue. Where a date could not be learnt
exactly, the row bears the earliest one possible, so that an old price is never taken for a fresh one.
"""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal, InvalidOperation
from pathlib import Path

from pydantic import ValidationError

from akotf.errors import ConfigError
from akotf.model.base import Frozen
from akotf.model.config import Market
from akotf.model.units import GpuName

BOOK = Path(__file__).with_name("prices.csv")


class PriceRow(Frozen):
    """One machine type in one region. Prices are of one machine for one hour; None means unknown, never free."""

    provider: str
    region: str
    instance_type: str
    gpu: GpuName
    gpus: int
    vcpus: int
    memory_gib: float
    network_gbps: float
    on_demand: Decimal | None
    spot: Decimal | None
    currency: str
    source: str
    date: dt.date  # of the on-demand price
    spot_date: dt.date | None = None  # of the spot price; None = the same

    def price(self, market: Market) -> Decimal | None:
        """The price in one market."""
        return self.spot if market is Market.SPOT else self.on_demand

    def dated(self, market: Market) -> dt.date:
        """The day that price was taken."""
        return (self.spot_date or self.date) if market is Market.SPOT else self.date


def load_prices(path: Path | None = None) -> tuple[PriceRow, ...]:
    """All rows of a price book (the one that comes with akotf by default). ConfigError names every wrong line."""
    source = path or BOOK
    rows: list[PriceRow] = []
    faults: list[str] = []
    with source.open(newline="", encoding="utf-8") as file:
        for number, record in enumerate(csv.DictReader(file), start=2):
            try:
                rows.append(_row(record))
            except (ValidationError, InvalidOperation, KeyError, ValueError) as error:
                faults.append(f"line {number}: {error}")
    if faults:
        raise ConfigError(
            "the price book has faults: " + "; ".join(faults),
            where=str(source),
            remedy="one row a machine type and region; leave an unknown price empty",
        )
    return tuple(rows)


def _row(record: dict[str, str]) -> PriceRow:
    for market in ("on_demand", "spot"):
        if record[market] and Decimal(record[market]) <= 0:
            raise ValueError(f"{market} price {record[market]} is not above 0; leave it empty when unknown")
    return PriceRow.model_validate({key: value or None for key, value in record.items()})
