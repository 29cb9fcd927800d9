"""`sources.yaml`: from where templates may be fetched. Without an entry nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from akotf.errors import ConfigError
from akotf.gitsource.address import GitAddress, Place, parse_prefix
from akotf.model.base import Frozen
from akotf.model.finding import Finding
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.yaml import shown_path

SOURCES = "sources.yaml"


class SourcesFile(Frozen):
    """`iac/sources.yaml`."""

    version: Literal[1]
    allow: tuple[str, ...]  # URL prefixes: scheme, host and leading path segments


def read_sources(path: Path) -> tuple[Place, ...]:
    """The allowed prefixes. ConfigError with all faults."""
    bound = bind(yaml.read(path), SourcesFile)
    findings, places = list(bound.findings), []
    for index, text in enumerate(bound.value.allow if bound.value else ()):
        try:
            places.append(parse_prefix(text))
        except ConfigError as error:
            where = bound.positions[f"allow.{index}"]
            message = error.message.replace("the address of the git template", "the prefix")
            findings.append(Finding(rule="config/source", message=message, position=where, path=f"allow.{index}",
                                    remedy=error.remedy, sensitive=True))  # fmt: skip
    if findings:
        raise ConfigError(f"{path} has faults: {findings[0].message}", findings, where=str(path))
    return tuple(places)


def require_allowed(address: GitAddress, catalogues: Sequence[Path]) -> None:
    """ConfigError unless the first catalogue with a `sources.yaml` (the project's own) allows the repository."""
    # A pipe or a broken link in its place is told by `read_sources`, and does not hand over to the next catalogue.
    found = next((f for c in catalogues if (f := c / SOURCES).is_symlink() or f.exists()), None)
    if found is not None and any(place.covers(address.place) for place in read_sources(found)):
        return
    url = address.place.url
    if found:
        file = shown_path(found)
        message, remedy = f"{file} does not allow it", f"add to {file}: allow: [{url}]"
    else:
        message = f"no iac/{SOURCES} allows it"
        remedy = f"write iac/{SOURCES} in the project's folder: version: 1 and allow: [{url}]"
    raise ConfigError(
        f"templates may not be fetched from {url}: {message}", remedy=f"review that repository, then {remedy}"
    )
