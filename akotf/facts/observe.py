"""One look at a node: everything that can be read of it now, as the JSON of `Observation`."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import time
from typing import Any, Dict, List, Mapping, Optional

from akotf.facts import gpu, heartbeat, machine, process
from akotf.facts.compare import DIGEST, PROCESS_LIMITS, same
from akotf.facts.node import Live, living, read_baseline, read_hyperparameters

_TRIES = 3  # an editor that does not write atomically leaves a file half-written for a moment
_PAUSE = 0.03  # s
# Variables that akotf itself sets for every run: no secrets, and useful to see.
_PLAIN = ("PATH", "HOME", "LANG", "CUDA_VISIBLE_DEVICES")
_KEY = os.urandom(
    32
)  # of digests where the baseline gives no key: enough to see a change while this process lives


class _Sheet:
    """Facts, what could not be read and why, and telemetry, as they are gathered."""

    def __init__(self, baseline: Mapping[str, Any]) -> None:
        self.baseline = baseline
        self.facts: Dict[str, Any] = {}
        self.unreadable: Dict[str, str] = {}
        self.metrics: Dict[str, float] = {}
        self.progress: Optional[Dict[str, Any]] = None

    def declared(self, group: str) -> Dict[str, Any]:
        return dict(self.baseline.get(group) or {})


def observe(
    node_directory: str | os.PathLike[str],
    previous: Optional[Mapping[str, Any]] = None,
    baseline: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    """What the node really has: node, time, live, facts, unreadable, metrics, progress.

    A fact that was looked for and is not there is None; one that could not be read is missing and named (or its group
    is) in `unreadable`. Without a live run there are no facts of a process. `previous`, an earlier observation of the
    same node, makes `cpu_percent` a mean since then; else it is the mean since the processes started. `baseline` stands
    in for baseline.json. Never raises for what it finds.
    """
    now = time.time()
    approved, fault = _baseline(node_directory) if baseline is None else (baseline, "")
    sheet = _Sheet(approved)
    if fault:
        sheet.unreadable["baseline"] = fault
    _file(sheet, node_directory)
    try:
        live = living(node_directory)
    except (OSError, ValueError) as error:
        live = None
        sheet.unreadable["process"] = str(error)
    devices = _machine(sheet)
    if live is not None and not _live(sheet, live, devices, previous, now):
        live = None
    return {
        "node": machine.hostname(), "time": now, "live": live is not None, "facts": sheet.facts,
        "unreadable": sheet.unreadable, "metrics": sheet.metrics, "progress": sheet.progress,
    }  # fmt: skip


def _baseline(node_directory: str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    try:
        return read_baseline(node_directory), ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, str(error)


def _file(sheet: _Sheet, node_directory: str | os.PathLike[str]) -> None:
    """Facts of hyperparameters.json. A file that stays broken holds none of the approved values: all are absent."""
    values: Dict[str, Any] = {}
    for attempt in range(_TRIES):
        try:
            values = read_hyperparameters(node_directory)
            break
        except FileNotFoundError:
            break
        except OSError as error:
            sheet.unreadable["hyperparameters.file"] = str(error)
            return
        except ValueError:
            if attempt + 1 < _TRIES:
                time.sleep(_PAUSE)
    for name in {*values, *sheet.declared("hyperparameters")}:
        sheet.facts[f"hyperparameters.file.{name}"] = values.get(name)


def _machine(sheet: _Sheet) -> List[Dict[str, Any]]:
    """Telemetry of the node; its GPUs, whose settings are facts of a live run only."""
    sheet.metrics["load_1m"] = machine.load()
    sheet.metrics["memory_available_bytes"] = float(machine.memory_available())
    found = gpu.read()
    if found.reason:
        sheet.unreadable["gpu"] = found.reason
    for device in found.devices:
        sheet.metrics.update(gpu.metrics(device))
    return found.devices


def _live(
    sheet: _Sheet,
    live: Live,
    devices: List[Dict[str, Any]],
    previous: Optional[Mapping[str, Any]],
    now: float,
) -> bool:
    """Facts of the live run; False (and none of them) when it ended meanwhile."""
    kept = dict(sheet.facts)
    try:
        members = process.family(live.pid)
        _gpus(sheet, devices, _environment(sheet, live))
        if "limits" not in sheet.unreadable:
            _limits(sheet, members)
        _process(sheet, live, members, previous, now)
        _heartbeat(sheet, live, members)
        ended = not process.alive(live.pid, live.start, live.boot)
    except ProcessLookupError:
        ended = True
    if ended:
        sheet.facts, sheet.progress = kept, None
    return not ended


def _environment(sheet: _Sheet, live: Live) -> Dict[str, str]:
    """Facts of the environment; the environment itself, {} when it can't be read."""
    approved = sheet.declared("environment")
    try:
        found = process.environ(live.pid)
    except PermissionError as error:
        sheet.unreadable["environment"] = str(error)
        return {}
    if not found:
        sheet.unreadable["environment"] = f"process {live.pid} shows no environment: it overwrote it"
        return {}
    if "AKOTF_RUN_ID" in live.environment_keys and found.get("AKOTF_RUN_ID") != live.run:
        # Forked and written down, but not yet the training: what it has is still its parent's
        sheet.unreadable["environment"] = sheet.unreadable["limits"] = "the training is just being started"
        return {}
    for name in {*live.environment_keys, *approved}:
        value = found.get(name)
        guarded = value is not None and _secret(sheet, live, name)
        sheet.facts[f"environment.{name}"] = _digest(sheet, str(value)) if guarded else value
    return found


