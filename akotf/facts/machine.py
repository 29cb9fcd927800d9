"""The machine itself: processor, memory, kernel."""

from __future__ import annotations

import os
import socket
from typing import Any, Dict, Iterable


def hostname() -> str:
    """The name of this node."""
    return socket.gethostname()


def cpu_model() -> str:
    """The processor's name as /proc/cpuinfo gives it, else the architecture."""
    text = _read("/proc/cpuinfo")
    for key in ("model name", "Model", "cpu model", "Hardware"):
        for line in text.splitlines():
            name, sign, value = line.partition(":")
            if sign and name.strip() == key:
                return " ".join(value.split())
    return os.uname().machine


def cpus_online() -> set[int]:
    """Numbers of the CPUs that the kernel has running."""
    return parse_cpu_list(_read("/sys/devices/system/cpu/online")) or set(range(os.cpu_count() or 1))


def parse_cpu_list(text: str) -> set[int]:
    """Numbers in the kernel's list form (`0-3,8`); empty for an empty text."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found


def cpus_usable() -> float:
    """How many CPUs this process may use: its affinity set, or less where a cgroup gives a smaller quota."""
    usable = float(len(os.sched_getaffinity(0)))
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    if not quota:
        quota = _read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").strip()
        period = _read("/sys/fs/cgroup/cpu/cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        usable = min(usable, int(quota) / int(period))
    return usable


def memory_total() -> int:
    """Bytes of memory this process may use: the machine's, or less where a cgroup gives less."""
    total = _meminfo("MemTotal")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _read(path).strip()
        if text.isdigit() and 0 < int(text) < total:
            total = int(text)
    return total


def memory_available() -> int:
    """Bytes that a new process could take without swapping (the kernel's own estimate)."""
    return _meminfo("MemAvailable")


def load() -> float:
    """Runnable processes, mean of the last minute."""
    return os.getloadavg()[0]


def kernel() -> str:
    """Name, release and architecture of the running kernel."""
    uname = os.uname()
    return f"{uname.sysname} {uname.release} {uname.machine}"


def describe(gpus: Iterable[Dict[str, Any]] = ()) -> Dict[str, Any]:
    """Facts of the machine as JSON data; `gpus` as `gpu.read()` gives them."""
    return {
        "hostname": hostname(),
        "cpu_model": cpu_model(),
        "cpu_count": len(cpus_online()),
        "cpus_usable": cpus_usable(),
        "memory_bytes": memory_total(),
        "kernel": kernel(),
        "gpus": [{key: gpu.get(key) for key in ("name", "uuid", "memory_total")} for gpu in gpus],
    }


def _meminfo(key: str) -> int:
    for line in _read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # absent on this kernel or in this container: the caller has a fallback
