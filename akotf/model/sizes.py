"""Bytes and bits a second: `16 GiB` is not `16 GB`, and networks count in powers of 1000."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from akotf.model.written import NUMBER, shown

#: Spellings with one meaning. Not here: `Gb`, which are bits; `G`, which is 2^30 to Slurm and 10^9 to Kubernetes.
_BYTES: dict[str, int] = {"B": 1, "b": 1, "byte": 1, "bytes": 1, "KB": 10**3}
for _power, _prefix in enumerate("kMGTP", start=1):
    _BYTES |= dict.fromkeys((f"{_prefix}B", f"{_prefix.lower()}b"), 1000**_power)
    _BYTES |= dict.fromkeys(
        (f"{_prefix.upper()}iB", f"{_prefix.lower()}ib", f"{_prefix.upper()}i"), 1024**_power
    )
BYTES_PATTERN = rf" *{NUMBER} *({'|'.join(sorted(_BYTES, key=len, reverse=True))}) *"
_MOST_BYTES = 2**63 - 1  # what Terraform, JSON readers and the kernel's limits can hold
_BYTE_CHOICES = "B, kB, MB, GB, TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (powers of 1024)"


def parse_bytes(value: Any) -> int:
    """Whole bytes from `16 GiB`, `512MB`, `80Gi`, `100 B`. A number without a unit is taken from code only."""
    if isinstance(value, int) and not isinstance(value, bool):
        size = Fraction(value)
    else:
        match = re.fullmatch(BYTES_PATTERN, value) if isinstance(value, str) else None
        if match is None:
            raise _size_fault(value)
        size = Fraction(match[1]) * _BYTES[match[2]]
    if size < 0:
        raise ValueError("a size can't be negative; write 0 B or more")
    if size.denominator != 1:
        raise ValueError(f"{shown(value)} is not a whole number of bytes; write it in a smaller unit")
    if size > _MOST_BYTES:
        raise ValueError(f"{shown(value)} is more than any machine has; write at most 8191 PiB")
    return int(size)


def _size_fault(value: Any) -> ValueError:
    match = (
        re.fullmatch(r"\s*([0-9][0-9.]{0,50})\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    )
    if match is None:
        return ValueError(f"{shown(value)} is not a size; write a number and a unit, such as 16 GiB or 16 GB")
    number, unit = match.groups()
    if not unit:
        return ValueError(f"{shown(value)} has no unit; use {_BYTE_CHOICES}")
    if re.fullmatch("[kmgtp]", unit, re.IGNORECASE):
        binary, decimal = f"{unit.upper()}iB", f"{unit.upper()}B".replace("KB", "kB")
        return ValueError(f"{shown(value)} is {number} {binary} to Slurm and {number} {decimal} to Kubernetes; "
                          f"write {number} {binary} or {number} {decimal}")  # fmt: skip
    if re.fullmatch("[KMGTP]i?b", unit):
        return ValueError(f"{shown(value)} is in bits; write {number} {unit[:-1]}B to mean bytes")
    return ValueError(f"unit {shown(unit)} of {shown(value)} is unknown; use {_BYTE_CHOICES}")


def format_bytes(size: int) -> str:
    """Exact text that `parse_bytes` reads back equal, in the unit that gives the smallest number."""
    best = (size, "B")
    for unit in ("kB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB", "PiB"):
        count, rest = divmod(size, _BYTES[unit])
        if size and not rest and count <= best[0]:
            best = (count, unit)
    return f"{best[0]} {best[1]}"


_BITS = {prefix: 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))}
BIT_RATE_PATTERN = rf" *{NUMBER} *([kMGT]?)(?:bit/s|b/s|bps) *"


def parse_bit_rate(value: Any) -> float:
    """Bits a second from `100 Gbit/s`, `100 Gb/s` or `100 Gbps`; powers of 1000, as networks count."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        rate = Fraction(value) if value == value and abs(value) != float("inf") else Fraction(-1)
    else:
        match = re.fullmatch(BIT_RATE_PATTERN, value) if isinstance(value, str) else None
        if match is None:
            raise _bit_rate_fault(value)
        rate = Fraction(match[1]) * _BITS[match[2]]
    if not 0 < rate <= 10**16:
        raise ValueError(f"{shown(value)} is no rate of a network; write more than 0, at most 10000 Tbit/s")
    if isinstance(value, str) and rate.denominator != 1:
        raise ValueError(f"{shown(value)} is not a whole number of bits a second; write it in a smaller unit")
    return float(rate)


def _bit_rate_fault(value: Any) -> ValueError:
    example = "write one such as 100 Gbit/s"
    if isinstance(value, str) and re.fullmatch(r"[0-9.]+(?:[eE]\+?[0-9]+)?", value.strip()):
        return ValueError(f"{shown(value)} has no unit; {example}")
    if isinstance(value, str) and re.fullmatch(r"[0-9. ]+[kKMGT]?i?(B/s|Bps|byte/s)", value.strip()):
        return ValueError(
            f"{shown(value)} is in bytes, networks count bits; write eight times the number, in Gbit/s"
        )
    return ValueError(f"{shown(value)} is no rate of a network; {example}")


def format_bit_rate(rate: float) -> str:
    """Exact text of whole bits a second."""
    for prefix in ("T", "G", "M", "k"):
        if rate and rate % _BITS[prefix] == 0:
            return f"{int(rate) // _BITS[prefix]} {prefix}bit/s"
    return f"{int(rate)} bit/s"
