"""Rules against their own inputs: a rule that was never seen to fire guards nothing.

`pass/NAME.yaml` and `fail/NAME.yaml` beside `rule.yaml` hold `object` (one) or `objects` (several), a `document`
when the rule reads `input`, and `expect` when it is not what the folder says: in `fail`, `unknown`; in `pass`,
`skipped` (the rule does not look at any of the objects).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.model.finding import Finding
from akotf.model.policy import Level, Rule
from akotf.policy.evaluation import Answer, Question, evaluate
from akotf.policy.rules import fault, read_rule, read_yaml, rule_files

_EXPECTED = {
    "pass": ("pass", "skipped"),
    "fail": ("fail", "unknown"),
}  # the first is what an input means by itself
_KEYS = frozenset({"object", "objects", "document", "expect"})


class _Input(NamedTuple):
    path: Path
    expect: str
    document: dict[str, Any]
    objects: list[dict[str, Any]]


def test_rules(folders: Sequence[Path]) -> list[Finding]:
    """Errors for each rule that can't be read, has no inputs, fails a pass input or lets a fail input through."""
    return [finding for path in rule_files(folders) for finding in _test(path)]


test_rules.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test to pytest


def explain(rule: Rule) -> str:
    """What a rule says, when it looks, and what follows."""
    lines = [
        f"{rule.id}: {rule.title}",
        f"  level    {rule.level}: {_LEVELS[rule.level]}",
        f"  stage    {rule.stage}",
        f"  looks at {rule.match or 'every object'}",
        f"  passes   {rule.expr}",
    ]
    if rule.params:
        lines.append("  params   " + "; ".join(f"{name} = {value}" for name, value in rule.params.items()))
    if rule.reads:
        meaning = "denies" if rule.unknown == "deny" else "is checked again before the run is submitted"
        if rule.level is Level.ADVISORY:
            meaning = "is told"
        lines.append(f"  reads    {', '.join(rule.reads)}; what is unknown there {meaning}")
    return "\n".join([*lines, f"  why      {rule.why}", f"  remedy   {rule.remedy}"])


_LEVELS = {
    Level.ADVISORY: "told, never denies",
    Level.SOFT: "denies unless a named approver overrides it",
    Level.HARD: "denies, only a waiver lets it pass",
}


def _test(path: Path) -> list[Finding]:
    rule, faults = read_rule(path)
    if rule is None:
        return faults
    inputs: list[_Input] = []
    for kind in _EXPECTED:
        files = sorted((path.parent / kind).glob("*.yaml"))
        if not files:
            faults.append(
                fault(path, f"rule {rule.id} has no {kind} input", remedy=f"write {kind}/NAME.yaml beside it")
            )
        for file in files:
            found = _read_input(file, kind)
            if isinstance(found, Finding):
                faults.append(found)
            else:
                inputs.append(found)
    return faults + _compare(path, rule, inputs)


def _read_input(path: Path, kind: str) -> _Input | Finding:
    try:
        data = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return fault(path, f"can't be read: {error}")
    if not isinstance(data, dict) or set(data) - _KEYS or ("object" in data) == ("objects" in data):
        return fault(path, "must hold object or objects, and may hold document and expect")
    objects = data["objects"] if "objects" in data else [data["object"]]
    document, expect = data.get("document", {}), data.get("expect", _EXPECTED[kind][0])
    if not isinstance(objects, list) or not all(isinstance(o, dict) for o in (document, *objects)):
        return fault(path, "objects and document must be mappings")
    if expect not in _EXPECTED[kind]:
        return fault(path, f"expect: {expect!r} is not one of {', '.join(_EXPECTED[kind])}", field="expect")
    return _Input(path, expect, document, objects)


def _compare(path: Path, rule: Rule, inputs: list[_Input]) -> list[Finding]:
    questions = [
        Question(rule.id, rule.match, rule.reads, rule.expr, rule.params, i.document, i.objects)
        for i in inputs
    ] or [Question(rule.id, rule.match, rule.reads, rule.expr, rule.params, {}, [])]
    try:
        answers: list[Answer] = run_limited(evaluate, (questions,), seconds=10.0, scrub_environment=True)
    except IsolationError as error:
        return [fault(path, f"evaluation died: {error.message}", remedy="make the expression smaller")]
    wrong = sorted({a.fault for a in answers if a.fault})
    if wrong:
        return [fault(path, message) for message in wrong]
    findings = [
        finding
        for given, answer in zip(inputs, answers, strict=False)
        if (finding := _judge_input(given, answer))
    ]
    fired = any(said.word == "fail" for answer in answers for said in answer.said)
    if inputs and not fired:
        remedy = "write a fail input that it refuses"
        findings.append(fault(path, f"rule {rule.id} never fires on any of its inputs", remedy=remedy))
    return findings


def _judge_input(given: _Input, answer: Answer) -> Finding | None:
    """The words on all objects against the one that the input expects."""
    words = [said.word for said in answer.said]
    if given.expect == "skipped":
        good = not words
    elif given.expect == "pass":
        good = bool(words) and set(words) == {"pass"}
    else:
        good = given.expect in words
    if good:
        return None
    details = "; ".join(said.detail for said in answer.said if said.detail)
    seen = ", ".join(words) or "skipped"
    return fault(
        given.path, f"expected {given.expect}, the rule said {seen}" + (f" ({details})" if details else "")
    )
