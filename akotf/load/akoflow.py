"""The four AkôFlow files of an environment, read strictly, with their cross references checked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from akotf.errors import ConfigError
from akotf.load.akoflow_metadata import check_metadata
from akotf.load.documents import Documents
from akotf.model import akoflow as model
from akotf.model.akoflow import ENVIRONMENT, SCOPE, TOPOLOGY, WORKFLOW
from akotf.model.base import Frozen
from akotf.model.finding import Finding, Position, Severity
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.yaml import shown_path

MODELS: dict[str, type[Frozen]] = {
    ENVIRONMENT: model.EnvironmentFile, SCOPE: model.ScopeFile, TOPOLOGY: model.TopologyFile,
    WORKFLOW: model.WorkflowFile,
}  # fmt: skip


def read_documents(folder: Path, inside: Callable[[Path, str], Path]) -> Documents:
    """Read what is there of the four files. `inside` gives the path of a file that must not leave the folder."""
    documents = Documents()
    for file, kind in MODELS.items():
        _other_spellings(documents, folder, file)
        if not (folder / file).exists():
            continue
        try:
            node = yaml.read(inside(folder, file))
        except ConfigError as error:
            place = Position(file=str(folder / file))
            own = Finding(rule="akoflow/file", message=error.message, position=place, remedy=error.remedy)
            documents.findings.extend(error.findings or [own])
            continue
        bound = bind(node, kind, null_is_absent=True)
        documents.findings.extend(bound.findings)
        documents.positions |= {f"{file}:{path}": place for path, place in bound.positions.items()}
        if bound.value is not None:
            documents.models[file] = bound.value
            documents.data[file] = bound.value.to_json()
    _check(documents)
    return documents


def _other_spellings(documents: Documents, folder: Path, file: str) -> None:
    """A warning for `environment.yml` and the like: neither akotf nor AkôFlow reads it."""
    stem = file.removesuffix(".yaml")
    for name in (f"{stem}.yml", f"{stem.capitalize()}.yaml", f"{stem}.json"):
        if (folder / name).is_file() and not (
            (folder / file).exists() and (folder / name).samefile(folder / file)
        ):
            documents.notes.append(Finding(
                rule="akoflow/file-name", severity=Severity.WARNING, position=Position(file=shown_path(folder / name)),
                message=f"{name} is not read: AkôFlow's file is {file}", remedy=f"rename it to {file}, or remove it",
            ))  # fmt: skip


def _check(documents: Documents) -> None:
    environment, scope = documents.models.get(ENVIRONMENT), documents.models.get(SCOPE)
    topology, workflow = documents.models.get(TOPOLOGY), documents.models.get(WORKFLOW)
    if isinstance(environment, model.EnvironmentFile):
        _check_environment(documents, environment)
        check_metadata(documents, environment)
    if isinstance(scope, model.ScopeFile) and isinstance(environment, model.EnvironmentFile):
        for index, version in enumerate(scope.environmentVersionIds):
            path = f"environmentVersionIds.{index}"
            documents.known(SCOPE, path, version, [environment.version.id], "environment version")
    if isinstance(topology, model.TopologyFile):
        _check_topology(documents, topology, environment, scope)
    if isinstance(workflow, model.WorkflowFile):
        _check_workflow(documents, workflow)


def _check_environment(documents: Documents, file: model.EnvironmentFile) -> None:
    resources = [r.id for r in file.resources]
    runtimes = [r.id for r in file.runtimes]
    for name, rows in (
        ("resources", file.resources),
        ("runtimes", file.runtimes),
        ("storages", file.storages),
        ("connections", file.connections),
        ("activityResourceProfiles", file.activityResourceProfiles),
        ("connectorBindings", file.connectorBindings),
    ):
        _unique(documents, ENVIRONMENT, name, [row.id for row in rows])
    documents.known(
        ENVIRONMENT, "version.environmentId", file.version.environmentId, [file.environment.id], "environment"
    )
    for kind in ("runtimes", "resources", "resourceRelations", "storages"):
        for i, row in enumerate(getattr(file, kind)):
            path = f"{kind}.{i}.environmentVersionId"
            documents.known(
                ENVIRONMENT, path, row.environmentVersionId, [file.version.id], "environment version"
            )
    for i, resource in enumerate(file.resources):
        path = f"resources.{i}.parentResourceId"
        documents.known(ENVIRONMENT, path, resource.parentResourceId, resources, "resource")
    for i, binding in enumerate(file.resourceRuntimeBindings):
        path = f"resourceRuntimeBindings.{i}"
        documents.known(ENVIRONMENT, f"{path}.resourceId", binding.resourceId, resources, "resource")
        documents.known(ENVIRONMENT, f"{path}.runtimeId", binding.runtimeId, runtimes, "runtime")
    for i, relation in enumerate(file.resourceRelations):
        path = f"resourceRelations.{i}"
        documents.known(
            ENVIRONMENT, f"{path}.sourceResourceId", relation.sourceResourceId, resources, "resource"
        )
        documents.known(
            ENVIRONMENT, f"{path}.targetResourceId", relation.targetResourceId, resources, "resource"
        )
        if relation.sourceResourceId == relation.targetResourceId:
            documents.fault(
                "reference", ENVIRONMENT, path, f"{relation.sourceResourceId} is related to itself"
            )
    for i, storage in enumerate(file.storages):
        for j, bound in enumerate(storage.runtimeBindings):
            path = f"storages.{i}.runtimeBindings.{j}.runtimeId"
            documents.known(ENVIRONMENT, path, bound.runtimeId, runtimes, "runtime")
    for i, profile in enumerate(file.activityResourceProfiles):
        path = f"activityResourceProfiles.{i}.resourceId"
        documents.known(ENVIRONMENT, path, profile.resourceId, resources, "resource")
    for kind in ("connections", "connectorBindings"):
        for i, row in enumerate(getattr(file, kind)):
            documents.known(
                ENVIRONMENT,
                f"{kind}.{i}.environmentId",
                row.environmentId,
                [file.environment.id],
                "environment",
            )
    connections = [c.id for c in file.connections]
    for i, check in enumerate(file.connectionChecks):
        path = f"connectionChecks.{i}.connectionId"
        documents.known(ENVIRONMENT, path, check.connectionId, connections, "connection")


def _check_topology(
    documents: Documents, file: model.TopologyFile, environment: Frozen | None, scope: Frozen | None
) -> None:
    if isinstance(scope, model.ScopeFile):
        documents.known(TOPOLOGY, "executionScopeId", file.executionScopeId, [scope.id], "execution scope")
        documents.known(SCOPE, "networkTopologyId", scope.networkTopologyId, [file.id], "topology")
    _unique(documents, TOPOLOGY, "links", [link.id for link in file.links])
    for i, link in enumerate(file.links):
        documents.known(TOPOLOGY, f"links.{i}.topologyId", link.topologyId, [file.id], "topology")
        if link.sourceResourceId == link.targetResourceId:
            documents.fault(
                "reference", TOPOLOGY, f"links.{i}", f"link {link.id} joins {link.sourceResourceId} to itself"
            )
        if isinstance(environment, model.EnvironmentFile):
            resources = [r.id for r in environment.resources]
            documents.known(
                TOPOLOGY, f"links.{i}.sourceResourceId", link.sourceResourceId, resources, "resource"
            )
            documents.known(
                TOPOLOGY, f"links.{i}.targetResourceId", link.targetResourceId, resources, "resource"
            )


def _check_workflow(documents: Documents, file: model.WorkflowFile) -> None:
    activities = {a.name: a for a in file.spec.activities}
    _unique(documents, WORKFLOW, "spec.activities", [a.name for a in file.spec.activities], "name")
    for i, activity in enumerate(file.spec.activities):
        path = f"spec.activities.{i}"
        for j, other in enumerate(activity.dependsOn):
            documents.known(WORKFLOW, f"{path}.dependsOn.{j}", other, activities, "activity")
        if activity.run and activity.command:
            documents.fault(
                "command", WORKFLOW, path, f"activity {activity.name} has run and command", "keep one"
            )
        if not (activity.run or activity.command or activity.simulation):
            documents.fault(
                "command", WORKFLOW, path, f"activity {activity.name} runs nothing", "add run: ..."
            )
    if cycle := _cycle({name: activity.dependsOn for name, activity in activities.items()}):
        index = list(activities).index(cycle[0])
        documents.fault("cycle", WORKFLOW, f"spec.activities.{index}.dependsOn",
                        f"activities wait for each other: {' -> '.join(cycle)}", "remove one dependsOn")  # fmt: skip
    seen = set()
    for i, edge in enumerate(file.spec.dataDependencies):
        path = f"spec.dataDependencies.{i}"
        documents.known(WORKFLOW, f"{path}.producerActivity", edge.producerActivity, activities, "activity")
        documents.known(WORKFLOW, f"{path}.consumerActivity", edge.consumerActivity, activities, "activity")
        consumer = activities.get(edge.consumerActivity)
        if (
            consumer
            and edge.producerActivity in activities
            and edge.producerActivity not in consumer.dependsOn
        ):
            documents.fault("dependency", WORKFLOW, path,
                            f"{edge.consumerActivity} gets {edge.logicalName} from {edge.producerActivity} but does not wait for it",
                            f"add {edge.producerActivity} to its dependsOn")  # fmt: skip
        key = (edge.producerActivity, edge.consumerActivity, edge.logicalName)
        if key in seen:
            documents.fault(
                "duplicate", WORKFLOW, path, f"{edge.logicalName} is here twice", "keep one of them"
            )
        seen.add(key)


def _unique(documents: Documents, file: str, path: str, ids: list[str], key: str = "id") -> None:
    for i, value in enumerate(ids):
        if value in ids[:i]:
            documents.fault(
                "duplicate", file, f"{path}.{i}.{key}", f"{file}: {value!r} is here twice", "rename one"
            )


def _cycle(graph: dict[str, tuple[str, ...]]) -> list[str]:
    """One cycle of the graph, its first name again at the end; empty when there is none."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        stack = [(start, iter(graph[start]))] if start not in done else []
        if stack:
            path.append(start)
        while stack:
            name, following = stack[-1]
            step = next((n for n in following if n in graph and n not in done), None)
            if step is None:
                done.add(name)
                path.pop()
                stack.pop()
            elif step in path:
                return [*path[path.index(step) :], step]
            else:
                path.append(step)
                stack.append((step, iter(graph[step])))
    return []
