"""An environment folder to its desired state, or all its faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError
from akotf.load import akoflow, yaml
from akotf.load.bind import Bound, bind
from akotf.load.catalogue import split_reference
from akotf.load.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode, ValueNode, replaced
from akotf.load.parameters import Parameters, bind_parameters
from akotf.load.rendering import Rendered, render
from akotf.load.template import RUN, Template, check_pin, open_template
from akotf.model.akoflow import EnvironmentFile, derive_scopes
from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec
from akotf.model.finding import Finding, Position

AKOTF = "akotf.yaml"


@dataclass
class _Faults:
    """What goes wrong on the way; reading goes on as far as it can."""

    findings: list[Finding] = field(default_factory=list)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Take the findings of a ConfigError; one without findings becomes one."""
        try:
            yield
        except ConfigError as error:
            if not error.findings:
                place = Position(file=error.where) if error.where else None
                self.findings.append(
                    Finding(rule="config/file", message=error.message, position=place, remedy=error.remedy)
                )
            self.findings.extend(error.findings)


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
    node: Node | None = None
    with faults.gathered():
        node = yaml.read(inside(folder, AKOTF), str(folder / AKOTF))
        node = _overridden(node, overrides or {})
    documents = akoflow.Documents()
    with faults.gathered():
        documents = akoflow.read_documents(folder, inside)
    faults.findings.extend(documents.findings)
    if node is None:
        raise _error(folder, faults.findings)
    bound = bind(node, EnvironmentSpec)
    faults.findings.extend(bound.findings)
    template, parameters, rendered, run = _template(folder, node, catalogues, faults)
    if bound.value is None or template is None or run is None or run.value is None or faults.findings:
        raise _error(folder, faults.findings)
    spec, derived = _with_scopes(bound.value, documents)
    spec = spec.model_copy(update={"parameters": {k: parameters.values[k] for k in parameters.given}})
    positions = {**documents.positions, **bound.positions, **run.positions}
    return DesiredState(
        environment=spec,
        template=template.ref,
        parameters=parameters.values,
        run=run.value,
        akoflow=documents.data,
        folder=folder.resolve(),
        template_folder=template.folder.resolve(),
        positions=positions,
        origins=_origins(bound, run, rendered, parameters, derived),
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


def _template(
    folder: Path, node: Node, catalogues: Sequence[Path], faults: _Faults
) -> tuple[Template | None, Parameters, Rendered | None, Bound[RunSpec] | None]:
    """The template that akotf.yaml names, its parameters, and run.yaml with them."""
    reference = node.get("template") if isinstance(node, MapNode) else None
    nothing = Parameters()
    if not isinstance(reference, TextNode):
        return None, nothing, None, None
    template = None
    with faults.gathered(), _at(reference.mark, "template"):
        split_reference(reference.text)
        template = open_template(reference.text, catalogues)
    if template is None:
        return None, nothing, None, None
    with faults.gathered():
        check_pin(template, folder)
    assert isinstance(node, MapNode)
    entry = node.entries.get("parameters")
    mark = entry.mark if entry else reference.mark
    parameters = bind_parameters(template.spec, template.node, entry.value if entry else None, mark)
    faults.findings.extend(parameters.findings)
    if parameters.findings:
        return template, parameters, None, None
    with faults.gathered():
        rendered = render(yaml.read(template.folder / RUN), parameters.values, parameters.given)
        faults.findings.extend(rendered.findings)
        run = None
        if not rendered.findings:
            run = bind(rendered.node, RunSpec, prefix="run")
            faults.findings.extend(run.findings)
        return template, parameters, rendered, run
    return template, parameters, None, None


@contextmanager
def _at(mark: Mark, path: str) -> Iterator[None]:
    """Give a ConfigError without findings the place in akotf.yaml that caused it."""
    try:
        yield
    except ConfigError as error:
        if error.findings:
            raise
        finding = Finding(
            rule="config/template",
            message=error.message,
            position=mark.position(),
            path=path,
            remedy=error.remedy,
        )
        raise ConfigError(error.message, [finding]) from error


def _with_scopes(
    spec: EnvironmentSpec, documents: akoflow.Documents
) -> tuple[EnvironmentSpec, frozenset[str]]:
    """Scopes from the AkôFlow resources where akotf.yaml gives none; and the names of those."""
    inventory = documents.models.get(akoflow.ENVIRONMENT)
    if spec.scopes or not isinstance(inventory, EnvironmentFile):
        return spec, frozenset()
    scopes = derive_scopes(inventory)
    return spec.model_copy(update={"scopes": scopes}), frozenset(scopes)


def _origins(
    environment: Bound[EnvironmentSpec], run: Bound[RunSpec], rendered: Rendered | None, parameters: Parameters,
    derived: frozenset[str],
) -> dict[str, str]:  # fmt: skip
    """Where each value comes from: template | parameter | environment | akoflow | default."""
    origins = dict.fromkeys((p for p in environment.positions if p), "environment")
    origins |= dict.fromkeys((f"scopes.{name}" for name in derived), "akoflow")
    origins |= dict.fromkeys((p for p in run.positions if p != "run"), "template")
    for name in parameters.values:
        origins[f"parameters.{name}"] = "environment" if name in parameters.given else "default"
    for path, names in (rendered.uses if rendered else {}).items():
        key = ".".join(str(part) for part in ("run", *path))
        if key in origins and names:
            origins[key] = "parameter" if any(n in parameters.given for n in names) else "default"
    return origins
