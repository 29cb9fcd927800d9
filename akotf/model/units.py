"""Typed units: bytes, durations, rates of a network, shares, money, GPU names. Text in, one canonical value out.

`16 GiB` is 17 179 869 184 bytes and `16 GB` is 16 000 000 000. Durations are seconds as float. Money has a currency.
A text is taken only when it can mean one thing, and exactly or not at all: nothing is rounded. Numbers that code
passes are in the base unit (bytes, seconds, bits a second, 1 for 100%). Every fault is a ValueError `what; remedy`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from akotf.model.base import Frozen
from akotf.model.durations import DURATION_PATTERN, format_duration, parse_duration
from akotf.model.gpus import GPUS, accepted_pattern, gpu_fits, parse_gpu_name
from akotf.model.money import MONEY_PATTERN, RATE_PATTERN, Money, Rate, parse_money, parse_rate
from akotf.model.sizes import (
    BIT_RATE_PATTERN,
    BYTES_PATTERN,
    format_bit_rate,
    format_bytes,
    parse_bit_rate,
    parse_bytes,
)
from akotf.model.written import shown

__all__ = [
    "GPUS", "BitRate", "ByteCount", "Estimate", "GpuName", "Money", "MoneyText", "Percent", "Rate", "RateText", "Seconds",
    "add_estimates", "format_bit_rate", "format_bytes", "format_duration", "format_percent", "gpu_fits", "parse_bit_rate",
    "parse_bytes", "parse_duration", "parse_gpu_name", "parse_money", "parse_percent", "parse_rate",
]  # fmt: skip

PERCENT_PATTERN = r" *([0-9]{1,4}(?:\.[0-9]{1,6})?) *% *"


def parse_percent(value: Any) -> float:
    """A share, 1 for all, from `95%`. Text without the sign is refused: `0.95` and `95` would both be guessed at."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 <= value <= 10:
            raise ValueError(f"{value} is no share; it takes 0 to 10 (1000%)")
        return float(value)
    match = re.fullmatch(PERCENT_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        if isinstance(value, str) and re.fullmatch(r"[0-9]*\.?[0-9]+", value.strip()):
            raise ValueError(f"{shown(value)} has no %; write 95% for 0.95")
        raise ValueError(f"{shown(value)} is not a percentage; write one such as 95%")
    share = Fraction(match[1]) / 100
    if share > 10:
        raise ValueError(f"{shown(value)} is too much; write at most 1000%")
    return float(share)


def format_percent(share: float) -> str:
    """Text that `parse_percent` reads back equal, for shares of at most eight decimals."""
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"


def _text(pattern: str, what: str, *examples: str) -> WithJsonSchema:
    """What an editor knows of a unit: the very pattern that reads it."""
    hint = f"Write it as {' or '.join(examples)}"  # both keys are the editors' own
    return WithJsonSchema(
        {"type": "string", "pattern": f"^(?:{pattern})$", "examples": list(examples), "title": what,
         "errorMessage": hint, "patternErrorMessage": hint}, mode="validation",
    )  # fmt: skip


ByteCount = Annotated[int, BeforeValidator(parse_bytes), _text(BYTES_PATTERN, "Size", "16 GiB", "16 GB")]
Seconds = Annotated[
    float, BeforeValidator(parse_duration), _text(DURATION_PATTERN, "Duration", "90m", "2h 30m", "1-12:00:00")
]
BitRate = Annotated[float, BeforeValidator(parse_bit_rate), _text(BIT_RATE_PATTERN, "Bit rate", "100 Gbit/s")]
Percent = Annotated[float, BeforeValidator(parse_percent), _text(PERCENT_PATTERN, "Percentage", "95%")]


def _plain(value: Money | Rate) -> dict[str, Any]:
    return value.model_dump(mode="json")


MoneyText = Annotated[
    Money,
    BeforeValidator(parse_money),
    PlainSerializer(_plain),
    _text(MONEY_PATTERN, "Amount of money", "25 USD"),
]
RateText = Annotated[
    Rate, BeforeValidator(parse_rate), PlainSerializer(_plain),
    _text(RATE_PATTERN, "Price per hour", "0.60 USD/gpu/h", "12 USD/node/h"),
]  # fmt: skip
_GPU = "Write model and memory, such as A100-80GB"
GpuName = Annotated[
    str,
    BeforeValidator(parse_gpu_name),
    WithJsonSchema(
        {"type": "string", "title": "GPU name", "errorMessage": _GPU,
         "anyOf": [{"enum": list(GPUS), "errorMessage": _GPU}, {"pattern": accepted_pattern(), "patternErrorMessage": _GPU}]},
        mode="validation",
    ),
]  # fmt: skip


class Estimate(Frozen):
    """A figure with its interval and where it comes from.

    `unit` is `s`, `USD`, `bytes`, `FLOP/s`, ...; `low <= value <= high`. `source` reads like
    `measured here 2026-11-30`, `declared in akotf.yaml`, `price book of 2026-05-20` or `default: ...`.
    """

    value: float
    low: float
    high: float
    unit: str
    source: str

    @classmethod
    def exact(cls, value: float, unit: str, source: str) -> Estimate:
        """A figure known without spread."""
        return cls(value=value, low=value, high=value, unit=unit, source=source)

    def scaled(self, factor: float) -> Estimate:
        """The same figure times a known factor."""
        return self.model_copy(
            update={"value": self.value * factor, "low": self.low * factor, "high": self.high * factor}
        )


def add_estimates(parts: list[Estimate], source: str) -> Estimate:
    """Sum of figures of one unit; the intervals add (worst case with worst case)."""
    units = {p.unit for p in parts}
    if len(units) > 1:
        raise ValueError(f"can't add {', '.join(sorted(units))}")
    return Estimate(
        value=sum(p.value for p in parts),
        low=sum(p.low for p in parts),
        high=sum(p.high for p in parts),
        unit=units.pop() if units else "",
        source=source,
    )
