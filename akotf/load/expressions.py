"""What texts with `{{ expressions }}` become: Jinja's expression language alone, sandboxed. Runs in a limited child.

akotf splits a text itself and gives Jinja the expressions only. Jinja would read the text around them as well, and
change it: `\\r\\n` becomes `\\n` there. So what stands outside an expression stays as it is, and each fault has its place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Scalar = bool | int | float | str | None

#: Characters of a text: as much as Linux takes for one argument or variable of a process (MAX_ARG_STRLEN).
MAX_TEXT = 131_072
#: Names that mean something of Jinja's own, whatever is given.
RESERVED = frozenset({"self"})
_MAX_BITS = 1024  # of a power: more than the range of a double
_SYMBOLS = ("{{", "{%", "{#")
# Those that make one scalar of another, in no more space than they were given.
_FILTERS = frozenset({
    "abs", "capitalize", "count", "d", "default", "first", "float", "int", "join", "last", "length", "lower", "max",
    "min", "replace", "round", "string", "sum", "title", "trim", "truncate", "upper",
})  # fmt: skip
_METHODS = frozenset({
    "capitalize", "count", "endswith", "find", "isdigit", "lower", "lstrip", "partition", "removeprefix",
    "removesuffix", "replace", "rpartition", "rstrip", "split", "startswith", "strip", "title", "upper",
})  # fmt: skip


class Flaw(NamedTuple):
    """What is wrong with an expression. Offsets count characters of the text."""

    start: int  # where the expression begins
    end: int  # and where it ends
    offset: int  # of what is wrong in it
    message: str
    missing: str = ""  # the name that is no parameter


class Outcome(NamedTuple):
    """What a text becomes. `is_text`: it holds more than one expression alone. `names`: the parameters it uses."""

    value: Scalar
    is_text: bool
    names: tuple[str, ...]
    flaws: tuple[Flaw, ...] = ()


class _Part(NamedTuple):
    """A piece of a text: an expression, or, with `names` None, what stands between two."""

    source: str
    start: int
    end: int
    names: tuple[tuple[str, int], ...] | None  # every name in it that may be a parameter, with its offset


class _Refused(ValueError):
    """A text that can't be split; what is wrong stands at `start` to `end`."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.flaw = Flaw(start, end, start, message)


def has_expressions(text: str) -> bool:
    """Whether a text needs a look: it holds one of Jinja's opening marks."""
    return any(symbol in text for symbol in _SYMBOLS)


def evaluate(texts: list[str], values: dict[str, Scalar]) -> list[Outcome]:
    """What each text becomes with the parameters `values`. A text is never evaluated twice."""
    return [_one(text, values) for text in texts]


