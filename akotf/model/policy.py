"""Policy rules and what they say."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from akotf.model.base import Frozen
from akotf.model.finding import Position


class Level(StrEnum):
    """How binding a rule is. soft-mandatory can be overridden by a named approver, hard-mandatory can't."""

    ADVISORY = "advisory"
    SOFT = "soft-mandatory"
    HARD = "hard-mandatory"


class Stage(StrEnum):
    """Where a rule judges."""

    CONFIG = "config"
    SELECTION = "selection"
    TFPLAN = "tfplan"
    DRIFT = "drift"


class Outcome(StrEnum):
    """What a rule said of one object. UNKNOWN never counts as passed."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNKNOWN = "unknown"
    WAIVED = "waived"


class Rule(Frozen):
    """`policies/<rule>/rule.yaml`: CEL over one object at a time."""

    version: Literal[1]
    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    level: Level
    stage: Stage
    match: str = ""  # CEL over `object`: which objects the rule looks at; empty = all
    reads: tuple[str, ...] = ()  # paths that must be known: under the object, or under `input`
    types: dict[
        str, tuple[str, ...]
    ] = {}  # resource types it looks at -> what it reads of each, beside `reads`
    expr: str  # CEL: true = passed. Sees `object`, `input` (the document), `params` and `values` (what was read)
    params: dict[str, object] = {}
    culprits: str = ""  # CEL giving a list: what of the object is refused, for the message
    message: str  # may use {path} of `object`, {params.name}, {values} and {culprits}
    why: str
    remedy: str
    unknown: Literal["deny", "recheck"] = "deny"  # what UNKNOWN means for a hard-mandatory rule


class Verdict(Frozen):
    """One rule's word on one object."""

    rule: str
    level: Level
    stage: Stage
    outcome: Outcome
    object: str  # name or address of the object
    message: str
    why: str = ""
    remedy: str = ""
    position: Position | None = None
    waiver: str = ""  # owner, ticket and expiry when waived
    denies: bool = False  # whether this verdict stops the change


class Judgement(Frozen):
    """All verdicts of one stage."""

    stage: Stage
    verdicts: tuple[Verdict, ...]
    rules: int  # how many rules were evaluated
    waivers: tuple[str, ...] = ()  # those of these rules that let nothing pass; the others stand in verdicts

    @property
    def denied(self) -> tuple[Verdict, ...]:
        """The verdicts that stop the change."""
        return tuple(v for v in self.verdicts if v.denies)
