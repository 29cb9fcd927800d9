"""Processes as /proc tells them: identity, family, environment, limits, affinity and use."""

from __future__ import annotations

import os
import resource
import time
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

# The limits that akotf watches, as the kernel names them; every figure is the soft limit.
LIMITS: Dict[str, int] = {
    "open_files": resource.RLIMIT_NOFILE,
    "memory": resource.RLIMIT_DATA,  # bytes of data, heap and private writable mappings
    "processes": resource.RLIMIT_NPROC,
}
UNLIMITED = -1
_DEAD = frozenset("ZXx")
_TRIES = 4
_PAUSE = 0.01  # s


class Stat(NamedTuple):
    """The fields of /proc/PID/stat that akotf needs. `start` counts clock ticks since boot."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    start: str
    cpu_ticks: int
    resident_pages: int


class Usage(NamedTuple):
    """What some processes use together."""

    cpu_seconds: float
    memory_bytes: int
    processes: int


def boot_id() -> str:
    """The random id of this boot; "" where the kernel has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def parse_stat(text: str) -> Stat:
    """The fields of one /proc/PID/stat line (proc_pid_stat(5)); ValueError when it is not one.

    A process chooses its own name, which may hold spaces and brackets: the last ")" ends it.
    """
    head, _, tail = text.rpartition(")")
    pid, _, _ = head.partition(" (")
    fields = tail.split()
    if len(fields) < 22:
        raise ValueError("not a /proc/PID/stat line")
    return Stat(
        pid=int(pid), state=fields[0], parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]),
        start=fields[19], cpu_ticks=int(fields[11]) + int(fields[12]), resident_pages=int(fields[21]),
    )  # fmt: skip


def stat(pid: int) -> Optional[Stat]:
    """The process's stat, or None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return parse_stat(file.read().decode("utf-8", "surrogateescape"))
    except (FileNotFoundError, ProcessLookupError):
        return None


def process_start(pid: int) -> Optional[str]:
    """Field 22 of /proc/PID/stat: with the boot id it tells a reused pid. None when there is no such process."""
    found = stat(pid)
    return found.start if found else None


def alive(pid: int, start: str, boot: str) -> bool:
    """True when exactly that process lives: same boot, same start, and not a zombie."""
    if boot and boot != boot_id():
        return False
    found = stat(pid)
    return found is not None and found.start == start and found.state not in _DEAD


def environ(pid: int) -> Dict[str, str]:
    """The environment the process was started with. Bytes that are not UTF-8 survive as surrogates.

    PermissionError for another user's process; ProcessLookupError when it is gone; {} for one that wiped it.
    """
    data = b""
    for attempt in range(_TRIES):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise ProcessLookupError(f"process {pid} is gone") from None
        if data:
            break
        # In the middle of an exec the kernel shows none, though its caller may already have been told of success
        time.sleep(_PAUSE * attempt)
    pairs = (entry.partition(b"=") for entry in data.split(b"\0"))
    return {_text(name): _text(value) for name, sign, value in pairs if sign}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def limits(pid: int) -> Dict[str, int]:
    """Soft limits by name (`LIMITS`); -1 is unlimited. PermissionError, ProcessLookupError."""
    found = {name: resource.prlimit(pid, number)[0] for name, number in LIMITS.items()}
    return {name: UNLIMITED if soft == resource.RLIM_INFINITY else soft for name, soft in found.items()}


def set_limit(pid: int, name: str, soft: int) -> None:
    """Set a soft limit (-1: unlimited), raising the hard limit only where the soft one does not fit under it.

    PermissionError when that needs a privilege we lack; ProcessLookupError when the process is gone.
    """
    wanted = resource.RLIM_INFINITY if soft == UNLIMITED else soft
    hard = resource.prlimit(pid, LIMITS[name])[1]
    fits = hard == resource.RLIM_INFINITY or (wanted != resource.RLIM_INFINITY and wanted <= hard)
    try:
        resource.prlimit(pid, LIMITS[name], (wanted, hard if fits else wanted))
    except (PermissionError, ValueError) as error:
        why = "it belongs to someone else" if fits else f"its hard limit is {hard}"
        raise PermissionError(
            f"limits.{name} of process {pid} can't be set to {soft}: {why} ({error})"
        ) from None


def affinity(pid: int) -> Set[int]:
    """The CPUs the process may run on. ProcessLookupError when it is gone."""
    return set(os.sched_getaffinity(pid))


def set_affinity(pid: int, cpus: Iterable[int]) -> None:
    """Let every thread of the process run on these CPUs only.

    A thread keeps the affinity it was started with, so the process alone would leave its pools where they are.
    """
    wanted = set(cpus)
    try:
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        raise ProcessLookupError(f"process {pid} is gone") from None
    for thread in threads:
        try:
            os.sched_setaffinity(thread, wanted)
        except ProcessLookupError:
            continue  # a thread that ended meanwhile
        except (PermissionError, OSError) as error:
            raise PermissionError(
                f"the affinity of process {pid} can't be set to CPUs {sorted(wanted)}: {error}"
            ) from None


def table() -> Dict[int, Stat]:
    """All processes now."""
    found = (stat(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {entry.pid: entry for entry in found if entry is not None}


def descendants(pid: int, processes: Optional[Dict[int, Stat]] = None) -> List[int]:
    """Children, their children and so on, parents first; zombies left out."""
    children: Dict[int, List[int]] = {}
    living = [entry for entry in (processes or table()).values() if entry.state not in _DEAD]
    for entry in sorted(living, key=lambda entry: entry.pid):
        children.setdefault(entry.parent, []).append(entry.pid)
    found: List[int] = []
    ahead = list(children.get(pid, ()))
    while ahead:
        child = ahead.pop(0)
        if child not in found and child != pid:
            found.append(child)
            ahead.extend(children.get(child, ()))
    return found


def group(pgid: int, processes: Optional[Dict[int, Stat]] = None) -> List[int]:
    """Members of a process group or of the session of that number, zombies left out."""
    living = (entry for entry in (processes or table()).values() if entry.state not in _DEAD)
    return sorted(entry.pid for entry in living if pgid in (entry.group, entry.session))


def family(pid: int) -> List[int]:
    """The process, its descendants, and what has left them for its group or session; the process first."""
    processes = table()
    below = descendants(pid, processes)
    known = {pid, *below}
    return [pid, *below, *(member for member in group(pid, processes) if member not in known)]


def usage(pids: Iterable[int]) -> Usage:
    """CPU time so far and resident memory of some processes together. Those that are gone count nothing."""
    entries = [entry for entry in (stat(pid) for pid in pids) if entry is not None]
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    return Usage(
        cpu_seconds=sum(entry.cpu_ticks for entry in entries) / ticks,
        memory_bytes=sum(entry.resident_pages for entry in entries) * page,
        processes=len(entries),
    )


def cpu_percent(before: Tuple[float, float], after: Tuple[float, float]) -> float:
    """Percent of one CPU between two pairs (Unix seconds, CPU seconds); 0 when no time passed."""
    seconds = after[0] - before[0]
    return 100.0 * max(0.0, after[1] - before[1]) / seconds if seconds > 0 else 0.0
