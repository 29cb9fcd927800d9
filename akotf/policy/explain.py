"""A rule in words, and what it says of real objects: what was read, where it was written, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from akotf.model.base import Frozen
from akotf.model.finding import Position
from akotf.model.policy import Judgement, Level, Rule, Verdict
from akotf.policy.engine import Objects, is_sensitive, shown, written_path
from akotf.policy.questions import Question
from akotf.policy.reads import read

_LEVELS = {
    Level.ADVISORY: "told, never denies",
    Level.SOFT: "denies unless a named approver overrides it",
    Level.HARD: "denies, only a waiver lets it pass",
}


class Read(Frozen):
    """One value that a rule read."""

    path: str
    value: str  # as shown; "(sensitive)" when it must not be
    position: Position | None = None


class Explained(Frozen):
    """A rule's word on one object, with all that it read there."""

    verdict: Verdict
    reads: tuple[Read, ...]
    gaps: tuple[str, ...]  # what it could not read, and why


def explain(rule: Rule) -> str:
    """What a rule says, when it looks, and what follows."""
    lines = [
        f"{rule.id}: {rule.title}",
        f"  level    {rule.level}: {_LEVELS[rule.level]}",
        f"  stage    {rule.stage}",
        f"  looks at {rule.match or 'every object'}",
    ]
    if rule.types:
        lines.append("  of types " + ", ".join(sorted(rule.types)))
    lines.append(f"  passes   {rule.expr}")
    if rule.params:
        lines.append("  params   " + "; ".join(f"{name} = {value}" for name, value in rule.params.items()))
    if rule.reads or rule.types:
        meaning = "denies" if rule.unknown == "deny" else "is checked again before the run is submitted"
        if rule.level is Level.ADVISORY:
            meaning = "is told"
        paths = list(rule.reads) + [f"{path} of {kind}" for kind, all_ in rule.types.items() for path in all_]
        lines.append(f"  reads    {', '.join(paths)}; what is unknown there {meaning}")
    return "\n".join([*lines, f"  why      {rule.why}", f"  remedy   {rule.remedy}"])


def explained(
    rule: Rule,
    judgement: Judgement,
    document: Mapping[str, Any],
    objects: Objects,
    positions: Mapping[str, Position],
) -> list[Explained]:
    """The rule's verdicts of a judgement, each with what was read; an object that it does not match is left out."""
    data = dict(objects)
    question = Question.of(rule)
    rows = []
    for verdict in judgement.verdicts:
        if verdict.rule != rule.id:
            continue
        item = data.get(verdict.object, {})
        reading = read(item, question.paths(item), document)
        reads = tuple(
            Read(
                path=path,
                value="(sensitive)" if is_sensitive(item, path) else shown(value),
                position=positions.get(place) if (place := written_path(item, path)) else None,
            )
            for path, value in reading.found
        )
        rows.append(Explained(verdict=verdict, reads=reads, gaps=tuple(reading.gaps)))
    return rows


def explained_text(rule: Rule, rows: Sequence[Explained]) -> str:
    """The rows as text: each object, what was read of it with its place, the verdict and why."""
    if not rows:
        return "  it looks at none of the objects of this environment"
    lines = []
    for row in rows:
        verdict = row.verdict
        lines.append(f"  {verdict.object}: {verdict.outcome}{', which denies' if verdict.denies else ''}")
        width = max((len(r.path) for r in row.reads), default=0)
        for found in row.reads:
            place = f"  ({found.position})" if found.position else ""
            lines.append(f"    {found.path:<{width}} = {found.value}{place}")
        lines += [f"    {gap}" for gap in row.gaps]
        if verdict.outcome != "pass":
            lines.append(f"    {verdict.message}")
            lines += [f"    waiver: {verdict.waiver}"] if verdict.waiver else [f"    remedy: {rule.remedy}"]
    return "\n".join(lines)
