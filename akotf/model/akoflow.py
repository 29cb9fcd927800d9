"""AkôFlow's environment, scope, topology and workflow documents (v1.0.8).

Field names are AkôFlow's own. Omitted numbers are 0 and omitted booleans false, as AkôFlow decodes them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from akotf.model.base import Frozen

#: The documents by their file names.
ENVIRONMENT, SCOPE, TOPOLOGY, WORKFLOW = "environment.yaml", "scope.yaml", "topology.yaml", "workflow.yaml"

Id = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Open = dict[str, Any]


class Identity(Frozen):
    """`environment`."""

    id: Id
    name: Id
    description: str = ""
    status: Literal[
        "defined", "connecting", "connected", "discovering", "ready", "degraded", "unreachable"
    ] = "defined"
    createdAt: str = ""


class Version(Frozen):
    """`version`."""

    id: Id
    environmentId: str = ""
    version: int = Field(ge=1)
    status: Literal["draft", "published", "retired"]
    networkModel: str = ""
    interferenceModel: str = ""
    costModel: str = ""
    configurationHash: str = ""
    createdAt: str = ""
    publishedAt: str = ""


class Capabilities(Frozen):
    """What a runtime can do."""

    batch: bool = False
    interactive: bool = False
    container: bool = False
    serverless: bool = False
    gpu: bool = False
    mpi: bool = False
    sharedStorage: bool = False
    dataStaging: bool = False
    cancellation: bool = False
    logStreaming: bool = False
    simulation: bool = False


class Runtime(Frozen):
    """`runtimes[]`."""

    id: Id
    environmentVersionId: str = ""
    name: Id
    driver: Literal["slurm", "kubernetes", "ssh", "local", "serverless", "simgrid", "cloud"]
    mode: Literal["execution", "simulation"]
    role: str = ""
    configuration: Open = {}
    capabilities: Capabilities = Capabilities()


class Resource(Frozen):
    """`resources[]`."""

    id: Id
    environmentVersionId: str = ""
    type: Literal[
        "cluster", "node_pool", "kubernetes_machine", "hpc_partition", "hpc_machine", "cloud_vm", "fog_device",
        "local_machine", "serverless_platform", "serverless_function", "batch_queue", "kubernetes_namespace",
        "slurm_reservation", "machine",
    ]  # fmt: skip
    name: Id
    providerId: str = ""
    executionTarget: Literal["", "batch", "direct", "provisioned"] = ""
    parentResourceId: str = ""
    tier: str = ""
    region: str = ""
    zone: str = ""
    architecture: str = ""
    cpuCores: Count = 0
    cpuCapacity: Amount = 0.0
    memoryBytes: Count = 0
    storageBytes: Count = 0
    computeSpeedup: Amount = 0.0
    pricePerSecond: Amount = 0.0
    bootOverheadSeconds: Amount = 0.0
    containerOverheadSeconds: Amount = 0.0
    schedulable: bool = False
    metadata: Open = {}


class RuntimeBinding(Frozen):
    """`resourceRuntimeBindings[]`."""

    resourceId: Id
    runtimeId: Id
    enabled: bool = False
    configuration: Open = {}


class Relation(Frozen):
    """`resourceRelations[]`."""

    environmentVersionId: str = ""
    sourceResourceId: Id
    targetResourceId: Id
    type: Literal["contains", "member_of", "accessible_via"]
    metadata: Open = {}


class StorageBinding(Frozen):
    """`storages[].runtimeBindings[]`."""

    runtimeId: Id
    default: bool = False
    hostPath: str = ""
    containerPath: str = ""
    readOnly: bool = False
    configuration: Open = {}


class Storage(Frozen):
    """`storages[]`."""

    id: Id
    environmentVersionId: str = ""
    name: Id
    type: Literal["local", "pvc", "nfs", "s3", "lustre", "gcs", "s3-compatible", "ssh-filesystem"]
    endpoint: str = ""
    capacityBytes: Count = 0
    shared: bool = False
    readOnly: bool = False
    configuration: Open = {}
    credentialReference: str = ""
    metadata: Open = {}
    runtimeBindings: tuple[StorageBinding, ...] = ()
    browseRoots: tuple[Open, ...] = ()
    capabilities: Open = {}
    health: Open = {}
    indexPolicy: Open = {}
    indexStatus: Open = {}


class ResourceProfile(Frozen):
    """`activityResourceProfiles[]`."""

    id: Id
    activityTypeId: str = ""
    resourceId: Id
    runtimeSeconds: Amount = 0.0
    runtimeStdDevSeconds: Amount = 0.0
    cpuUtilization: Amount = 0.0
    peakMemoryBytes: Count = 0
    diskReadBytes: Count = 0
    diskWriteBytes: Count = 0
    energyJoules: Amount = 0.0
    source: str = ""
    sampleSize: Count = 0
    modelVersion: str = ""
    metadata: Open = {}


class Connection(Frozen):
    """`connections[]`."""

    id: Id
    environmentId: str = ""
    name: Id
    type: Literal["ssh", "kubernetes", "cloud", "local", "agent"]
    endpoint: str = ""
    username: str = ""
    credentialRef: str = ""
    configuration: Open = {}
    createdAt: str = ""


class ConnectionCheck(Frozen):
    """`connectionChecks[]`: observed, not authored."""

    id: Id
    connectionId: Id
    status: Literal["online", "offline"]
    message: str = ""
    latencyMs: float = 0.0
    checkedAt: str = ""
    metadata: Open = {}


class ConnectorBinding(Frozen):
    """`connectorBindings[]`."""

    id: Id
    environmentId: str = ""
    connector: Literal["rsync", "scp", "sftp", "http", "s3-compatible", "gcs"]
    endpoint: str = ""
    credentialRef: str = ""
    configuration: Open = {}
    health: Open = {}


class EnvironmentFile(Frozen):
    """`environment.yaml`."""

    environment: Identity
    version: Version
    runtimes: tuple[Runtime, ...] = ()
    resources: tuple[Resource, ...] = ()
    resourceRuntimeBindings: tuple[RuntimeBinding, ...] = ()
    resourceRelations: tuple[Relation, ...] = ()
    storages: tuple[Storage, ...] = ()
    activityResourceProfiles: tuple[ResourceProfile, ...] = ()
    connections: tuple[Connection, ...] = ()
    connectionChecks: tuple[ConnectionCheck, ...] = ()
    connectorBindings: tuple[ConnectorBinding, ...] = ()


class ScopeFile(Frozen):
    """`scope.yaml`."""

    id: Id
    name: Id
    environmentVersionIds: tuple[Id, ...] = Field(min_length=1)
    networkTopologyId: str = ""
    metadata: Open = {}


class Link(Frozen):
    """`links[]` of a topology; bandwidth in bits a second."""

    id: Id
    topologyId: str = ""
    sourceResourceId: Id
    targetResourceId: Id
    bandwidthBitsPerSecond: float = Field(gt=0)
    latencySeconds: Amount = 0.0
    pricePerByte: Amount = 0.0
    bidirectional: bool = False
    sharingPolicy: str = ""
    maxConcurrentTransfers: Count = 0
    metadata: Open = {}


class TopologyFile(Frozen):
    """`topology.yaml`."""

    id: Id
    name: Id
    version: int = Field(ge=1)
    executionScopeId: Id
    links: tuple[Link, ...] = ()
    metadata: Open = {}


class Source(Frozen):
    """`command.executable.source`."""

    type: Literal[
        "catalog",
        "oci",
        "local-container-image",
        "build",
        "local-file",
        "remote-file",
        "object-storage",
        "http",
    ]
    reference: str = ""
    artifactRef: Open = {}
    artifactBuildRef: Any = None
    path: str = ""
    environmentRef: str = ""
    resourceRef: str = ""
    uri: str = ""
    expectedDigest: str = ""
    format: str = ""
    credentialRef: str = ""


class Delivery(Frozen):
    """`command.executable.delivery`."""

    strategy: Literal[
        "auto", "managed", "use-in-place", "destination-pull", "gateway-transfer", "build-and-transfer",
        "prefer-in-place",
    ] = "auto"  # fmt: skip


class Executable(Frozen):
    """`command.executable`."""

    source: Source
    delivery: Delivery = Delivery()


class Command(Frozen):
    """`activities[].command`."""

    executable: Executable | None = None
    entrypoint: str = ""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    workingDirectory: str = ""


class Simulation(Frozen):
    """`activities[].simulation`: its presence makes the activity simulation-only."""

    model: str = ""
    durationSeconds: Amount = 0.0
    flops: Amount = 0.0
    parameters: Open = {}


class Activity(Frozen):
    """`spec.activities[]`."""

    name: Id
    run: str = ""
    command: Command | None = None
    image: str = ""
    runtime: str = ""
    cpuLimit: str = ""
    memoryLimit: str = ""
    dependsOn: tuple[Id, ...] = ()
    resourceSelector: str = ""
    keepDisk: bool = False
    mountPath: str = ""
    expectedOutputs: tuple[str, ...] = ()
    simulation: Simulation | None = None


class DataDependency(Frozen):
    """`spec.dataDependencies[]`: bytes on an edge that `dependsOn` makes."""

    producerActivity: Id
    consumerActivity: Id
    logicalName: Id
    sizeBytes: int = Field(ge=1)


class WorkflowSpec(Frozen):
    """`spec`."""

    namespace: Id
    image: str = ""
    activities: tuple[Activity, ...] = Field(min_length=1)
    dataDependencies: tuple[DataDependency, ...] = ()
    storageClassName: str = ""
    storageSize: str = ""
    storagePolicy: Open = {}
    mountPath: str = ""


class WorkflowFile(Frozen):
    """`workflow.yaml`."""

    name: Id
    spec: WorkflowSpec
