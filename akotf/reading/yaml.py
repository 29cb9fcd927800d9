"""YAML to positioned nodes, on PyYAML's events: strict, limited, and every fault with line and column.

PyYAML's C composer recurses in native code and expands nothing lazily, so deep input can end the process; composing
from its events here keeps depth, size and alias expansion under limits, on the C and on the Python parser alike.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import yaml as pyyaml

from akotf.errors import ConfigError
from akotf.model.finding import Finding
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode
from akotf.reading.scalars import shown
from akotf.reading.source import (
    MAX_BYTES,
    Unreadable,
    decode,
    fault,
    hidden_in,
    invisible,
    split_lines,
    syntax,
)

MAX_DEPTH = 64
MAX_NODES = 50_000  # after aliases are expanded
MAX_FAULTS = 50

_LOADER: Any = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})


def read(path: Path, file: str | None = None) -> Node:
    """The document in `path`; `file` is the name for messages. ConfigError with all faults found."""
    name = file or shown_path(path)
    try:
        if not path.is_file():
            raise ConfigError(f"{name} is not a file", where=name, remedy="write a regular YAML file there")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"can't read {name}: {error.strerror}", where=name, remedy="check its permissions"
        ) from error
    return parse(data, name)


def shown_path(path: Path) -> str:
    """A path for messages: relative to where the user stands, when it lies below."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def parse(data: bytes, file: str) -> Node:
    """The one document in `data`. ConfigError with all faults found."""
    findings: list[Finding] = []
    node: Node | None = None
    try:
        text = decode(data, file)
        composer = _Composer(text, file)
        findings = composer.findings
        node = composer.document()
    except Unreadable as error:
        findings.append(error.finding)
    except pyyaml.YAMLError as error:
        if not any(f.rule == "config/invisible-character" for f in findings):  # they break what follows
            findings.append(syntax(error, text, file))
    if findings or node is None:
        raise ConfigError(findings[0].message, findings, where=str(findings[0].position or file))
    return node


