"""AkôFlow's four files: strict, cross references held, scopes derived from resources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.load.akoflow import read_documents
from akotf.load.documents import Documents
from akotf.load.environment import inside, load
from akotf.model.akoflow import EnvironmentFile
from akotf.model.akoflow_scopes import derive_scopes
from akotf.model.config import DesiredState, Market, ScopeKind
from akotf.model.origin import Source

ENVIRONMENT = """\
environment: {id: lab, name: Lab, status: ready}
version: {id: lab-v1, environmentId: lab, version: 1, status: published}
runtimes:
  - {id: slurm, environmentVersionId: lab-v1, name: Slurm, driver: slurm, mode: execution, capabilities: {gpu: true}}
resources:
  - {id: Work_Station, type: local_machine, name: W, schedulable: true, cpuCores: 8}
  - id: part
    type: hpc_partition
    name: GPU partition
    providerId: gpu
    cpuCores: 64
    memoryBytes: 549755813888
    schedulable: true
    metadata: {akotf.scope: campus, akotf.gpu: A100-80GB, akotf.gpus: 4, akotf.nodes: 2, akotf.queueWait: 45m,
               akotf.price: 0.60 USD/gpu/h, someone.else: kept}
  - {id: vm-a, type: cloud_vm, name: A, region: us-east-1, schedulable: true,
     metadata: {akotf.scope: aws, akotf.provider: aws, akotf.market: [spot]}}
  - {id: vm-b, type: cloud_vm, name: B, region: us-west-2, schedulable: true, metadata: {akotf.scope: aws, akotf.provider: aws}}
  - {id: priced, type: hpc_machine, name: P, cpuCores: 4, memoryBytes: 8589934592, pricePerSecond: 0.001, schedulable: true}
  - {id: idle, type: hpc_machine, name: I, cpuCores: 4}
resourceRuntimeBindings:
  - {resourceId: part, runtimeId: slurm, enabled: true}
"""
SCOPE = "{id: s, name: S, environmentVersionIds: [lab-v1], networkTopologyId: t}\n"
TOPOLOGY = """\
id: t
name: T
version: 1
executionScopeId: s
links: [{id: l, sourceResourceId: part, targetResourceId: vm-a, bandwidthBitsPerSecond: 1e9, bidirectional: true}]
"""
WORKFLOW = """\
name: w
spec:
  namespace: n
  activities:
    - {name: a, run: "true"}
    - {name: b, command: {entrypoint: python, arguments: [b.py, 3.10]}, dependsOn: [a]}
  dataDependencies: [{producerActivity: a, consumerActivity: b, logicalName: d, sizeBytes: 10}]
