"""Time of one look at a fleet: 10,000 nodes of 20 facts each through detection and decision, in process.

The readings are there already (parsing them is the agents' and the transport's time). Three fleets are looked at in turn,
so that what disturbs the machine disturbs each: all right; every hundredth node wrong in one fact, remembered from the look
before so that it is acted on; and every node wrong in one fact, as after a driver's roll-out.
"""

from __future__ import annotations

import gc
import time
from typing import Any

from common import report, summary

from akotf.model.config import Baseline, ImageSpec, Limits
from akotf.model.drift import Memory, Observation
from akotf.monitor import detect
from akotf.monitor.decide import HealPolicy, decide

NODES, FACTS, ROUNDS = 10_000, 20, 9
NOW = 1_796_000_000.0


def fleet(facts: dict[str, Any], wrong_every: int) -> list[Observation]:
    """Readings of all nodes; every n-th has another limit of open files (0: none has)."""
    found = []
    for number in range(NODES):
        mine = dict(facts)
        if wrong_every and number % wrong_every == 0:
            mine["limits.open_files"] = 1024
        found.append(Observation(node=f"n{number:05d}", time=NOW, live=True, facts=mine))
    return found


def baseline() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """An approved baseline, and the 20 facts of a node that is right."""
    limits = Limits(cpus=8, memory=64 * 2**30, open_files=65536, wall_time=3600.0)
    approved = Baseline(
        hyperparameters={"learning_rate": 1e-3, "batch": 64, "seed": 7, "amp": True},
        environment={f"NCCL_OPTION_{n}": str(n) for n in range(6)},
        limits=limits, image=ImageSpec(reference="r/i@sha256:" + "0" * 64),
        libraries={"torch": "2.8.0", "numpy": "2.3.1", "nccl": "2.27.3"},
        gpu_settings={"driver": "570.86.15", "ecc": "enabled", "mig": "disabled", "persistence": "enabled"},
    ).on_node(gpus=1)  # fmt: skip
    facts = {f"hyperparameters.file.{k}": v for k, v in approved["hyperparameters"].items()}
    for group in ("environment", "libraries"):
        facts |= {f"{group}.{k}": v for k, v in approved[group].items()}
    facts |= {f"limits.{k}": v for k, v in approved["limits"].items()}
    facts |= {f"gpu.0.{k}": v for k, v in approved["gpu_settings"].items()}
    facts["gpu.0.uuid"] = "GPU-0"
    if len(facts) != FACTS:
        raise RuntimeError(f"{len(facts)} facts a node, not {FACTS}")
    return approved, facts


def look(
    approved: dict[str, dict[str, Any]], nodes: list[Observation], memory: Memory, now: float
) -> tuple[int, Memory]:
    """One look at all nodes: number of drifts that are acted on, and the memory after it."""
    ready = detect.Approved(approved)
    drifts = [drift for one in nodes for drift in detect.configuration(ready, one, address="baseline.this")]
    decisions, after = decide(
        drifts,
        memory,
        now=now,
        policy=HealPolicy(attempts=10**6, backoff=0.0),
        observed=[n.node for n in nodes],
    )
    return sum(len(d.drifts) for d in decisions if d.addresses), after


def main() -> None:
    """Measure and print."""
    approved, facts = baseline()
    fleets = {"right": fleet(facts, 0), "one_in_100_wrong": fleet(facts, 100), "all_wrong": fleet(facts, 1)}
    memories = {name: look(approved, nodes, Memory(), NOW)[1] for name, nodes in fleets.items()}
    times: dict[str, list[float]] = {name: [] for name in fleets}
    acted = {}
    gc.freeze()  # the readings are no garbage of the look
    for number in range(ROUNDS + 1):
        for name, nodes in fleets.items():
            begin = time.perf_counter()
            acted[name], memories[name] = look(approved, nodes, memories[name], NOW + 5.0 * (number + 1))
            if number:
                times[name].append(time.perf_counter() - begin)
    figures = {name: {**summary(found), "acted_on": acted[name]} for name, found in times.items()}
    limits = {f"{name}_seconds": (figures[name]["median"], 0.5) for name in fleets}
    report("decisions", {"nodes": NODES, "facts": FACTS, "looks": figures}, limits)


if __name__ == "__main__":
    main()
