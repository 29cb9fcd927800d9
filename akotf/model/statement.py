"""What evidence is made of: output manifests, in-toto Statements with SLSA provenance, and their DSSE envelope.

Field names follow the published specifications: in-toto Attestation Framework, Statement v1 and ResourceDescriptor v1
(`spec/v1/statement.md`, `resource_descriptor.md`); SLSA v1.0, Provenance (`predicateType` https://slsa.dev/provenance/v1);
DSSE v1.0.2 (`protocol.md`, `envelope.md`). As those ask, unknown fields are ignored when read, and empty optional ones
are left out when written.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from akotf.model.base import Frozen, canonical_json

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
PAYLOAD = "application/vnd.in-toto+json"

#: How akotf trains, and what it makes of the parameters: `externalParameters` are what the environment folder says
#: (environment, template, parameters, objective), `internalParameters` what akotf decided from them (candidate,
#: deployment, planner, calibration, approval, Terraform), `resolvedDependencies` the digests of everything read.
BUILD_TYPE = "urn:akotf:training:1"
#: The akotf that ran on a machine of its user: nothing separates it from them, so it claims SLSA build level 1.
BUILDER = "urn:akotf:builder:1"


class OutputFile(Frozen):
    """One file of a run's outputs. A symbolic link is described by its target's text, and never followed."""

    path: str  # relative, POSIX
    size: int  # bytes
    sha256: str  # hexadecimal
    link: str = ""  # a symbolic link's target


class OutputManifest(Frozen):
    """Everything in a run's output folder, ordered by path."""

    schema_version: int = 1
    files: tuple[OutputFile, ...] = ()


class _Published(Frozen):
    """camelCase as published; optional fields that are empty are not written."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="ignore"
    )

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        optional = {f.alias for f in type(self).model_fields.values() if not f.is_required()}
        written: dict[str, Any] = handler(self)
        return {k: v for k, v in written.items() if k not in optional or v not in (None, "", [], {})}


DigestSet = dict[str, str]  # algorithm -> hexadecimal


class ResourceDescriptor(_Published):
    """An artifact or resource; at least one of `uri`, `digest` and `content` says which."""

    name: str = ""
    uri: str = ""
    digest_set: DigestSet = Field(default={}, alias="digest")
    content: str = ""  # base64
    download_location: str = ""
    media_type: str = ""
    annotations: dict[str, Any] = {}


class BuildDefinition(_Published):
    """What went in."""

    build_type: str
    external_parameters: dict[str, Any]
    internal_parameters: dict[str, Any] = {}
    resolved_dependencies: tuple[ResourceDescriptor, ...] = ()


class Builder(_Published):
    """Who made it."""

    id: str
    version: dict[str, str] = {}
    builder_dependencies: tuple[ResourceDescriptor, ...] = ()


class BuildMetadata(_Published):
    """This execution; times as RFC 3339."""

    invocation_id: str = ""
    started_on: str = ""
    finished_on: str = ""


class RunDetails(_Published):
    """How it went."""

    builder: Builder
    metadata: BuildMetadata = BuildMetadata()
    byproducts: tuple[ResourceDescriptor, ...] = ()


class Provenance(_Published):
    """SLSA provenance v1."""

    build_definition: BuildDefinition
    run_details: RunDetails


class Statement(_Published):
    """An in-toto Statement whose predicate is SLSA provenance."""

    type: Annotated[Literal["https://in-toto.io/Statement/v1"], Field(alias="_type")]
    subject: tuple[ResourceDescriptor, ...]
    predicate_type: Literal["https://slsa.dev/provenance/v1"]
    predicate: Provenance

    def payload(self) -> bytes:
        """The bytes that are signed."""
        return canonical_json(self.to_json())


class Signature(_Published):
    """One signature over `pae`; `keyid` is a hint that proves nothing."""

    keyid: str = ""
    sig: str  # base64


class Envelope(_Published):
    """A DSSE envelope."""

    payload: str  # base64
    payload_type: str
    signatures: tuple[Signature, ...]

    @classmethod
    def of(cls, body: bytes, payload_type: str, signatures: tuple[Signature, ...]) -> Envelope:
        """The envelope around `body`."""
        text = base64.b64encode(body).decode()
        return cls(payload=text, payload_type=payload_type, signatures=signatures)

    def body(self) -> bytes:
        """The payload's bytes. ValueError when they are no base64."""
        return unbase64(self.payload)


def unbase64(text: str) -> bytes:
    """Standard or URL-safe base64, as DSSE asks of verifiers. ValueError when it is neither."""
    return base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)


def pae(payload_type: str, body: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that a signature covers (protocol.md, "Signature Definition")."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