"""
FILES = {
    "environment.yaml": ENVIRONMENT,
    "scope.yaml": SCOPE,
    "topology.yaml": TOPOLOGY,
    "workflow.yaml": WORKFLOW,
}


def read(folder: Path, **changes: tuple[str, str]) -> Documents:
    for name, text in FILES.items():
        old, new = changes.get(name.removesuffix(".yaml"), ("", ""))
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))
    return read_documents(folder, inside)


def test_the_four_files_are_read_with_akoflows_defaults(tmp_path: Path) -> None:
    documents = read(tmp_path)
    assert documents.findings == []
    assert sorted(documents.data) == ["environment.yaml", "scope.yaml", "topology.yaml", "workflow.yaml"]
    idle = documents.data["environment.yaml"]["resources"][5]
    assert (idle["computeSpeedup"], idle["schedulable"], idle["pricePerSecond"]) == (0.0, False, 0.0)
    assert documents.data["workflow.yaml"]["spec"]["activities"][1]["command"]["arguments"] == [
        "b.py",
        "3.10",
    ]
    assert documents.data["environment.yaml"]["resources"][1]["metadata"]["someone.else"] == "kept"


@pytest.mark.parametrize("name", ["environment.yml", "Environment.yaml", "environment.json"])
def test_a_file_of_another_name_is_not_read_and_that_is_told(name: str, tmp_path: Path) -> None:
    assert read(tmp_path).notes == []
    (tmp_path / name).write_text("nonsense: [")
    (note,) = read(tmp_path).notes
    assert (note.rule, note.severity, note.position.file) == (
        "akoflow/file-name",
        "warning",
        str(tmp_path / name),
    )
    assert note.remedy.startswith("rename it to environment.yaml")


def test_null_is_absent_as_in_go(tmp_path: Path) -> None:
    assert read(tmp_path, topology=("links:", "metadata: null\nlinks:")).findings == []


@pytest.mark.parametrize(
    ("file", "old", "new", "rule", "path"),
    [
        ("environment", "driver: slurm", "driver: slrum", "config/type", "runtimes.0.driver"),
        ("environment", "cpuCores: 8", "cpuCoers: 8", "config/unknown-key", "resources.0.cpuCoers"),
        ("environment", "status: ready", "status: up", "config/type", "environment.status"),
        ("environment", "type: local_machine", "type: laptop", "config/type", "resources.0.type"),
        ("environment", "cpuCores: 8", "cpuCores: -8", "config/value", "resources.0.cpuCores"),
        ("environment", "capabilities: {gpu: true}", "capabilities: {tpu: true}", "config/unknown-key", "runtimes.0.capabilities.tpu"),
        ("environment", "resourceId: part", "resourceId: prat", "akoflow/reference", "resourceRuntimeBindings.0.resourceId"),
        ("environment", "runtimeId: slurm", "runtimeId: s", "akoflow/reference", "resourceRuntimeBindings.0.runtimeId"),
        ("environment", "environmentId: lab,", "environmentId: lib,", "akoflow/reference", "version.environmentId"),
        ("environment", "id: vm-b", "id: vm-a", "akoflow/duplicate", "resources.3.id"),
        ("environment", "akotf.gpus:", "akotf.gpsu:", "akoflow/metadata", "resources.1.metadata.akotf.gpsu"),
        ("environment", "A100-80GB", "A100", "akoflow/metadata", "resources.1.metadata.akotf.gpu"),
        ("environment", "akotf.gpus: 4", "akotf.gpus: true", "akoflow/metadata", "resources.1.metadata.akotf.gpus"),
        ("environment", "akotf.gpus: 4", "akotf.gpus: '4'", "akoflow/metadata", "resources.1.metadata.akotf.gpus"),
        ("environment", "akotf.gpus: 4", "akotf.gpus: 1_0", "akoflow/metadata", "resources.1.metadata.akotf.gpus"),
        ("environment", "akotf.nodes: 2", "akotf.nodes: 0", "akoflow/metadata", "resources.1.metadata.akotf.nodes"),
        ("environment", "akotf.nodes: 2", "akotf.partition: 2024", "akoflow/metadata", "resources.1.metadata.akotf.partition"),
        ("environment", "akotf.market: [spot]", "akotf.market: spot", "akoflow/metadata", "resources.2.metadata.akotf.market"),
        ("environment", "akotf.market: [spot]", "akotf.market: [cheap]", "akoflow/metadata", "resources.2.metadata.akotf.market"),
        ("environment", "0.60 USD/gpu/h", "0.60 USD", "akoflow/metadata", "resources.1.metadata.akotf.price"),
        ("topology", "{id: l, source", "{id: l, topologyId: z, source", "akoflow/reference", "links.0.topologyId"),
        ("environment", "akotf.scope: campus", "akotf.scope: The Campus", "akoflow/metadata", "resources.1.metadata.akotf.scope"),
        ("scope", "[lab-v1]", "[lab-v2]", "akoflow/reference", "environmentVersionIds.0"),
        ("scope", "[lab-v1]", "[]", "config/value", "environmentVersionIds"),
        ("topology", "executionScopeId: s", "executionScopeId: z", "akoflow/reference", "executionScopeId"),
        ("topology", "targetResourceId: vm-a", "targetResourceId: vm-z", "akoflow/reference", "links.0.targetResourceId"),
        ("topology", "targetResourceId: vm-a", "targetResourceId: part", "akoflow/reference", "links.0"),
        ("topology", "version: 1", "version: 0", "config/value", "version"),
        ("topology", "1e9", "0", "config/value", "links.0.bandwidthBitsPerSecond"),
        ("workflow", "dependsOn: [a]", "dependsOn: [c]", "akoflow/reference", "spec.activities.1.dependsOn.0"),
        ("workflow", ", dependsOn: [a]", "", "akoflow/dependency", "spec.dataDependencies.0"),
        ("workflow", '{name: a, run: "true"}', "{name: a}", "akoflow/command", "spec.activities.0"),
        ("workflow", '{name: a, run: "true"}', "{name: a, run: x, dependsOn: [b]}", "akoflow/cycle", "spec.activities.0.dependsOn"),
        ("workflow", "sizeBytes: 10", "sizeBytes: 0", "config/value", "spec.dataDependencies.0.sizeBytes"),
        ("workflow", "namespace: n", "namespace: n\n  gpu: 1", "config/unknown-key", "spec.gpu"),
        ("workflow", "name: w", "name: w\nmetadata: {}", "config/unknown-key", "metadata"),
    ],
)  # fmt: skip
def test_a_fault_has_its_place(file: str, old: str, new: str, rule: str, path: str, tmp_path: Path) -> None:
    found = read(tmp_path, **{file: (old, new)}).findings
    assert (rule, path) in [(f.rule, f.path) for f in found]
    finding = next(f for f in found if f.path == path)
    assert finding.position is not None
    assert finding.position.line > 0
    assert finding.position.file.endswith(f"{file}.yaml")


def test_a_misspelt_reference_names_the_right_one(tmp_path: Path) -> None:
    (finding,) = read(tmp_path, environment=("resourceId: part", "resourceId: prat")).findings
    assert finding.remedy == "did you mean 'part'?"


def scopes(folder: Path) -> dict[str, object]:
    inventory = read(folder).models["environment.yaml"]
    assert isinstance(inventory, EnvironmentFile)
    return dict(derive_scopes(inventory))


def test_scopes_come_from_schedulable_resources(tmp_path: Path) -> None:
    assert list(scopes(tmp_path)) == ["work-station", "campus", "aws", "priced"]


def test_a_partition_becomes_an_hpc_scope_with_its_inventory(tmp_path: Path) -> None:
    campus = scopes(tmp_path)["campus"]
    assert (campus.kind, campus.partition, campus.queue_wait, str(campus.price)) == (
        ScopeKind.HPC, "gpu", 2700.0, "0.60 USD/gpu/h",
    )  # fmt: skip
    nodes = campus.nodes
    assert (nodes.count, nodes.gpu, nodes.gpus, nodes.cpus, nodes.memory) == (
        2,
        "A100-80GB",
        4,
        64,
        512 * 2**30,
    )


def test_resources_of_one_scope_join_their_regions(tmp_path: Path) -> None:
    aws = scopes(tmp_path)["aws"]
    assert (aws.provider, aws.regions, aws.market) == ("aws", ("us-east-1", "us-west-2"), (Market.SPOT,))


def test_a_price_a_second_becomes_a_price_a_node_and_hour(tmp_path: Path) -> None:
    price = scopes(tmp_path)["priced"].price
    assert (float(price.amount), price.currency, price.per) == (3.6, "USD", "node")  # 0.001 x 3600


def with_files(environment: Callable[..., Path], catalogue: Path, akotf: str) -> DesiredState:
    folder = environment(akotf=akotf, environment_yaml=ENVIRONMENT)
    return load(folder, catalogues=[catalogue])


def test_akotf_yaml_without_scopes_takes_those_of_the_files(
    environment: Callable[..., Path], catalogue: Path
) -> None:
    head = "version: 1\nname: demo\nowner: me\ntemplate: tiny@1.0.0\n"
    state = with_files(environment, catalogue, head)
    assert list(state.environment.scopes) == ["work-station", "campus", "aws", "priced"]
    origin = state.origins["scopes.campus.kind"]
    assert (origin.source, origin.name) == (Source.AKOFLOW, "environment.yaml")
    place = state.positions["scopes.campus"]
    assert (place.file.rpartition("/")[2], place.line) == ("environment.yaml", 7)
    own = with_files(environment, catalogue, head + "scopes: {mine: {kind: local}}\n")
    assert list(own.environment.scopes) == ["mine"]
    assert own.akoflow["environment.yaml"]["environment"]["id"] == "lab"
