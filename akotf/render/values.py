"""The values of a root: `akotf.auto.tfvars.json`, which Terraform takes literally."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError
from akotf.model.config import DesiredState
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.terraform.texts import REMEDY, keeps

FILE = "akotf.auto.tfvars.json"


def values(
    state: DesiredState, candidate: Candidate, deployment: Deployment, *, node_directory: Path,
    digests: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """The variables of a root. ConfigError names all texts that Terraform would not keep as they are."""
    gpus = state.run.limits.gpus_of(candidate.offer.gpus)
    found: dict[str, Any] = {
        "deployment": deployment.id,
        "labels": dict(state.environment.labels),
        "pool": {"gpus": gpus, "cpus": state.run.limits.cpus},
        "node_directory": str(node_directory),
        "baseline": {name: _texts(group) for name, group in state.baseline().on_node(gpus=gpus).items()},
        "digests": dict(digests),
    }
    refuse_altered(found)
    return found


def encode(found: Mapping[str, Any]) -> bytes:
    """The file's bytes: equal values, equal bytes."""
    return (json.dumps(found, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n").encode()


def refuse_altered(found: Any) -> None:
    """ConfigError for texts that Terraform would change: it normalises Unicode to NFC, and has no half characters."""
    altered = [f"{path} = {text!r}" for path, text in _strings(found, "") if not keeps(text)]
    if altered:
        raise ConfigError(
            "Terraform would not keep this text as it is written: " + "; ".join(altered),
            remedy=REMEDY,
        )


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else str(key)
            yield below, str(key)
            yield from _strings(inner, below)


def _texts(named: Mapping[str, Any]) -> dict[str, str]:
    """Each value as ASCII JSON text: type and every byte of it survive Terraform's strings."""
    return {name: json.dumps(value, ensure_ascii=True, allow_nan=False) for name, value in named.items()}
