"""Where an effective value comes from: which source decided it, at which place, and by which way it came."""

from __future__ import annotations

from enum import StrEnum

from akotf.model.base import Frozen
from akotf.model.finding import Position


class Source(StrEnum):
    """Who decides a value; the first of these that says one wins."""

    OVERRIDE = "override"  # the command line
    ENVIRONMENT = "environment"  # akotf.yaml
    PARAMETER = "parameter"  # run.yaml, from parameters of which akotf.yaml gives at least one
    AKOFLOW = "akoflow"  # one of AkôFlow's files
    TEMPLATE = "template"  # run.yaml itself
    PARAMETER_DEFAULT = "parameter-default"  # template.yaml, directly or through run.yaml
    SCOPE = "scope"  # follows from the kind of a scope
    DEFAULT = "default"  # akotf


class Origin(Frozen):
    """The origin of one setting.

    `place` is where the value was decided (none for akotf's own defaults); `name` the parameters, the AkôFlow file or the
    scope's kind that decided; of a step in `via` the expression. `via` is the way of a computed value: the expression in
    run.yaml, then each parameter that it uses. `unit` is a parameter's: `bytes`, `duration`, or its own word.
    """

    source: Source
    place: Position | None = None
    name: str = ""
    via: tuple[Origin, ...] = ()
    unit: str = ""

    def words(self) -> str:
        """The origin as people say it: `parameter steps`, `default of cpus`, `environment`."""
        words = {
            Source.OVERRIDE: f"override of {self.name}", Source.PARAMETER: f"parameter {self.name}",
            Source.PARAMETER_DEFAULT: f"default of {self.name}", Source.SCOPE: f"default of {self.name}",
            Source.AKOFLOW: self.name,
        }  # fmt: skip
        return words.get(self.source, self.source.value) if self.name else self.source.value
