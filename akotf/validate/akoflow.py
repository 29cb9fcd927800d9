"""akotf.yaml and AkôFlow's files beside it: where they say different things, and what of them is not read."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from akotf.model.akoflow import ENVIRONMENT, WORKFLOW, Activity, EnvironmentFile, Resource, WorkflowFile
from akotf.model.akoflow_scopes import KINDS, NODE_KEYS, derive_scopes, scope_of, written_at
from akotf.model.config import ScopeKind, ScopeSpec
from akotf.model.settings import Leaf, shown
from akotf.model.units import Rate, format_bytes
from akotf.validate.noting import Notes

_UNITS = {"memory": "bytes", "queue_wait": "duration"}
_IMAGE_KEYS = ("image", "imageReference", "containerImage")
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_FACTORS = {
    "m": Decimal("0.001"), "": Decimal(1), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40),
}  # fmt: skip


def check_akoflow(notes: Notes) -> None:
    """Conflicts and ignored values; where both say the same there is nothing to tell."""
    documents = notes.state.akoflow
    _stray_keys(notes)
    if ENVIRONMENT in documents:
        file = EnvironmentFile.model_validate(documents[ENVIRONMENT])
        _name(notes, file)
        _images(notes, file)
        _scopes(notes, file)
        for index, resource in enumerate(file.resources):
            _resource(notes, file, index, resource)
        _bindings(notes, file)
    if WORKFLOW in documents:
        _workflow(notes, WorkflowFile.model_validate(documents[WORKFLOW]))


def _name(notes: Notes, file: EnvironmentFile) -> None:
    name, other = notes.state.environment.name, file.environment
    if name not in (other.id, other.name):
        notes.warn("akoflow-name", "name", f"akotf.yaml is of {name!r}, environment.yaml of {other.id!r}"
                   f"{notes.at(f'{ENVIRONMENT}:environment.id')}", f"write id: {name} there, or take the file that belongs here")  # fmt: skip


def _images(notes: Notes, file: EnvironmentFile) -> None:
    """The image of a runtime and that of the run: akotf starts the run's."""
    ours = notes.state.run.image.reference
    for index, runtime in enumerate(file.runtimes):
        for key in _IMAGE_KEYS:
            theirs = runtime.configuration.get(key)
            if isinstance(theirs, str) and theirs not in ("", ours, ours.partition("@")[0]):
                path = f"{ENVIRONMENT}:runtimes.{index}.configuration.{key}"
                notes.warn("image-conflict", path,
                           f"runtime {runtime.id} has the image {theirs}, the run {ours}{notes.at('run.image.reference')};"
                           " the run's is started", "write the run's image there, or set the template's image")  # fmt: skip


# -- scopes -----------------------------------------------------------------------------------------------------------


def _scopes(notes: Notes, file: EnvironmentFile) -> None:
    """Scopes of akotf.yaml against the resources they stand for; and resources of one scope against each other."""
    first: dict[str, tuple[int, ScopeSpec]] = {}
    ours = notes.state.environment.scopes
    for index, resource in enumerate(file.resources):
        for name, spec in _derived(file, resource).items():
            places = written_at(resource, index)
            if name not in ours:
                notes.note("akoflow-scope", f"{ENVIRONMENT}:resources.{index}",
                           f"environment.yaml has a scope {name!r} that akotf.yaml leaves out")  # fmt: skip
                continue
            if name in first:
                number, other = first[name]
                for path, one, two in _said(places, f"scopes.{name}", other, spec):
                    if not path.endswith(".regions"):  # these are joined
                        notes.warn("akoflow-conflict", f"{ENVIRONMENT}:{places.get(path, f'resources.{index}')}",
                                   f"resource {resource.id} has {path} {two}, {file.resources[number].id} of the same scope"
                                   f" {one}; the first wins", "make them agree, or give them scopes of their own")  # fmt: skip
                continue
            first[name] = (index, spec)
            for path, one, two in _said(places, f"scopes.{name}", ours[name], spec):
                there = notes.at(f"{ENVIRONMENT}:{places.get(path, f'resources.{index}')}")
                notes.warn("akoflow-conflict", path, f"{path} is {one} in akotf.yaml and {two} in environment.yaml{there};"
                           " akotf.yaml wins", "make them agree")  # fmt: skip


def _derived(file: EnvironmentFile, resource: Resource) -> dict[str, ScopeSpec]:
    """The scope of one resource alone."""
    return derive_scopes(file.model_copy(update={"resources": (resource,)}))


def _said(places: dict[str, str], path: str, own: Any, other: Any) -> list[tuple[str, str, str]]:
    """The differences that a resource writes down: without akotf.nodes it says nothing of how many there are."""
    return [row for row in _differences(path, own, other) if not places.get(row[0], "").endswith(".metadata")]


