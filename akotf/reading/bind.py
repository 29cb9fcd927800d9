"""A positioned YAML tree to a model: every fault at once, each with place, path and what to write instead."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError

from akotf.model.finding import Finding, Position
from akotf.model.secret import NotAReference
from akotf.reading import leaves
from akotf.reading.leaves import Fault
from akotf.reading.nodes import ListNode, MapNode, Mark, Node, TextNode, ValueNode, dotted
from akotf.reading.scalars import NULLS, resolve
from akotf.reading.source import MAX_FAULTS, fault
from akotf.reading.words import fields, misplaced, nearest, suggest

__all__ = ["Bound", "bind", "plain", "suggest"]

M = TypeVar("M", bound=BaseModel)
Path = tuple[str | int, ...]
_SHORT = 60  # characters of a value that a remedy repeats
_MISSING = object()  # in place of a value that has a fault


@dataclass
class Bound(Generic[M]):
    """The model (None when there is a fault), the faults, and where each value was written."""

    value: M | None
    findings: list[Finding]
    positions: dict[str, Position]


def bind(node: Node, model: type[M], *, prefix: str = "", null_is_absent: bool = False) -> Bound[M]:
    """Read `node` as `model`.

    `prefix` leads every dotted path. With `null_is_absent` a null means that the key isn't there (Go's decoding,
    which AkôFlow's files follow); else it is a fault.
    """
    reader = _Reader((prefix,) if prefix else (), null_is_absent, model)
    data = reader.model(node, model, reader.prefix)
    value: M | None = None
    if data is not _MISSING:
        try:
            value = model.model_validate(data)
        except ValidationError as error:
            reader.constraints(error, node.mark)
    findings = sorted(
        reader.findings, key=lambda f: (f.position.line, f.position.column) if f.position else (0, 0)
    )
    if reader.more:
        findings.append(fault("too-many-faults", f"more than {MAX_FAULTS} faults; the others are not told", node.mark,
                              "mend these first"))  # fmt: skip
    return Bound(
        None if findings else value, findings, {dotted(p): m.position() for p, m in reader.marks.items()}
    )


def plain(node: Node) -> Any:
    """Python data of a tree whose types nothing fixes. ValueError for a number that can't be held."""
    if isinstance(node, MapNode):
        return {key: plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return resolve(node)


@dataclass
class _Reader:
    prefix: Path
    null_is_absent: bool
    root: type[BaseModel]
    findings: list[Finding] = field(default_factory=list)
    marks: dict[Path, Mark] = field(default_factory=dict)
    faulty: set[Path] = field(default_factory=set)
    more: bool = False  # faults that are not told

    @property
    def is_full(self) -> bool:
        """True when further faults are not told."""
        return len(self.findings) >= MAX_FAULTS

    def fault(
        self, rule: str, path: Path, mark: Mark, message: str, remedy: str = "", *, sensitive: bool = False
    ) -> Any:
        """Note a fault; the value is left out. Beyond a number that nobody reads, only that there are more."""
        self.faulty.add(path)
        if self.is_full:
            self.more = True
            return _MISSING
        self.findings.append(
            Finding(
                rule=f"config/{rule}",
                message=message,
                position=mark.position(),
                path=dotted(path),
                remedy=remedy,
                sensitive=sensitive,
            )
        )
        return _MISSING

    def model(self, node: Node, model: type[BaseModel], path: Path) -> Any:
        """A mapping with fixed keys."""
        if not isinstance(node, MapNode):
            what = dotted(path) or "the document"
            return self.fault("type", path, node.mark, f"{what} must be a mapping, not {_kind(node)}",
                              "write key: value lines")  # fmt: skip
        self.marks[path] = node.mark
        known = fields(model)
        data = {}
        for key, entry in node.entries.items():
            inner = (*path, key)
            if key not in known:
                self.fault("unknown-key", inner, entry.mark, f"unknown key {dotted(inner)!r}",
                           self.meant(key, list(known), path))  # fmt: skip
                continue
            annotation, metadata, _ = known[key]
            if not (self.null_is_absent and _is_null(entry.value)):
                value = self.value(entry.value, annotation, metadata, inner, entry.mark)
                if value is not _MISSING:
                    data[key] = value
        for key, (_, _, required) in known.items():
            inner = (*path, key)
            if required and key not in data and inner not in self.faulty:
                where = dotted(path) or "the document"
                self.fault("missing-key", inner, node.mark, f"{where} lacks {key!r}", f"add {key}: ...")
        return data

    def meant(self, key: str, known: list[str], path: Path) -> str:
        """What to write for an unknown key: the word it is nearly, or where it belongs, or what may stand here."""
        if self.is_full:
            return ""
        if near := nearest(key, known, 0.8):
            return f"did you mean {near!r}?"
        if ":" in key and (near := nearest(key.partition(":")[0], known, 0.8)):
            return f"write a space after the colon: {near}: {key.partition(':')[2]}"
        return misplaced(key, len(path) - len(self.prefix), self.root) or suggest(key, known)

    def value(self, node: Node, annotation: Any, metadata: tuple[Any, ...], path: Path, key: Mark) -> Any:
        """A value of any annotation."""
        self.marks[path] = node.mark if node.mark.line else key
        annotation, metadata, optional = _unwrap(annotation, metadata)
        if _is_null(node):
            if isinstance(node, ValueNode) and optional:
                return None
            if annotation in (Any, object):
                return None
            return self.fault("needs-value", path, key, f"{dotted(path)} needs a value", _value_remedy(path))
        if any(isinstance(m, BeforeValidator) for m in metadata):
            return self.leaf(node, leaves.unit, path)
        origin = typing.get_origin(annotation)
        if origin is tuple:
            return self.list(node, typing.get_args(annotation)[0], path)
        if origin is dict:
            return self.dict(node, typing.get_args(annotation)[1], path)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return self.model(node, annotation, path)
        if annotation in (Any, object):
            return self.anything(node, path)
        return self.leaf(node, leaves.reader(annotation), path)

    def leaf(self, node: Node, read: leaves.Read, path: Path) -> Any:
        """A scalar by its reader."""
        if not isinstance(node, (TextNode, ValueNode)):
            return self.fault("type", path, node.mark, f"{dotted(path)} must be one value, not {_kind(node)}",
                              _single_remedy(node))  # fmt: skip
        try:
            return read(node)
        except Fault as fault:
            return self.fault(fault.rule, path, node.mark, f"{dotted(path)}: {fault}", fault.remedy)

    def list(self, node: Node, item: Any, path: Path) -> Any:
        """A sequence of one type."""
        if not isinstance(node, ListNode):
            return self.fault("type", path, node.mark, f"{dotted(path)} must be a list, not {_kind(node)}",
                              _list_remedy(node))  # fmt: skip
        values = [self.value(n, item, (), (*path, i), n.mark) for i, n in enumerate(node.items)]
        return _MISSING if any(v is _MISSING for v in values) else values

    def dict(self, node: Node, item: Any, path: Path) -> Any:
        """A mapping with free keys. Faulty entries are left out; their faults are noted."""
        if not isinstance(node, MapNode):
            return self.fault("type", path, node.mark, f"{dotted(path)} must be a mapping, not {_kind(node)}",
                              "write key: value lines")  # fmt: skip
        values = {}
        for key, entry in node.entries.items():
            value = self.value(entry.value, item, (), (*path, key), entry.mark)
            self.marks.setdefault((*path, key), entry.mark)
            if value is not _MISSING:
                values[key] = value
        return values

    def anything(self, node: Node, path: Path) -> Any:
        """A value whose type another document fixes."""
        for inner, child in _walk(node, path):
            self.marks[inner] = child.mark
        try:
            return plain(node)
        except ValueError as error:
            return self.fault("number", path, node.mark, f"{dotted(path)}: {error}", "quote it to mean text")

    def constraints(self, error: ValidationError, top: Mark) -> None:
        """What pydantic finds beyond the types: bounds, patterns, units."""
        for detail in error.errors(include_url=False):
            is_key = detail["loc"][-1:] == ("[key]",)
            path = self.prefix + tuple(detail["loc"][:-1] if is_key else detail["loc"])
            while path and path not in self.marks:
                path = path[:-1]  # the member names that pydantic adds for unions
            if detail["type"] == "missing":
                continue  # left out because of a fault that is noted
            message, remedy = leaves.explain(detail)
            name = dotted(path) or "the document"
            # What stands in place of a reference may be the secret itself.
            sensitive = isinstance(detail.get("ctx", {}).get("error"), NotAReference)
            mark = self.marks.get(path, top)
            self.fault("value", path, mark, f"{name}: {message}", remedy, sensitive=sensitive)


def _walk(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    yield path, node
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            yield from _walk(entry.value, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _walk(item, (*path, index))


def _unwrap(annotation: Any, metadata: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], bool]:
    """The annotation without Annotated and None, its metadata, and whether None is allowed."""
    optional = False
    while True:
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            annotation, *more = typing.get_args(annotation)
            metadata = (*metadata, *more)
        elif origin in (typing.Union, types.UnionType):
            members = [a for a in typing.get_args(annotation) if a is not type(None)]
            optional = optional or len(members) < len(typing.get_args(annotation))
            if len(members) > 1:
                return leaves.Scalar, metadata, optional
            annotation = members[0]
        else:
            return annotation, metadata, optional


def _value_remedy(path: Path) -> str:
    name, colon, rest = str(path[-1] if path else "").partition(":")
    if colon and name and rest and not rest.startswith("/"):
        return f"write a space after the colon: {name}: {rest}"
    return "write one, or remove the line"


def _list_remedy(node: Node) -> str:
    """A text, or a set such as `{a, b}`, as the list it was meant to be."""
    if isinstance(node, TextNode):
        return f"write [{node.text}]" if len(node.text) <= _SHORT else "write - item lines"
    if isinstance(node, MapNode) and node.entries and all(_is_null(e.value) for e in node.entries.values()):
        items = ", ".join(node.entries)
        return f"write [{items}]" if len(items) <= _SHORT else "write - item lines"
    return "write - item lines"


def _single_remedy(node: Node) -> str:
    if isinstance(node, ListNode) and len(node.items) == 1 and isinstance(node.items[0], TextNode):
        text = node.items[0].text
        return f"write {text}" if len(text) <= _SHORT else "write the item itself"
    if isinstance(node, MapNode):
        return "write one value, in quotes if it holds ': ' or brackets"
    return "write one value, in quotes if it holds commas or brackets"


def _is_null(node: Node) -> bool:
    if isinstance(node, TextNode):
        return node.plain and node.text in NULLS
    return isinstance(node, ValueNode) and node.value is None


def _kind(node: Node) -> str:
    if isinstance(node, MapNode):
        return "a mapping"
    return "a list" if isinstance(node, ListNode) else "one value"