class _Composer:
    """Events to nodes; faults that don't stop reading gather in `findings`."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines = split_lines(text)
        self.events = _LOADER(text)
        self.findings: list[Finding] = []
        self.anchors: dict[str, tuple[Node, int, int]] = {}  # node, its expanded size, its height
        self.open: set[str] = set()
        self.total = 0

    def note(self, rule: str, message: str, mark: Mark, remedy: str = "") -> None:
        """Remember a fault and go on."""
        self.findings.append(fault(rule, message, mark, remedy))
        if len(self.findings) >= MAX_FAULTS:
            raise Unreadable("too-many-faults", "too many faults; the rest of the file was not read", mark)

    def mark(self, event: Any) -> Mark:
        """Where an event starts."""
        return Mark(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def document(self) -> Node:
        """The only document of the stream."""
        try:
            self.events.get_event()  # stream start
            if self.events.check_event(pyyaml.StreamEndEvent):
                raise Unreadable(
                    "empty", "the file is empty", Mark(self.file, 1, 1), "write a mapping: key: value"
                )
            self.events.get_event()  # document start
            node, _, _ = self.node(1)
            self.events.get_event()  # document end
            if not self.events.check_event(pyyaml.StreamEndEvent):
                second = self.mark(self.events.get_event())
                raise Unreadable("several-documents", "a second YAML document starts here", second,
                                 "keep one document a file")  # fmt: skip
            return node
        finally:
            self.events.dispose()

    def node(self, depth: int) -> tuple[Node, int, int]:
        """The next node, its size with aliases expanded, and its height."""
        event = self.events.get_event()
        mark = self.mark(event)
        if isinstance(event, pyyaml.AliasEvent):
            node, size, height = self.alias(str(event.anchor), mark)
        else:
            if event.anchor is not None:
                if event.anchor in self.anchors or event.anchor in self.open:
                    raise Unreadable("anchor", f"anchor &{event.anchor} is defined twice", mark, "rename one")
                self.open.add(event.anchor)
            if depth > MAX_DEPTH:
                raise Unreadable("too-deep", f"nested deeper than {MAX_DEPTH} levels", mark, "flatten it")
            node, size, height = self.fresh(event, mark, depth)
            if event.anchor is not None:
                self.open.discard(event.anchor)
                self.anchors[event.anchor] = (node, size, height)
        if depth + height > MAX_DEPTH + 1:
            raise Unreadable("too-deep", f"nested deeper than {MAX_DEPTH} levels", mark, "flatten it")
        return node, size, height

    def grow(self, by: int, mark: Mark) -> None:
        """Count nodes, aliases expanded, against the limit."""
        self.total += by
        if self.total > MAX_NODES:
            raise Unreadable("too-many-values", f"more than {MAX_NODES} values (aliases counted where they are used)",
                             mark, "keep data in files of its own")  # fmt: skip

    def alias(self, anchor: str, mark: Mark) -> tuple[Node, int, int]:
        """What `*anchor` stands for."""
        if anchor in self.open:
            raise Unreadable("alias", f"*{anchor} stands inside its own &{anchor}", mark, "remove the cycle")
        if anchor not in self.anchors:
            raise Unreadable(
                "alias", f"*{anchor} has no &{anchor} before it", mark, "define the anchor first"
            )
        self.grow(self.anchors[anchor][1], mark)
        return self.anchors[anchor]

    def fresh(self, event: Any, mark: Mark, depth: int) -> tuple[Node, int, int]:
        """A node that is written here."""
        self.grow(1, mark)
        if isinstance(event, pyyaml.ScalarEvent):
            return self.scalar(event, mark), 1, 1
        if event.tag not in (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self.note("tag", f"the tag {_tag(event.tag)} is not allowed", mark, "remove the tag")
        if isinstance(event, pyyaml.SequenceStartEvent):
            return self.sequence(mark, depth)
        return self.mapping(mark, depth)

    def scalar(self, event: Any, mark: Mark) -> TextNode:
        """A scalar, checked for tags and for characters that can't be seen."""
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self.note("tag", f"the tag {_tag(event.tag)} is not allowed", mark, "remove the tag")
        plain = event.style in (None, "") and event.tag is None
        if plain:
            self.visible(event.value, mark)
        return TextNode(event.value, plain, mark)

    def visible(self, text: str, mark: Mark) -> None:
        """Refuse characters that look like a space or like nothing, outside quotes."""
        if hidden := hidden_in(text):
            found = invisible(text, hidden, mark)
            self.note("invisible-character", found.message, mark, found.remedy)

    def sequence(self, mark: Mark, depth: int) -> tuple[Node, int, int]:
        """Items up to the end of a sequence."""
        items, size, height = [], 1, 0
        while not self.events.check_event(pyyaml.SequenceEndEvent):
            node, node_size, node_height = self.node(depth + 1)
            items.append(node)
            size, height = size + node_size, max(height, node_height)
        self.events.get_event()
        return ListNode(tuple(items), mark), size, height + 1

    def mapping(self, mark: Mark, depth: int) -> tuple[Node, int, int]:
        """Entries up to the end of a mapping; merge keys resolved."""
        entries: dict[str, Entry] = {}
        seen: dict[str, tuple[str, Mark]] = {}  # as it looks -> as written, where
        merges: list[tuple[Node, Mark]] = []
        size, height = 1, 0
        while not self.events.check_event(pyyaml.MappingEndEvent):
            key, _, _ = self.node(depth + 1)
            value, value_size, value_height = self.node(depth + 1)
            size, height = size + 1 + value_size, max(height, value_height)
            if not self.key(key, seen):
                continue
            assert isinstance(key, TextNode)
            if key.text == "<<" and key.plain:
                merges.append((value, key.mark))
            else:
                entries[key.text] = Entry(key.mark, value)
        self.events.get_event()
        for value, place in merges:
            before = len(entries)
            self.merge(entries, value, place)
            self.grow(len(entries) - before, place)
        return MapNode(entries, mark), size + len(entries), height + 1

    def key(self, key: Node, seen: dict[str, tuple[str, Mark]]) -> bool:
        """True when the key can be used; else the fault is noted."""
        line = self.lines[key.mark.line - 1] if key.mark.line <= len(self.lines) else ""
        if not isinstance(key, TextNode):
            remedy = "write text before the colon"
            if "{{" in line:
                remedy = "put the expression in quotes: key: '{{ ... }}'"
            self.note("key", "a key must be text", key.mark, remedy)
            return False
        if not key.text:
            self.note("key", "a key is empty", key.mark, "write a name before the colon")
            return False
        if "\t" in line[: key.mark.column - 1] and line[: key.mark.column - 1].isspace():
            self.note("tab", "a tab indents this line", key.mark, "indent with spaces")
        if not key.plain:
            self.visible(key.text, key.mark)
        look = key.text if key.text.isascii() else unicodedata.normalize("NFKC", key.text)
        if look in seen:
            first, place = seen[look]
            same = "is here twice" if first == key.text else f"looks like {shown(first)}"
            self.note("duplicate-key", f"key {shown(key.text)} {same}; first at line {place.line}", key.mark,
                      "keep one of them")  # fmt: skip
            return False
        seen[look] = (key.text, key.mark)
        return True

    def merge(self, entries: dict[str, Entry], value: Node, mark: Mark) -> None:
        """`<<`: keys of the mapping win over merged ones, and earlier mappings of a list over later ones."""
        sources = value.items if isinstance(value, ListNode) else (value,)
        for source in sources:
            if not isinstance(source, MapNode):
                self.note("merge", "<< merges a mapping or a list of mappings", mark, "write <<: *name")
                continue
            for key, entry in source.entries.items():
                entries.setdefault(key, entry)


def _tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
