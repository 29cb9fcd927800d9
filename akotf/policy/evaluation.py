"""CEL itself. Runs inside a limited child: a huge expression can take the whole process with it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from akotf.errors import MissingDependency
from akotf.policy.functions import FUNCTIONS
from akotf.policy.reads import gap


class Question(NamedTuple):
    """One rule asked of some objects."""

    rule: str
    match: str
    reads: tuple[str, ...]
    expr: str
    params: Mapping[str, Any]
    document: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]


class Said(NamedTuple):
    """One answer: `word` is pass, fail, unknown (`detail` says what can't be read) or error (it can't be worked out)."""

    which: int  # index of the object
    word: str
    detail: str = ""


class Answer(NamedTuple):
    """What a question brought: a fault of the rule itself, or its word on each object that it matches."""

    fault: str
    said: tuple[Said, ...]


_OWN = frozenset(
    [
        "size",
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "has",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "bool",
        "timestamp",
        "duration",
        "type",
        "dyn",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
        "all",
        "exists",
        "exists_one",
        "map",
        "filter",
        "optional",
    ]
)
_UNDEFINED = re.compile(r"Undefined variable or function: '([^']*)'")


class _RuleFault(Exception):
    """The rule is wrong, whatever it is asked of."""


def evaluate(questions: Sequence[Question]) -> list[Answer]:
    """Answer all questions. The library's panics print traces: standard error is silent from here on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    cel = _library()
    return [_answer(cel, question) for question in questions]


def _library() -> Any:
    """CEL's extension module without its package, whose own command line costs 0.2 s to import."""
    if "cel" not in sys.modules:
        found = importlib.util.find_spec("cel")
        if found is None or not found.submodule_search_locations:
            raise MissingDependency(
                "the package common-expression-language is not installed",
                remedy="install akotf again with its dependencies",
            )
        package = types.ModuleType("cel")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["cel"] = package
    return importlib.import_module("cel.cel")


def _answer(cel: Any, question: Question) -> Answer:
    try:
        match = _compile(cel, question.match or "true", "match")
        expr = _compile(cel, question.expr, "expr")
        context = cel.Context(
            {"input": question.document, "params": question.params, "object": {}}, dict(FUNCTIONS)
        )
        said = []
        for index, item in enumerate(question.objects):
            context.add_variable("object", item)
            answer = _ask(match, expr, context, question.reads, item)
            if answer:
                said.append(Said(index, *answer))
    except _RuleFault as fault:
        return Answer(str(fault), ())
    return Answer("", tuple(said))


def _ask(
    match: Any, expr: Any, context: Any, reads: tuple[str, ...], item: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Word and detail, or None when the rule does not match the object."""
    matched, trouble = _value(match, context, "match")
    if trouble:
        return "error", f"match: {trouble}"
    if not matched:
        return None
    gaps = [f"{path} {why}" for path in reads if (why := gap(item, path))]
    if gaps:
        return "unknown", ", ".join(gaps)
    passed, trouble = _value(expr, context, "expr")
    if trouble:
        return "error", trouble
    return ("pass" if passed else "fail"), ""


def _compile(cel: Any, source: str, part: str) -> Any:
    try:
        program = cel.compile(source)
    except ValueError as error:
        raise _RuleFault(f"{part} does not compile: {_first_line(error)}") from error
    for name in program.references()["functions"]:
        if name.isidentifier() and not name.startswith("_") and name not in _OWN and name not in FUNCTIONS:
            raise _RuleFault(f"{part} calls {name}(), which is not known")
    return program


def _value(program: Any, context: Any, part: str) -> tuple[bool, str]:
    """The program's value, or why these data give none. A wrong name or a value that is not a bool is the rule's fault."""
    try:
        value = program.execute(context)
    except KeyError as error:
        return False, f"{error.args[0]} is absent"
    except (TypeError, ValueError, ArithmeticError, IndexError, RuntimeError) as error:
        name = _UNDEFINED.match(str(error))
        if name and name[1] not in _OWN:
            raise _RuleFault(f"{part} names {name[1]!r}, which is not known") from error
        return False, _first_line(error)
    if not isinstance(value, bool):
        raise _RuleFault(f"{part} must be true or false, it gave {type(value).__name__}")
    return value, ""


def _first_line(error: Exception) -> str:
    text = str(error).split("\n")[0]
    return re.split(r"(?<=[a-z\d])[:.] (?:CEL does not|Check )", text)[0][:300]
