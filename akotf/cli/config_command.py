"""`akotf config`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

from akotf.cli.arguments import add_environment, add_parameters, parameters_of
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.errors import UsageError
from akotf.load.environment import AKOTF
from akotf.model.config import DesiredState
from akotf.model.finding import Position
from akotf.model.literals import is_secret_of, literals
from akotf.model.origin import Origin, Source
from akotf.model.settings import Leaf, by_kind, settings, shown
from akotf.pipeline.planning import load
from akotf.reading.bind import suggest

EXAMPLES = (
    "akotf config show environments/quickstart",
    "akotf config show . run.limits objective.deadline",
    "akotf config show . --changed -p steps=600",
    "akotf config show . --scope campus --json",
)

WIDTH = 100
_NAME, _ORIGIN, _PLACE = 24, 26, 24  # columns at most; the value takes the rest
#: What this environment decides itself.
_GIVEN = frozenset({Source.OVERRIDE, Source.ENVIRONMENT, Source.PARAMETER, Source.AKOFLOW})

#: In place of a secret that was written out.
HIDDEN = "(a secret is written out here)"

Row = tuple[Leaf, Origin]


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument(
        "what", choices=("show",), help="show: every setting, its value and where it comes from"
    )
    add_environment(parser)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="only what lies at or below these, with its way"
    )
    add_parameters(parser)
    parser.add_argument("--scope", default="", metavar="NAME", help="leave the other scopes out")
    parser.add_argument("--origin", choices=[s.value for s in Source], help="only what this source decided")
    parser.add_argument("--changed", action="store_true", help="only what this environment decides itself")


def run(arguments: argparse.Namespace) -> int:
    """Each setting's final value and origin; nothing is judged and no secret is resolved."""
    view = View(arguments)
    if not Path(arguments.environment).exists() and (Path() / AKOTF).exists():
        words = " ".join([arguments.environment, *arguments.paths])
        raise UsageError(f"there is no folder {arguments.environment}", remedy=f"akotf config show . {words}")
    session = session_of(arguments, view)
    state = load(session, parameters_of(arguments))
    rows = [row for row in rows_of(state) if _wanted(row, arguments)]
    _refuse_strangers(state, arguments)
    rows = [
        row for row in rows if not arguments.paths or any(_below(row[0].path, p) for p in arguments.paths)
    ]
    data = {
        "schema": 1, "environment": state.environment.name, "scope": arguments.scope,
        "template": f"{state.template.name}@{state.template.version}", "baseline": state.baseline().digest(),
        "settings": [row_json(*row) for row in rows],
    }  # fmt: skip
    view.result(data, "" if view.json else table(rows, ways=bool(arguments.paths)))
    return 0


def rows_of(state: DesiredState) -> list[Row]:
    """Every setting with its origin; what a scope's kind decides comes after what is written of the scope."""
    scopes = state.environment.scopes
    leaves = list(settings(state.environment, state.parameters, state.run))
    for name, scope in scopes.items():
        last = max((i for i, leaf in enumerate(leaves) if _below(leaf.path, f"scopes.{name}")), default=-1)
        leaves[last + 1 : last + 1] = by_kind(name, scope)
    unknown = Origin(source=Source.DEFAULT)
    rows = []
    for leaf in leaves:
        origin = state.origins.get(leaf.path, unknown)
        value = HIDDEN if _is_secret(leaf) else leaf.value
        rows.append((leaf._replace(value=value, unit=leaf.unit or origin.unit), origin))
    return rows


def _is_secret(leaf: Leaf) -> bool:
    """Whether somebody wrote a secret out, where only a reference may stand; `akotf validate` tells it."""
    text = leaf.value
    return isinstance(text, str) and bool(literals(text) or is_secret_of(leaf.path.rpartition(".")[2], text))


def row_json(leaf: Leaf, origin: Origin) -> dict[str, Any]:
    """A setting as JSON: `value` whole and typed, `text` as people write it."""
    value = leaf.value
    if value is not None and not isinstance(value, (bool, int, float, str)):
        value = [] if value == () else {} if value == {} else str(value)
    elif isinstance(value, str):
        value = str(value)
    return {
        "path": leaf.path, "value": value, "text": shown(leaf), "unit": leaf.unit, "source": origin.source.value,
        "name": origin.name, "place": _place_json(origin.place),
        "via": [
            {"source": step.source.value, "name": step.name, "place": _place_json(step.place)} for step in origin.via
        ],
    }  # fmt: skip


def _place_json(place: Position | None) -> dict[str, Any] | None:
    data: dict[str, Any] | None = None if place is None else place.to_json()
    return data


