"""akotf's own keys in the metadata of AkôFlow's resources: known, typed as strictly as akotf.yaml, and together a scope."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from akotf.load.documents import Documents
from akotf.model.akoflow import ENVIRONMENT, EnvironmentFile, Resource
from akotf.model.akoflow_scopes import METADATA_KEYS, NODE_KEYS, SCOPE_KEYS, derive_scopes
from akotf.model.config import NAME
from akotf.reading.bind import suggest
from akotf.reading.leaves import explain


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


#: key -> whether a value has its type, and the type in words
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(METADATA_KEYS, (_text, "text")),
    **dict.fromkeys(("akotf.nodes", "akotf.gpus", "akotf.cpus"), (_whole, "a whole number")),
    "akotf.bandwidth": (_number, "a number of bits a second"),
    "akotf.memory": (lambda value: _text(value) or _whole(value), "a size, such as 512 GiB"),
    "akotf.regions": (_texts, "a list of text"),
    "akotf.market": (_texts, "a list of text"),
}
#: key of a scope or of its nodes -> metadata key
_WRITTEN = {field: key for key, field in (SCOPE_KEYS | NODE_KEYS).items()}


def check_metadata(documents: Documents, file: EnvironmentFile) -> None:
    """Every resource's keys. What is wrong stands at the key."""
    for index, resource in enumerate(file.resources):
        base = f"resources.{index}.metadata"
        if _check_keys(documents, base, resource):
            _check_scope(documents, base, file.model_copy(update={"resources": (resource,)}))


def _check_keys(documents: Documents, base: str, resource: Resource) -> bool:
    """True when every key is known and has its type."""
    count = len(documents.findings)
    for key, value in resource.metadata.items():
        if not key.startswith("akotf."):
            continue
        if key not in METADATA_KEYS:
            documents.fault("metadata", ENVIRONMENT, f"{base}.{key}", f"unknown metadata key {key!r}",
                            suggest(key, sorted(METADATA_KEYS)))  # fmt: skip
            continue
        fits, words = _TYPES[key]
        if not fits(value):
            remedy = (
                "quote it" if words == "text" and not isinstance(value, (list, dict)) else f"write {words}"
            )
            documents.fault("metadata", ENVIRONMENT, f"{base}.{key}", f"{key} of resource {resource.id} must be {words}",
                            remedy)  # fmt: skip
    name = resource.metadata.get("akotf.scope", "a")
    if _text(name) and not re.fullmatch(NAME, name):
        documents.fault("metadata", ENVIRONMENT, f"{base}.akotf.scope", f"{name!r} can't be a scope's name",
                        "use lower-case letters, digits and '-'")  # fmt: skip
    return len(documents.findings) == count


def _check_scope(documents: Documents, base: str, alone: EnvironmentFile) -> None:
    """The scope that one resource makes."""
    (resource,) = alone.resources
    try:
        derive_scopes(alone)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            message, remedy = explain(detail)
            field = next((str(part) for part in detail["loc"] if part in _WRITTEN), "")
            key = _WRITTEN.get(field, ".".join(map(str, detail["loc"])))
            documents.fault(
                "metadata", ENVIRONMENT, f"{base}.{key}", f"resource {resource.id}: {key}: {message}", remedy
            )
    except ValueError as error:
        documents.fault("metadata", ENVIRONMENT, f"{base}.akotf.kind", f"resource {resource.id}: {error}",
                        "write local, hpc or cloud")  # fmt: skip
