"""An environment folder to its desired state, or all its faults at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError
from akotf.gitsource.address import is_git
from akotf.load import akoflow
from akotf.load.documents import Documents
from akotf.load.origins import Sources, default_places
from akotf.load.overriding import overridden
from akotf.load.parameters import bind_parameters
from akotf.load.rendering import Rendered, render
from akotf.load.specification import RUN, Template
from akotf.load.template import check_pin, open_template
from akotf.load.typed import Parameters
from akotf.model.akoflow import ENVIRONMENT, EnvironmentFile
from akotf.model.akoflow_scopes import derive_scopes, written_at
from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec
from akotf.model.finding import Finding, Position, Severity
from akotf.reading import yaml
from akotf.reading.bind import Bound, bind
from akotf.reading.nodes import MapNode, Mark, Node, TextNode

AKOTF = "akotf.yaml"
OTHER_NAMES = ("akotf.yml", "Akotf.yaml", "akotf.json")  # that people give it; not read


@dataclass
class _Faults:
    """What goes wrong on the way; reading goes on as far as it can."""

    findings: list[Finding] = field(default_factory=list)

    def take(
        self, error: ConfigError, mark: Mark | None = None, path: str = "", *, sensitive: bool = False
    ) -> None:
        """The findings of an error; one without findings becomes one, at `mark`."""
        place = mark.position() if mark else Position(file=error.where) if error.where else None
        own = Finding(
            rule="config/template" if mark else "config/file", message=error.message, position=place, path=path,
            remedy=error.remedy, sensitive=sensitive,  # the address of a git template may hold a credential
        )  # fmt: skip
        self.findings.extend(error.findings or [own])


@dataclass
class _Instance:
    """A template with an environment's parameters in it, as far as it could be read."""

    template: Template | None = None
    parameters: Parameters = field(default_factory=Parameters)
    written: Node | None = None  # run.yaml before rendering
    rendered: Rendered | None = None
    run: Bound[RunSpec] | None = None