def _differences(path: str, own: Any, other: Any) -> Iterator[tuple[str, str, str]]:
    """Path and both values of what `other` says and `own` does not say the same."""
    for key in type(own).model_fields:
        ours, theirs = getattr(own, key), getattr(other, key)
        if key not in other.model_fields_set or theirs in (None, "", ()):
            continue
        if key == "nodes" and ours is not None:
            yield from _differences(f"{path}.nodes", ours, theirs)
        elif key == "price" and ours is not None and _same_price(own, other):
            continue
        elif ours != theirs:
            yield f"{path}.{key}", _words(ours, key), _words(theirs, key)


def _same_price(own: ScopeSpec, other: ScopeSpec) -> bool:
    """Prices of a node, to the rounding of a price per second."""
    one, two = (_node_price(s.price, s.nodes.gpus if s.nodes else 0) for s in (own, other))
    if own.price and other.price and own.price.currency != other.price.currency:
        return False
    return one is not None and two is not None and math.isclose(one, two, rel_tol=1e-3)


def _node_price(price: Rate | None, gpus: int) -> float | None:
    return None if price is None else float(price.amount) * (gpus if price.per == "gpu" else 1)


def _words(value: Any, key: str) -> str:
    if value in (None, "", ()):
        return "not set"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return shown(Leaf(key, value, _UNITS.get(key, "")))


# -- what is not read -------------------------------------------------------------------------------------------------


def _resource(notes: Notes, file: EnvironmentFile, index: int, resource: Resource) -> None:
    """akotf's keys of one resource that have no effect, and its own fields that they contradict."""
    base = f"{ENVIRONMENT}:resources.{index}"
    keys = [key for key in resource.metadata if key.startswith("akotf.")]
    found = scope_of(resource)
    if found is None:
        unwritten = f"{base}.schedulable" not in notes.state.positions
        why = f"its type {resource.type} is no kind of scope, and akotf.kind is not there"
        if resource.type in KINDS or "akotf.kind" in resource.metadata:
            why = "schedulable is not written, which means false" if unwritten else "schedulable is false"
        if keys:
            notes.warn("akoflow-ignored", f"{base}.metadata.{keys[0]}",
                       f"{', '.join(keys)} of resource {resource.id} have no effect: {why}",
                       "write schedulable: true, or remove the keys")  # fmt: skip
        elif unwritten and resource.type in KINDS:
            notes.note(
                "akoflow-ignored",
                base,
                f"resource {resource.id} is no scope: {why}",
                "write schedulable: true",
            )
        return
    if f"{base}.computeSpeedup" not in notes.state.positions:
        notes.note("akoflow-ignored", base, f"resource {resource.id} has no computeSpeedup: AkôFlow reads 0 and plans with it",
                   "write computeSpeedup: 1.0")  # fmt: skip
    kind = found[1]
    inventory = [key for key in keys if key in NODE_KEYS]
    if inventory and kind is not ScopeKind.HPC:
        source = "what the machine has" if kind is ScopeKind.LOCAL else "the machines of the price book"
        notes.warn("akoflow-ignored", f"{base}.metadata.{inventory[0]}",
                   f"{', '.join(inventory)} of resource {resource.id} have no effect: a {kind} scope takes {source}",
                   "remove them")  # fmt: skip
    elif inventory and not _has_nodes(resource):
        notes.warn("akoflow-ignored", f"{base}.metadata.{inventory[0]}",
                   f"{', '.join(inventory)} of resource {resource.id} have no effect without the CPUs and the memory of a node",
                   "add akotf.cpus and akotf.memory, or cpuCores and memoryBytes")  # fmt: skip
    for key, field, says, wins in _contradictions(file, resource, kind):
        notes.warn("akoflow-conflict", f"{base}.{field}",
                   f"resource {resource.id} has {field} {says}, but {key} {wins}{notes.at(f'{base}.metadata.{key}')};"
                   f" {key} wins", "make them agree")  # fmt: skip


def _has_nodes(resource: Resource) -> bool:
    meta = resource.metadata
    return bool(
        ("akotf.cpus" in meta or resource.cpuCores) and ("akotf.memory" in meta or resource.memoryBytes)
    )


def _contradictions(
    file: EnvironmentFile, resource: Resource, kind: ScopeKind
) -> Iterator[tuple[str, str, str, str]]:
    """akotf's key, AkôFlow's field, and what each says, where the two differ."""
    spec = next(iter(_derived(file, resource).values()))
    meta, nodes = resource.metadata, spec.nodes
    if kind is ScopeKind.HPC and nodes is not None:
        if "akotf.cpus" in meta and resource.cpuCores not in (0, nodes.cpus):
            yield "akotf.cpus", "cpuCores", str(resource.cpuCores), str(nodes.cpus)
        if "akotf.memory" in meta and resource.memoryBytes not in (0, nodes.memory):
            yield (
                "akotf.memory",
                "memoryBytes",
                format_bytes(resource.memoryBytes),
                format_bytes(nodes.memory),
            )
    named = resource.type in ("hpc_partition", "batch_queue") and "akotf.partition" in meta
    if named and resource.providerId not in ("", spec.partition):
        yield "akotf.partition", "providerId", resource.providerId, spec.partition
    if kind is ScopeKind.CLOUD and resource.region and resource.region not in spec.regions:
        yield "akotf.regions", "region", resource.region, ", ".join(spec.regions)
    if kind is not ScopeKind.CLOUD and "akotf.price" in meta and resource.pricePerSecond and spec.price:
        price = _node_price(spec.price, nodes.gpus if nodes else 1)
        if price is not None and not math.isclose(resource.pricePerSecond * 3600, price, rel_tol=1e-3):
            yield ("akotf.price", "pricePerSecond",
                   f"{resource.pricePerSecond:g} ({resource.pricePerSecond * 3600:.4g} an hour and node)", str(spec.price))  # fmt: skip


