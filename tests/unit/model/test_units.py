"""Every unit: what is read, to which value; what is refused, with which remedy."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from akotf.model.units import (
    Money,
    Rate,
    format_bit_rate,
    format_bytes,
    format_duration,
    format_percent,
    parse_bit_rate,
    parse_bytes,
    parse_duration,
    parse_money,
    parse_percent,
    parse_rate,
)
from akotf.model.words import clock

HOUR, DAY = 3600, 86400


def refused(parse, value) -> tuple[str, str]:
    """Message and remedy of a value that is refused."""
    with pytest.raises(ValueError) as caught:
        parse(value)
    message, _, remedy = str(caught.value).partition("; ")
    assert remedy, f"{message} says no remedy"
    return message, remedy


@pytest.mark.parametrize(("text", "size"), [
    ("16 GiB", 17_179_869_184), ("16 GB", 16_000_000_000), ("16GiB", 17_179_869_184), ("16 gib", 17_179_869_184),
    ("80Gi", 80 * 2**30), ("80 GB", 80 * 10**9), ("512MB", 512_000_000), ("1.5 GiB", 1_610_612_736), ("0.1 GB", 10**8),
    ("100 B", 100), ("1 kB", 1000), ("1 KB", 1000), ("0 B", 0), ("2 PiB", 2**51), (" 1 TB ", 10**12), (4096, 4096),
])  # fmt: skip
def test_a_size(text: str | int, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(("text", "says", "remedy"), [
    ("80G", "80 GiB to Slurm and 80 GB to Kubernetes", "write 80 GiB or 80 GB"),
    ("16g", "16 GiB to Slurm and 16 GB to Kubernetes", "write 16 GiB or 16 GB"),
    ("8K", "8 KiB to Slurm and 8 kB", "write 8 KiB or 8 kB"),
    ("16 Gb", "in bits", "write 16 GB"), ("1 Kib", "in bits", "write 1 KiB"),
    ("81920", "no unit", "KiB, MiB"), ("1 XB", "unit 'XB'", "use B, kB"), ("500m", "MiB to Slurm", "500 MiB or 500 MB"),
    ("0.1 B", "not a whole number of bytes", "smaller unit"),
    # Decimal's 28 digits would round this to whole bytes.
    ("0.100000000000000001 GB", "not a whole number of bytes", "smaller unit"),
    ("8192 PiB", "more than any machine", "8191 PiB"), ("-1 GiB", "not a size", "16 GiB"), (-1, "negative", "0 B"),
    ("", "not a size", "16 GiB"), ("1e3 GB", "not a size", "16 GiB"), ("1_000 GB", "not a size", "16 GiB"), (True, "not a size", "16 GiB"),
    (1.5, "not a size", "16 GiB"), (None, "not a size", "16 GiB"), ("٣ GB", "not a size", "16 GiB"), ("1 \u212aB", "not a size", "16 GiB"),
    ("1" * 10_000 + " B", "1...'", "16 GiB"),
])  # fmt: skip
def test_a_size_that_is_refused(text: object, says: str, remedy: str) -> None:
    message, told = refused(parse_bytes, text)
    assert says in message
    assert remedy in told
    assert len(message) < 150


def test_a_size_is_written_in_the_unit_of_the_smallest_number() -> None:
    sizes = (2**34, 16 * 10**9, 0, 999, 1000, 1024, 1_024_000, 148_353)
    assert [format_bytes(size) for size in sizes] == [
        "16 GiB", "16 GB", "0 B", "999 B", "1 kB", "1 KiB", "1000 KiB", "148353 B",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), [
    # sbatch(1): minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds
    ("10:00", 600), ("90:30", 5430), ("1:30:00", 5400), ("100:00:00", 360_000), ("0:10:00", 600), ("6-12", 6 * DAY + 12 * HOUR),
    ("6-12:30", 6 * DAY + 12 * HOUR + 1800), ("6-00:00:00", 6 * DAY), ("1-1:02:03", DAY + HOUR + 123),
    # ISO 8601
    ("PT1H", HOUR), ("PT1H30M", 5400), ("P1DT12H", 1.5 * DAY), ("P2W", 14 * DAY), ("PT0.5S", 0.5), ("P1D", DAY),
    # as people write
    ("90m", 5400), ("1h30m", 5400), ("1h 30m", 5400), ("2 days 3 hours", 2 * DAY + 3 * HOUR), ("1.5h", 5400), ("29s", 29), ("5 ms", 0.005),
    ("1w 1d", 8 * DAY), ("5 min", 300), ("30 sec", 30), ("0s", 0), (45.5, 45.5), (36500 * DAY, 36500 * DAY),
])  # fmt: skip
def test_a_duration(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(("text", "says", "remedy"), [
    ("90", "has no unit", "90s, 90m (as Slurm reads it) or 90h"), ("05:23:30:00", "not a duration", "write 05-23:30:00"),
    ("100000000000000000000 days", "more than 36500 days", "may really take"), (1e25, "not a duration", "36500 days"),
    (float("nan"), "not a duration", "36500"), (float("inf"), "not a duration", "36500"), (-1, "not a duration", "0 to"),
    ("1:75:00", "go to 59", "HH:MM:SS"), ("1-24:00:00", "go to 23", "D-HH"), ("1:3", "two digits", "MM:SS"), ("2026-10-01", "not a duration", "write"),
    ("UNLIMITED", "no end", "90m"), ("INFINITE", "no end", "90m"), ("-5m", "below zero", "90m"), ("1.0005s", "finer than a millisecond", "whole"),
    ("P1M", "years or months", "days"), ("P1Y", "years or months", "days"), ("P", "not a duration", "90m"), ("PT", "not a duration", "90m"), ("P1DT", "not a duration", "90m"),
    ("2 Hours", "not a duration", "write 2 hours"), ("90M", "not a duration", "90m"), ("30m 1h", "not a duration", "90m"), ("1h 1h", "not a duration", "90m"),
    ("", "not a duration", "90m"), ("soon", "not a duration", "90m"), (True, "not a duration", "90m"), (None, "not a duration", "90m"), ("1" * 300, "not a duration", "90m"),
    ("٩m", "not a duration", "90m"),
])  # fmt: skip
def test_a_duration_that_is_refused(text: object, says: str, remedy: str) -> None:
    message, told = refused(parse_duration, text)
    assert says in message
    assert remedy in told


def test_what_takes_time_never_reads_as_nothing() -> None:
    assert (format_duration(29), clock(29), clock(0.0001)) == ("29s", "29s", "1 ms")
    assert (format_duration(0.0001), format_duration(0)) == ("1 ms", "0s")
    assert format_duration(0.0004 + 60) == "1m"


@pytest.mark.parametrize(("text", "money"), [
    ("25 USD", "25 USD"), ("USD 25", "25 USD"), ("0.60EUR", "0.60 EUR"), ("0 USD", "0 USD"), ("1000 JPY", "1000 JPY"), ("1.234 KWD", "1.234 KWD"),
])  # fmt: skip
def test_money(text: str, money: str) -> None:
    assert str(parse_money(text)) == money
    assert parse_money(parse_money(text).to_json()) == parse_money(text)  # as evidence stores it


def test_money_is_exact() -> None:
    assert parse_money("0.10 USD").amount + parse_money("0.20 USD").amount == Decimal("0.30")


@pytest.mark.parametrize(("text", "says", "remedy"), [
    ("$25", "currency's sign", "25 USD"), ("25 €", "currency's sign", "code"), ("$1,000", "currency's sign", "25 USD"), ("25", "no currency", "25 USD"),
    (25, "no currency", "25 USD"), (25.5, "no currency", "25 USD"), ("1k", "not an amount", "25 USD"), ("1,000 USD", "not an amount", "25 USD"),
    ("25 usd", "small letters", "25 USD"), ("25 UDS", "UDS is not a currency", "did you mean USD?"), ("25 XQZ", "not a currency", ""),
    ("-3 USD", "below zero", "25 USD"), ("NaN USD", "not an amount", "25 USD"), ("inf USD", "not an amount", "25 USD"), ("1e3 USD", "not an amount", "25 USD"),
    ("25.001 USD", "finer than USD has coins", "25.00 USD"), ("100.5 JPY", "finer than JPY", "100 JPY"), ("", "not an amount", "25 USD"),
    ("1" * 13 + " USD", "not an amount", "25 USD"), (None, "no currency", "25 USD"),
])  # fmt: skip
def test_money_that_is_refused(text: object, says: str, remedy: str) -> None:
    message, told = refused(parse_money, text)
    assert says in message
    assert remedy in told


def test_a_stored_amount_is_held_to_the_same_bounds() -> None:
    for amount in ("-1", "NaN", "Infinity"):
        with pytest.raises(ValueError):
            parse_money({"amount": amount, "currency": "USD"})
        with pytest.raises(ValueError):
            parse_rate({"amount": amount, "currency": "USD", "per": "gpu"})


def test_a_rate_is_per_hour_of_a_gpu_or_a_node() -> None:
    assert parse_rate("0.60 USD/gpu/h") == Rate(amount=Decimal("0.60"), currency="USD", per="gpu")
    assert str(parse_rate("12 USD / node / h")) == "12 USD/node/h"
    assert parse_rate("0.0034 EUR/gpu/h").amount == Decimal("0.0034")


@pytest.mark.parametrize(("text", "says", "remedy"), [
    ("12 USD/h", "does not say of what", "/gpu/h or /node/h"), ("12 USD/hour", "does not say of what", "/gpu/h or /node/h"), ("12 USD/gpu/day", "not a price", "0.60 USD/gpu/h"),
    ("12 USD", "not a price", "0.60 USD/gpu/h"), ("0.60/gpu/h", "not a price", "0.60 USD"), ("-1 USD/gpu/h", "below zero", "0.60"), ("1 ABC/gpu/h", "not a currency", ""),
    ("$1/gpu/h", "sign", "0.60 USD/gpu/h"), (0.6, "no currency", "0.60 USD/gpu/h"),
])  # fmt: skip
def test_a_rate_that_is_refused(text: object, says: str, remedy: str) -> None:
    message, told = refused(parse_rate, text)
    assert says in message
    assert remedy in told


def test_a_network_counts_bits_in_powers_of_1000() -> None:
    for text in ("100 Gbit/s", "100Gb/s", "100 Gbps", "0.1 Tbit/s", "100000 Mbit/s"):
        assert parse_bit_rate(text) == 100e9
    assert parse_bit_rate(200e9) == 200e9
    assert [format_bit_rate(x) for x in (100e9, 2.5e9, 1e12, 999.0)] == [
        "100 Gbit/s",
        "2500 Mbit/s",
        "1 Tbit/s",
        "999 bit/s",
    ]


@pytest.mark.parametrize(("text", "says"), [
    ("12.5 GB/s", "in bytes"), ("12.5 GBps", "in bytes"), ("100", "no unit"), ("1e11", "no unit"), ("0 Gbit/s", "no rate"), ("0.5 bit/s", "whole number"),
    ("99999 Tbit/s", "no rate"), (-1.0, "no rate"), (float("nan"), "no rate"), (float("inf"), "no rate"), ("fast", "no rate"), (True, "no rate"),
])  # fmt: skip
def test_a_bit_rate_that_is_refused(text: object, says: str) -> None:
    assert says in refused(parse_bit_rate, text)[0]


def test_a_percentage_has_its_sign() -> None:
    assert [parse_percent(text) for text in ("95%", "99.5 %", "0%", "150%")] == [0.95, 0.995, 0.0, 1.5]
    assert parse_percent(0.95) == 0.95
    assert [format_percent(share) for share in (0.95, 1.0, 0.999999, 0.0, 1.5)] == [
        "95%",
        "100%",
        "99.9999%",
        "0%",
        "150%",
    ]


@pytest.mark.parametrize(("text", "says"), [
    ("0.95", "has no %"), ("95", "has no %"), ("1001%", "too much"), ("-5%", "not a percentage"), ("most", "not a percentage"), (11, "no share"), (True, "not a percentage"),
    (float("nan"), "no share"), ("1.0000001%", "not a percentage"),
])  # fmt: skip
def test_a_percentage_that_is_refused(text: object, says: str) -> None:
    assert says in refused(parse_percent, text)[0]


def test_money_knows_its_currency_in_text() -> None:
    assert str(Money(amount=Decimal("1E+2"))) == "100 USD"


def test_the_reference_page_says_what_is_so() -> None:
    """Every spelling in its column `written` is read, every one in `refused` is not."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "units.md").read_text(encoding="utf-8")
    readers = {"size": parse_bytes, "duration": parse_duration, "money": parse_money, "price": parse_rate, "bit rate": parse_bit_rate,
               "percentage": parse_percent}  # fmt: skip
    rows = [
        line.strip("| ").split(" | ")
        for line in page.splitlines()
        if line.startswith(tuple(f"| {name} " for name in readers))
    ]
    assert [row[0] for row in rows] == list(readers)
    for name, written, refuses in rows:
        for text in re.findall(r"`([^`]+)`", written):
            readers[name](text)
        for text in re.findall(r"`([^`]+)`", refuses):
            refused(readers[name], text)
