"""One look at a node, as the state of `akotf_baseline`."""

from __future__ import annotations

from typing import Any, NamedTuple

from akotf.facts import node
from akotf.facts.compare import Declared, compare, declared, line
from akotf.facts.observe import observe
from akotf.tfprovider.values import map_to_texts, map_to_values


class Reading(NamedTuple):
    """What a look at the node gave. `state` is None when the baseline is gone from the node."""

    state: dict[str, Any] | None
    differences: list[dict[str, Any]]
    warnings: list[tuple[str, str]]  # what can't be read, why
    host: str

    @property
    def lines(self) -> list[str]:
        """All differences for people."""
        return self.lines_of(self.differences)

    def lines_of(self, differences: list[dict[str, Any]]) -> list[str]:
        """Some of them."""
        return [line(self.host, difference) for difference in differences]


def read_node(prior: dict[str, Any]) -> Reading:
    """Hold the node against the baseline written there (its own file is what was approved last).

    In `state`, each map shows the first value that differs and, where none does, the approved one in its prior
    spelling; a value that is absent is left out. A baseline.json that can't be read keeps all of `prior`; one that is
    broken or foreign is itself a difference.
    """
    directory = prior["node_directory"]
    broken: list[dict[str, Any]] = []
    try:
        approved = node.read_baseline(directory)
        if approved.get("deployment") != prior["deployment"]:
            broken = [_file_difference(prior["deployment"], approved.get("deployment"))]
    except FileNotFoundError:
        return Reading(None, [], [], "")
    except OSError as error:
        return Reading(prior, [], [("The baseline", str(error))], "")
    except ValueError as error:
        approved = {name: map_to_values(prior.get(name)) for name in node.GROUPS}
        broken = [_file_difference("a baseline", str(error))]
    seen = observe(directory, baseline=approved)
    differences = broken + compare(approved, seen["facts"], seen["unreadable"])
    state = {
        **prior,
        **_maps(approved, prior, differences, seen["facts"]),
        "differences": [line(seen["node"], difference) for difference in differences],
    }
    return Reading(state, differences, _warnings(approved, seen), seen["node"])


def _file_difference(wanted: Any, found: Any) -> dict[str, Any]:
    return {"field": node.BASELINE, "approved": wanted, "observed": found}


def _maps(
    approved: dict[str, Any], prior: dict[str, Any], differences: list[dict[str, Any]], facts: dict[str, Any]
) -> dict[str, dict[str, str]]:
    values = {group: dict(approved.get(group) or {}) for group in node.GROUPS}
    places: dict[str, Declared] = {entry.field: entry for entry in declared(approved, facts)}
    shown: set[tuple[str, str]] = set()
    for difference in differences:
        place = places.get(difference["field"])
        if place is None or (place.group, place.name) in shown:
            continue  # the file itself, or a second place of the same value
        shown.add((place.group, place.name))
        if difference["observed"] is None:
            del values[place.group][place.name]
        else:
            values[place.group][place.name] = difference["observed"]
    return {group: map_to_texts(values[group], prior.get(group)) for group in node.GROUPS}


def _warnings(approved: dict[str, Any], seen: dict[str, Any]) -> list[tuple[str, str]]:
    """Only for what the baseline declares: a node without a GPU is no news when no GPU setting was approved."""
    wanted = {
        "hyperparameters.file": approved.get("hyperparameters"),
        "heartbeat": approved.get("hyperparameters") or approved.get("libraries"),
        "environment": approved.get("environment"),
        "limits": approved.get("limits"),
        "gpu": seen["live"] and approved.get("gpu_settings"),
        "process": True,
    }
    return [
        (what, why)
        for what, why in sorted(seen["unreadable"].items())
        if wanted.get(what.split(".")[0], wanted.get(what))
    ]