def _below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}.")


def _wanted(row: Row, arguments: argparse.Namespace) -> bool:
    leaf, origin = row
    if arguments.origin and origin.source.value != arguments.origin:
        return False
    if arguments.changed and origin.source not in _GIVEN:
        return False
    return not (
        arguments.scope and _below(leaf.path, "scopes") and not _below(leaf.path, f"scopes.{arguments.scope}")
    )


def _refuse_strangers(state: DesiredState, arguments: argparse.Namespace) -> None:
    """UsageError for a scope or a path that is not there."""
    scopes = list(state.environment.scopes)
    if arguments.scope and arguments.scope not in scopes:
        raise UsageError(
            f"there is no scope {arguments.scope!r}", where="--scope", remedy=suggest(arguments.scope, scopes)
        )
    known = [leaf.path for leaf, _ in rows_of(state)]
    for path in arguments.paths:
        if not any(_below(each, path) for each in known):
            raise UsageError(f"there is no setting {path!r}", where="PATH", remedy=_near(path, known))


def _near(path: str, known: Sequence[str]) -> str:
    """The nearest name at the first step of the path that is not there."""
    parts = path.split(".")
    above = ""
    for part in parts:
        here = f"{above}.{part}" if above else part
        if not any(_below(each, here) for each in known):
            start = f"{above}." if above else ""
            names = dict.fromkeys(
                each[len(start) :].split(".")[0] for each in known if each.startswith(start)
            )
            return suggest(part, list(names))
        above = here
    return ""


# -- the table --------------------------------------------------------------------------------------------------------


def table(rows: Iterable[Row], *, ways: bool) -> str:
    """Groups of settings with value, origin and place, and the files that the places name; `ways` shows how values came."""
    rows = list(rows)
    if not rows:
        return "no setting is decided there"
    files = _files([o for _, origin in rows for o in (origin, *origin.via)])
    groups: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        group, name = _group(row[0].path)
        groups.setdefault(group, []).append((name, row))
    names = min(_NAME, max(len(name) for members in groups.values() for name, _ in members))
    origins = min(_ORIGIN, max(len(_words(*row)) for row in rows))
    places = min(_PLACE, max(len(_place(origin.place, files)) for _, origin in rows))
    widths = (names, WIDTH - names - origins - places - 8, origins)
    lines: list[str] = []
    for group, members in groups.items():
        lines += ["", group] if lines else [group]
        for name, (leaf, origin) in members:
            cells = zip((name, shown(leaf), _words(leaf, origin)), widths, strict=True)
            line = "  " + "  ".join(f"{_cut(text, width):<{width}}" for text, width in cells)
            lines.append(f"{line}  {_place(origin.place, files)}".rstrip())
            if ways:
                lines += [_cut(f"      <- {_step(step, files)}", WIDTH) for step in origin.via]
    legend = {short: file for file, short in files.items() if short != file}
    width = max((len(short) for short in legend), default=0)
    lines += ["", *(f"{short:<{width}}  {file}" for short, file in legend.items())]
    return "\n".join(lines).rstrip()


def _words(leaf: Leaf, origin: Origin) -> str:
    """The origin; a parameter's own row does not name the parameter again."""
    if leaf.path == f"parameters.{origin.name}":
        return "template's default" if origin.source is Source.PARAMETER_DEFAULT else origin.source.value
    return origin.words()


def _step(step: Origin, files: dict[str, str]) -> str:
    what = shown(Leaf("", step.name)) if step.source is Source.TEMPLATE and step.name else step.words()
    return f"{what}  ({_place(step.place, files)})" if step.place else what


def _group(path: str) -> tuple[str, str]:
    """Heading and name: `run.limits`, `cpus`; what stands alone is of `environment`."""
    parts = path.split(".")
    depth = 2 if parts[0] in ("run", "scopes") else 1
    if len(parts) <= depth:
        return ("environment", path) if depth == 1 else (".".join(parts[:-1]), parts[-1])
    return ".".join(parts[:depth]), ".".join(parts[depth:])


def _files(origins: Iterable[Origin]) -> dict[str, str]:
    """Each file by its name alone, where no other file has that name."""
    files = dict.fromkeys(origin.place.file for origin in origins if origin.place and origin.place.line)
    names = [PurePath(file).name for file in files]
    return {file: PurePath(file).name if names.count(PurePath(file).name) == 1 else file for file in files}


def _place(place: Position | None, files: dict[str, str]) -> str:
    if place is None:
        return ""
    if not place.line:
        return place.file
    return f"{files[place.file]}:{place.line}:{place.column}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
