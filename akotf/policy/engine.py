"""Judges a stage: every rule of it, on every object that it matches."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

from akotf.errors import ConfigError, IsolationError
from akotf.isolation import run_limited
from akotf.model.config import Waiver
from akotf.model.finding import Finding, Position
from akotf.model.policy import Judgement, Level, Outcome, Rule, Stage, Verdict
from akotf.policy.evaluation import Answer, Question, Said, evaluate
from akotf.policy.reads import ABSENT, value_at

SECONDS = 10.0
MEMORY = 512 * 2**20
SOON = dt.timedelta(days=14)  # a waiver that ends within it says so
_FIELD = re.compile(r"\{([A-Za-z_][\w.-]*)\}")

Objects = Sequence[tuple[str, Mapping[str, Any]]]


def judge(
    stage: Stage,
    document: Mapping[str, Any],
    objects: Objects,
    rules: Sequence[Rule],
    *,
    waivers: Sequence[Waiver] = (),
    today: dt.date,
    positions: Mapping[str, Position] = {},
    approver: str = "",
) -> Judgement:
    """The verdicts of all rules of this stage; a rule of another stage is passed over.

    `objects` are (name, data); `approver` is who overrides soft-mandatory rules; `positions` are where the desired
    state was written. A rule whose evaluation dies denies. ConfigError when a rule is wrong, when a waiver names
    a rule that is not there, or when there is no rule at all: nothing judged is not the same as nothing wrong.
    """
    chosen = [rule for rule in rules if rule.stage is stage]
    if not chosen:
        remedy = "check the policies folder; a stage without rules can't pass"
        raise ConfigError(f"there is no policy rule for stage {stage}", remedy=remedy)
    _refuse_unknown_waivers(waivers, rules)
    data = [item for _, item in objects]
    answers = _answers([_question(rule, document, data) for rule in chosen])
    faults = [
        _fault(r, a.fault) for r, a in zip(chosen, answers, strict=True) if isinstance(a, Answer) and a.fault
    ]
    if faults:
        raise ConfigError("; ".join(f.message for f in faults), faults)
    verdicts: list[Verdict] = []
    for rule, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, IsolationError):
            verdicts.append(_unanswered(rule, answer))
            continue
        grace = _Grace(rule, waivers, today, approver)
        verdicts += [grace.verdict(said, *objects[said.which], positions) for said in answer.said]
    return Judgement(stage=stage, verdicts=tuple(verdicts), rules=len(chosen))


def _question(rule: Rule, document: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> Question:
    return Question(rule.id, rule.match, rule.reads, rule.expr, rule.params, document, objects)


def _answers(questions: list[Question]) -> list[Answer | IsolationError]:
    """All in one child; when that dies, each in its own, so that only the rule at fault stays unanswered."""
    try:
        return _ask(questions)
    except IsolationError as error:
        if len(questions) == 1:
            return [error]
        return [answer for question in questions for answer in _answers([question])]


def _ask(questions: list[Question]) -> list[Answer | IsolationError]:
    answers: list[Answer | IsolationError] = run_limited(
        evaluate, (questions,), seconds=SECONDS, memory=MEMORY, scrub_environment=True
    )
    return answers


def _unanswered(rule: Rule, error: IsolationError) -> Verdict:
    return Verdict(
        rule=rule.id, level=rule.level, stage=rule.stage, outcome=Outcome.UNKNOWN, object="(all)", denies=True,
        message=f"{rule.title}: evaluation died, which denies ({error.message})", why=rule.why,
        remedy="make the rule's expression smaller",
    )  # fmt: skip


def _fault(rule: Rule, message: str) -> Finding:
    file = f"policies/{rule.id}/rule.yaml"
    return Finding(rule="policy/rule", message=f"{file}: {message}", position=Position(file=file))


def _refuse_unknown_waivers(waivers: Sequence[Waiver], rules: Sequence[Rule]) -> None:
    known = {rule.id for rule in rules}
    faults = [
        Finding(
            rule="policy/waiver", path="waivers", message=f"a waiver names rule {w.rule!r}, which is not there",
            remedy=f"known rules: {', '.join(sorted(known))}",
        )
        for w in waivers if w.rule not in known
    ]  # fmt: skip
    if faults:
        raise ConfigError("; ".join(f.message for f in faults), faults)


class _Grace:
    """What a rule that did not pass leads to: its level, its waivers, and who approves."""

    def __init__(self, rule: Rule, waivers: Sequence[Waiver], today: dt.date, approver: str) -> None:
        mine = sorted((w for w in waivers if w.rule == rule.id), key=lambda w: w.expires)
        self.rule, self.today, self.approver = rule, today, approver
        self.waiver = mine[-1] if mine else None

    def verdict(
        self, said: Said, name: str, item: Mapping[str, Any], positions: Mapping[str, Position]
    ) -> Verdict:
        """The verdict on one object."""
        rule = self.rule
        outcome = Outcome.UNKNOWN if said.word == "error" else Outcome(said.word)
        message = _message(rule, said, item)
        waiver, denies = "", False
        if outcome is not Outcome.PASS:
            outcome, denies, waiver, note = self._judged(outcome, said)
            message += note
        return Verdict(
            rule=rule.id, level=rule.level, stage=rule.stage, outcome=outcome, object=name, message=message,
            why=rule.why, remedy=rule.remedy, position=_position(rule, item, positions), waiver=waiver,
            denies=denies,
        )  # fmt: skip

    def _judged(self, outcome: Outcome, said: Said) -> tuple[Outcome, bool, str, str]:
        """Outcome, whether it denies, who lets it pass, and a note for the message."""
        note, waiver = "", self.waiver
        if waiver is not None:
            who = f"{waiver.owner}, {waiver.ticket}, until {waiver.expires}: {waiver.reason}"
            if self.today <= waiver.expires:
                left = (waiver.expires - self.today).days
                soon = f"; the waiver expires soon, in {left} d" if left <= SOON.days else ""
                return Outcome.WAIVED, False, who, soon
            note = f"; the waiver of {waiver.owner} ({waiver.ticket}) expired on {waiver.expires}"
        level = self.rule.level
        if level is Level.ADVISORY:
            return outcome, False, "", note
        if level is Level.SOFT and self.approver:
            return outcome, False, f"overridden by {self.approver}", note
        if said.word == "unknown" and self.rule.unknown == "recheck":
            return outcome, False, "", note + "; it is checked again before the run is submitted"
        return outcome, True, "", note


def _message(rule: Rule, said: Said, item: Mapping[str, Any]) -> str:
    if said.word == "pass":
        return rule.title
    if said.word == "error" and item.get("sensitive"):
        return f"{rule.title}: can't be told, the expression breaks on this object"  # the detail may hold a value
    if said.word in ("unknown", "error"):
        return f"{rule.title}: can't be told, {said.detail}"
    return _FIELD.sub(lambda found: _shown(rule, item, found[1]), rule.message)


def _shown(rule: Rule, item: Mapping[str, Any], path: str) -> str:
    head, _, rest = path.partition(".")
    if head in ("before", "after") and rest.split(".")[0] in item.get("sensitive", ()):
        return "(sensitive)"
    value = value_at({"params": rule.params} if head == "params" else item, path)
    if value is ABSENT or value is None:
        return "nothing"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(v) for v in value)
    return str(value)


def _position(rule: Rule, item: Mapping[str, Any], positions: Mapping[str, Position]) -> Position | None:
    """Where what the rule reads was written, else where the nearest thing around it was."""
    base = item.get("path")
    if not isinstance(base, str):
        return None
    for path in (*rule.reads, ""):
        names = [name for name in f"{base}.{path}".split(".") if name]
        for length in range(len(names), 0, -1):
            if found := positions.get(".".join(names[:length])):
                return found
    return positions.get("")
