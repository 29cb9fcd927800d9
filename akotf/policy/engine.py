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
from akotf.policy import waivers as waiving
from akotf.policy.evaluation import evaluate, warm
from akotf.policy.questions import Answer, Case, Question, Said
from akotf.policy.reads import ABSENT, read, value_at

SECONDS = 10.0
MEMORY = 512 * 2**20
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
    again: bool = True,
) -> Judgement:
    """The verdicts of all rules of this stage; a rule of another stage is passed over.

    `objects` are (name, data); `approver` is who overrides soft-mandatory rules; `positions` are where the desired
    state was written; `again` says that a rule whose UNKNOWN means `recheck` is asked once more, else UNKNOWN denies.
    A rule whose evaluation dies denies. ConfigError when a rule is wrong, when a waiver names
    a rule that is not there or lacks what it must say, or when there is no rule at all: nothing judged is not the same
    as nothing wrong.
    """
    chosen = [rule for rule in rules if rule.stage is stage]
    if not chosen:
        remedy = "check the policies folder; a stage without rules can't pass"
        raise ConfigError(f"there is no policy rule for stage {stage}", remedy=remedy)
    waiving.refuse_bad(waivers, [rule.id for rule in rules], positions)
    warm()
    questions = tuple(Question.of(rule) for rule in chosen)
    answers = _answers(document, [item for _, item in objects], questions)
    faults = [_fault(r, a) for r, a in zip(chosen, answers, strict=True) if isinstance(a, Answer) and a.fault]
    if faults:
        raise ConfigError("; ".join(f.message for f in faults), faults)
    verdicts: list[Verdict] = []
    for rule, answer in zip(chosen, answers, strict=True):
        if isinstance(answer, IsolationError):
            verdicts.append(_unanswered(rule, answer))
            continue
        grace = _Grace(rule, waivers, today, approver, document, again)
        verdicts += [grace.verdict(said, *objects[said.which], positions) for said in answer.said]
    unused = waiving.unused(waivers, chosen, verdicts, today)
    return Judgement(stage=stage, verdicts=tuple(verdicts), rules=len(chosen), waivers=unused)


def _answers(
    document: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], questions: tuple[Question, ...]
) -> list[Answer | IsolationError]:
    """All in one child; when that dies, each in its own, so that only the rule at fault stays unanswered."""
    try:
        answers: list[list[Answer | IsolationError]] = run_limited(
            evaluate, ([Case(document, objects, questions)],), seconds=SECONDS, memory=MEMORY, scrub_environment=True
        )  # fmt: skip
        return answers[0]
    except IsolationError as error:
        if len(questions) == 1:
            return [error]
        return [answer for question in questions for answer in _answers(document, objects, (question,))]


def _unanswered(rule: Rule, error: IsolationError) -> Verdict:
    return Verdict(
        rule=rule.id, level=rule.level, stage=rule.stage, outcome=Outcome.UNKNOWN, object="(all)", denies=True,
        message=f"{rule.title}: evaluation died, which denies ({error.message})", why=rule.why,
        remedy="make the rule's expression smaller",
    )  # fmt: skip


def _fault(rule: Rule, answer: Answer) -> Finding:
    file = f"policies/{rule.id}/rule.yaml"
    return Finding(
        rule="policy/rule", message=f"{file}: {answer.fault}", position=Position(file=file), path=answer.field,
        remedy="`akotf policy test` says where",
    )  # fmt: skip


class _Grace:
    """What a rule that did not pass leads to: its level, its waivers, and who approves."""

    def __init__(
        self,
        rule: Rule,
        waivers: Sequence[Waiver],
        today: dt.date,
        approver: str,
        document: Mapping[str, Any],
        again: bool,
    ) -> None:
        self.rule, self.today, self.approver, self.document = rule, today, approver, document
        self.again = again
        self.waiver = waiving.longest(waivers, rule.id)

    def verdict(
        self, said: Said, name: str, item: Mapping[str, Any], positions: Mapping[str, Position]
    ) -> Verdict:
        """The verdict on one object."""
        rule = self.rule
        outcome = Outcome.UNKNOWN if said.word == "error" else Outcome(said.word)
        message = _message(rule, said, item, self.document)
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
            note = waiving.note(waiver, self.today)
            if self.today <= waiver.expires:
                return Outcome.WAIVED, False, waiving.who(waiver), note
        level = self.rule.level
        if level is Level.ADVISORY:
            return outcome, False, "", note
        if level is Level.SOFT and self.approver:
            return outcome, False, f"overridden by {self.approver}", note
        if said.word == "unknown" and self.rule.unknown == "recheck" and self.again:
            return outcome, False, "", note + "; it is checked again before the run is submitted"
        return outcome, True, "", note


def _message(rule: Rule, said: Said, item: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if said.word == "pass":
        return rule.title
    if said.word == "error" and item.get("sensitive"):
        return f"{rule.title}: can't be told, the expression breaks on this object"  # the detail may hold a value
    if said.word in ("unknown", "error"):
        return f"{rule.title}: can't be told, {said.detail}"
    return _FIELD.sub(lambda found: _shown(rule, said, item, document, found[1]), rule.message)


def _shown(rule: Rule, said: Said, item: Mapping[str, Any], document: Mapping[str, Any], path: str) -> str:
    if path == "culprits":
        # What an expression made can't be traced back to an attribute: nothing of an object with secrets is shown.
        return "(sensitive)" if item.get("sensitive") else ", ".join(said.culprits) or "something"
    if path == "values":
        return ", ".join(shown_values(rule, item, document).values()) or "nothing"
    head, _, rest = path.partition(".")
    if is_sensitive(item, path):
        return "(sensitive)"
    value = value_at({"params": rule.params} if head == "params" else item, path)
    if head == "input":
        value = value_at(document, rest)
    return shown(None if value is ABSENT else value)


def is_sensitive(item: Mapping[str, Any], path: str) -> bool:
    """Whether a path lies in an attribute that must not be shown."""
    head, _, rest = path.partition(".")
    return head in ("before", "after") and re.split(r"[.\[]", rest)[0] in item.get("sensitive", ())


def shown(value: Any) -> str:
    """A value as people read it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(v) for v in value) or "an empty list"
    return str(value)


def shown_values(rule: Rule, item: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """Path -> value of all that the rule reads of this object; sensitive values are not told."""
    found = read(item, Question.of(rule).paths(item), document).found
    return {path: "(sensitive)" if is_sensitive(item, path) else shown(value) for path, value in found}


def written_path(item: Mapping[str, Any], path: str) -> str | None:
    """Where in the desired state stands what a rule reads as `path` of an object; None for what nobody wrote there.

    `input.environment.lifecycle` is `lifecycle`; what a selection says is of its scope.
    """
    base = f"scopes.{item.get('scope')}" if item.get("kind") == "selection" else item.get("path")
    if not isinstance(base, str):
        return None
    if path.startswith("input."):
        return path.removeprefix("input.").removeprefix("environment.")
    return f"{base}.{path}".strip(".")


def _position(rule: Rule, item: Mapping[str, Any], positions: Mapping[str, Position]) -> Position | None:
    """Where what the rule reads was written, else where the nearest thing around it was."""
    for read_path in (*(p.replace("?", "").split("[")[0] for p in rule.reads), ""):
        path = written_path(item, read_path)
        while path:
            if found := positions.get(path):
                return found
            path = path.rpartition(".")[0]
    return None if written_path(item, "") is None else positions.get("")