def checked(value: Any) -> Scalar:
    """A value that may stand in a tree: one text, boolean, 64-bit integer or finite number. ValueError for others."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise ValueError(f"the text is longer than {MAX_TEXT} characters")
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(f"the result is {type(value).__name__}, not one finite value")


def _one(text: str, values: Mapping[str, Scalar]) -> Outcome:
    try:
        parts = list(_split(text))
    except _Refused as error:
        return Outcome(None, True, (), (error.flaw,))
    used: set[str] = set()
    flaws: list[Flaw] = []
    found: list[Scalar] = []
    for part in parts:
        if part.names is None:
            found.append(part.source)
            continue
        try:
            names = _undeclared(part.source)
            used |= names
            unknown = [n for n in dict(part.names) if n in RESERVED or (n in names and n not in values)]
            flaws += [_unknown(part, name) for name in unknown]
            if not unknown:
                found.append(checked(_computed(part.source, values)))
                if len(parts) > 1:
                    found[-1] = _spelt(found[-1])
        except Exception as error:  # noqa: BLE001 - an expression may raise anything, and its fault is the template's
            flaws.append(Flaw(part.start, part.end, part.start, f"{type(error).__name__}: {error}"[:300]))
    names_used = tuple(sorted(used))
    if flaws:
        return Outcome(None, True, names_used, tuple(flaws))
    if len(parts) == 1 and parts[0].names is not None:
        return Outcome(found[0], False, names_used)
    whole = "".join(str(piece) for piece in found)
    if len(whole) > MAX_TEXT:
        return Outcome(
            None, True, names_used, (Flaw(0, 0, 0, f"the text is longer than {MAX_TEXT} characters"),)
        )
    return Outcome(whole, True, names_used)


def _unknown(part: _Part, name: str) -> Flaw:
    return Flaw(part.start, part.end, dict(part.names or ())[name], f"there is no parameter {name!r}", name)


def _split(text: str) -> Iterator[_Part]:
    """The parts of a text. `{{-` and `-}}` take the white space beside them, as in Jinja."""
    position, strip = 0, False
    while True:
        start = min((i for i in (text.find(s, position) for s in _SYMBOLS) if i >= 0), default=len(text))
        between = text[position:start]
        if strip:
            between = between.lstrip()
        if text[start + 2 : start + 3] == "-":
            between = between.rstrip()
        if between:
            yield _Part(between, position, start, None)
        if start == len(text):
            return
        if text[start + 1] != "{":
            mark = text[start : start + 2]
            raise _Refused(f"statements and comments ({{% %}}, {{# #}}) are not allowed; for the characters themselves "
                           f"write {{{{ '{mark}' }}}}", start, start + 2)  # fmt: skip
        part, position, strip = _expression(text, start)
        yield part


def _expression(text: str, start: int) -> tuple[_Part, int, bool]:
    """The expression at `start`, where the text goes on, and whether it takes the white space that follows."""
    import jinja2

    begin = start + 2 + (text[start + 2 : start + 3] in ("-", "+"))
    # The lexer makes one character of `\r\n`, and so would lose count.
    tail = text[begin:].replace("\r", " ")
    position, before = begin, ""
    names: dict[str, int] = {}
    try:
        for _, kind, piece in _environment().lexer.tokeniter(tail, None, state="variable"):
            if kind == "variable_end":
                end = position + piece.index("}}") + 2
                return _Part(text[begin:position], start, end, tuple(names.items())), end, piece[0] == "-"
            if kind == "name" and before not in (".", "|"):
                names.setdefault(piece, position)
            if kind != "whitespace":
                before = piece
            position += len(piece)
    except jinja2.TemplateSyntaxError as error:
        raise _Refused(f"TemplateSyntaxError: {error.message}", start, _line_end(text, start)) from error
    raise _Refused("the expression does not end: }} is missing", start, _line_end(text, start))


def _line_end(text: str, start: int) -> int:
    return start + len(text[start:].splitlines()[0])


def _undeclared(source: str) -> set[str]:
    """Names that an expression reads from outside."""
    from jinja2 import meta

    return set(meta.find_undeclared_variables(_environment().parse("{{ " + source + " }}")))


def _computed(source: str, values: Mapping[str, Scalar]) -> Any:
    import jinja2

    value = _environment().compile_expression(source, undefined_to_none=False)(dict(values))
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises what is wrong with it
    return value


def _spelt(value: Scalar) -> str:
    """How a value stands inside text: booleans as YAML writes them; nothing is never the word None."""
    if value is None:
        raise ValueError("a parameter without a value can't stand inside text")
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


@functools.cache
def _environment() -> Any:
    """Jinja with no globals, the filters and methods that take little space, and powers and products in bounds."""
    import jinja2
    from jinja2 import sandbox

    class Environment(sandbox.ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _check_operation(operator, left, right)
            return super().call_binop(context, operator, left, right)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            allowed = isinstance(obj, str) and attr in _METHODS
            return allowed and super().is_safe_attribute(obj, attr, value)

    environment = Environment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True, optimized=False
    )
    environment.globals.clear()
    for name in environment.filters.keys() - _FILTERS:
        del environment.filters[name]
    return environment


def _check_operation(operator: str, left: Any, right: Any) -> None:
    """ValueError for an operation whose result could be far larger than what went in."""
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        if left.bit_length() * max(right, 0) > _MAX_BITS:
            raise ValueError(f"the power is larger than {_MAX_BITS} bits")
    elif operator == "%" and isinstance(left, str):
        raise ValueError("'%' formats no text here; write the {{ expression }} inside the text")
    elif operator == "*":
        lengths = [len(v) * n for v, n in ((left, right), (right, left)) if _repeats(v, n)]
        if max(lengths, default=0) > MAX_TEXT:
            raise ValueError(f"the text is longer than {MAX_TEXT} characters")


def _repeats(sequence: Any, count: Any) -> bool:
    return isinstance(sequence, (str, list, tuple)) and isinstance(count, int)