def _gpus(sheet: _Sheet, devices: List[Dict[str, Any]], environment: Mapping[str, str]) -> None:
    """Settings of the GPUs that the run was given; of all when nothing says which."""
    own = environment.get("AKOTF_DEVICES")
    mine = None if own is None else {part.strip() for part in own.split(",")}
    for device in devices:
        if mine is None or str(device["index"]) in mine:
            for name, value in gpu.settings(device).items():
                sheet.facts[f"gpu.{device['index']}.{name}"] = value


def _secret(sheet: _Sheet, live: Live, name: str) -> bool:
    """True for a value that must not leave the node: named as secret, or given to the run without being declared."""
    if name in live.secret_names or name in (sheet.baseline.get("secret_names") or ()):
        return True
    return name not in sheet.declared("environment") and name not in _PLAIN and not name.startswith("AKOTF_")


def _digest(sheet: _Sheet, value: str) -> str:
    key = str(sheet.baseline.get("secret_key") or "").encode() or _KEY
    digest = hmac.new(key, value.encode("utf-8", "surrogateescape"), hashlib.sha256)
    return f"{DIGEST}{digest.hexdigest()}"


def _limits(sheet: _Sheet, members: List[int]) -> None:
    """Limits of the leader, unless a member of its family differs from the baseline: then the first that does."""
    approved = sheet.declared("limits")
    for pid in members:
        try:
            found: Dict[str, int] = {**process.limits(pid), "cpus": len(process.affinity(pid))}
        except ProcessLookupError:
            if pid == members[0]:
                raise
            continue
        except PermissionError as error:
            sheet.unreadable["limits" if pid == members[0] else f"process.{pid}"] = str(error)
            continue
        for name in PROCESS_LIMITS:
            field = f"limits.{name}"
            wanted = approved.get(name)
            if field not in sheet.facts or (wanted is not None and same(wanted, sheet.facts[field])):
                sheet.facts[field] = found[name]


def _process(
    sheet: _Sheet, live: Live, members: List[int], previous: Optional[Mapping[str, Any]], now: float
) -> None:
    stat = process.stat(live.pid)
    if stat is None:
        raise ProcessLookupError(f"process {live.pid} is gone")
    use = process.usage(members)
    sheet.facts.update({
        "process.pid": live.pid, "process.start": live.start, "process.state": stat.state, "process.run": live.run,
        "process.attempt": live.attempt, "process.count": use.processes, "process.baseline": live.baseline,
    })  # fmt: skip
    sheet.metrics["cpu_seconds"] = use.cpu_seconds
    sheet.metrics["memory_bytes"] = float(use.memory_bytes)
    before = _earlier(previous, live)
    if before is not None:
        sheet.metrics["cpu_percent"] = process.cpu_percent(before, (now, use.cpu_seconds))


def _earlier(previous: Optional[Mapping[str, Any]], live: Live) -> Optional[tuple[float, float]]:
    """Time and CPU seconds of the same process before, else of its start."""
    if previous is not None and previous["facts"].get("process.start") == live.start:
        seconds = previous["metrics"].get("cpu_seconds")
        return None if seconds is None else (previous["time"], seconds)
    with open("/proc/uptime", encoding="ascii") as file:
        up = float(file.read().split()[0])
    age = up - int(live.start) / os.sysconf("SC_CLK_TCK")
    return (time.time() - age, 0.0)


def _heartbeat(sheet: _Sheet, live: Live, members: List[int]) -> None:
    """Values in use and progress, when the heartbeat is this attempt's own."""
    try:
        beat = heartbeat.read(live.heartbeat)
    except FileNotFoundError:
        sheet.unreadable["heartbeat"] = "the training has not written one yet"
        return
    except (OSError, heartbeat.Unreadable) as error:
        sheet.unreadable["heartbeat"] = str(error)
        return
    writer = beat.get("pid")
    if writer and writer not in members:
        sheet.unreadable["heartbeat"] = f"it was written by process {writer}, which is not of this attempt"
        return
    sheet.progress = beat
    for name, value in beat["hyperparameters"].items():
        sheet.facts[f"hyperparameters.in_use.{name}"] = value
    for name, value in beat["libraries"].items():
        sheet.facts[f"libraries.{name}"] = value
    for name in ("step", "total_steps", "loss", "step_time"):
        value = beat.get(name)
        if value is not None and math.isfinite(value):
            sheet.metrics[name] = float(value)
    sheet.metrics["heartbeat_age_seconds"] = max(0.0, time.time() - beat["time"])
