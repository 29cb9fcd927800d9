"""Faults of a configuration, as (attribute path, summary, detail)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from akotf.facts.compare import PROCESS_LIMITS
from akotf.tfprovider.values import from_text, known

Steps = list[Any]  # attribute names, and (key,) for an element
Fault = tuple[Steps, str, str]

_SEPARATOR = "|"  # of the import id


def check_baseline(config: dict[str, Any]) -> Iterator[Fault]:
    """Faults of an `akotf_baseline`; values not known yet are passed over."""
    yield from check_deployment(config.get("deployment"))
    yield from check_folder("node_directory", config.get("node_directory"))
    for group, kind in _KINDS.items():
        values = config.get(group)
        if not isinstance(values, dict):
            continue
        for name, text in sorted(values.items()):
            path: Steps = [group, (name,)]
            if text is None:
                yield path, "A value is null", f"Leave {name} out, or give it a JSON text."
            elif known(text):
                yield from _check_value(path, group, name, text, kind)


def check_pool(config: dict[str, Any]) -> Iterator[Fault]:
    """Faults of an `akotf_local_pool`."""
    yield from check_deployment(config.get("deployment"))
    if known(config.get("registry")):
        yield from check_folder("registry", config["registry"])
    for name, least in (("gpus", 0), ("cpus", 1)):
        count = config.get(name)
        if known(count) and not _whole_from(least, count):
            yield [name], f"{name} must be a whole number of at least {least}", f"It is {count}."


def check_deployment(value: Any) -> Iterator[Fault]:
    """A deployment's id: environment/scope/placement, without the separator of the import id."""
    if known(value) and (not value.strip() or _SEPARATOR in value or value != value.strip()):
        yield (
            ["deployment"],
            "Not a deployment",
            f"{value!r} should read environment/scope/placement, without {_SEPARATOR!r} or spaces around it.",
        )


def check_folder(name: str, value: Any) -> Iterator[Fault]:
    """A folder's path has to be absolute: Terraform's working folder is not the node's."""
    if known(value) and not Path(value).is_absolute():
        yield [name], f"{name} must be an absolute path", f"It is {value!r}."


def _check_value(path: Steps, group: str, name: str, text: str, kind: str) -> Iterator[Fault]:
    try:
        value = from_text(text)
    except (ValueError, RecursionError):
        yield (
            path,
            "Not a JSON text",
            f'{text!r} of {name} should be written with jsonencode(), such as 0.001 or "abc".',
        )
        return
    if kind == "text" and not isinstance(value, str):
        yield (
            path,
            f"{group} values are text",
            f'{text} of {name} should be a JSON string, such as "{value}".',
        )
    if kind == "limit":
        if name not in PROCESS_LIMITS:
            yield path, "Unknown limit", f"{name} is not one of {', '.join(PROCESS_LIMITS)}."
        elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
            yield path, "A limit is a whole number above 0", f"{name} is {text}."


_KINDS = {
    "hyperparameters": "any",
    "environment": "text",
    "limits": "limit",
    "libraries": "text",
    "gpu_settings": "text",
}


def _whole_from(least: int, count: Any) -> bool:
    try:
        return float(count).is_integer() and float(count) >= least
    except (TypeError, ValueError, OverflowError):
        return False
