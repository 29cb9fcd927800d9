"""Expressions in the scalars of a parsed run.yaml: a sandboxed Jinja, in a child with limits of time and memory.

A scalar that is exactly one `{{ expression }}` takes the expression's value and type; any other stays text. Opaque
text (the command, the values of the environment) is never looked at. Statements (`{% %}`) are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.model.finding import Finding
from akotf.reading.bind import suggest
from akotf.reading.nodes import Entry, ListNode, MapNode, Mark, Node, TextNode, ValueNode, dotted
from akotf.reading.scalars import INT64

Scalar = bool | int | float | str | None
Path = tuple[str | int, ...]
Outcome = tuple[str, Any, tuple[str, ...]]  # "value" | "text" | "error" | "undefined", what, parameters used

MAX_TEXT = 65_536
OPAQUE = ("command", "environment")
_NAME = re.compile(r"\{\{ ?((?!(?:true|false|none|not)\b)[a-z][a-z0-9_]*) ?\}\}")
_SYMBOLS = ("{{", "{%", "{#")


@dataclass
class Rendered:
    """The tree with values in place, the faults, and which parameters each rendered path used."""

    node: Node
    findings: list[Finding] = field(default_factory=list)
    uses: dict[Path, tuple[str, ...]] = field(default_factory=dict)


def render(node: Node, values: Mapping[str, Scalar], given: Mapping[str, Mark]) -> Rendered:
    """Render the scalars of `node` with the parameters `values`.

    `given` says where the environment wrote a parameter: a value that comes from it alone takes that place.
    """
    places = [(path, leaf) for path, leaf in _leaves(node, ()) if path[0] not in OPAQUE]
    rest = [leaf.text for _, leaf in places if not _NAME.fullmatch(leaf.text)]
    try:
        computed = iter(run_limited(evaluate, (rest, dict(values))) if rest else ())
    except IsolationError as error:
        finding = _fault(
            (), places[0][1].mark, f"rendering ended: {error.message}", "make the expressions smaller"
        )
        return Rendered(node, [finding])
    outcomes = [_named(leaf.text, values) or next(computed) for _, leaf in places]
    result = Rendered(node)
    fresh: dict[Path, Node] = {}
    for (path, leaf), (kind, what, names) in zip(places, outcomes, strict=True):
        mark = given[names[0]] if len(names) == 1 and names[0] in given else leaf.mark
        result.uses[path] = names
        if kind == "value":
            fresh[path] = ValueNode(what, mark)
        elif kind == "text":
            fresh[path] = TextNode(what, False, mark)
        else:
            remedy = suggest(what, sorted(values)) if kind == "undefined" else "mend the expression"
            message = f"there is no parameter {what!r}" if kind == "undefined" else what
            result.findings.append(_fault(path, leaf.mark, message, remedy))
    result.node = _rebuilt(node, (), fresh)
    return result


def _named(text: str, values: Mapping[str, Scalar]) -> Outcome | None:
    """What `{{ name }}` stands for, as Jinja would say: most expressions are this, and need no child for it."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    name = match[1]
    return ("value", values[name], (name,)) if name in values else ("undefined", name, (name,))


def evaluate(texts: list[str], values: dict[str, Scalar]) -> list[Outcome]:
    """What each text becomes; runs in the limited child."""
    import jinja2
    from jinja2 import meta, nodes, sandbox

    environment = sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, finalize=_spelt, keep_trailing_newline=True, optimized=False
    )
    environment.globals.clear()
    for name in ("random", "pprint", "xmlattr", "urlize", "tojson", "safe", "escape", "e", "forceescape"):
        environment.filters.pop(name, None)

    def one(text: str) -> Outcome:
        tree = environment.parse(text)
        names = tuple(sorted(meta.find_undeclared_variables(tree)))
        if any(not isinstance(part, nodes.Output) for part in tree.body) or "{%" in text or "{#" in text:
            raise ValueError("statements and comments ({% %}, {# #}) are not allowed; write {{ expression }}")
        for name in names:
            if name not in values:
                return "undefined", name, names
        parts = [part for output in tree.body for part in output.iter_child_nodes()]
        if len(parts) == 1 and text.startswith("{{") and text.endswith("}}"):
            expression = environment.compile_expression(text[2:-2].strip("-+ \n"), undefined_to_none=False)
            value = expression(**values)
            if isinstance(value, jinja2.Undefined):
                str(value)  # raises what is wrong with it
            return "value", _checked(value), names
        return "text", _checked(environment.from_string(text).render(**values)), names

    outcomes: list[Outcome] = []
    for text in texts:
        try:
            outcomes.append(one(text))
        except (
            jinja2.TemplateError,
            ArithmeticError,
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
        ) as error:
            outcomes.append(("error", f"{type(error).__name__}: {error}"[:300], ()))
    return outcomes


def _spelt(value: Any) -> Any:
    """How a value stands inside text: booleans as YAML writes them; nothing is never the word None."""
    if value is None:
        raise ValueError("a parameter without a value can't stand inside text")
    return ("true" if value else "false") if isinstance(value, bool) else value


def _checked(value: Any) -> Scalar:
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise ValueError(f"the text is longer than {MAX_TEXT} characters")
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -INT64 <= value < INT64:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(f"the result is {type(value).__name__}, not one finite value")


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, TextNode]]:
    if isinstance(node, MapNode):
        for key, entry in node.entries.items():
            yield from _leaves(entry.value, (*path, key))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            yield from _leaves(item, (*path, index))
    elif isinstance(node, TextNode) and path and any(symbol in node.text for symbol in _SYMBOLS):
        yield path, node


def _rebuilt(node: Node, path: Path, fresh: Mapping[Path, Node]) -> Node:
    if path in fresh:
        return fresh[path]
    if isinstance(node, MapNode):
        entries = {k: Entry(e.mark, _rebuilt(e.value, (*path, k), fresh)) for k, e in node.entries.items()}
        return MapNode(entries, node.mark)
    if isinstance(node, ListNode):
        return ListNode(tuple(_rebuilt(n, (*path, i), fresh) for i, n in enumerate(node.items)), node.mark)
    return node


def _fault(path: Path, mark: Mark, message: str, remedy: str) -> Finding:
    name = dotted(("run", *path))
    return Finding(
        rule="config/expression",
        message=f"{name}: {message}",
        position=mark.position(),
        path=name,
        remedy=remedy,
    )
