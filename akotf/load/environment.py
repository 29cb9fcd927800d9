"""An environment folder to its desired state, or all its faults at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError
from akotf.load import akoflow
from akotf.load.parameters import Parameters, bind_parameters
from akotf.load.rendering import Rendered, render
from akotf.load.template import RUN, Template, check_pin, open_template
from akotf.model.akoflow import EnvironmentFile
from akotf.model.akoflow_scopes import derive_scopes, scope_of
from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec
from akotf.model.finding import Finding, Position
from akotf.reading import yaml
from akotf.reading.bind import Bound, bind
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode, ValueNode, dotted, replaced

AKOTF = "akotf.yaml"


@dataclass
class _Faults:
    """What goes wrong on the way; reading goes on as far as it can."""

    findings: list[Finding] = field(default_factory=list)

    def take(self, error: ConfigError, mark: Mark | None = None, path: str = "") -> None:
        """The findings of an error; one without findings becomes one, at `mark`."""
        place = mark.position() if mark else Position(file=error.where) if error.where else None
        own = Finding(
            rule="config/template" if mark else "config/file", message=error.message, position=place, path=path,
            remedy=error.remedy,
        )  # fmt: skip
        self.findings.extend(error.findings or [own])


@dataclass
class _Instance:
    """A template with an environment's parameters in it, as far as it could be read."""

    template: Template | None = None
    parameters: Parameters = field(default_factory=Parameters)
    rendered: Rendered | None = None
    run: Bound[RunSpec] | None = None


def load(
    folder: Path, *, catalogues: Sequence[Path], overrides: Mapping[str, Any] | None = None
) -> DesiredState:
    """The desired state of the environment in `folder`.

    `catalogues` are template folders, the first that has a template wins. `overrides` replace values of akotf.yaml by
    dotted path; a name that is no key of akotf.yaml is a parameter's. Text in them is read like YAML text.
    ConfigError holds every fault found; IntegrityError when a published template was changed.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}", where=str(folder), remedy=f"akotf init {folder}")
    if not (folder / AKOTF).exists():
        raise ConfigError(f"{folder} has no {AKOTF}", where=str(folder), remedy=f"akotf init {folder}")
    faults = _Faults()
    documents = akoflow.read_documents(folder, inside)
    faults.findings.extend(documents.findings)
    try:
        node = _overridden(yaml.read(inside(folder, AKOTF)), overrides or {})
    except ConfigError as error:
        faults.take(error)
        raise _error(folder, faults.findings) from error
    bound = bind(node, EnvironmentSpec)
    faults.findings[:0] = bound.findings
    made = _instantiate(folder, node, catalogues, faults)
    if (
        bound.value is None
        or made.template is None
        or made.run is None
        or made.run.value is None
        or faults.findings
    ):
        raise _error(folder, faults.findings)
    spec, derived = _with_scopes(bound.value, documents)
    given = {name: made.parameters.values[name] for name in made.parameters.given}
    return DesiredState(
        environment=spec.model_copy(update={"parameters": given}),
        template=made.template.ref,
        parameters=made.parameters.values,
        run=made.run.value,
        akoflow=documents.data,
        folder=folder.resolve(),
        template_folder=made.template.folder.resolve(),
        positions={**documents.positions, **derived, **bound.positions, **made.run.positions},
        origins=_origins(bound, made, derived),
    )


def inside(folder: Path, name: str) -> Path:
    """The file `name` of an environment. ConfigError when it is absolute, climbs with `..`, or a link leads out."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"{name} leaves the environment folder", where=str(folder),
                          remedy="write a path below the environment folder")  # fmt: skip
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ConfigError(f"{folder / path} is a link that leads out of the environment folder ({target})",
                          where=str(folder / path), remedy="put the file itself there")  # fmt: skip
    return folder / path


