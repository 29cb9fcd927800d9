"""What rules may call beyond CEL's own: sums, address ranges, JSON and units."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Sequence
from typing import Any

from akotf.model.units import parse_bytes, parse_duration

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def total(values: Sequence[Any]) -> int | float:
    """`sum(list)`: of numbers only; whole numbers stay whole."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"sum() takes numbers, not {value!r}")
    result: int | float = sum(values)
    return result


def cidr_contains(network: str, address: str) -> bool:
    """`cidr_contains("10.0.0.0/8", "10.1.2.3")`: whether the whole address or range lies in the network."""
    outer, inner = _network(network), _network(address)
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def cidr_overlaps(network: str, other: str) -> bool:
    """`cidr_overlaps("0.0.0.0/1", "10.0.0.0/8")`: whether any address lies in both."""
    one, two = _network(network), _network(other)
    return one.version == two.version and one.overlaps(two)


def cidr_prefix(network: str) -> int:
    """`cidr_prefix("0.0.0.0/1")`: 1, the length of the prefix; of a single address 32 or 128."""
    return _network(network).prefixlen


def cidr_wide(ranges: Sequence[str], ipv4: int, ipv6: int) -> list[str]:
    """`cidr_wide(["0.0.0.0/1", "10.0.0.0/8"], 16, 32)`: public ranges with a shorter prefix, `["0.0.0.0/1"]`.

    So the world in parts is found too. Private are the ranges that IANA reserves for it (RFC 1918, 4193, 6598,
    link-local, loopback). Of names (network tags, Azure's service tags) `*`, `Any` and `Internet` are the world.
    """
    return [text for text in ranges if _is_wide(text, ipv4, ipv6)]


def _is_wide(text: str, ipv4: int, ipv6: int) -> bool:
    if text == "*" or (text[:1].isalpha() and ":" not in text):
        return text.lower() in ("*", "any", "internet")
    network = _network(text)
    if network.prefixlen >= (ipv4 if network.version == 4 else ipv6):
        return False
    return not any(_inside(network, reserved) for reserved in _PRIVATE)


def parse_json(text: str) -> Any:
    """`parse_json("{\\"a\\": 1}").a`: the data in a JSON text."""
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("parse_json() takes JSON; this text is none") from None  # the text may be secret


def iam_allows(text: str) -> list[dict[str, list[str]]]:
    """`iam_allows(policy)`: `actions` and `resources` of each statement of an IAM policy (JSON) that allows something.

    IAM writes one action or statement without brackets too. What is allowed by exclusion (NotAction, NotResource) is
    `*`: it is all but what somebody thought of.
    """
    document = parse_json(text)
    if not isinstance(document, dict) or "Statement" not in document:
        raise ValueError("iam_allows() takes an IAM policy; this text has no Statement")
    return [
        {
            "actions": ["*"] if "NotAction" in statement else _listed(statement.get("Action", "*")),
            "resources": ["*"] if "NotResource" in statement else _listed(statement.get("Resource", "*")),
        }
        for statement in _listed(document["Statement"])
        if statement.get("Effect") == "Allow"
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def missing(names: Sequence[str], maps: Sequence[Any]) -> list[str]:
    """`missing(["owner", "stage"], [labels])`: the names that none of the maps has with a value; other items are passed over."""
    given = {
        key
        for found in maps
        if isinstance(found, dict)
        for key, value in found.items()
        if value not in ("", None)
    }
    return [name for name in names if name not in given]


def _network(text: str) -> Network:
    return ipaddress.ip_network(text, strict=False)


def _inside(inner: Network, outer: Network) -> bool:
    return cidr_contains(str(outer), str(inner))


_PRIVATE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8",
        "fc00::/7", "fe80::/10", "::1/128",
    )
)  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": total,
    "cidr_contains": cidr_contains,
    "cidr_overlaps": cidr_overlaps,
    "cidr_prefix": cidr_prefix,
    "cidr_wide": cidr_wide,
    "parse_json": parse_json,
    "iam_allows": iam_allows,
    "missing": missing,
    "bytes_of": parse_bytes,
    "seconds_of": parse_duration,
}
