"""What goes to the child that evaluates, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from akotf.model.policy import Rule


class Question(NamedTuple):
    """One rule, as it is asked."""

    rule: str
    match: str
    reads: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]
    expr: str
    culprits: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, rule: Rule, params: Mapping[str, Any] | None = None) -> Question:
        """The question of a rule; `params` in place of its own."""
        used = rule.params if params is None else params
        return cls(rule.id, rule.match, rule.reads, rule.types, rule.expr, rule.culprits, used)

    def looks_at(self, item: Mapping[str, Any]) -> bool:
        """False when `types` leaves the object out."""
        return not self.types or item.get("type") in self.types

    def paths(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        """What is read of this object."""
        return (*self.reads, *self.types.get(item.get("type", ""), ()))


class Case(NamedTuple):
    """Questions that are asked of the same data."""

    document: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]
    questions: tuple[Question, ...]


class Said(NamedTuple):
    """One answer: `word` is pass, fail, unknown (`detail` says what can't be read) or error (it can't be worked out)."""

    which: int  # index of the object
    word: str
    detail: str = ""
    culprits: tuple[str, ...] = ()  # of a fail, when the rule says which


class Answer(NamedTuple):
    """What a question brought: a fault of the rule itself in one of its fields, or its word on each object that it matches."""

    fault: str
    said: tuple[Said, ...]
    field: str = ""  # of the rule, where the fault is
