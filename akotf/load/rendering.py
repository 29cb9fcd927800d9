"""Expressions in the scalars of a parsed run.yaml, evaluated in a child with limits of time and memory.

A scalar that is exactly one `{{ expression }}` takes the expression's value and type; any other stays text. Opaque
text (the command, the values of the environment) is never looked at. Keys are never rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.load.expressions import Flaw, Outcome, Scalar, checked, evaluate, has_expressions
from akotf.load.places import Places
from akotf.model.config import OPAQUE
from akotf.model.finding import Finding
from akotf.reading.bind import suggest
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode, ValueNode, dotted

TreePath = tuple[str | int, ...]

_NAME = re.compile(r"\{\{ ?((?!(?:true|false|none|not|self)\b)[a-z][a-z0-9_]*) ?\}\}")
_SECONDS, _MEMORY = 5.0, 256 * 2**20  # for all expressions of a file together
_SECONDS_EACH = 1.0  # when that was not enough: for each by itself


@dataclass
class Rendered:
    """The tree with values in place, the faults, and which parameters each rendered path used."""

    node: Node
    findings: list[Finding] = field(default_factory=list)
    uses: dict[TreePath, tuple[str, ...]] = field(default_factory=dict)


def render(
    node: Node, values: Mapping[str, Scalar], given: Mapping[str, Mark], source: Path | None = None
) -> Rendered:
    """Render the scalars of `node` with the parameters `values`.

    `given` says where the environment wrote a parameter: a value that comes from it alone takes that place. `source`
    is the file that `node` was read from: with it, a fault stands at its own line and column within a scalar.
    """
    result = Rendered(node)
    places = Places(node, source)
    result.findings += [_fault(path, entry.mark, "a key is never rendered", "write the key itself")
                        for path, entry in _keys(node, ())]  # fmt: skip
    leaves = [(path, leaf) for path, leaf in _leaves(node, ()) if path[0] not in OPAQUE]
    fresh: dict[TreePath, Node] = {}
    for (path, leaf), outcome in zip(
        leaves, _outcomes([leaf.text for _, leaf in leaves], values), strict=True
    ):
        names = outcome.names
        mark = given[names[0]] if len(names) == 1 and names[0] in given else leaf.mark
        result.uses[path] = names
        if not outcome.is_text:
            fresh[path] = ValueNode(outcome.value, mark)
        elif not outcome.flaws:
            fresh[path] = TextNode(str(outcome.value), False, mark)
        for flaw in outcome.flaws:
            remedy = suggest(flaw.missing, sorted(values)) if flaw.missing else "mend the expression"
            place = places.find(leaf, flaw.start, flaw.end, flaw.offset)
            result.findings.append(_fault(path, place, flaw.message, remedy))
    result.node = _rebuilt(node, (), fresh)
    return result


def _outcomes(texts: list[str], values: Mapping[str, Scalar]) -> list[Outcome]:
    """What each text becomes. Most are one name alone, and need no child."""
    named = [_named(text, values) for text in texts]
    rest = [text for text, outcome in zip(texts, named, strict=True) if outcome is None]
    computed = iter(_computed(rest, dict(values)) if rest else ())
    return [outcome or next(computed) for outcome in named]


def _named(text: str, values: Mapping[str, Scalar]) -> Outcome | None:
    """What `{{ name }}` stands for, as Jinja would say; None for any other text."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    name, end = match[1], len(text)
    if name not in values:
        flaw = Flaw(0, end, match.start(1), f"there is no parameter {name!r}", name)
        return Outcome(None, True, (name,), (flaw,))
    try:
        return Outcome(checked(values[name]), False, (name,))
    except ValueError as error:
        return Outcome(None, True, (name,), (Flaw(0, end, 0, f"ValueError: {error}"),))


def _computed(texts: list[str], values: dict[str, Scalar]) -> list[Outcome]:
    """All texts in one child; when it dies, each in a child of its own, up to the one whose fault that is."""
    try:
        return _limited(texts, values, _SECONDS)
    except IsolationError:
        found: list[Outcome] = []
        for text in texts:
            try:
                found += _limited([text], values, _SECONDS_EACH)
            except IsolationError as error:
                flaw = Flaw(0, len(text), 0, f"rendering ended: {error.message}")
                left = [
                    Outcome(after, True, ()) for after in texts[len(found) + 1 :]
                ]  # refused with it, unread
                return [*found, Outcome(None, True, (), (flaw,)), *left]
        return found


def _limited(texts: list[str], values: dict[str, Scalar], seconds: float) -> list[Outcome]:
    found: list[Outcome] = run_limited(
        evaluate, (texts, values), seconds=seconds, memory=_MEMORY, scrub_environment=True
    )
    return found


def _leaves(node: Node, path: TreePath) -> Iterator[tuple[TreePath, TextNode]]:
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            yield from _leaves(entry.value, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _leaves(item, (*path, index))
    elif isinstance(node, TextNode) and path and has_expressions(node.text):
        yield path, node


def _keys(node: Node, path: TreePath) -> Iterator[tuple[TreePath, Entry]]:
    """Keys with an expression in them, outside opaque text."""
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            if has_expressions(key):
                yield (*path, key), entry
            if path or key not in OPAQUE:
                yield from _keys(entry.value, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _keys(item, (*path, index))


def _rebuilt(node: Node, path: TreePath, fresh: Mapping[TreePath, Node]) -> Node:
    if path in fresh:
        return fresh[path]
    if isinstance(node, MapNode):
        entries = {k: Entry(e.mark, _rebuilt(e.value, (*path, k), fresh)) for k, e in node.entries.items()}
        return MapNode(entries, node.mark)
    if isinstance(node, ListNode):
        return ListNode(tuple(_rebuilt(n, (*path, i), fresh) for i, n in enumerate(node.items)), node.mark)
    return node


def _fault(path: TreePath, mark: Mark, message: str, remedy: str) -> Finding:
    name = dotted(("run", *path))
    return Finding(
        rule="config/expression",
        message=f"{name}: {message}",
        position=mark.position(),
        path=name,
        remedy=remedy,
    )
