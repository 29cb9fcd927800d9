"""The files of a node directory, by name: what backend, provider, agent and facts agree on."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional

from akotf.facts.files import read_json
from akotf.facts.process import alive

SCHEMA = 1
BASELINE = "baseline.json"
HYPERPARAMETERS = "hyperparameters.json"
LIVE = "live.json"
AGENT_SOCKET = "agent.sock"
GROUPS = ("hyperparameters", "environment", "limits", "libraries", "gpu_settings")


class Live(NamedTuple):
    """The attempt whose process was started last; `pid`, `start` and `boot` together name exactly that process.

    `cpu_slots` (its leased CPUs) and `secret_names` (variables whose values are secret) may be missing from the file.
    """

    run: str
    attempt: int
    pid: int
    start: str
    boot: str
    heartbeat: str
    environment_keys: List[str]
    baseline: str
    cpu_slots: List[int]
    secret_names: List[str]


def path(node_directory: str | os.PathLike[str], name: str) -> str:
    """A file of the node directory."""
    return os.path.join(os.fspath(node_directory), name)


def read_baseline(node_directory: str | os.PathLike[str]) -> Dict[str, Any]:
    """baseline.json. FileNotFoundError when there is none, ValueError when it is not a baseline."""
    name = path(node_directory, BASELINE)
    data = read_json(name)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"{name} is not a baseline of schema {SCHEMA}")
    for group in GROUPS:
        if not isinstance(data.get(group, {}), dict):
            raise ValueError(f"{name}: {group} is not an object")
    return data


def read_hyperparameters(node_directory: str | os.PathLike[str]) -> Dict[str, Any]:
    """hyperparameters.json. FileNotFoundError when there is none, ValueError when it is not a JSON object."""
    name = path(node_directory, HYPERPARAMETERS)
    data = read_json(name)
    if not isinstance(data, dict):
        raise ValueError(f"{name} is not a JSON object")
    return data


def read_live(node_directory: str | os.PathLike[str]) -> Optional[Live]:
    """live.json, or None when no run was started. ValueError when it can't be understood."""
    name = path(node_directory, LIVE)
    try:
        data = read_json(name)
    except FileNotFoundError:
        return None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"{name} is not a live run of schema {SCHEMA}")
    try:
        return Live(
            run=str(data["run"]), attempt=int(data["attempt"]), pid=int(data["pid"]),
            start=str(data["pid_start"]), boot=str(data["boot_id"]), heartbeat=str(data["heartbeat"]),
            environment_keys=[str(key) for key in data["environment_keys"]], baseline=str(data.get("baseline", "")),
            cpu_slots=[int(cpu) for cpu in data.get("cpu_slots", [])],
            secret_names=[str(name) for name in data.get("secret_names", [])],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a live run: {type(error).__name__}: {error}") from None


def living(node_directory: str | os.PathLike[str]) -> Optional[Live]:
    """The live run when its process really lives, else None. ValueError as `read_live`."""
    live = read_live(node_directory)
    return live if live and alive(live.pid, live.start, live.boot) else None
