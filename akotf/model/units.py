"""Typed units: bytes, durations, money, GPU names. Text in, one canonical value out, never a silent rounding.

`16 GiB` is 17 179 869 184 bytes and `16 GB` is 16 000 000 000. Durations are seconds as float. Money has a currency.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from akotf.model.base import Frozen

_BYTES = {
    "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "pib": 2**50,
}  # fmt: skip
_BYTES_RE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$")


def parse_bytes(value: Any) -> int:
    """Whole bytes from `16 GiB`, `512MB`, `100 B`. A bare number is refused unless it is an int of bytes."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("a size can't be negative")
        return value
    match = _BYTES_RE.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a size; write a number and a unit, such as '16 GiB' or '16 GB'")
    number, unit = match.groups()
    factor = _BYTES.get(unit.lower())
    if factor is None:
        choices = "B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)"
        raise ValueError(f"unit {unit!r} of {value!r} is unknown; use {choices}" if unit else
                         f"{value!r} has no unit; use {choices}")  # fmt: skip
    size = Decimal(number) * factor
    if size != int(size):
        raise ValueError(f"{value!r} is not a whole number of bytes")
    return int(size)


def format_bytes(size: int) -> str:
    """Exact text that `parse_bytes` reads back equal."""
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
        factor = _BYTES[unit.lower()]
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


_DURATION_UNITS = {
    "ms": Decimal("0.001"), "s": Decimal(1), "sec": Decimal(1), "second": Decimal(1), "seconds": Decimal(1),
    "m": Decimal(60), "min": Decimal(60), "minute": Decimal(60), "minutes": Decimal(60),
    "h": Decimal(3600), "hour": Decimal(3600), "hours": Decimal(3600),
    "d": Decimal(86400), "day": Decimal(86400), "days": Decimal(86400),
    "w": Decimal(604800), "week": Decimal(604800), "weeks": Decimal(604800),
}  # fmt: skip
_DURATION_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_SLURM = re.compile(r"^(?:(\d+)-)?(\d+):(\d{2})(?::(\d{2}))?$")
_SLURM_DAYS = re.compile(r"^(\d+)-(\d+)$")
_ISO = re.compile(
    r"^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$"
)


