"""Durations: what people write, what Slurm writes, what ISO 8601 writes; in seconds, to the millisecond."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from akotf.model.written import NUMBER, shown

#: (spellings, seconds of one), from the largest: the order in which a duration is written.
_DURATION_UNITS = (
    ("weeks|week|w", Fraction(604800)), ("days|day|d", Fraction(86400)), ("hours|hour|hrs|hr|h", Fraction(3600)),
    ("minutes|minute|mins|min|m", Fraction(60)), ("seconds|second|secs|sec|s", Fraction(1)), ("ms", Fraction(1, 1000)),
)  # fmt: skip
_COMPOUND = " *(?=[0-9])" + "".join(rf"(?:{NUMBER} *(?:{names}) *)?" for names, _ in _DURATION_UNITS)
#: sbatch(1), --time: `D-HH`, `D-HH:MM`, `D-HH:MM:SS`, `HH:MM:SS`, `MM:SS`. Its bare minutes are not taken.
_HOURS = "(?:[01]?[0-9]|2[0-3])"
_SLURM = (
    rf" *(?:([0-9]{{1,9}})-({_HOURS})(?::([0-5][0-9])(?::([0-5][0-9]))?)?"
    r"|([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])|([0-9]{1,9}):([0-5][0-9])) *"
)
#: ISO 8601-1 5.5.2, without years and months, whose length nobody knows.
_ISO = (
    rf" *P(?=[0-9T])(?:{NUMBER}W)?(?:{NUMBER}D)?"
    rf"(?:T(?=[0-9])(?:{NUMBER}H)?(?:{NUMBER}M)?(?:{NUMBER}S)?)? *"
)
DURATION_PATTERN = f"{_COMPOUND}|{_SLURM}|{_ISO}"
_MOST_DAYS = 36500
_DURATION_REMEDY = "write one such as 90m, 2h 30m or 1-12:00:00"


def parse_duration(value: Any) -> float:
    """Seconds from `90m`, `2h 30m`, Slurm's `6-00:00:00`, `1:30:00`, `10:00` (min:sec), or ISO 8601's `PT1H`.

    A number without a unit is taken from code only. At most 36500 days, at least whole milliseconds.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not 0 <= value <= _MOST_DAYS * 86400:
            raise ValueError(f"{value} seconds is not a duration; it takes 0 to {_MOST_DAYS} days")
        return float(value)
    if not isinstance(value, str) or len(value) > 200:
        raise ValueError(f"{shown(value)} is not a duration; {_DURATION_REMEDY}")
    seconds = _written_duration(value)
    if seconds is None:
        raise _duration_fault(value)
    if seconds > _MOST_DAYS * 86400:
        raise ValueError(
            f"{shown(value)} is more than {_MOST_DAYS} days; write the time that it may really take"
        )
    if (seconds * 1000).denominator != 1:
        raise ValueError(f"{shown(value)} is finer than a millisecond; write whole milliseconds")
    return float(seconds)


def _written_duration(text: str) -> Fraction | None:
    if match := re.fullmatch(_COMPOUND, text):
        sizes = [size for _, size in _DURATION_UNITS]
        return _sum(match.groups(), sizes)
    if match := re.fullmatch(_SLURM, text):
        return _sum(match.groups(), [86400, 3600, 60, 1, 3600, 60, 1, 60, 1])
    if match := re.fullmatch(_ISO, text):
        return _sum(match.groups(), [604800, 86400, 3600, 60, 1])
    return None


def _sum(counts: tuple[str | None, ...], sizes: list[Any]) -> Fraction:
    return sum((Fraction(c) * size for c, size in zip(counts, sizes, strict=True) if c), Fraction(0))


def _duration_fault(value: str) -> ValueError:
    text = value.strip()
    if re.fullmatch(r"[0-9.]+", text):
        return ValueError(f"{shown(text)} has no unit; write {text}s, {text}m (as Slurm reads it) or {text}h")
    if re.fullmatch(r"[0-9]+:[0-9]+:[0-9]+:[0-9]+", text):
        return ValueError(f"{shown(text)} is not a duration; write {text.replace(':', '-', 1)}")
    if text.lower() in ("infinite", "unlimited", "inf", "infinity", "-1"):
        return ValueError(f"{shown(text)} has no end; {_DURATION_REMEDY}")
    if text.startswith("-"):
        return ValueError(f"{shown(text)} is below zero; {_DURATION_REMEDY}")
    if re.fullmatch(r"[0-9:-]+", text):
        return ValueError(f"{shown(text)} is not a duration: hours after days go to 23, minutes and seconds after `:` "
                          f"have two digits and go to 59; write D-HH:MM:SS, HH:MM:SS or MM:SS")  # fmt: skip
    if re.fullmatch(r"P.*[0-9][YM].*", text.partition("T")[0]):
        return ValueError(f"{shown(text)} has years or months, whose length varies; write days")
    if text != text.lower() and not text.isupper() and _written_duration(text.lower()) is not None:
        return ValueError(f"{shown(text)} is not a duration; write {text.lower()}")
    return ValueError(f"{shown(text)} is not a duration; {_DURATION_REMEDY}")


def format_duration(seconds: float) -> str:
    """Text that `parse_duration` reads back equal when `seconds` are whole milliseconds; others go to the nearest.

    What is not zero never reads as zero.
    """
    millis = round(seconds * 1000) or (1 if seconds > 0 else 0)
    if millis % 1000:
        return f"{millis} ms"
    whole = millis // 1000
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
