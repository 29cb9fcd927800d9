"""Terraform's plan for people: text like Terraform's own, and Markdown for a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from akotf.model.tfplan import ResourceChange, TfPlan

_SYMBOLS = {
    ("create",): "+",
    ("delete",): "-",
    ("update",): "~",
    ("delete", "create"): "-/+",
    ("create", "delete"): "+/-",
    ("forget",): ".",
}
_WORDS = {
    ("create",): "will be created",
    ("delete",): "will be destroyed",
    ("update",): "will be updated in place",
    ("delete", "create"): "must be replaced",
    ("create", "delete"): "must be replaced, the new one first",
    ("forget",): "will no longer be managed",
}
_DRIFTED: dict[tuple[str, ...], str] = {("update",): "has changed", ("delete",): "is gone"}
_LONGEST = 160  # characters of one shown value
_SENSITIVE = "(sensitive value)"
_UNKNOWN = "(known after apply)"
_ABSENT = object()


def text(plan: TfPlan) -> str:
    """All changes and drifts of a plan, one attribute a line, and the count that Terraform prints."""
    lines: list[str] = []
    drift = [c for c in plan.drift if c.is_change]
    if drift:
        lines += ["Changed outside of Terraform:", ""]
        for change in drift:
            lines += [*_block(change, _DRIFTED.get(change.actions, "has changed")), ""]
    for change in _planned(plan):
        lines += [*_block(change, _WORDS.get(change.actions, " and ".join(change.actions))), ""]
    return "\n".join([*lines, summary(plan)])


def markdown(plan: TfPlan) -> str:
    """The same for a pull-request comment: one `diff` block; no value can end the block."""
    lines = [f"**Terraform**: {summary(plan)}"]
    drift = [c for c in plan.drift if c.is_change]
    planned = _planned(plan)
    if drift:
        lines += ["", "Changed outside of Terraform:", "", "```diff", *_diff(drift), "```"]
    if planned:
        lines += ["", "```diff", *_diff(planned), "```"]
    return "\n".join(lines)


def summary(plan: TfPlan) -> str:
    """`Plan: 2 to add, 0 to change, 1 to destroy.`"""
    planned = _planned(plan)
    if not planned:
        return "No changes. What is there matches what is wanted."
    add = sum("create" in c.actions for c in planned)
    change = sum("update" in c.actions for c in planned)
    gone = sum("delete" in c.actions for c in planned)
    return f"Plan: {add} to add, {change} to change, {gone} to destroy."


def _planned(plan: TfPlan) -> list[ResourceChange]:
    return [c for c in plan.changes if c.is_change]


def _block(change: ResourceChange, words: str) -> Iterator[str]:
    symbol = _SYMBOLS.get(change.actions, "~")
    yield f"  {symbol} {change.address} {words}"
    for mark, name, before, after in _attributes(change):
        yield f"      {mark} {name}{_sides(mark, before, after)}"


def _diff(changes: Sequence[ResourceChange]) -> Iterator[str]:
    for change in changes:
        symbol = _SYMBOLS.get(change.actions, "~")
        yield f"{_colour(symbol)} {symbol} {change.address}"
        for mark, name, before, after in _attributes(change):
            yield f"{_colour(mark)}     {mark} {name}{_sides(mark, before, after)}"


def _colour(symbol: str) -> str:
    """The first character of a line in a `diff` block: green, red or orange."""
    return symbol if symbol in {"+", "-"} else "!"


def _sides(mark: str, before: str, after: str) -> str:
    if mark == "+":
        return f" = {after}"
    return f" = {before}" if mark == "-" else f": {before} -> {after}"


def _attributes(change: ResourceChange) -> Iterator[tuple[str, str, str, str]]:
    """Mark, dotted name, value before and value after of each attribute that changes; maps are taken apart."""
    before, after = change.before or {}, change.after or {}
    for name in sorted(set(before) | set(after) | set(change.after_unknown)):
        if name in change.sensitive:
            if before.get(name) != after.get(name):
                mark = "+" if change.before is None else "-" if change.after is None else "~"
                yield mark, name, _SENSITIVE, _SENSITIVE
            continue
        old, new = before.get(name), after.get(name)
        unknown = change.after_unknown.get(name)
        if unknown is True:
            yield ("+" if old is None else "~"), name, _show(old), _UNKNOWN
            continue
        yield from _values(change, name, old, new)


def _values(change: ResourceChange, name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str, str]]:
    if isinstance(old, dict) or isinstance(new, dict):
        plain = change.type == "akotf_baseline"  # whose maps hold JSON text
        was, now = old or {}, new or {}
        if isinstance(was, dict) and isinstance(now, dict):
            for key in sorted(set(was) | set(now)):
                yield from _leaf(
                    f"{name}.{_safe(key)}", was.get(key, _ABSENT), now.get(key, _ABSENT), plain=plain
                )
            return
    missing: tuple[Any, ...] = (None, [], {})
    yield from _leaf(name, _ABSENT if old in missing else old, _ABSENT if new in missing else new)


def _leaf(name: str, old: Any, new: Any, *, plain: bool = False) -> Iterator[tuple[str, str, str, str]]:
    if old is new or old == new:
        return
    mark = "+" if old is _ABSENT else "-" if new is _ABSENT else "~"
    yield (
        mark,
        name,
        _show(old, plain=plain and isinstance(old, str)),
        _show(new, plain=plain and isinstance(new, str)),
    )


def _show(value: Any, *, plain: bool = False) -> str:
    """JSON, on one line, shortened; `plain` text is JSON already."""
    if value is _ABSENT:
        return ""
    shown = _safe(value if plain else json.dumps(value, ensure_ascii=False, sort_keys=True))
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _safe(value: str) -> str:
    """Nothing that moves a terminal's cursor, ends a line or turns the direction of writing."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in value)
