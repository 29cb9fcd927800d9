"""PyYAML's events to positioned nodes: strict, limited, every fault with line and column.

PyYAML's C composer recurses in native code and keeps the last of two equal keys; composing from events here keeps
depth, size and alias expansion under limits, on the C and on the Python parser alike.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import yaml as pyyaml

from akotf.model.finding import Finding
from akotf.reading import layout
from akotf.reading.characters import hidden_in, invisible, lookalike, lookalike_in
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode
from akotf.reading.scalars import shown
from akotf.reading.source import MAX_FAULTS, Unreadable, fault, place
from akotf.reading.syntax import MAX_DEPTH, TAG_REMEDY, half_character

# After aliases are expanded. A file of 1 MiB in block style has some 100,000 (ten bytes a value); twice that is read
# in about a second and 150 MB. A list of more numbers than this is data, not configuration.
MAX_NODES = 200_000

LOADER: Any = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_Scalar, _Alias = pyyaml.ScalarEvent, pyyaml.AliasEvent
_SequenceStart, _SequenceEnd, _MappingEnd = (
    pyyaml.SequenceStartEvent,
    pyyaml.SequenceEndEvent,
    pyyaml.MappingEndEvent,
)


class Composer:
    """Events to nodes; faults that don't stop reading gather in `findings`."""

    def __init__(self, text: str, file: str, loader: Any = None) -> None:
        self.file = file
        self.text = text
        self.watch = not text.isascii()  # else no plain scalar holds a character that can't be seen
        self.spans: list[layout.Span] | None = None if layout.is_plain_layout(text) else []
        self.events = (loader or LOADER)(text)
        self.next = self.events.get_event
        self.findings: list[Finding] = []
        self.anchors: dict[str, tuple[Node, int, int]] = {}  # node, its expanded size, its height
        self.open: set[str] = set()
        self.total = 0

    def note(self, rule: str, message: str, mark: Mark, remedy: str) -> None:
        """Remember a fault and go on."""
        self.add(fault(rule, message, mark, remedy))

    def add(self, finding: Finding) -> None:
        """Remember a fault and go on, up to a number that nobody reads."""
        last = self.findings[-1] if self.findings else None
        if last and (last.rule, last.position) == (finding.rule, finding.position):
            return  # `{{` is a mapping within a mapping
        self.findings.append(finding)
        if len(self.findings) >= MAX_FAULTS and finding.position:
            where = Mark(self.file, finding.position.line, finding.position.column)
            raise Unreadable("too-many-faults", "too many faults; the rest of the file was not read", where,
                             "mend these first")  # fmt: skip

    def mark(self, event: Any) -> Mark:
        """Where an event starts."""
        start = event.start_mark
        return Mark(self.file, start.line + 1, start.column + 1)

    def document(self) -> Node:
        """The only document of the stream."""
        try:
            layout.directives(self.text, self.file)
            self.next()  # stream start
            if isinstance(self.next(), pyyaml.StreamEndEvent):
                raise self.empty()
            first = self.next()
            node, _ = self.node(first, 1)
            if isinstance(node, TextNode) and node.plain and not node.text:
                raise self.empty()
            self.ended(self.next())
            return node
        finally:
            self.events.dispose()

    def empty(self) -> Unreadable:
        """The fault of a file without a value."""
        return Unreadable("empty", "the file is empty", Mark(self.file, 1, 1), "write a mapping: key: value")

    def ended(self, end: Any) -> None:
        """Nothing may follow the document; and its layout is looked at."""
        second = layout.after_document(self.text, end.end_mark.index, bool(end.explicit), self.file)
        if second is None and not isinstance(self.next(), pyyaml.StreamEndEvent):
            second = self.mark(end)
        if second is not None:
            raise Unreadable("several-documents", "a second YAML document starts here", second,
                             "keep one document a file")  # fmt: skip
        if self.spans is not None:
            for found in layout.faults(self.text, self.spans):
                self.note(found.rule, found.message, place(self.text, found.at, self.file), found.remedy)

    def node(self, event: Any, depth: int) -> tuple[Node, int]:
        """The node that `event` begins, and its height; a scalar has height 1."""
        anchor = event.anchor
        kind = event.__class__
        if kind is _Alias:
            node, height = self.alias(anchor, self.mark(event))
        else:
            before = self.total
            if anchor is not None:
                self.define(anchor, event)
            node, height = (self.scalar(event), 1) if kind is _Scalar else self.collection(event, depth)
            if anchor is not None:
                self.open.discard(anchor)
                self.anchors[anchor] = (node, self.total - before, height)
        if depth + height > MAX_DEPTH + 1:
            raise self.too_deep(self.mark(event))
        return node, height

    def define(self, anchor: str, event: Any) -> None:
        """An anchor has one meaning in a file."""
        if anchor in self.anchors or anchor in self.open:
            raise Unreadable(
                "anchor", f"anchor &{anchor} is defined twice", self.mark(event), "rename one of them"
            )
        self.open.add(anchor)

    def too_deep(self, mark: Mark) -> Unreadable:
        """The fault of deep nesting."""
        return Unreadable("too-deep", f"nested deeper than {MAX_DEPTH} levels", mark, "flatten it")

    def grow(self, by: int, mark: Mark) -> None:
        """Count nodes, aliases expanded, against the limit."""
        self.total += by
        if self.total > MAX_NODES:
            raise Unreadable("too-many-values", f"more than {MAX_NODES} values (aliases counted where they are used)",
                             mark, "keep data in files of its own")  # fmt: skip

    def alias(self, anchor: str, mark: Mark) -> tuple[Node, int]:
        """What `*anchor` stands for."""
        if anchor in self.open:
            raise Unreadable("alias", f"*{anchor} stands inside its own &{anchor}", mark, "remove the cycle")
        if anchor not in self.anchors:
            raise Unreadable("alias", f"*{anchor} has no &{anchor} before it", mark,
                             "define the anchor first, or put a text that starts with * in quotes")  # fmt: skip
        node, size, height = self.anchors[anchor]
        self.grow(size, mark)
        return node, height

    def scalar(self, event: Any) -> TextNode:
        """A scalar, checked for tags and for characters that can't be seen."""
        start = event.start_mark
        mark = Mark(self.file, start.line + 1, start.column + 1)
        self.total += 1
        if self.total > MAX_NODES:
            self.grow(0, mark)
        tag, text, style = event.tag, event.value, event.style
        if tag is not None and tag not in _TEXT_TAGS:
            self.tagged(tag, mark)
        plain = not style and tag is None
        if self.spans is not None:
            self.spans.append(layout.Span(start.index, event.end_mark.index, style or ""))
        if style == '"':
            if not text.isascii() and _SURROGATE.search(text):
                self.add(half_character(self.text, start.index, mark))
        elif self.watch and plain:
            self.visible(text, mark)
        return TextNode(text, plain, mark)

    def tagged(self, tag: str, mark: Mark) -> None:
        """A tag that isn't text's."""
        name = tag.replace("tag:yaml.org,2002:", "!!")
        remedy = TAG_REMEDY
        if name.startswith("!ENV"):
            remedy = "remove the tag; a secret is written as a reference, such as env:NAME"
        self.note("tag", f"the tag {shown(name)} is not allowed", mark, remedy)

    def visible(self, text: str, mark: Mark) -> None:
        """Refuse characters that look like a space, like nothing or like others, outside quotes."""
        if character := hidden_in(text):
            self.add(invisible(text, character, mark))
        elif character := lookalike_in(text):
            self.add(lookalike(text, character, mark))

    def collection(self, event: Any, depth: int) -> tuple[Node, int]:
        """A sequence or a mapping."""
        mark = self.mark(event)
        if depth > MAX_DEPTH:
            raise self.too_deep(mark)
        self.grow(1, mark)
        if event.tag not in (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self.tagged(event.tag, mark)
        return self.sequence(mark, depth) if event.__class__ is _SequenceStart else self.mapping(mark, depth)

    def sequence(self, mark: Mark, depth: int) -> tuple[Node, int]:
        """Items up to the end of a sequence."""
        items: list[Node] = []
        height, take = 1, self.next
        while (event := take()).__class__ is not _SequenceEnd:
            if event.__class__ is _Scalar and event.anchor is None and depth < MAX_DEPTH:
                items.append(self.scalar(event))
                continue
            node, below = self.node(event, depth + 1)
            items.append(node)
            height = max(height, below)
        return ListNode(tuple(items), mark), height + 1

    def mapping(self, mark: Mark, depth: int) -> tuple[Node, int]:
        """Entries up to the end of a mapping; merge keys resolved."""
        entries: dict[str, Entry] = {}
        seen: dict[str, tuple[str, Mark]] = {}  # as it looks -> as written, where
        merges: list[tuple[Node, Mark]] = []
        height, take = 1, self.next
        while (event := take()).__class__ is not _MappingEnd:
            key: Node
            if event.__class__ is _Scalar and event.anchor is None and depth < MAX_DEPTH:
                key = self.scalar(event)
            else:
                key, _ = self.node(event, depth + 1)
            here = key.mark if event.__class__ is not _Alias else self.mark(event)
            event = take()
            if not isinstance(key, TextNode):
                self.node(event, depth + 1)
                self.no_key(key)
                continue
            is_merge = key.text == "<<" and key.plain
            value: Node
            if event.__class__ is _Scalar and event.anchor is None and depth < MAX_DEPTH:
                value = self.scalar(event)
            else:  # what is merged does not nest: its entries become ours
                value, below = self.node(event, depth if is_merge else depth + 1)
                below -= (1 + isinstance(value, ListNode)) if is_merge else 0
                height = max(height, below)
            if not self.key(key, here, seen):
                continue
            if is_merge:
                merges.append((value, here))
            else:
                entries[key.text] = Entry(here, value)
        for value, at in merges:
            self.merge(entries, value, at)
        return MapNode(entries, mark), height + 1

    def no_key(self, key: Node) -> None:
        """A list or mapping in a key's place: most often an expression outside quotes."""
        column = key.mark.column - 1
        line = self.line(key.mark)
        begin = line.rfind("{{", 0, column + 2)
        if isinstance(key, MapNode) and 0 <= begin <= column and not line[begin:column].strip("{ "):
            shown_expression = (
                line[begin : line.find("}}", begin) + 2] if "}}" in line[begin:] else "{{ ... }}"
            )
            self.note("not-yaml", "an expression outside quotes is not YAML", Mark(self.file, key.mark.line, begin + 1),
                      f"put it in quotes: '{shown_expression}'; a template of Helm must be rendered first")  # fmt: skip
            return
        self.note("key", "a key must be text", key.mark, "write text before the colon")

    def line(self, mark: Mark) -> str:
        """A line of the file, for a message."""
        lines = self.text.split("\n") if "\r" not in self.text else re.split(r"\r\n|\r|\n", self.text)
        return lines[mark.line - 1] if mark.line <= len(lines) else ""

    def key(self, key: TextNode, mark: Mark, seen: dict[str, tuple[str, Mark]]) -> bool:
        """True when the key can be used; else the fault is noted."""
        text = key.text
        if not text:
            self.note("key", "a key is empty", mark, "write a name before the colon")
            return False
        look = text if text != "<<" or key.plain else '"<<"'  # in quotes it is a text like others
        if not text.isascii():
            if not key.plain:
                self.visible(text, mark)
            look = unicodedata.normalize("NFKC", text)
        if look in seen:
            first, at = seen[look]
            same = "is here twice" if first == text else f"looks like {shown(first)}"
            self.note("duplicate-key", f"key {shown(text)} {same}; first at line {at.line}", mark,
                      "keep one of them" if text != "<<" else "merge both at once: <<: [*a, *b]")  # fmt: skip
            return False
        seen[look] = (text, mark)
        return True

    def merge(self, entries: dict[str, Entry], value: Node, mark: Mark) -> None:
        """`<<`: keys of the mapping win over merged ones, and earlier mappings of a list over later ones."""
        for source in value.items if isinstance(value, ListNode) else (value,):
            if not isinstance(source, MapNode):
                self.note("merge", "<< merges a mapping or a list of mappings", mark,
                          "write <<: *name, or put << in quotes to mean the text")  # fmt: skip
                continue
            before = len(entries)
            for key, entry in source.entries.items():
                entries.setdefault(key, entry)
            self.grow(len(entries) - before, mark)
