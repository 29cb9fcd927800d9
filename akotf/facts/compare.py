"""Approved values against facts: what differs, as data. Pure."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Tuple

# Limits that are facts of a process. The others of a baseline (shared memory, wall time, nodes, GPUs) are not.
PROCESS_LIMITS = ("open_files", "memory", "processes", "cpus")

DIGEST = "hmac-sha256:"  # how the value of a secret is told

# In these groups all names are read at once, so a name that is not there is absent. In the others a missing name only
# means that nobody reported it.
_WHOLE = ("hyperparameters.file", "environment")


class Declared(NamedTuple):
    """One approved value and the facts it governs."""

    group: str  # hyperparameters | environment | limits | libraries | gpu_settings: the baseline's own part
    name: str
    approved: Any
    field: str  # flat name of the fact


def declared(baseline: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[Declared]:
    """Every approved value with each fact it governs; GPU settings once for every GPU among the facts."""
    for name, approved in _part(baseline, "hyperparameters"):
        yield Declared("hyperparameters", name, approved, f"hyperparameters.file.{name}")
        yield Declared("hyperparameters", name, approved, f"hyperparameters.in_use.{name}")
    for name, approved in _part(baseline, "environment"):
        yield Declared("environment", name, approved, f"environment.{name}")
    for name, approved in _part(baseline, "limits"):
        if name in PROCESS_LIMITS and approved is not None:
            yield Declared("limits", name, approved, f"limits.{name}")
    for name, approved in _part(baseline, "libraries"):
        yield Declared("libraries", name, approved, f"libraries.{name}")
    gpus = sorted({int(field.split(".")[1]) for field in facts if _is_gpu(field)})
    for name, approved in _part(baseline, "gpu_settings"):
        for index in gpus:
            yield Declared("gpu_settings", name, approved, f"gpu.{index}.{name}")


def compare(
    baseline: Mapping[str, Any], facts: Mapping[str, Any], unreadable: Iterable[str] = ()
) -> List[Dict[str, Any]]:
    """Differences `{"field", "approved", "observed"}`, in a fixed order; `observed` None is absent.

    Declared side only: what the baseline does not say can't differ. Numbers are equal by value, whatever their
    spelling. A fact with the value None was looked for and is absent, which counts; one that is missing from `facts`
    was not read, which does not, nor does one that `unreadable` names by itself or by its group.
    """
    hidden = tuple(unreadable)
    found = []
    for entry in declared(baseline, facts):
        if not _was_read(entry.field, facts) or _covered(entry.field, hidden):
            continue
        observed = facts.get(entry.field)
        if _is_digest(observed) and not _is_digest(entry.approved):
            continue  # a secret, told as a digest only: nothing to hold it against
        if not same(entry.approved, observed) and not _same_text(entry, observed):
            found.append({"field": entry.field, "approved": entry.approved, "observed": observed})
    return found


def same(left: Any, right: Any) -> bool:
    """Equal JSON values: 1 equals 1.0 and never true; lists and objects by their members."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right  # exact, also between a large int and a float
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def line(node: str, difference: Mapping[str, Any]) -> str:
    """One difference for people: `node HOST: limits.open_files: approved 4096, observed 1024`. ASCII."""
    approved, observed = (_shown(difference[key]) for key in ("approved", "observed"))
    return f"node {node}: {difference['field']}: approved {approved}, observed {observed}"


def restart_only(field: str) -> bool:
    """True for what a running process took in when it started: nothing but a restart changes it."""
    return field.startswith(("hyperparameters.in_use.", "environment.", "libraries."))


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(DIGEST)


def _shown(value: Any) -> str:
    return "absent" if value is None else json.dumps(value, sort_keys=True)


def _part(baseline: Mapping[str, Any], group: str) -> List[Tuple[str, Any]]:
    return sorted((baseline.get(group) or {}).items())


def _was_read(field: str, facts: Mapping[str, Any]) -> bool:
    if field in facts:
        return True
    return any(
        field.startswith(f"{group}.") and any(other.startswith(f"{group}.") for other in facts)
        for group in _WHOLE
    )


def _covered(field: str, names: Iterable[str]) -> bool:
    return any(field == name or field.startswith(f"{name}.") for name in names)


def _same_text(entry: Declared, observed: Any) -> bool:
    """A GPU setting is declared as text and may be read as a number: `"400"` and 400.0 are the same setting."""
    if entry.group != "gpu_settings" or isinstance(observed, (bool, str)) or observed is None:
        return False
    try:
        return float(entry.approved) == float(observed)
    except (TypeError, ValueError):
        return False


def _is_gpu(field: str) -> bool:
    parts = field.split(".")
    return parts[0] == "gpu" and len(parts) > 2 and parts[1].isdigit()
