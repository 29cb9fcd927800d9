"""Constraints between a template's parameters: CEL over their values by name. Runs inside a limited child, like rules."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from akotf.policy.evaluation import BOUND, OWN, first_line, library, strange_functions
from akotf.policy.functions import FUNCTIONS


class Answer(NamedTuple):
    """Word: holds, broken, waiting (a value that it names is not known), unset (it breaks on a null), or fault."""

    word: str
    names: tuple[str, ...]  # parameters that the expression names, in the order of its text
    detail: str = ""


def evaluate_constraints(
    expressions: Sequence[str], known: Collection[str], values: Mapping[str, Any]
) -> list[Answer]:
    """Answer each expression; `known` are the parameters there are, `values` those whose value is known (None: not set)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the library's panics print traces
    cel = library()
    return [_answer(cel, expression, known, values) for expression in expressions]


def _answer(cel: Any, expression: str, known: Collection[str], values: Mapping[str, Any]) -> Answer:
    try:
        program = cel.compile(expression)
    except ValueError as error:
        return Answer("fault", (), f"does not compile: {first_line(error)}")
    references = program.references()
    bound = set(BOUND.findall(expression))
    free = [n for n in references["variables"] if n not in OWN and (n in known or n not in bound)]
    names = tuple(sorted((n for n in free if n in known), key=lambda n: _first(n, expression)))
    if strange := sorted(n for n in free if n not in known):
        return Answer("fault", names, f"names {', '.join(map(repr, strange))}, which is no parameter")
    for name in strange_functions(references["functions"]):
        return Answer("fault", names, f"calls {name}(), which is not known")
    if any(name not in values for name in names):
        return Answer("waiting", names)
    try:
        value = program.execute(cel.Context({n: values[n] for n in names}, dict(FUNCTIONS)))
    except (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError) as error:
        unset = [name for name in names if values[name] is None]
        return Answer(
            "unset" if unset else "fault", names, ", ".join(unset) or f"breaks: {first_line(error)}"
        )
    if not isinstance(value, bool):
        return Answer("fault", names, f"must be true or false, it gives {type(value).__name__}")
    return Answer("holds" if value else "broken", names)


def _first(name: str, expression: str) -> int:
    found = re.search(rf"\b{re.escape(name)}\b", expression)
    return found.start() if found else len(expression)