def parse_duration(value: Any) -> float:
    """Seconds from `90m`, `2h 30m`, Slurm's `6-00:00:00`, `1:30:00`, `10:00` (min:sec), or ISO 8601 `PT1H`.

    A bare number is refused: nothing says its unit. A float or int given in code is seconds.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < 0:
            raise ValueError("a duration can't be negative")
        return float(value)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a duration; write one such as '90m', '2h' or '1-12:00:00'")
    text = value.strip()
    if match := _SLURM.match(text):
        days, first, second, third = match.groups()
        if days is None and third is None:  # MM:SS, Slurm's form without a day
            parts = [0, 0, int(first), int(second)]
        elif days is not None and third is None:  # D-HH:MM
            parts = [int(days), int(first), int(second), 0]
        else:
            parts = [int(days or 0), int(first), int(second), int(third)]
        return float(parts[0] * 86400 + parts[1] * 3600 + parts[2] * 60 + parts[3])
    if match := _SLURM_DAYS.match(text):
        return float(int(match[1]) * 86400 + int(match[2]) * 3600)
    if text.startswith("P") and len(text) > 2 and (match := _ISO.match(text)) and any(match.groups()):
        weeks, days, hours, minutes, seconds = (Decimal(g or 0) for g in match.groups())
        return float(weeks * 604800 + days * 86400 + hours * 3600 + minutes * 60 + seconds)
    total, end = Decimal(0), 0
    for match in _DURATION_PART.finditer(text):
        unit = _DURATION_UNITS.get(match[2].lower())
        if match.start() != end or unit is None:
            break
        total += Decimal(match[1]) * unit
        end = match.end()
    if not text or end != len(text):
        raise ValueError(f"{value!r} is not a duration; write one such as '90m', '2h 30m' or '1-12:00:00'")
    return float(total)


def format_duration(seconds: float) -> str:
    """Exact text that `parse_duration` reads back equal (to the millisecond)."""
    millis = round(seconds * 1000)
    if millis % 1000:
        return f"{millis} ms"
    whole = millis // 1000
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"


class Money(Frozen):
    """An amount in a currency (ISO 4217 code)."""

    amount: Decimal
    currency: str = "USD"

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


_MONEY = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Z]{3})\s*$")
_RATE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Z]{3})\s*/\s*(gpu|node)\s*/\s*h\s*$")


def parse_money(value: Any) -> Money:
    """`25 USD` or `0.60 EUR`. A number without a currency is refused."""
    if isinstance(value, Money):
        return value
    if isinstance(value, dict):
        return Money.model_validate(value)
    match = _MONEY.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not an amount of money; write amount and currency, such as '25 USD'")
    return Money(amount=Decimal(match[1]), currency=match[2])


class Rate(Frozen):
    """A price per hour, for one GPU or for one node."""

    amount: Decimal
    currency: str = "USD"
    per: str = "gpu"  # gpu | node

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}/{self.per}/h"


def parse_rate(value: Any) -> Rate:
    """`0.60 USD/gpu/h` or `12 USD/node/h`."""
    if isinstance(value, Rate):
        return value
    if isinstance(value, dict):
        return Rate.model_validate(value)
    match = _RATE.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"{value!r} is not a price per hour; write it as '0.60 USD/gpu/h' or '12 USD/node/h'"
        )
    return Rate(amount=Decimal(match[1]), currency=match[2], per=match[3])


ByteCount = Annotated[int, BeforeValidator(parse_bytes)]
Seconds = Annotated[float, BeforeValidator(parse_duration)]
MoneyText = Annotated[
    Money, BeforeValidator(parse_money), PlainSerializer(lambda m: m.model_dump(mode="json"))
]
RateText = Annotated[Rate, BeforeValidator(parse_rate), PlainSerializer(lambda m: m.model_dump(mode="json"))]

# Canonical GPU names carry the memory, so that an 80 GB card is never taken for a 40 GB one.
# name -> (memory in bytes as sold, aliases). Vendors' data sheets; aliases as clouds and Slurm sites write them.
GPUS: dict[str, tuple[int, tuple[str, ...]]] = {
    "T4-16GB": (16 * 2**30, ("t4", "tesla-t4", "nvidia-tesla-t4")),
    "V100-16GB": (16 * 2**30, ("v100-sxm2-16gb", "tesla-v100-sxm2-16gb")),
    "V100-32GB": (32 * 2**30, ("v100-sxm2-32gb", "tesla-v100-sxm2-32gb")),
    "A10G-24GB": (24 * 2**30, ("a10g", "nvidia-a10g")),
    "L4-24GB": (24 * 2**30, ("l4", "nvidia-l4")),
    "L40S-48GB": (48 * 2**30, ("l40s", "nvidia-l40s")),
    "A100-40GB": (40 * 2**30, ("a100-sxm4-40gb", "nvidia-a100-sxm4-40gb", "nvidia-tesla-a100")),
    "A100-80GB": (80 * 2**30, ("a100-sxm4-80gb", "nvidia-a100-sxm4-80gb", "nvidia-a100-80gb")),
    "H100-80GB": (80 * 2**30, ("h100", "nvidia-h100-80gb-hbm3", "h100-sxm5", "nvidia-h100-80gb")),
    "H200-141GB": (141 * 10**9, ("h200", "nvidia-h200", "nvidia-h200-141gb")),
    "B200-180GB": (180 * 10**9, ("b200", "nvidia-b200")),
    "B300-288GB": (288 * 10**9, ("b300", "nvidia-b300")),
    "MI300X-192GB": (192 * 10**9, ("mi300x", "amd-instinct-mi300x")),
}


def parse_gpu_name(value: Any) -> str:
    """The canonical GPU name. `A100` alone is refused: it may be the 40 GB or the 80 GB card."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a GPU name")
    key = re.sub(r"[\s_]+", "-", value.strip()).lower()
    for name, (_, aliases) in GPUS.items():
        if key == name.lower() or key in aliases:
            return name
    near = [name for name in GPUS if name.lower().startswith(key.removeprefix("nvidia-").split("-")[0])]
    if near:
        raise ValueError(f"{value!r} is ambiguous or unknown; choose one of {', '.join(near)}")
    raise ValueError(f"GPU {value!r} is unknown; known are {', '.join(GPUS)}")


GpuName = Annotated[str, BeforeValidator(parse_gpu_name)]


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
