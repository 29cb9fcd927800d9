"""Backends by name, from the entry points `akotf.backends`: the built-in ones are found the same way."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from akotf.errors import MissingDependency, UsageError
from akotf.ports import Backend

GROUP = "akotf.backends"


def available() -> dict[str, EntryPoint]:
    """All installed backends, by name; nothing is imported, so one that can't be imported stands here too."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda p: p.name)}


def load(name: str, points: dict[str, EntryPoint] | None = None) -> Backend:
    """A backend, made by its entry point without arguments.

    UsageError when nobody provides `name`; MissingDependency, with what to install, when its code does not import.
    """
    points = available() if points is None else points
    if name not in points:
        known = ", ".join(points) or "none: is akotf installed?"
        raise UsageError(
            f"there is no backend {name!r}; installed are: {known}",
            remedy=f"correct the name, or install the package that provides {name!r} in the entry points {GROUP}",
        )
    try:
        factory: Callable[[], Backend] = points[name].load()
    except (ImportError, AttributeError) as error:
        raise MissingDependency(
            f"backend {name!r} ({points[name].value}) can't be imported: {error}",
            remedy=_remedy(points[name]),
        ) from error
    return factory()


def _remedy(point: EntryPoint) -> str:
    """An entry point names the extra that brings its packages: `my = "package.module:Class [extra]"`."""
    package = point.dist.name if point.dist is not None else point.module.partition(".")[0]
    extras = f"[{','.join(point.extras)}]" if point.extras else ""
    return f"pip install '{package}{extras}'"
