"""CEL itself. Runs inside a limited child: a huge expression can take the whole process with it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from akotf.errors import MissingDependency
from akotf.policy.functions import FUNCTIONS
from akotf.policy.parts import named_part
from akotf.policy.questions import Answer, Case, Question, Said
from akotf.policy.reads import read

#: CEL's own functions and macros.
OWN = frozenset({
    "size", "contains", "startsWith", "endsWith", "matches", "has", "int", "uint", "double", "string",
    "bytes", "bool", "timestamp", "duration", "type", "dyn", "getDate", "getDayOfMonth", "getDayOfWeek",
    "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
    "all", "exists", "exists_one", "map", "filter", "optional",
})  # fmt: skip
#: Fields of an object that may be large: of these only the attributes that are named are handed to the library.
_LARGE = ("before", "after", "after_unknown")
_TYPES = frozenset(["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"])


class _RuleFault(Exception):
    """The rule is wrong in one of its fields, whatever it is asked of."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field


#: What expressions may name, besides CEL's own types and the variables of their own macros.
VARIABLES = ("object", "input", "params", "values")
#: The variables of macros, by their names.
BOUND = re.compile(r"\.(?:all|exists|exists_one|map|filter)\(\s*([A-Za-z_]\w*)\s*,")


def evaluate(cases: Sequence[Case]) -> list[list[Answer]]:
    """Answer all questions of all cases. The library's panics print traces: standard error is silent from here on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    cel = library()
    compiled: dict[str, _Program] = {}
    return [_answers(cel, case, compiled) for case in cases]


def warm() -> None:
    """Load the library here, so that the children that are forked have it. It evaluates nothing, so it can't crash."""
    library()


def library() -> Any:
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


class _Program(NamedTuple):
    """One compiled expression and the variables that it names."""

    run: Any
    names: frozenset[str]


class _Asked:
    """A question with its programs, in a context that holds what does not change between objects."""

    def __init__(
        self, cel: Any, question: Question, document: Mapping[str, Any], compiled: dict[str, _Program]
    ) -> None:
        self.question, self.document = question, document
        self.match = _compile(cel, question.match or "true", "match", compiled)
        self.expr = _compile(cel, question.expr, "expr", compiled)
        self.culprits = _compile(cel, question.culprits or "[]", "culprits", compiled)
        self.after_match = self.expr.names | self.culprits.names
        self.names = self.match.names | self.after_match
        sources = (question.match, question.expr, question.culprits)
        self.part = named_part(sources, "object", _LARGE)
        fixed = {"input": named_part(sources, "input")(document), "params": question.params, "values": []}
        self.context = cel.Context({k: v for k, v in fixed.items() if k in self.names}, dict(FUNCTIONS))

    def answer(self, items: Sequence[Mapping[str, Any]], matched: dict[tuple[str, int], bool]) -> Answer:
        """The rule's word on each object that it matches, or the fault of the rule.

        `matched` remembers what a `match` gave that names nothing but the object: many rules share one.
        """
        said = []
        try:
            for index, item in enumerate(items):
                if self.question.looks_at(item) and (word := self.ask(index, item, matched)):
                    said.append(Said(index, *word))
        except _RuleFault as fault:
            return Answer(str(fault), (), fault.field)
        return Answer("", tuple(said))

    def ask(
        self, index: int, item: Mapping[str, Any], matched: dict[tuple[str, int], bool]
    ) -> tuple[str, str, tuple[str, ...]] | None:
        """Word, detail and culprits, or None when the rule does not match the object."""
        key, shared = (self.question.match, index), self.match.names <= {"object"}
        known = matched.get(key) if shared else None
        if known is False:
            return None
        if "object" in (self.after_match if known else self.names):
            self.context.add_variable("object", self.part(item))
        if known is None:
            known, trouble = _value(self.match, self.context, "match")
            if trouble:
                return "error", f"match: {trouble}", ()
            if shared:
                matched[key] = known
            if not known:
                return None
        reading = read(item, self.question.paths(item), self.document)
        if reading.gaps:
            return "unknown", ", ".join(reading.gaps), ()
        if "values" in self.names:
            self.context.add_variable("values", [found.value for found in reading.found])
        passed, trouble = _value(self.expr, self.context, "expr")
        if trouble:
            return "error", trouble, ()
        return ("pass", "", ()) if passed else ("fail", "", _culprits(self.culprits, self.context))


def _answers(cel: Any, case: Case, compiled: dict[str, _Program]) -> list[Answer]:
    answers = []
    matched: dict[tuple[str, int], bool] = {}
    for question in case.questions:
        try:
            asked = _Asked(cel, question, case.document, compiled)
            answers.append(asked.answer(case.objects, matched))
        except _RuleFault as fault:
            answers.append(Answer(str(fault), (), fault.field))
    return answers


def _compile(cel: Any, source: str, field: str, compiled: dict[str, _Program]) -> _Program:
    if source in compiled:
        return compiled[source]
    try:
        program = cel.compile(source)
    except ValueError as error:
        raise _RuleFault(field, f"does not compile: {first_line(error)}") from error
    names = program.references()
    for name in strange_functions(names["functions"]):
        raise _RuleFault(field, f"calls {name}(), which is not known{_near(name, (*FUNCTIONS, *OWN))}")
    bound = set(BOUND.findall(source))
    for name in sorted(names["variables"]):
        if name not in VARIABLES and name not in bound and name not in _TYPES:
            raise _RuleFault(field, f"names {name!r}, which is not known{_near(name, VARIABLES)}")
    compiled[source] = _Program(program, frozenset(names["variables"]))
    return compiled[source]


def strange_functions(names: Iterable[str]) -> list[str]:
    """Of the functions that an expression calls, those that neither CEL nor akotf has; operators have names too."""
    words = (name for name in names if name.isidentifier() and not name.startswith("_"))
    return [name for name in words if name not in OWN and name not in FUNCTIONS]


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(VARIABLES)}"


def _value(program: _Program, context: Any, field: str) -> tuple[bool, str]:
    """The program's value, or why these data give none. A value that is not a bool is the rule's fault."""
    value, trouble = _run(program, context)
    if trouble:
        return False, trouble
    if not isinstance(value, bool):
        raise _RuleFault(field, f"must be true or false, it gave {type(value).__name__}")
    return value, ""


def _run(program: _Program, context: Any) -> tuple[Any, str]:
    try:
        return program.run.execute(context), ""
    except KeyError as error:
        return None, f"{error.args[0]} is absent"
    except (TypeError, ValueError, ArithmeticError, IndexError, RuntimeError) as error:
        return None, first_line(error)


def _culprits(program: _Program, context: Any) -> tuple[str, ...]:
    """What is refused, as text; nothing when the rule does not say or can't tell."""
    value, trouble = _run(program, context)
    if trouble or not isinstance(value, list):
        return ()
    return tuple(str(item) for item in value[:10])


def first_line(error: Exception) -> str:
    """What the library says, without its advice to people who write Python."""
    text = str(error).split("\n")[0]
    return re.split(r"(?<=[a-z\d])[:.] (?:CEL does not|Check )", text)[0][:300]
