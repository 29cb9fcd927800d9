"""What this machine's devices achieve, measured once and kept on disk by the machine's fingerprint."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from akotf.facts.files import write_atomic
from akotf.model.profile import DeviceProfile, unmeasured_cpu
from akotf.model.units import Estimate, parse_gpu_name
from akotf.profiling.lock import experiment
from akotf.profiling.machine import fingerprint, memory, torch_version

_SCHEMA = 1
_BUSY = 0.7  # other tasks a CPU, from which on a measurement is not to be trusted
_TIMEOUT = 180.0  # s: a cold disk may take a minute to load PyTorch


def measure(
    *, cache: Path, lock: Path, now: str, on_wait: Callable[[str], None], threads: int | None = None
) -> tuple[DeviceProfile, ...]:
    """The CPU, then each model of GPU of this machine.

    `cache` is a folder, `lock` the machine's experiment lock, `now` ISO 8601, `threads` what the run may use (all of
    this process's CPUs by default). What people should know (a wait, a missing PyTorch, a failed benchmark) goes to
    `on_wait`; without figures the CPU's are defaults with a wide interval.
    """
    available = len(os.sched_getaffinity(0))
    count = max(1, min(threads or available, available))
    if not torch_version():
        return (_default(count, "PyTorch is not installed: pip install 'akotf[train]'", on_wait),)
    mark = fingerprint(count)
    file = cache / f"{mark.removeprefix('sha256:')[:32]}.json"
    load = os.getloadavg()[0] / available
    if known := _read(file, mark, load):
        return known
    with experiment(lock, now=now, what="measuring its devices", on_wait=on_wait):
        if known := _read(file, mark, load):  # measured by the one we waited for
            return known
        try:
            report = _benchmark(count)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return (_default(count, f"the benchmark failed: {error}", on_wait),)
        profiles = profiles_of(report, now=now, mark=mark, cpu_memory=memory(), load=load)
        if load > _BUSY:
            on_wait(f"other programs kept this machine busy while it was measured ({load:.1f} tasks a CPU)")
        _write(file, profiles, load)
    return profiles


def profiles_of(
    report: Mapping[str, Any], *, now: str, mark: str, cpu_memory: int, load: float = 0.0
) -> tuple[DeviceProfile, ...]:
    """The benchmark's document as profiles; each figure there is [middle, slow, fast].

    `load` is the number of other tasks a CPU. A training with many short kernels waits for each of its threads, so
    on a busy machine it suffers more than a benchmark shows: the slow end of the CPU's intervals goes down by as much.
    """
    profiles = []
    for device in report["devices"]:
        name = device["name"] if device["name"] == "cpu" else gpu_name(device["name"])
        busy = load > _BUSY and name == "cpu"
        source = f"measured here {now[:10]}" + (" on a busy machine" if busy else "")
        slower = 1 + load if busy else 1.0
        profiles.append(
            DeviceProfile(
                name=name,
                flops={key: _rate(value, "FLOP/s", source, slower) for key, value in device["flops"].items()},
                bandwidth=_rate(device["bandwidth"], "bytes/s", source, slower),
                memory=int(device.get("memory", cpu_memory)),
                measured_at=now,
                fingerprint=mark,
                small_flops=_rate(device["small_flops"], "FLOP/s", source, slower),
                overhead=_rate(device["overhead"], "s", source, slower),
                threads=int(device.get("threads", 0)),
            )
        )
    return tuple(profiles)


def _rate(figures: Sequence[float], unit: str, source: str, slower: float) -> Estimate:
    middle, low, high = figures[0], min(figures), max(figures)
    if unit == "s":
        high *= slower
    else:
        low /= slower
    return Estimate(value=middle, low=low, high=high, unit=unit, source=source)


def gpu_name(product: str) -> str:
    """The canonical name, or the product's own as one word where we don't know it."""
    try:
        return parse_gpu_name(product)
    except ValueError:
        return re.sub(r"[^A-Za-z0-9.]+", "-", product).strip("-")


def _default(cpus: int, why: str, tell: Callable[[str], None]) -> DeviceProfile:
    tell(f"nothing was measured on this machine, its figures are defaults: {why}")
    return unmeasured_cpu(cpus, memory(), f"default: {why}")


def _benchmark(threads: int) -> dict[str, Any]:
    """Run the benchmark in a process of its own, found where this package is."""
    here = str(Path(__file__).resolve().parents[2])
    program = (
        f"import sys; sys.path.insert(0, {here!r}); "
        "from akotf.profiling.benchmark import main; raise SystemExit(main(int(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(threads)], capture_output=True, text=True, timeout=_TIMEOUT, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"exit status {done.returncode}: {last}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _read(file: Path, mark: str, load: float) -> tuple[DeviceProfile, ...]:
    """The kept profiles; none when there are none, when an older akotf wrote them, or when they were taken on a busy
    machine that is quiet now.
    """
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        profiles = tuple(DeviceProfile.model_validate(device) for device in kept["devices"])
        stale = kept["load"] > _BUSY >= load
    except FileNotFoundError:
        return ()
    except (ValueError, KeyError, TypeError, ValidationError):
        return ()  # a damaged or older cache is measured again
    known = kept.get("schema") == _SCHEMA and all(profile.fingerprint == mark for profile in profiles)
    return profiles if known and not stale else ()


def _write(file: Path, profiles: tuple[DeviceProfile, ...], load: float) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        {"schema": _SCHEMA, "load": load, "devices": [profile.to_json() for profile in profiles]}, indent=2
    )
    write_atomic(file, (text + "\n").encode(), durable=False)
