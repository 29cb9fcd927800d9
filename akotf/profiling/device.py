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

from akotf.model.profile import DeviceProfile, unmeasured_cpu
from akotf.model.units import Estimate, parse_gpu_name
from akotf.profiling.lock import experiment
from akotf.profiling.machine import fingerprint, memory, torch_version

_SCHEMA = 1
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
    if known := _read(file, mark):
        return known
    with experiment(lock, now=now, what="measuring its devices", on_wait=on_wait):
        if known := _read(file, mark):  # measured by the one we waited for
            return known
        try:
            report = _benchmark(count)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            return (_default(count, f"the benchmark failed: {error}", on_wait),)
        profiles = profiles_of(report, now=now, mark=mark, cpu_memory=memory())
        _write(file, profiles)
    return profiles


def profiles_of(
    report: Mapping[str, Any], *, now: str, mark: str, cpu_memory: int
) -> tuple[DeviceProfile, ...]:
    """The benchmark's document as profiles; each figure there is [middle, slow, fast]."""
    source = f"measured here {now[:10]}"
    profiles = []
    for device in report["devices"]:
        name = device["name"] if device["name"] == "cpu" else gpu_name(device["name"])
        profiles.append(
            DeviceProfile(
                name=name,
                flops={key: _rate(value, "FLOP/s", source) for key, value in device["flops"].items()},
                bandwidth=_rate(device["bandwidth"], "bytes/s", source),
                memory=int(device.get("memory", cpu_memory)),
                measured_at=now,
                fingerprint=mark,
                small_flops=_rate(device["small_flops"], "FLOP/s", source),
                overhead=_rate(device["overhead"], "s", source),
                threads=int(device.get("threads", 0)),
            )
        )
    return tuple(profiles)


def _rate(figures: Sequence[float], unit: str, source: str) -> Estimate:
    middle, low, high = figures[0], min(figures), max(figures)
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


def _read(file: Path, mark: str) -> tuple[DeviceProfile, ...]:
    """The kept profiles; none when there are none, or when an older akotf wrote them."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        profiles = tuple(DeviceProfile.model_validate(device) for device in kept["devices"])
    except FileNotFoundError:
        return ()
    except (ValueError, KeyError, TypeError, ValidationError):
        return ()  # a damaged or older cache is measured again
    return profiles if kept.get("schema") == _SCHEMA and all(p.fingerprint == mark for p in profiles) else ()


def _write(file: Path, profiles: tuple[DeviceProfile, ...]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": _SCHEMA, "devices": [profile.to_json() for profile in profiles]}, indent=2)
    draft = file.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(file)
