"""The price book: typed rows, unknown stays unknown, faults all at once."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from akotf.clouds.prices import BOOK, load_prices
from akotf.errors import ConfigError
from akotf.model.config import Market

HEADER = BOOK.read_text(encoding="utf-8").splitlines()[0]


def book(folder: Path, *rows: str) -> Path:
    path = folder / "prices.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_the_book_that_comes_with_akotf() -> None:
    rows = {(row.region, row.instance_type): row for row in load_prices()}
    p5 = rows["us-east-1", "p5.48xlarge"]  # AWS price list of 2026-09-24: 55.04 USD
    assert (p5.on_demand, p5.gpu, p5.gpus, p5.currency) == (Decimal("55.04"), "H100-80GB-SXM", 8, "USD")
    assert p5.network_gbps == 3200  # 32 interfaces of 100 Gbit/s
    assert {row.gpu for row in rows.values()} >= {
        "T4-16GB",
        "A10G-24GB",
        "L4-24GB",
        "L40S-48GB",
        "B200-180GB",
    }
    for row in rows.values():
        assert row.source
        assert row.on_demand is not None
        assert row.spot is None or row.spot < row.on_demand
        assert (row.spot_date is None) == (row.spot is None)


def test_an_empty_price_is_unknown(tmp_path: Path) -> None:
    (row,) = load_prices(book(tmp_path, "aws,r,g4dn.xlarge,t4,1,4,16,5,0.526,,USD,list,2026-01-01,"))
    assert row.gpu == "T4-16GB"
    assert row.price(Market.ON_DEMAND) == Decimal("0.526")
    assert row.price(Market.SPOT) is None
    assert row.dated(Market.SPOT) == dt.date(2026, 1, 1)


@pytest.mark.parametrize("price", ["0", "0.00", "-1", "free", "nan"])
def test_a_price_is_never_zero(tmp_path: Path, price: str) -> None:
    with pytest.raises(ConfigError, match="line 2"):
        load_prices(book(tmp_path, f"aws,r,x,t4,1,4,16,5,{price},,USD,list,2026-01-01,"))


def test_all_faults_at_once(tmp_path: Path) -> None:
    good = "aws,r,x,t4,1,4,16,5,1,,USD,list,2026-01-01,"
    path = book(tmp_path, good.replace("t4", "A100"), good, good.replace("2026-01-01", "soon"))
    with pytest.raises(ConfigError) as caught:
        load_prices(path)
    assert "line 2" in caught.value.message
    assert "line 3" not in caught.value.message
    assert "line 4" in caught.value.message
    assert caught.value.where == str(path)
