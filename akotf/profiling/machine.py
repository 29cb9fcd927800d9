"""What makes this machine another one for a measurement, read from /proc alone: no process, no SDK."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from akotf.model.base import digest

_PROC = Path("/proc")


def fingerprint(threads: int, proc: Path = _PROC) -> str:
    """Digest of CPU model, CPUs, memory, GPUs with their driver, PyTorch's version, and the threads measured with.

    The kernel is left out on purpose: an update of it is no other machine.
    """
    return digest(
        {
            "cpu": cpu_model(proc),
            "cpus": os.cpu_count() or 1,
            "memory": memory(proc)
            >> 28,  # in steps of 256 MiB: the kernel keeps a bit more or less at each start
            "gpus": _gpus(proc),
            "torch": torch_version(),
            "threads": threads,
        }
    )


def cpu_model(proc: Path = _PROC) -> str:
    """`Intel(R) Xeon(R) Processor`, or an empty text where the kernel does not tell."""
    for line in _text(proc / "cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "Hardware"):
            return value.strip()
    return ""


def memory(proc: Path = _PROC) -> int:
    """Bytes of memory of the machine."""
    for line in _text(proc / "meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 0


def torch_version() -> str:
    """PyTorch's version without importing it; empty when it is not installed."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""


def _gpus(proc: Path) -> list[str]:
    """Models of NVIDIA GPUs and the driver's first line, as the kernel module shows them."""
    cards = sorted((proc / "driver/nvidia/gpus").glob("*/information"))
    models = [line for card in cards for line in _text(card).splitlines() if line.startswith("Model:")]
    return [*models, *_text(proc / "driver/nvidia/version").splitlines()[:1]]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not there on this machine: an answer, not a fault
