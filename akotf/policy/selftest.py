"""Rules against their own inputs: a rule that was never seen to fire guards nothing.

`pass/NAME.yaml` and `fail/NAME.yaml` beside `rule.yaml` hold `object` (one) or `objects` (several), a `document`
when the rule reads `input`, `params` when they differ from the rule's own, and `expect` when it is not what the folder
says: in `fail`, `unknown`; in `pass`, `skipped` (the rule does not look at any of the objects). What an input does not
say is taken from an ordinary object of its kind; all of it must be something that the stage can really produce.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from akotf.errors import ConfigError, IsolationError
from akotf.isolation import run_limited
from akotf.model.finding import Finding, Position
from akotf.model.policy import Rule, Stage
from akotf.policy.evaluation import evaluate, warm
from akotf.policy.examples import whole_document, whole_object
from akotf.policy.lint import lint
from akotf.policy.questions import Answer, Case, Question
from akotf.policy.rules import RuleFile, read_rule, rule_files
from akotf.policy.views import INPUTS
from akotf.reading import yaml
from akotf.reading.bind import plain

SECONDS = 10.0
_EXPECTED = {
    "pass": ("pass", "skipped"),
    "fail": ("fail", "unknown"),
}  # the first is what an input means by itself
_KEYS = frozenset({"object", "objects", "document", "params", "expect"})


class _Input(NamedTuple):
    path: Path
    expect: str
    params: dict[str, Any]
    document: dict[str, Any]
    objects: list[dict[str, Any]]


class _Bad(Exception):
    """An input that can't be used."""


def test_rules(folders: Sequence[Path], only: Sequence[str] = ()) -> list[Finding]:
    """Errors for each rule that can't be read, is mistyped, has no inputs, fails a pass input or lets a fail input through.

    `only` names the rules to test; without it all are. No rule at all is an error too.
    """
    paths = [path for path in rule_files(folders) if not only or path.parent.name in only]
    if not paths:
        where = ", ".join(map(str, folders)) or "policies"
        return [
            Finding(
                rule="policy/rule", message="there is no policy rule to test", position=Position(file=where),
                remedy="write policies/NAME/rule.yaml; nothing judged is not the same as nothing wrong",
            )
        ]  # fmt: skip
    files = [read_rule(path) for path in paths]
    findings = [fault for file in files for fault in file.faults]
    warm()
    for file in files:
        if file.rule is not None:
            inputs, faults = _inputs(file, file.rule)
            wrong = lint(file)
            # What a mistyped rule says of its inputs only hides the mistake.
            findings += [*wrong, *faults, *_compare(file, file.rule, [] if wrong else inputs)]
    return findings


test_rules.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test to pytest


def _inputs(file: RuleFile, rule: Rule) -> tuple[list[_Input], list[Finding]]:
    inputs: list[_Input] = []
    faults: list[Finding] = []
    for kind in _EXPECTED:
        paths = sorted((file.path.parent / kind).glob("*.yaml"))
        if not paths:
            remedy = f"write {kind}/NAME.yaml beside it"
            faults.append(file.fault(f"rule {rule.id} has no {kind} input", remedy=remedy))
        for path in paths:
            try:
                inputs.append(_read_input(path, kind, rule))
            except ConfigError as error:
                faults += error.findings
            except _Bad as error:
                faults.append(_input_fault(path, str(error)))
    return inputs, faults


def _input_fault(path: Path, message: str) -> Finding:
    return Finding(rule="policy/input", message=message, position=Position(file=str(path)))


def _read_input(path: Path, kind: str, rule: Rule) -> _Input:
    try:
        data = plain(yaml.read(path, str(path)))
    except ValueError as error:
        raise _Bad(f"can't be read: {error}") from error
    if not isinstance(data, dict) or set(data) - _KEYS or ("object" in data) == ("objects" in data):
        raise _Bad(
            f"must hold object or objects, and may hold {', '.join(sorted(_KEYS - {'object', 'objects'}))}"
        )
    objects = data["objects"] if "objects" in data else [data["object"]]
    document, params = data.get("document", {}), data.get("params", {})
    if not isinstance(objects, list) or not all(isinstance(o, dict) for o in (document, params, *objects)):
        raise _Bad("objects, document and params must be mappings")
    expect = data.get("expect", _EXPECTED[kind][0])
    if expect not in _EXPECTED[kind]:
        raise _Bad(f"expect: {expect!r} is not one of {', '.join(_EXPECTED[kind])}")
    if strange := sorted(set(params) - set(rule.params)):
        raise _Bad(f"params: the rule has no {strange[0]!r}")
    made = _real(rule.stage, document, objects)
    return _Input(path, expect, {**rule.params, **params}, made["document"], made["objects"])


