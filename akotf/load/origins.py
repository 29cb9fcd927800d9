"""The origin of every effective setting: through akotf.yaml, overrides, parameters, run.yaml and AkôFlow's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from akotf.load.rendering import Rendered
from akotf.load.specification import Template
from akotf.load.typed import Parameters
from akotf.model.akoflow import ENVIRONMENT
from akotf.model.config import EnvironmentSpec, RunSpec
from akotf.model.finding import Position
from akotf.model.origin import Origin, Source
from akotf.model.settings import by_kind, settings
from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode, dotted

#: How the place of an override begins; the rest is the name as it was given.
OVERRIDE = "override "
_UNITS = {"bytes": "bytes", "duration": "duration"}


def default_places(template: Template) -> dict[str, Mark]:
    """Where the template writes each parameter's default, or the parameter when it has none."""
    places = {}
    parameters = template.node.get("parameters")
    for name, entry in parameters.entries.items() if isinstance(parameters, MapNode) else ():
        default = entry.value.get("default") if isinstance(entry.value, MapNode) else None
        places[name] = default.mark if default is not None else entry.mark
    return places


@dataclass
class Sources:
    """What was read on the way to a desired state; places by dotted path."""

    environment: Mapping[str, Position]
    run: Mapping[str, Position]
    template: Template
    parameters: Parameters
    written: Node  # run.yaml before rendering
    rendered: Rendered
    derived: Mapping[str, Position] = field(default_factory=dict)  # settings that AkôFlow's resources gave

    def origins(self, spec: EnvironmentSpec, run: RunSpec) -> dict[str, Origin]:
        """The origin of each setting of `akotf.model.settings`, the final values given."""
        uses = {dotted(("run", *path)): (path, names) for path, names in self.rendered.uses.items()}
        found: dict[str, Origin] = {}
        defaults = default_places(self.template)
        for leaf in settings(spec, self.parameters.values, run):
            group, _, rest = leaf.path.partition(".")
            if group == "parameters":
                found[leaf.path] = self._parameter(rest, defaults)
            elif leaf.path in uses and not self._of_the_environment(leaf.path):
                found[leaf.path] = self._computed(*uses[leaf.path], defaults)
            else:
                found[leaf.path] = self._written(leaf.path, in_run=group == "run")
        for name, scope in spec.scopes.items():
            kind = Origin(
                source=Source.SCOPE, name=scope.kind.value, place=self._place(f"scopes.{name}.kind")
            )
            found |= {leaf.path: kind for leaf in by_kind(name, scope)}
        return found

    def _of_the_environment(self, path: str) -> bool:
        """True for a secret that akotf.yaml gives to the run."""
        return path.startswith("run.secrets.") and path.removeprefix("run.") in self.environment

    def _written(self, path: str, *, in_run: bool) -> Origin:
        if self._of_the_environment(path):
            path, in_run = path.removeprefix("run."), False
        if in_run:
            place = self.run.get(path)
            return Origin(source=Source.TEMPLATE if place else Source.DEFAULT, place=place)
        place = self.environment.get(path)
        if place is not None:
            return _given(place)
        above, _, last = path.rpartition(".")
        place = self.derived.get(path) or (self.derived.get(above) if last.isdigit() else None)
        if place is not None:
            return Origin(source=Source.AKOFLOW, place=place, name=ENVIRONMENT)
        return Origin(source=Source.DEFAULT)

    def _place(self, path: str) -> Position | None:
        return self.environment.get(path) or self.derived.get(path)

    def _parameter(self, name: str, defaults: Mapping[str, Mark]) -> Origin:
        spec = self.template.spec.parameters[name]
        unit = _UNITS.get(spec.type, spec.unit)
        mark = self.parameters.given.get(name)
        if mark is not None:
            origin = _given(mark.position())
            return origin.model_copy(update={"name": name, "unit": unit})
        place = defaults[name].position() if name in defaults else None
        return Origin(source=Source.PARAMETER_DEFAULT, name=name, place=place, unit=unit)

    def _computed(
        self, path: tuple[str | int, ...], names: tuple[str, ...], defaults: Mapping[str, Mark]
    ) -> Origin:
        """A value of an expression: decided by the one parameter that it uses, else at the expression."""
        node = _at(self.written, path)
        step = Origin(
            source=Source.TEMPLATE, place=node.mark.position() if node else None,
            name=node.text if isinstance(node, TextNode) else "",
        )  # fmt: skip
        inputs = [self._parameter(name, defaults) for name in names if name in self.template.spec.parameters]
        if not inputs:
            return step.model_copy(update={"name": "", "via": (step,)})
        sources = {origin.source for origin in inputs}
        source = Source.PARAMETER if Source.ENVIRONMENT in sources else Source.PARAMETER_DEFAULT
        if Source.OVERRIDE in sources:
            source = Source.OVERRIDE
        place = inputs[0].place if len(inputs) == 1 else step.place
        return Origin(source=source, place=place, name=", ".join(names), via=(step, *inputs))


def _given(place: Position) -> Origin:
    """What akotf.yaml or the command line says."""
    if place.file.startswith(OVERRIDE):
        return Origin(source=Source.OVERRIDE, place=place, name=place.file.removeprefix(OVERRIDE))
    return Origin(source=Source.ENVIRONMENT, place=place)


def _at(node: Node | None, path: tuple[str | int, ...]) -> Node | None:
    for part in path:
        if isinstance(node, MapNode):
            node = node.get(str(part))
        elif isinstance(node, ListNode) and isinstance(part, int):
            node = node.items[part]
    return node
