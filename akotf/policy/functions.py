"""What rules may call beyond CEL's own: sums, address ranges and units."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any

from akotf.model.units import parse_bytes, parse_duration


def total(values: Sequence[Any]) -> int | float:
    """`sum(list)`: of numbers only; whole numbers stay whole."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"sum() takes numbers, not {value!r}")
    result: int | float = sum(values)
    return result


def cidr_contains(network: str, address: str) -> bool:
    """`cidr_contains("10.0.0.0/8", "10.1.2.3")`: whether the whole address or range lies in the network."""
    outer, inner = ipaddress.ip_network(network), ipaddress.ip_network(address)
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": total,
    "cidr_contains": cidr_contains,
    "bytes_of": parse_bytes,
    "seconds_of": parse_duration,
}