def _real(stage: Stage, document: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole input as the stage would give it; _Bad when the stage can't."""
    whole = {
        "document": whole_document(stage, document),
        "objects": [whole_object(item) for item in objects],
    }
    try:
        made: dict[str, Any] = INPUTS[stage].model_validate(whole).to_json()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _Bad(f"stage {stage} can't produce this: {where}: {first['msg']}") from error
    for number, item in enumerate(made["objects"]):
        if item["kind"] == "resource" and (why := next(_impossible(item), "")):
            raise _Bad(f"Terraform can't plan this: objects.{number}: {why}")
    return made


_ACTIONS = {
    # actions -> whether there is something before and after
    ("create",): (False, True), ("update",): (True, True), ("delete",): (True, False), ("forget",): (True, False),
    ("delete", "create"): (True, True), ("create", "delete"): (True, True), ("create", "forget"): (True, True),
}  # fmt: skip


def _impossible(item: Mapping[str, Any]) -> Iterator[str]:
    """What no plan of Terraform has (its JSON output format, "Change Representation")."""
    actions = tuple(item["actions"])
    if actions not in _ACTIONS:
        yield f"actions {list(actions)} are none of Terraform's"
        return
    for side, there in zip(("before", "after"), _ACTIONS[actions], strict=True):
        if (item[side] is not None) is not there:
            yield f"{side} must {'be there' if there else 'be null'} when the actions are {', '.join(actions)}"
    if f"{item['type']}." not in item["address"]:
        yield f"address {item['address']} is not one of a {item['type']}"
    if place := _known_and_unknown(item["after"], item["after_unknown"], "after"):
        yield f"{place} has a value and is marked as unknown"


def _known_and_unknown(value: Any, marks: Any, place: str) -> str:
    """Where a value stands though it is marked as known only after apply."""
    if marks is True:
        return place if value is not None else ""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping) and isinstance(marks, Mapping):
        pairs = [(key, mark) for key, mark in marks.items() if key in value]
    elif isinstance(value, list) and isinstance(marks, list):
        pairs = [(index, mark) for index, mark in enumerate(marks) if index < len(value)]
    found = (_known_and_unknown(value[key], mark, f"{place}.{key}") for key, mark in pairs)
    return next((there for there in found if there), "")


def _compare(file: RuleFile, rule: Rule, inputs: list[_Input]) -> list[Finding]:
    cases = [Case(i.document, i.objects, (Question.of(rule, i.params),)) for i in inputs]
    try:
        asked = cases or [Case({}, [], (Question.of(rule),))]
        answers: list[list[Answer]] = run_limited(evaluate, (asked,), seconds=SECONDS, scrub_environment=True)
    except IsolationError as error:
        message = f"evaluation died: {error.message}"
        return [file.fault(message, field="expr", remedy="make the expression smaller")]
    wrong = {(a.field, a.fault) for (a,) in answers if a.fault}
    if wrong:
        return [file.fault(message, field=field) for field, message in sorted(wrong)]
    findings = [
        finding
        for given, (answer,) in zip(inputs, answers, strict=False)
        if (finding := _judge_input(given, answer))
    ]
    fired = any(said.word == "fail" for (answer,) in answers for said in answer.said)
    if inputs and not fired:
        message = f"rule {rule.id} never fires on any of its inputs"
        findings.append(file.fault(message, field="expr", remedy="write a fail input that it refuses"))
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
    message = f"expected {given.expect}, the rule said {seen}" + (f" ({details})" if details else "")
    return _input_fault(given.path, message)
