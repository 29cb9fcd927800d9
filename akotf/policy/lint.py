"""Faults of a rule that can be seen without evaluating it: kinds, paths and parameters that nothing has."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from akotf.model.finding import Finding
from akotf.model.policy import Rule
from akotf.policy.reads import PATH, STEP
from akotf.policy.rules import RuleFile
from akotf.policy.views import INPUTS, KINDS

_KIND = re.compile(r"object\.kind\s*==\s*(['\"])(.*?)\1")
_PARAM = re.compile(r"\bparams\.([A-Za-z_]\w*)")
_FIELD = re.compile(r"\{([^{}\s]*)\}")
_OWN_WORDS = frozenset({"values", "culprits"})


def lint(file: RuleFile) -> list[Finding]:
    """What is wrong with a rule as written, each fault at its place."""
    rule = file.rule
    assert rule is not None, "a file with faults has no rule to look at"
    return [
        file.fault(message, field=field, remedy=remedy)
        for field, message, remedy in (*_kinds(rule), *_reads(rule), *_params(rule), *_placeholders(rule))
    ]


Fault = tuple[str, str, str]  # field, message, remedy


def _kinds(rule: Rule) -> Iterator[Fault]:
    known = KINDS[rule.stage]
    for _, kind in _KIND.findall(rule.match):
        if kind not in known:
            yield "match", f"stage {rule.stage} has no objects of kind {kind!r}", _near(kind, known)
    if rule.types and "resource" not in known:
        yield "types", f"stage {rule.stage} has no resources", "use match and reads"


def _reads(rule: Rule) -> Iterator[Fault]:
    """Of a path under `object` one of the kinds that the rule matches must have it; of one under `input` the document."""
    kinds = KINDS[rule.stage]
    matched = [kinds[kind] for _, kind in _KIND.findall(rule.match) if kind in kinds] or list(kinds.values())
    document = INPUTS[rule.stage].model_fields["document"].annotation
    rows = [(f"reads.{n}", path, matched) for n, path in enumerate(rule.reads)]
    for name, paths in rule.types.items() if "resource" in kinds else ():
        rows += [(f"types.{name}.{n}", path, [kinds["resource"]]) for n, path in enumerate(paths)]
    for field, path, models in rows:
        if not PATH.fullmatch(path):
            yield (
                field,
                f"{path!r} is no path",
                "write names with dots, such as after.ingress[].cidr_blocks?[]",
            )
            continue
        steps = [step[1] for step in STEP.finditer(path)]
        roots: list[Any] = models
        if steps[0] == "input":
            roots, steps = [document], steps[1:]
        missing = [_missing(root, steps) for root in roots]
        if all(missing):
            name, known = missing[0] or ("", ())
            yield field, f"{path!r} can't be there: nothing is called {name!r}", _near(name, known)


def _missing(annotation: Any, steps: list[str]) -> tuple[str, Iterable[str]] | None:
    """The first step that the type does not have, and what it has; None when the path can be."""
    for step in steps:
        annotation = _inner(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            if step not in annotation.model_fields:
                return step, annotation.model_fields
            annotation = annotation.model_fields[step].annotation
        elif typing.get_origin(annotation) is dict:
            annotation = typing.get_args(annotation)[1]
        elif annotation is not Any:
            return step, ()
    return None


def _inner(annotation: Any) -> Any:
    """Without Annotated, None and the list around."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated or origin is tuple:
        return _inner(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        members = [a for a in typing.get_args(annotation) if a is not type(None)]
        return _inner(members[0]) if len(members) == 1 else Any
    return annotation


def _params(rule: Rule) -> Iterator[Fault]:
    for field in ("match", "expr", "culprits"):
        for name in dict.fromkeys(_PARAM.findall(getattr(rule, field))):
            if name not in rule.params:
                yield field, f"params has no {name!r}", _near(name, rule.params)


def _placeholders(rule: Rule) -> Iterator[Fault]:
    for path in _FIELD.findall(rule.message):
        head, _, rest = path.partition(".")
        if head == "params" and rest.split(".")[0] not in rule.params:
            yield "message", f"params has no {rest!r}", _near(rest, rule.params)
        elif head == "culprits" and not rule.culprits:
            yield (
                "message",
                "{culprits} needs the rule's field culprits",
                "write culprits: CEL that gives a list",
            )
        elif head not in {"params", "input"} | _OWN_WORDS:
            matched = [KINDS[rule.stage][k] for _, k in _KIND.findall(rule.match) if k in KINDS[rule.stage]]
            missing = [_missing(model, path.split(".")) for model in (matched or KINDS[rule.stage].values())]
            if all(missing):
                name, known = missing[0] or ("", ())
                yield "message", f"{{{path}}} can't be there: nothing is called {name!r}", _near(name, known)


def _near(word: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known are {', '.join(names)}" if names else "remove it"
