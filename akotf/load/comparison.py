"""Two templates, or two desired states, side by side."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.load.catalogue import plain_files
from akotf.load.parameters import bind_parameters
from akotf.load.specification import RUN, TEMPLATE, Template
from akotf.load.typed import Typed
from akotf.model.config import Baseline, DesiredState, ParameterSpec
from akotf.model.units import format_bytes, format_duration
from akotf.reading import yaml
from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode, ValueNode, dotted

_BYTES = ("limits.memory", "limits.shared_memory", "workload.dataset_bytes")


@dataclass(frozen=True)
class Change:
    """One thing that differs; None: it is not there on that side."""

    path: str
    old: Any
    new: Any

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {"path": self.path, "old": self.old, "new": self.new}


@dataclass(frozen=True)
class ParameterChange:
    """A parameter that is new, gone, or specified differently."""

    name: str
    kind: str  # added | removed | changed
    fields: tuple[Change, ...]  # by field of the specification, as text in the parameter's unit

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return {"name": self.name, "change": self.kind, "fields": [f.to_json() for f in self.fields]}


@dataclass(frozen=True)
class FileChange:
    """A file that differs."""

    path: str
    kind: str  # added | removed | changed
    patch: str  # unified diff; of files that are not text, a line that says so


@dataclass(frozen=True)
class Comparison:
    """What differs between two templates."""

    parameters: tuple[ParameterChange, ...]
    constraints: tuple[Change, ...]  # expressions that are on one side only, or with another message
    run: tuple[Change, ...]  # run.yaml as written
    files: tuple[FileChange, ...]

    @property
    def same(self) -> bool:
        """Whether every byte is the same."""
        return not self.files


def compare(old: Template, new: Template) -> Comparison:
    """What somebody who moves from `old` to `new` has to know."""
    rules = [{c.expr: c.message for c in t.spec.constraints} for t in (old, new)]
    return Comparison(
        parameters=compare_parameters(old, new),
        constraints=tuple(_changes(*rules)),
        run=tuple(_changes(_written(old.folder / RUN), _written(new.folder / RUN))),
        files=tuple(_files(old.folder, new.folder)),
    )


def compare_parameters(old: Template, new: Template) -> tuple[ParameterChange, ...]:
    """Parameters added, removed and changed, in the order of the templates."""
    before, after = described(old), described(new)
    found = []
    for name in {**before, **after}:
        kind = "changed" if name in before and name in after else "added" if name in after else "removed"
        fields = tuple(_changes(before.get(name, {}), after.get(name, {})))
        if fields:
            found.append(ParameterChange(name, kind, fields))
    return tuple(found)


def described(template: Template) -> dict[str, dict[str, str]]:
    """Each parameter's specification by field, as text in its unit. A secret is shown by its reference, or not at all."""
    mark = Mark(str(template.folder / TEMPLATE))
    bound = bind_parameters(template.spec, template.node, None, mark)
    return {name: _described(spec, bound.typed.get(name)) for name, spec in template.spec.parameters.items()}


def _described(spec: ParameterSpec, typed: Typed | None) -> dict[str, str]:
    texts = {"type": str(spec.type)}
    if typed is None and not spec.secret:  # its own specification has faults: as it is written
        raw = {"min": spec.min, "max": spec.max, "choices": spec.choices or None, "default": spec.default}
        texts |= {key: str(value) for key, value in raw.items() if value is not None}
    if typed is not None:
        default = typed.node.get("default")
        bounds = {key: typed.bound(key) for key in ("min", "max")}
        texts |= {key: typed.shown(bound) for key, bound in bounds.items() if bound is not None}
        if typed.choices():
            texts["choices"] = ", ".join(map(typed.shown, typed.choices()))
        if default is not None:
            texts["default"] = typed.shown(typed.read(default))
    texts |= {key: getattr(spec, key) for key in ("unit", "pattern", "help") if getattr(spec, key)}
    return texts | {key: "yes" for key in ("required", "secret") if getattr(spec, key)}


def compare_states(old: DesiredState | None, new: DesiredState) -> dict[str, tuple[Change, ...]]:
    """What a new desired state would change, by group: `baseline` (what a run is held to), `run`, `parameters`."""
    before = _flat(old.run.to_json()) if old else {}
    after = _flat(new.run.to_json())
    changes = [
        Change(c.path, _united(c.path, c.old), _united(c.path, c.new)) for c in _changes(before, after)
    ]
    held = tuple(c for c in changes if c.path.split(".")[0] in Baseline.model_fields)
    return {
        "baseline": held,
        "run": tuple(c for c in changes if c not in held),
        "parameters": tuple(_changes(old.parameters if old else {}, new.parameters)),
    }


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for path in {**old, **new}:
        before, after = old.get(path), new.get(path)
        if before != after or type(before) is not type(after):
            yield Change(path, before, after)


def _flat(data: Any, path: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """Dotted path -> value, of everything that is no mapping; lists are one value."""
    if not isinstance(data, dict):
        return {dotted(path): data}
    return {k: v for key, value in data.items() for k, v in _flat(value, (*path, key)).items()}


def _united(path: str, value: Any) -> Any:
    if value is None:
        return None
    if path in _BYTES:
        return format_bytes(int(value))
    return format_duration(float(value)) if path == "limits.wall_time" else value


def _written(path: Path) -> dict[str, str]:
    """Dotted path -> text, of run.yaml as written."""
    return dict(_leaves(yaml.read(path), ())) if path.is_file() else {}


def _leaves(node: Node, path: tuple[str | int, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            yield from _leaves(entry.value, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _leaves(item, (*path, index))
    elif isinstance(node, (TextNode, ValueNode)):
        yield dotted(path), node.text if isinstance(node, TextNode) else str(node.value)


def _files(old: Path, new: Path) -> Iterator[FileChange]:
    before, after = plain_files(old), plain_files(new)
    for path in sorted({**before, **after}):
        a = before[path].read_bytes() if path in before else b""
        b = after[path].read_bytes() if path in after else b""
        if path not in before or path not in after or a != b:
            kind = "added" if path not in before else "removed" if path not in after else "changed"
            yield FileChange(path, kind, _patch(path, a, b, kind))


def _patch(path: str, old: bytes, new: bytes, kind: str) -> str:
    try:
        a, b = (data.decode().splitlines(keepends=True) for data in (old, new))
    except UnicodeDecodeError:
        return f"{path} is not text, and differs\n"
    names = (
        "/dev/null" if kind == "added" else f"a/{path}",
        "/dev/null" if kind == "removed" else f"b/{path}",
    )
    lines = difflib.unified_diff(a, b, *names)
    return "".join(x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
