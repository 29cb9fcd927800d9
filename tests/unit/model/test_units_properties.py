"""What a unit writes it reads back equal; what it reads is exact; its pattern is the reader's."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from akotf.model import units
from akotf.model.durations import DURATION_PATTERN
from akotf.model.gpus import GPUS, accepted_pattern
from akotf.model.money import CURRENCIES, MONEY_PATTERN, RATE_PATTERN
from akotf.model.sizes import BIT_RATE_PATTERN, BYTES_PATTERN
from akotf.model.units import PERCENT_PATTERN

READERS = {
    BYTES_PATTERN: units.parse_bytes, DURATION_PATTERN: units.parse_duration, MONEY_PATTERN: units.parse_money, RATE_PATTERN: units.parse_rate,
    BIT_RATE_PATTERN: units.parse_bit_rate, PERCENT_PATTERN: units.parse_percent, accepted_pattern(): units.parse_gpu_name,
}  # fmt: skip
#: Beyond a pattern: how large, how fine, which currency.
BEYOND = re.compile(r"more than|finer|whole number|no rate of|too much|not a currency")
TEXTS = st.one_of(
    st.text(alphabet="0123456789.:-+ PTWDHMSwdhmsikKMGBbit/%gpunodehUSDEUR$_,eE\n٣", max_size=24),
    st.from_regex(re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})? ?[A-Za-z/%]{0,8}"), fullmatch=True),
    st.from_regex(re.compile(r"[0-9]{1,3}(-[0-9]{1,2})?(:[0-9]{1,2}){0,3}"), fullmatch=True),
    st.sampled_from([*GPUS, *(alias for gpu in GPUS.values() for alias in gpu.aliases), "A100", "H100 pcie"]).flatmap(
        lambda name: st.sampled_from([name, name.upper(), name.replace("-", "_"), f"NVIDIA {name}", f"{name}:8", f"amd  {name}"])
    ),
)  # fmt: skip


@given(
    st.integers(0, 2**63 - 1)
    | st.integers(0, 2**23 - 1).map(lambda n: n * 2**40)
    | st.integers(0, 9000).map(lambda n: n * 10**15)
)
def test_sizes(size: int) -> None:
    assert units.parse_bytes(units.format_bytes(size)) == size


@given(st.integers(0, 36500 * 86400 * 1000) | st.integers(0, 36500).map(lambda days: days * 86_400_000))
@example(36500 * 86400 * 1000 - 1)
def test_durations(millis: int) -> None:
    seconds = float(Fraction(millis, 1000))
    assert units.parse_duration(units.format_duration(seconds)) == seconds


@given(st.floats(0, 36500 * 86400))
def test_a_duration_is_zero_only_when_it_is(seconds: float) -> None:
    back = units.parse_duration(units.format_duration(seconds))
    assert (back == 0) == (seconds == 0)
    assert abs(back - seconds) <= 0.001


@given(st.decimals(0, 10**12 - 1, places=2), st.sampled_from(sorted(CURRENCIES)))
def test_money(amount: Decimal, currency: str) -> None:
    text = f"{amount:f} {currency}"
    try:
        money = units.parse_money(text)
    except ValueError as error:
        assert "finer" in str(error)  # yen have no hundredths
        return
    assert money.amount == amount
    assert units.parse_money(str(money)) == money
    assert units.parse_money(money.to_json()) == money


@given(
    st.decimals(0, 10**9, places=6), st.sampled_from(["USD", "EUR", "CHF"]), st.sampled_from(["gpu", "node"])
)
def test_rates(amount: Decimal, currency: str, per: str) -> None:
    rate = units.parse_rate(f"{amount:f} {currency}/{per}/h")
    assert (rate.amount, rate.currency, rate.per) == (amount, currency, per)
    assert units.parse_rate(str(rate)) == rate


@given(st.integers(1, 10**16))
def test_bit_rates(bits: int) -> None:
    rate = float(bits)
    assert units.parse_bit_rate(units.format_bit_rate(rate)) == rate


@given(st.integers(0, 10 * 10**8))
def test_percentages(hundred_millionths: int) -> None:
    share = float(Fraction(hundred_millionths, 10**8))
    assert units.parse_percent(units.format_percent(share)) == share


@given(st.sampled_from(["GiB", "GB", "kB", "MiB"]), st.decimals(0, 10**6, places=9))
def test_a_size_is_exact_or_refused(unit: str, number: Decimal) -> None:
    exact = Fraction(number) * units.parse_bytes(f"1 {unit}")
    try:
        assert units.parse_bytes(f"{number:f} {unit}") == exact
    except ValueError as error:
        assert "whole number" in str(error)
        assert exact.denominator != 1


@pytest.mark.parametrize("pattern", READERS)
@given(text=TEXTS)
def test_the_pattern_takes_what_the_reader_takes(pattern: str, text: str) -> None:
    says = re.search(pattern if pattern.startswith("^") else f"^(?:{pattern})$", text)
    if text.endswith("\n"):
        return  # Python's $ stands before a last newline too; ECMAScript's, which schemas mean, does not
    try:
        READERS[pattern](text)
    except ValueError as error:
        assert not says or BEYOND.search(str(error)), text
    else:
        assert says, text
