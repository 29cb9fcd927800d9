"""What can be put back while the training runs: the file on disk, soft limits and affinity."""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Dict, List, Mapping, Set

from akotf.facts import machine, process
from akotf.facts.compare import same
from akotf.facts.files import write_json_atomic
from akotf.facts.node import HYPERPARAMETERS, Live, living, path, read_hyperparameters

_ROUNDS = 3  # a child forked while its parent is being healed still has the old limits: look again


class HealError(PermissionError):
    """Some of it could not be put back; the message has one line for each, and all the rest was done."""


def heal_in_place(node_directory: str | os.PathLike[str], baseline: Mapping[str, Any]) -> List[str]:
    """Rewrite hyperparameters.json and set limits and affinity of the live processes to the approved values.

    Returns what was done, one line each; [] when nothing differed. What a process took in at its start (values in use,
    environment, libraries) stays: only a restart changes it. Raises HealError after everything possible was done.
    """
    done: List[str] = []
    failed: List[str] = []
    _attempt(lambda: _file(node_directory, baseline, done), failed)
    try:
        live = living(node_directory)
    except (OSError, ValueError) as error:
        live = None
        failed.append(str(error))
    limits = dict(baseline.get("limits") or {})
    for _ in range(_ROUNDS if live and limits else 0):
        before = len(done)
        for pid in process.family(live.pid) if live else []:
            _process(pid, live, limits, done, failed)
        if len(done) == before or failed:
            break
    if failed:
        raise HealError("\n".join(dict.fromkeys(failed)))
    return done


def _attempt(act: Callable[[], None], failed: List[str]) -> None:
    try:
        act()
    except ProcessLookupError:
        return  # it ended meanwhile: nothing is left to heal
    except OSError as error:
        failed.append(str(error))


def _file(node_directory: str | os.PathLike[str], baseline: Mapping[str, Any], done: List[str]) -> None:
    approved: Dict[str, Any] = dict(baseline.get("hyperparameters") or {})
    name = path(node_directory, HYPERPARAMETERS)
    try:
        found = read_hyperparameters(node_directory)
    except (FileNotFoundError, ValueError):
        write_json_atomic(name, approved)
        done.append("hyperparameters.file: written")
        return
    # The whole file is ours: a name that nobody approved goes, or it would reach the next attempt
    changed = sorted(
        n
        for n in {*approved, *found}
        if n not in found or n not in approved or not same(approved[n], found[n])
    )
    if changed:
        write_json_atomic(name, approved)
        done.extend(f"hyperparameters.file.{n}: set to {approved.get(n, 'absent')!r}" for n in changed)


def _process(
    pid: int, live: Live | None, limits: Mapping[str, Any], done: List[str], failed: List[str]
) -> None:
    for name in process.LIMITS:
        if limits.get(name) is not None:
            _attempt(functools.partial(_limit, pid, name, int(limits[name]), done), failed)
    if limits.get("cpus") is not None:
        slots = live.cpu_slots if live else []
        _attempt(functools.partial(_affinity, pid, int(limits["cpus"]), set(slots), done), failed)


def _limit(pid: int, name: str, approved: int, done: List[str]) -> None:
    found = process.limits(pid)[name]
    if found != approved:
        process.set_limit(pid, name, approved)
        done.append(f"limits.{name} of process {pid}: {found} -> {approved}")


def _affinity(pid: int, approved: int, slots: Set[int], done: List[str]) -> None:
    found = process.affinity(pid)
    if len(found) != approved:
        wanted = choose_cpus(approved, found, slots, machine.cpus_online())
        if wanted != found:
            process.set_affinity(pid, wanted)
            done.append(f"limits.cpus of process {pid}: {len(found)} -> {len(wanted)}")


def choose_cpus(count: int, found: Set[int], slots: Set[int], online: Set[int]) -> Set[int]:
    """Which `count` CPUs a process gets back: those leased for it first, then those it has, then any that run."""
    order = [*sorted(slots & online), *sorted((found & online) - slots), *sorted(online - slots - found)]
    return set(order[:count])
