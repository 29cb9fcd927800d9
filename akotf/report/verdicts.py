"""What policy said, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from akotf.model.policy import Judgement, Outcome, Verdict
from akotf.report.ansi import clean, paint

_STYLES = {
    "denied": "red", "passed": "green", "failed": "yellow", "unknown": "yellow", "waived": "yellow",
    "overridden": "yellow",
}  # fmt: skip
_INDENT = " " * 11


def text(judgement: Judgement, *, color: bool = False, passed: bool = False) -> str:
    """The tally, then each verdict that did not pass (with `passed`, all of them)."""
    tally = Counter(word(verdict) for verdict in judgement.verdicts)
    counts = ", ".join(f"{tally[w]} {paint(w, _STYLES[w], color)}" for w in _ORDER if tally[w])
    rules = f"{judgement.rules} {'rule' if judgement.rules == 1 else 'rules'}"
    lines = [f"policy {judgement.stage}: {rules}, {counts or 'nothing to judge'}"]
    shown = [v for v in judgement.verdicts if passed or v.outcome is not Outcome.PASS]
    for verdict in sorted(shown, key=lambda v: _ORDER.index(word(v))):
        lines += ["  " + line for line in verdict_text(verdict, color=color).split("\n")]
    return "\n".join(lines)


_ORDER = ("denied", "unknown", "failed", "overridden", "waived", "passed")


def word(verdict: Verdict) -> str:
    """denied, unknown (and not denied), failed (and not denied), overridden, waived or passed."""
    if verdict.outcome is Outcome.PASS:
        return "passed"
    if verdict.outcome is Outcome.WAIVED:
        return "waived"
    if verdict.denies:
        return "denied"
    if verdict.waiver:
        return "overridden"
    return "unknown" if verdict.outcome is Outcome.UNKNOWN else "failed"


def verdict_text(verdict: Verdict, *, color: bool = False) -> str:
    """What a rule said of one object; unless it passed, also where, why and what to do."""
    said = word(verdict)
    head = paint(f"{said:<10}", _STYLES[said], color)
    lines = [f"{head} {verdict.rule} ({verdict.level}) on {clean(verdict.object)}: {clean(verdict.message)}"]
    if said == "passed":
        return lines[0]
    details = {
        "at": str(verdict.position) if verdict.position else "",
        "waiver": verdict.waiver,
        "why": verdict.why,
        "remedy": verdict.remedy if said != "waived" else "",
    }
    lines += [
        f"{_INDENT}{paint(f'{name}:', 'dim', color)} {clean(value)}"
        for name, value in details.items()
        if value
    ]
    return "\n".join(lines)


def to_json(judgement: Judgement) -> dict[str, Any]:
    """Plain JSON data: the judgement with its tally."""
    tally = Counter(word(verdict) for verdict in judgement.verdicts)
    return {
        "schema": 1,
        "stage": judgement.stage.value,
        "rules": judgement.rules,
        "denied": bool(judgement.denied),
        "tally": {w: tally[w] for w in _ORDER},
        "verdicts": [verdict.to_json() for verdict in judgement.verdicts],
    }
