"""Configuration and runtime drift: the approved baseline against the facts of one node, or of ten thousand.

Only the declared side is compared: what the baseline does not say can't drift. A fact that could not be read is no
difference. Nodes that are right, which is nearly all of them, are told by one comparison of mappings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from akotf.facts.compare import Declared, compare, declared
from akotf.model.drift import Drift, DriftClass, Observation

#: Facts that should be the same on every node of a run, whether anybody declared them or not.
ALIKE = ("libraries.", "limits.", "environment.NCCL_", "environment.TORCH_", "environment.FI_", "machine.")
ALIKE_GPU = (
    "name", "driver", "memory_total", "power_limit_watts", "ecc", "mig", "persistence", "compute_mode",
)  # fmt: skip

#: Stands for all nodes of a run.
EVERY_NODE = "*"


_WHOLE = (
    "hyperparameters.file.",
    "environment.",
)  # of these all names are read at once: a missing one is absent


_CASES = 1000  # ways of being wrong that are remembered


class _Right(NamedTuple):
    """What a node that is right has."""

    whole: frozenset[str]  # fields that must be there
    values: list[tuple[str, Any, type]]  # fields that are right or not told
    entries: dict[str, Declared]
    siblings: dict[tuple[str, str], list[str]]  # group and name -> the facts that they govern


class Approved:
    """A baseline ready to be compared with many nodes. `approved` is `Baseline.on_node(...)`."""

    def __init__(self, approved: Mapping[str, Mapping[str, Any]]) -> None:
        self.declared = {group: dict(values) for group, values in approved.items()}
        self._gpus = bool(self.declared.get("gpu_settings"))
        self._right: dict[tuple[str, ...], _Right] = {}
        self._cases: dict[tuple[tuple[str, ...], str], list[dict[str, Any]]] = {}

    def differences(self, observation: Observation) -> list[dict[str, Any]]:
        """`{"field", "approved", "observed"}` of each fact that differs, as `facts.compare` tells them.

        Only what does not look right at once is handed to it, with all the facts that the same names govern.
        """
        facts = observation.facts
        shape = tuple([f for f in facts if f.startswith("gpu.")]) if self._gpus else ()
        right = self._right.get(shape)
        if right is None:
            right = self._right[shape] = self._fields(facts)
        if not right.whole <= facts.keys():
            return compare(self.declared, facts, observation.unreadable)
        get = facts.get
        suspects = [  # 1 == 1.0 == True: only `compare` tells them apart
            field for field, value, kind in right.values
            if (found := get(field, value)) != value or type(found) is not kind
        ]  # fmt: skip
        if not suspects:
            return []
        some = {
            f: facts[f]
            for field in suspects
            for f in right.siblings[right.entries[field].group, right.entries[field].name]
            if f in facts
        }
        if observation.unreadable:
            return self._compared(right, suspects, some, observation.unreadable)
        # What went wrong on one node of a fleet mostly went wrong on others in the same way.
        case = (tuple(suspects), repr(some))
        rows = self._cases.get(case)
        if rows is None:
            rows = self._compared(right, suspects, some, ())
            if len(self._cases) < _CASES:
                self._cases[case] = rows
        return rows

    def _compared(
        self, right: _Right, suspects: list[str], some: dict[str, Any], unreadable: Iterable[str]
    ) -> list[dict[str, Any]]:
        part: dict[str, dict[str, Any]] = {}
        for field in suspects:
            entry = right.entries[field]
            part.setdefault(entry.group, {})[entry.name] = entry.approved
        return compare(part, some, unreadable)

    def _fields(self, facts: Mapping[str, Any]) -> _Right:
        entries = {entry.field: entry for entry in declared(self.declared, facts)}
        siblings: dict[tuple[str, str], list[str]] = {}
        for field, entry in entries.items():
            siblings.setdefault((entry.group, entry.name), []).append(field)
        return _Right(
            whole=frozenset(f for f in entries if f.startswith(_WHOLE)),
            values=[(f, e.approved, type(e.approved)) for f, e in entries.items()],
            entries=entries,
            siblings=siblings,
        )


def configuration(
    approved: Approved | Mapping[str, Mapping[str, Any]], observation: Observation, *, address: str = ""
) -> list[Drift]:
    """Hyperparameters, environment, limits, libraries and GPU settings of one node against the baseline.

    `address` is the Terraform resource that holds the baseline of this node.
    """
    ready = approved if isinstance(approved, Approved) else Approved(approved)
    return [
        Drift(
            kind=classify(row["field"]), node=observation.node, field=row["field"], approved=row["approved"],
            observed=row["observed"], address=address, since=observation.time,
            source="heartbeat" if row["field"].startswith("hyperparameters.in_use.") else "agent",
        )
        for row in ready.differences(observation)
    ]  # fmt: skip


def classify(field: str) -> DriftClass:
    """The class of a field by its group: libraries, driver, kernel, GPU settings are the runtime."""
    group = field.split(".", 1)[0]
    return DriftClass.RUNTIME if group in {"libraries", "gpu", "machine"} else DriftClass.CONFIGURATION


def disagreements(
    observations: Sequence[Observation], approved: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Drift]:
    """Facts that no baseline declares and in which the nodes of one run differ from each other.

    Nobody said which node is right: it is told, with every value and its nodes, and nothing is healed. Nodes that did
    not tell a fact take no part.
    """
    values: dict[str, dict[str, list[str]]] = {}
    for observation in observations:
        for field in _alike(observation.facts):
            text = json.dumps(observation.facts[field], sort_keys=True, default=str)
            values.setdefault(field, {}).setdefault(text, []).append(observation.node)
    said = {entry.field for o in observations for entry in declared(approved or {}, o.facts)}
    return [
        Drift(
            kind=classify(field), node=EVERY_NODE, field=field, approved=None, source="peers",
            observed={text: sorted(nodes) for text, nodes in sorted(found.items())},
            since=max(o.time for o in observations), tolerance="all nodes of a run agree",
        )
        for field, found in sorted(values.items())
        if len(found) > 1 and field not in said
    ]  # fmt: skip


def _alike(facts: Mapping[str, Any]) -> Iterable[str]:
    for field in facts:
        if field.startswith(ALIKE) or (field.startswith("gpu.") and field.rpartition(".")[2] in ALIKE_GPU):
            yield field