def _bindings(notes: Notes, file: EnvironmentFile) -> None:
    for index, resource in enumerate(file.resources):
        numbered = [(i, b) for i, b in enumerate(file.resourceRuntimeBindings) if b.resourceId == resource.id]
        if scope_of(resource) and numbered and not any(binding.enabled for _, binding in numbered):
            notes.warn("akoflow-ignored", f"{ENVIRONMENT}:resourceRuntimeBindings.{numbered[0][0]}",
                       f"resource {resource.id} is a scope of akotf, but none of its runtimes is enabled for AkôFlow",
                       f"write enabled: true, or schedulable: false for resources.{index}")  # fmt: skip


def _stray_keys(notes: Notes) -> None:
    """akotf's keys where nothing reads them, and keys that only look like akotf's."""
    for file, document in notes.state.akoflow.items():
        for path, key in _keys(document, ""):
            ours = re.fullmatch(r"resources\.\d+\.metadata", path) and file == ENVIRONMENT
            place = f"{file}:{path}.{key}"
            if key.startswith("akotf."):
                if not ours:
                    notes.warn("akoflow-ignored", place, f"{key} has no effect in {path}",
                               "akotf reads its keys in the metadata of environment.yaml's resources")  # fmt: skip
            elif ours and (near := _near_prefix(key)):
                notes.warn("akoflow-ignored", place, f"{key} has no effect", f"did you mean {near!r}?")


def _keys(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            yield from _keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _keys(inner, f"{path}.{index}")


def _near_prefix(key: str) -> str:
    """`akoft.gpus`, `Akotf_gpus` -> `akotf.gpus`."""
    match = re.fullmatch(r"([A-Za-z]+)[._-](.+)", key)
    if match and difflib.SequenceMatcher(None, match[1].lower(), "akotf").ratio() >= 0.8:
        return f"akotf.{match[2]}"
    return ""


# -- workflow.yaml ----------------------------------------------------------------------------------------------------


def _workflow(notes: Notes, file: WorkflowFile) -> None:
    """The activity that trains must be allowed what the run needs, where the run is on the same machine."""
    if all(scope.kind is not ScopeKind.LOCAL for scope in notes.state.environment.scopes.values()):
        return
    limits = notes.state.run.limits
    for index, activity in enumerate(file.spec.activities):
        if not _trains(activity):
            continue
        path = f"{WORKFLOW}:spec.activities.{index}"
        for key, text in (("cpuLimit", activity.cpuLimit), ("memoryLimit", activity.memoryLimit)):
            if text and _quantity(text) is None:
                notes.warn("activity-limit", f"{path}.{key}", f"{key} {text!r} of activity {activity.name} can't be read",
                           "write a quantity, such as 500m, 4 or 8Gi")  # fmt: skip
        cpus, memory = _quantity(activity.cpuLimit), _quantity(activity.memoryLimit)
        if cpus is not None and cpus < limits.cpus:
            notes.warn("activity-limit", f"{path}.cpuLimit",
                       f"activity {activity.name} may use {activity.cpuLimit} CPUs, the run {limits.cpus}"
                       f"{notes.at('run.limits.cpus')}", "make them agree")  # fmt: skip
        if memory is not None and memory < limits.memory:
            notes.warn("activity-limit", f"{path}.memoryLimit",
                       f"activity {activity.name} may use {activity.memoryLimit}, the run {format_bytes(limits.memory)}"
                       f"{notes.at('run.limits.memory')}", "make them agree")  # fmt: skip


def _trains(activity: Activity) -> bool:
    words = activity.run.split()
    if activity.command:
        words = [activity.command.entrypoint, *activity.command.arguments]
    return words[:1] == ["akotf"] and (
        words[1:3] == ["activity", "train"] or words[1:2] in (["apply"], ["run"])
    )


def _quantity(text: str) -> Decimal | None:
    """Kubernetes' notation: `500m`, `4`, `8Gi`."""
    match = _QUANTITY.fullmatch(text.strip())
    return Decimal(match[1]) * _FACTORS[match[2] or ""] if match else None
