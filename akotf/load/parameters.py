"""Typed parameters of a template: the environment's values against type, bounds, choices and pattern."""

from __future__ import annotations

import re
from functools import lru_cache

from akotf.errors import IsolationError
from akotf.isolation import run_limited
from akotf.load.constraints import check_constraints
from akotf.load.typed import Parameters, Typed, own_faults
from akotf.model.config import TemplateSpec
from akotf.model.finding import Finding
from akotf.reading.bind import suggest
from akotf.reading.leaves import Fault
from akotf.reading.nodes import MapNode, Mark, Node
from akotf.reading.scalars import shown
from akotf.reading.source import MAX_FAULTS


def bind_parameters(
    template: TemplateSpec,
    template_node: MapNode,
    given: Node | None,
    mark: Mark,
    *,
    check_defaults: bool = False,
) -> Parameters:
    """The final parameters: the environment's values (`given`, a mapping) over the template's defaults.

    `mark` is where the environment would write them; `check_defaults` holds defaults against patterns too. All faults at once, the template's own too.
    """
    result = Parameters()
    typed = result.typed = _typed(template, template_node, result)
    entries = given.entries if isinstance(given, MapNode) else {}
    strays = [(name, entry.mark) for name, entry in entries.items() if name not in template.parameters]
    for name, place in strays[:MAX_FAULTS]:
        message = f"{template.name} has no parameter {name!r}"
        _note(result, name, "unknown-parameter", place, message, suggest(name, sorted(template.parameters)))
    if len(strays) > MAX_FAULTS:
        message = f"{len(strays)} parameters are not {template.name}'s; the first {MAX_FAULTS} are told"
        _note(result, "", "too-many-faults", strays[MAX_FAULTS][1], message, "mend these first")
    patterns: list[tuple[str, Mark, str, str]] = []  # name, place, pattern, value
    for name, parameter in typed.items():
        entry = entries.get(name)
        default = parameter.node.get("default")
        node = entry.value if entry else default
        if node is None:
            result.values[name] = None
            if parameter.spec.required:
                remedy = f"write {name}: ..." + (f" ({parameter.spec.help})" if parameter.spec.help else "")
                _note(result, name, "missing-parameter", mark, f"parameter {name!r} is required", remedy)
            continue
        if entry:
            result.given[name] = node.mark if node.mark.line else entry.mark
        try:
            value = parameter.read(node)
            parameter.check(value)
        except Fault as fault:
            place = node.mark if node.mark.line or not entry else entry.mark
            message, secret = f"parameter {name!r}: {fault}", parameter.spec.secret
            _note(result, name, fault.rule, place, message, fault.remedy, sensitive=secret)
            continue
        result.values[name] = value
        if parameter.spec.pattern and isinstance(value, str) and (entry or check_defaults):
            patterns.append((name, node.mark, parameter.spec.pattern, value))
    _match(patterns, result)
    result.findings.extend(check_constraints(template, template_node, result))
    return result


def match_all(pairs: list[tuple[str, str]]) -> list[bool]:
    """Whether each pattern matches the whole of its text; runs in a limited child, as patterns can take for ever."""
    return [re.fullmatch(pattern, text) is not None for pattern, text in pairs]


@lru_cache(maxsize=64)  # where many environments are loaded, most say the same
def _answers(pairs: tuple[tuple[str, str], ...]) -> list[bool]:
    answers: list[bool] = run_limited(match_all, (list(pairs),), seconds=2.0)
    return answers


def _match(patterns: list[tuple[str, Mark, str, str]], result: Parameters) -> None:
    if not patterns:
        return
    try:
        answers = _answers(tuple((pattern, value) for _, _, pattern, value in patterns))
    except IsolationError as error:
        name, mark, pattern, _ = patterns[0]
        _note(
            result,
            name,
            "pattern",
            mark,
            f"matching the pattern {pattern} ended: {error.message}",
            "simplify it",
        )
        return
    for (name, mark, pattern, value), matches in zip(patterns, answers, strict=True):
        if not matches:
            secret = result.typed[name].spec.secret
            message = (
                f"parameter {name!r}: {'its reference' if secret else shown(value)} does not match {pattern}"
            )
            remedy = result.typed[name].spec.help or "write a value that the whole pattern matches"
            _note(result, name, "pattern", mark, message, remedy, sensitive=secret)


def _typed(template: TemplateSpec, node: MapNode, result: Parameters) -> dict[str, Typed]:
    """The parameters by name; those whose own specification can't be used are left out. Notes what is wrong with it."""
    typed = {}
    nodes = node.get("parameters")
    for name, spec in template.parameters.items():
        entry = nodes.entries.get(name) if isinstance(nodes, MapNode) else None
        if entry is None or not isinstance(entry.value, MapNode):
            continue
        parameter = Typed(name, spec, entry.value, entry.mark)
        faults = list(own_faults(parameter))
        for key, fault in faults:
            message = f"the template's parameter {name!r}: {fault}"
            _note(
                result, name, "template", parameter.place(key), message, fault.remedy, sensitive=spec.secret
            )
        if not faults:
            typed[name] = parameter
    return typed


def _note(
    result: Parameters,
    name: str,
    rule: str,
    mark: Mark,
    message: str,
    remedy: str,
    *,
    sensitive: bool = False,
) -> None:
    result.findings.append(
        Finding(rule=f"config/{rule}", message=message, position=mark.position(), path=f"parameters.{name}".rstrip("."),
                remedy=remedy, sensitive=sensitive)
    )  # fmt: skip
