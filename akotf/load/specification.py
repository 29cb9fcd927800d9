"""A template's own words, `template.yaml`, read and checked."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from akotf.errors import ConfigError
from akotf.model.config import NAME, TemplateRef, TemplateSpec
from akotf.model.finding import Finding, Position
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import MapNode
from akotf.reading.yaml import shown_path

TEMPLATE, RUN = "template.yaml", "run.yaml"


@dataclass(frozen=True)
class Template:
    """A template as found: where it lies, what it says, and its digest."""

    ref: TemplateRef
    folder: Path
    spec: TemplateSpec
    node: MapNode  # template.yaml as written: parameters are read by their type from it

    @property
    def reference(self) -> str:
        """What an environment writes to ask for it."""
        return self.ref.source or f"{self.ref.name}@{self.ref.version}"


def read_template(folder: Path, content: str, *, source: str = "", commit: str = "") -> Template:
    """The template whose files have the digest `content`. ConfigError with all faults of template.yaml."""
    node, spec = _read(folder, content, shown_path(folder / TEMPLATE))
    ref = TemplateRef(name=spec.name, version=spec.release, content=content, source=source, commit=commit)
    return Template(ref, folder, spec, node)


def require_named(template: Template, name: str, version: str) -> None:
    """ConfigError unless template.yaml says the name and version of its folder."""
    if (template.ref.name, template.ref.version) == (name, version):
        return
    entry = template.node.entries["name"].value
    message = f"template.yaml says {template.ref.name}@{template.ref.version}, its folder {name}@{version}"
    finding = Finding(rule="config/template-name", message=message, position=entry.mark.position(), path="name",
                      remedy="make them agree")  # fmt: skip
    raise ConfigError(message, [finding], where=str(template.folder / TEMPLATE), remedy="make them agree")


@functools.lru_cache(maxsize=64)
def _read(folder: Path, content: str, shown: str) -> tuple[MapNode, TemplateSpec]:  # noqa: ARG001 - keys
    """Read once for each content: many environments of one call share a template."""
    path = folder / TEMPLATE
    if not path.is_file():
        raise ConfigError(
            f"{folder} holds no {TEMPLATE}", where=str(folder), remedy="name a template's folder"
        )
    node = yaml.read(path)
    bound = bind(node, TemplateSpec)
    findings = list(bound.findings)
    if bound.value is not None:
        findings += _paths(bound.value, bound.positions)
    if findings or bound.value is None or not isinstance(node, MapNode):
        raise ConfigError(f"{path} has faults", findings, where=str(path))
    return node, bound.value


def _paths(spec: TemplateSpec, positions: dict[str, Position]) -> Iterator[Finding]:
    """Roots and modules stay inside the template."""
    for provider, root in spec.roots.items():
        path = PurePosixPath(root)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            yield _leaves(f"roots.{provider}", f"the root {root!r} leaves the template", positions)
    for index, module in enumerate(spec.modules):
        if not re.fullmatch(NAME, module):
            yield _leaves(f"modules.{index}", f"{module!r} is no module's name", positions)


def _leaves(path: str, message: str, positions: dict[str, Position]) -> Finding:
    return Finding(rule="config/template", message=message, position=positions.get(path), path=path,
                   remedy="write a name or path below the template's folder")  # fmt: skip