def load(
    folder: Path,
    *,
    catalogues: Sequence[Path],
    overrides: Mapping[str, Any] | None = None,
    cache: Path | None = None,
    template: Template | None = None,
    opener: Callable[..., Template] = open_template,
) -> DesiredState:
    """The desired state of the environment in `folder`.

    `catalogues` are template folders, the first that has a template wins; `cache` is where templates from git are kept.
    `overrides` replace values of akotf.yaml by dotted path; a name that is no key of akotf.yaml is a parameter's. Text
    in them is read like YAML text. `template` stands in for the one that akotf.yaml names, whatever is pinned; `opener`
    opens it in place of `open_template` (one that remembers, where many environments are loaded).
    ConfigError holds every fault found; IntegrityError when a published template was changed.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}", where=str(folder), remedy=f"akotf init {folder}")
    if not (folder / AKOTF).exists():
        other = next((name for name in OTHER_NAMES if (folder / name).is_file()), "")
        remedy = f"rename {other} to {AKOTF}" if other else f"akotf init {folder}"
        raise ConfigError(f"{folder} has no {AKOTF}", where=str(folder), remedy=remedy)
    faults = _Faults()
    documents = akoflow.read_documents(folder, inside)
    faults.findings.extend(documents.findings)
    try:
        node = overridden(yaml.read(inside(folder, AKOTF)), overrides or {})
    except ConfigError as error:
        faults.take(error)
        raise _error(folder, faults.findings) from error
    bound = bind(node, EnvironmentSpec)
    faults.findings[:0] = bound.findings
    made = _instantiate(folder, node, faults, catalogues, cache, template, opener)
    if bound.value is None or made.run is None or made.run.value is None or faults.findings:
        raise _error(folder, faults.findings)
    return _state(folder, bound.value, bound.positions, made, documents)


def _state(
    folder: Path,
    spec: EnvironmentSpec,
    places: Mapping[str, Position],
    made: _Instance,
    documents: Documents,
) -> DesiredState:
    """What was read, joined: scopes from AkôFlow's resources, secrets of both sides, and who decided what."""
    assert made.template and made.written and made.rendered and made.run and made.run.value
    spec, derived = _with_scopes(spec, documents)
    run, notes = _with_secrets(made.run.value, spec, places, made.run.positions)
    given = {name: made.parameters.values[name] for name in made.parameters.given}
    sources = Sources(
        environment=places, run=made.run.positions, template=made.template, parameters=made.parameters,
        written=made.written, rendered=made.rendered, derived=derived,
    )  # fmt: skip
    origins = sources.origins(spec, run)
    decided = {path: origin.place for path, origin in origins.items() if origin.place is not None}
    return DesiredState(
        environment=spec.model_copy(update={"parameters": given}),
        template=made.template.ref,
        parameters=made.parameters.values,
        run=run,
        akoflow=documents.data,
        folder=folder.resolve(),
        template_folder=made.template.folder.resolve(),
        positions={**documents.positions, **derived, **made.run.positions, **places, **decided},
        origins=origins,
        notes=(*documents.notes, *notes),
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


def _instantiate(
    folder: Path,
    node: Node,
    faults: _Faults,
    catalogues: Sequence[Path],
    cache: Path | None,
    template: Template | None,
    opener: Callable[..., Template],
) -> _Instance:
    """The template that akotf.yaml names, its parameters, and run.yaml with them."""
    made = _Instance()
    reference = node.get("template") if isinstance(node, MapNode) else None
    if not isinstance(node, MapNode) or not isinstance(reference, TextNode):
        return made
    if template is None:
        try:
            template = opener(reference.text, catalogues, environment=folder, cache=cache)
        except ConfigError as error:
            faults.take(error, reference.mark, "template", sensitive=is_git(reference.text))
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
        run = template.folder / RUN
        made.written = yaml.read(run)
        places = {**default_places(template), **made.parameters.given}
        made.rendered = render(made.written, made.parameters.values, places, run)
    except ConfigError as error:
        faults.take(error)
        return made
    faults.findings.extend(made.rendered.findings)
    if not made.rendered.findings:
        made.run = bind(made.rendered.node, RunSpec, prefix="run")
        faults.findings.extend(made.run.findings)
    return made


def _with_scopes(spec: EnvironmentSpec, documents: Documents) -> tuple[EnvironmentSpec, dict[str, Position]]:
    """Scopes from the AkôFlow resources where akotf.yaml gives none; and where each of their settings stands."""
    inventory = documents.models.get(ENVIRONMENT)
    if spec.scopes or not isinstance(inventory, EnvironmentFile):
        return spec, {}
    places: dict[str, Position] = {}
    for index, resource in enumerate(inventory.resources):
        for path, written in written_at(resource, index).items():
            place = documents.place(ENVIRONMENT, written.removesuffix("."))
            if place is not None:
                places.setdefault(path, place)
    return spec.model_copy(update={"scopes": derive_scopes(inventory)}), places


def _with_secrets(
    run: RunSpec, spec: EnvironmentSpec, ours: Mapping[str, Position], theirs: Mapping[str, Position]
) -> tuple[RunSpec, list[Finding]]:
    """The run with the environment's secrets over the template's; a note where both give another reference."""
    notes = []
    for name, reference in spec.secrets.items():
        other = run.secrets.get(name, reference)
        if other != reference:
            path = f"secrets.{name}"
            place = theirs.get(f"run.{path}")
            notes.append(Finding(
                rule="config/secret-conflict", severity=Severity.WARNING, position=ours.get(path), path=path,
                message=f"{path} is {reference} in akotf.yaml and {other} in run.yaml ({place}); akotf.yaml wins",
                remedy="remove it from akotf.yaml to use the template's, or keep it on purpose",
            ))  # fmt: skip
    return run.model_copy(update={"secrets": {**run.secrets, **spec.secrets}}), notes
