"""Waivers: named exceptions from a rule, with an end. Whatever they let pass, they are told."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator, Mapping, Sequence

from akotf.errors import ConfigError
from akotf.model.config import Waiver
from akotf.model.finding import Finding, Position
from akotf.model.policy import Outcome, Rule, Verdict

SOON = dt.timedelta(days=14)  # a waiver that ends within it says so
LONG = dt.timedelta(days=366)  # one that ends later than that is more of a rule than an exception


def refuse_bad(waivers: Sequence[Waiver], known: Sequence[str], positions: Mapping[str, Position]) -> None:
    """ConfigError when a waiver names a rule that is not there, or nobody and nothing to ask about it."""
    faults = [
        Finding(
            rule="policy/waiver", path=f"waivers.{number}.{field}", message=message, remedy=remedy,
            position=positions.get(f"waivers.{number}.{field}", positions.get("waivers")),
        )
        for number, waiver in enumerate(waivers)
        for field, message, remedy in _faults(waiver, known)
    ]  # fmt: skip
    if faults:
        raise ConfigError("; ".join(f.message for f in faults), faults)


def _faults(waiver: Waiver, known: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    if waiver.rule not in known:
        near = difflib.get_close_matches(waiver.rule, known, n=1, cutoff=0.6)
        remedy = f"did you mean {near[0]!r}?" if near else f"known rules: {', '.join(sorted(known))}"
        yield "rule", f"a waiver names rule {waiver.rule!r}, which is not there", remedy
    for field in ("owner", "reason", "ticket"):
        if not getattr(waiver, field).strip():
            yield field, f"the waiver of rule {waiver.rule!r} has no {field}", f"write its {field}"


def longest(waivers: Sequence[Waiver], rule: str) -> Waiver | None:
    """The waiver of a rule that ends last."""
    return max((w for w in waivers if w.rule == rule), key=lambda w: w.expires, default=None)


def who(waiver: Waiver) -> str:
    """`ann, T-7, until 2027-03-01: launch`."""
    return f"{waiver.owner}, {waiver.ticket}, until {waiver.expires}: {waiver.reason}"


def note(waiver: Waiver, today: dt.date) -> str:
    """What is to know of a waiver today, to be put behind a message: expired, ends soon, or runs very long."""
    left = waiver.expires - today
    if left.days < 0:
        return f"; the waiver of {waiver.owner} ({waiver.ticket}) expired on {waiver.expires}"
    if left <= SOON:
        return f"; the waiver expires soon, in {left.days} d"
    if left > LONG:
        return f"; the waiver runs for more than a year, until {waiver.expires}"
    return ""


def unused(
    waivers: Sequence[Waiver], rules: Sequence[Rule], verdicts: Sequence[Verdict], today: dt.date
) -> tuple[str, ...]:
    """The waivers of these rules that let nothing pass today, in words: none stays unseen because nothing failed."""
    mine = {rule.id for rule in rules}
    used = {v.rule for v in verdicts if v.outcome is not Outcome.PASS}
    return tuple(
        f"the waiver of {w.rule} is not needed now: {who(w)}{note(w, today)}"
        for w in waivers
        if w.rule in mine - used
    )
