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
    spelling; a value that is absent is left out. What can't be read at the moment stays as `prior` has it. A
    baseline.json that can't be read keeps all of `prior`; one that is broken or foreign is itself a difference.
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
    hidden = _hidden(seen)
    state = {
        **prior,
        **_maps(approved, prior, differences, seen["facts"], hidden),
        "differences": [line(seen["node"], each) for each in differences] + _kept_lines(prior, hidden),
    }
    return Reading(state, differences, _warnings(approved, seen), seen["node"])


def _file_difference(wanted: Any, found: Any) -> dict[str, Any]:
    return {"field": node.BASELINE, "approved": wanted, "observed": found}


# What hides facts -> the groups of facts it hides, each with its part of the baseline
_HIDES = {
    "hyperparameters.file": {"hyperparameters.file": "hyperparameters"},
    "heartbeat": {"hyperparameters.in_use": "hyperparameters", "libraries": "libraries"},
    "environment": {"environment": "environment"},
    "limits": {"limits": "limits"},
    "gpu": {"gpu": "gpu_settings"},
    "process": {
        "hyperparameters.in_use": "hyperparameters", "environment": "environment", "limits": "limits",
        "libraries": "libraries", "gpu": "gpu_settings",
    },
}  # fmt: skip


def _hidden(seen: dict[str, Any]) -> dict[str, str]:
    """Groups of facts that nobody could read now. Without a live run there is nothing to read of a process."""
    found: dict[str, str] = {}
    for name in seen["unreadable"]:
        if name != "gpu" or seen["live"]:
            found.update(_HIDES.get(name, {}))
    return found


def _kept_lines(prior: dict[str, Any], hidden: dict[str, str]) -> list[str]:
    lines = prior.get("differences")
    return [
        text
        for text in (lines if isinstance(lines, list) else [])
        if any(f": {group}." in text for group in hidden)
    ]


def _maps(
    approved: dict[str, Any],
    prior: dict[str, Any],
    differences: list[dict[str, Any]],
    facts: dict[str, Any],
    hidden: dict[str, str],
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
    texts = {group: map_to_texts(values[group], prior.get(group)) for group in node.GROUPS}
    for group in set(hidden.values()):
        _keep_prior(texts[group], prior.get(group), {name for part, name in shown if part == group})
    return texts


def _keep_prior(texts: dict[str, str], prior: Any, shown: set[str]) -> None:
    """Take over what was last known of the names that show no difference of their own."""
    if not isinstance(prior, dict):
        return  # an import: nothing was known before
    for name in [name for name in texts if name not in shown]:
        if name in prior:
            texts[name] = prior[name]
        else:
            del texts[name]


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
