"""The settings of a desired state, one by one: path, value and unit, as findings and `akotf config show` name them."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BeforeValidator

from akotf.model.base import Frozen
from akotf.model.config import EnvironmentSpec, RunSpec, ScopeKind, ScopeSpec
from akotf.model.units import (
    Money,
    Rate,
    format_bytes,
    format_duration,
    format_percent,
    parse_bytes,
    parse_duration,
    parse_percent,
)

#: What a scope of a kind does where nothing is written; the survey measures or looks up the rest.
BY_KIND: dict[ScopeKind, dict[str, str]] = {
    ScopeKind.LOCAL: {"backend": "local", "price": "free: own machine", "nodes": "1: this machine"},
    ScopeKind.HPC: {"backend": "slurm", "partition": "the cluster's own", "queue_wait": "30m", "price": "unknown"},
    ScopeKind.CLOUD: {"backend": "the provider's", "price": "price book", "nodes": "as many as the run asks for"},
}  # fmt: skip
_UNITS = {parse_bytes: "bytes", parse_duration: "duration", parse_percent: "percent"}


class Leaf(NamedTuple):
    """One setting: `run.limits.memory`, its value, and `bytes`, `duration`, `percent` or no unit."""

    path: str
    value: Any
    unit: str = ""


def settings(environment: EnvironmentSpec, parameters: Mapping[str, Any], run: RunSpec) -> Iterator[Leaf]:
    """Every setting, in the order of the models; what is empty is one setting too."""
    for name in EnvironmentSpec.model_fields:
        if name == "parameters":
            yield from (Leaf(f"parameters.{key}", value) for key, value in parameters.items())
        else:
            yield from _field(environment, name, name)
    yield from _walk(run, "run", "")


def shown(leaf: Leaf) -> str:
    """A value as people write it: in its unit, text escaped where it is more than one plain line."""
    value = leaf.value
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if leaf.unit == "bytes" and isinstance(value, int):
        return format_bytes(value)
    if leaf.unit == "duration" and isinstance(value, (int, float)):
        return format_duration(value)
    if leaf.unit == "percent" and isinstance(value, (int, float)):
        return format_percent(value)
    if isinstance(value, (dict, tuple, list)):
        return "none"
    if isinstance(value, float):
        text = repr(value)
    else:
        text = str(value)
        if not text or not text.isprintable() or text != text.strip():
            text = json.dumps(text, ensure_ascii=False)
            text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f"{text} {leaf.unit}" if leaf.unit not in ("", "bytes", "duration", "percent") else text


def _walk(value: Any, path: str, unit: str) -> Iterator[Leaf]:
    if isinstance(value, Frozen) and not isinstance(value, (Money, Rate)):
        for name in type(value).model_fields:
            yield from _field(value, name, f"{path}.{name}")
    elif isinstance(value, (dict, tuple, list)) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from _walk(item, f"{path}.{key}", unit)
    else:
        yield Leaf(path, value, unit)


def _field(model: Frozen, name: str, path: str) -> Iterator[Leaf]:
    value = getattr(model, name)
    if isinstance(model, ScopeSpec) and (
        value in (None, "", ()) or (name == "market" and model.kind is not ScopeKind.CLOUD)
    ):
        return  # what the kind does is told by `by_kind`
    yield from _walk(value, path, _units(type(model)).get(name, ""))


@functools.cache
def _units(model: type[Frozen]) -> dict[str, str]:
    """The fields of a model that have a unit."""
    found = {}
    for name, info in model.model_fields.items():
        unit = _unit(info.annotation, tuple(info.metadata)) or ("bytes" if name.endswith("_bytes") else "")
        if unit:
            found[name] = unit
    return found


def by_kind(name: str, scope: ScopeSpec) -> Iterator[Leaf]:
    """What follows from the kind of scope `name` where nothing else is written."""
    for key, text in BY_KIND[scope.kind].items():
        if getattr(scope, key) in (None, "", ()):
            if key == "backend" and scope.kind is ScopeKind.CLOUD:
                text = scope.provider or text
            yield Leaf(f"scopes.{name}.{key}", text)


def _unit(annotation: Any, metadata: tuple[Any, ...]) -> str:
    for each in metadata:
        if isinstance(each, BeforeValidator) and each.func in _UNITS:
            return _UNITS[each.func]
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *more = typing.get_args(annotation)
        return _unit(inner, tuple(more))
    return next((unit for part in typing.get_args(annotation) if (unit := _unit(part, ()))), "")
