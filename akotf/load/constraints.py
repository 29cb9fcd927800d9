"""What must hold between a template's parameters, told where the environment gave the value at fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.load.typed import Parameters
from akotf.model.config import Constraint, TemplateSpec
from akotf.model.finding import Finding
from akotf.policy.constraints import Answer, evaluate_constraints
from akotf.reading.nodes import ListNode, MapNode, Mark

SECONDS = 5.0
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


def check_constraints(template: TemplateSpec, node: MapNode, parameters: Parameters) -> list[Finding]:
    """A finding for each constraint that is broken or wrong. One that names a parameter with a fault waits for it."""
    if not template.constraints:
        return []
    faulty = {finding.path.removeprefix("parameters.") for finding in parameters.findings}
    values = {name: value for name, value in parameters.values.items() if name not in faulty}
    expressions = tuple(constraint.expr for constraint in template.constraints)
    try:
        answers = _answers(expressions, tuple(template.parameters), json.dumps(values, sort_keys=True))
    except IsolationError as error:
        message = f"the template's constraints can't be worked out: {error.message}"
        return [_fault(0, _mark(node, 0, "expr"), message, "make them smaller")]
    findings: list[Finding] = []
    for index, (constraint, answer) in enumerate(zip(template.constraints, answers, strict=True)):
        findings += _own_faults(index, constraint, template, node)
        if (finding := _judged(index, constraint, answer, node, parameters)) is not None:
            findings.append(finding)
    return findings


@lru_cache(
    maxsize=64
)  # where many environments are loaded, most say the same; as text 1, 1.0 and true differ
def _answers(expressions: tuple[str, ...], known: tuple[str, ...], values: str) -> list[Answer]:
    answers: list[Answer] = run_limited(
        evaluate_constraints,
        (expressions, known, json.loads(values)),
        seconds=SECONDS,
        scrub_environment=True,
    )
    return answers


def _own_faults(
    index: int, constraint: Constraint, template: TemplateSpec, node: MapNode
) -> Iterator[Finding]:
    for name in _FIELD.findall(constraint.message + constraint.remedy):
        if name not in template.parameters:
            key = "message" if f"{{{name}}}" in constraint.message else "remedy"
            message = f"the {key} of a constraint shows {{{name}}}, which is no parameter"
            yield _fault(
                index, _mark(node, index, key), message, f"known are {', '.join(template.parameters)}"
            )


def _judged(
    index: int, constraint: Constraint, answer: Answer, node: MapNode, parameters: Parameters
) -> Finding | None:
    if answer.word in ("holds", "waiting"):
        return None
    mark = _mark(node, index, "expr")
    if answer.word == "unset":
        first = answer.detail.partition(", ")[0]
        message = f"the template's constraint {constraint.expr!r} breaks where {answer.detail} has no value"
        return _fault(index, mark, message, f"write {first} == null || (...), or give {first} a default")
    if answer.word == "fault":
        remedy = "write CEL over the parameters' names; whole and other numbers meet as double(NAME)"
        return _fault(index, mark, f"the template's constraint {constraint.expr!r} {answer.detail}", remedy)
    given = next((name for name in answer.names if name in parameters.given), None)
    place = parameters.given[given] if given else mark
    path = f"parameters.{given}" if given else f"constraints.{index}"

    def shown(text: str) -> str:
        return _FIELD.sub(lambda f: parameters.shown(f[1]) if f[1] in parameters.typed else f[0], text)

    remedy = shown(constraint.remedy) or f"change {', '.join(answer.names)} so that {constraint.expr}"
    return Finding(rule="config/constraint", message=shown(constraint.message), position=place.position(), path=path,
                   remedy=remedy)  # fmt: skip


def _mark(node: MapNode, index: int, key: str) -> Mark:
    """Where the key of a constraint is written."""
    constraints = node.get("constraints")
    item = constraints.items[index] if isinstance(constraints, ListNode) else node
    value = item.get(key) if isinstance(item, MapNode) else None
    return value.mark if value is not None and value.mark.line else item.mark


def _fault(index: int, mark: Mark, message: str, remedy: str) -> Finding:
    return Finding(rule="config/template", message=message, position=mark.position(), path=f"constraints.{index}",
                   remedy=remedy)  # fmt: skip