def _error(folder: Path, findings: list[Finding]) -> ConfigError:
    count = f"{len(findings)} fault{'s' if len(findings) > 1 else ''}"
    return ConfigError(f"{count} in {folder}: {findings[0].message}", findings, where=str(folder))


def _overridden(node: Node, overrides: Mapping[str, Any]) -> Node:
    """akotf.yaml with the overrides in place of what it says."""
    for name, value in overrides.items():
        path = tuple(name.split("."))
        if path[0] not in EnvironmentSpec.model_fields:
            path = ("parameters", *path)
        node = replaced(node, path, _given(value, Mark(f"override {name}")))
    return node


def _given(value: Any, mark: Mark) -> Node:
    if isinstance(value, str):
        return TextNode(value, True, mark)
    if isinstance(value, Mapping):
        return MapNode({str(k): Entry(mark, _given(v, mark)) for k, v in value.items()}, mark)
    if isinstance(value, (list, tuple)):
        return ListNode(tuple(_given(v, mark) for v in value), mark)
    if value is None or isinstance(value, (bool, int, float)):
        return ValueNode(value, mark)
    return TextNode(str(value), True, mark)


def _instantiate(folder: Path, node: Node, catalogues: Sequence[Path], faults: _Faults) -> _Instance:
    """The template that akotf.yaml names, its parameters, and run.yaml with them."""
    made = _Instance()
    reference = node.get("template") if isinstance(node, MapNode) else None
    if not isinstance(node, MapNode) or not isinstance(reference, TextNode):
        return made
    try:
        template = open_template(reference.text, catalogues)
    except ConfigError as error:
        faults.take(error, reference.mark, "template")
        return made
    try:
        check_pin(template, folder)
    except ConfigError as error:
        faults.take(error)
    entry = node.entries.get("parameters")
    mark = entry.mark if entry else reference.mark
    made.template = template
    made.parameters = bind_parameters(template.spec, template.node, entry.value if entry else None, mark)
    faults.findings.extend(made.parameters.findings)
    if made.parameters.findings:
        return made
    try:
        made.rendered = render(
            yaml.read(template.folder / RUN), made.parameters.values, made.parameters.given
        )
    except ConfigError as error:
        faults.take(error)
        return made
    faults.findings.extend(made.rendered.findings)
    if not made.rendered.findings:
        made.run = bind(made.rendered.node, RunSpec, prefix="run")
        faults.findings.extend(made.run.findings)
    return made


def _with_scopes(
    spec: EnvironmentSpec, documents: akoflow.Documents
) -> tuple[EnvironmentSpec, dict[str, Position]]:
    """Scopes from the AkôFlow resources where akotf.yaml gives none; and where the resource of each stands."""
    inventory = documents.models.get(akoflow.ENVIRONMENT)
    if spec.scopes or not isinstance(inventory, EnvironmentFile):
        return spec, {}
    places: dict[str, Position] = {}
    for index, resource in enumerate(inventory.resources):
        found, place = scope_of(resource), documents.place(akoflow.ENVIRONMENT, f"resources.{index}")
        if found is not None and place is not None:
            places.setdefault(f"scopes.{found[0]}", place)
    return spec.model_copy(update={"scopes": derive_scopes(inventory)}), places


def _origins(
    environment: Bound[EnvironmentSpec], made: _Instance, derived: Mapping[str, Position]
) -> dict[str, str]:
    """Where each value comes from: template | parameter | environment | akoflow | default."""
    origins = dict.fromkeys((path for path in environment.positions if path), "environment")
    origins |= dict.fromkeys(derived, "akoflow")
    if made.run is not None:
        origins |= dict.fromkeys((path for path in made.run.positions if path != "run"), "template")
    for name in made.parameters.values:
        origins[f"parameters.{name}"] = "environment" if name in made.parameters.given else "default"
    for path, names in (made.rendered.uses if made.rendered else {}).items():
        key = dotted(("run", *path))
        if key in origins and names:
            origins[key] = "parameter" if any(n in made.parameters.given for n in names) else "default"
    return origins
