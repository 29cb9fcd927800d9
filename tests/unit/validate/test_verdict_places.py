"""Every config verdict stands at the value that its rule reads: through templates, parameters, defaults and overrides."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.model.policy import Stage
from akotf.policy.documents import config_document
from akotf.policy.engine import judge, written_path
from akotf.policy.explain import explained
from akotf.policy.rules import load_rules

A, T, R = "akotf.yaml", "template.yaml", "run.yaml"
POLICIES = Path(__file__).parents[3] / "policies"


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("image-by-digest", [(R, '"repo@sha256:00"', '§"repo:latest"')]),
        ("image-by-digest", [(T, "  batch:", "  image: {type: string, default: §repo:latest}\n  batch:"), (R, '"repo@sha256:00"', '"{{ image }}"')]),
        ("required-labels", [(A, "{stage: dev}", "§{stage: dev}")]),
        ("budget-present", [(A, "objective:\n  budget: 100 USD\n  deadline", "objective:\n  §deadline")]),
        ("ttl-in-clouds", [(A, "ttl: 12h", "ttl: 50d"), (A, "lifecycle:\n  ttl", "lifecycle:\n  §ttl")]),
        ("wall-time-present", [(A, "wall: 1h", "wall: §40d"), (A, "ttl: 12h", "ttl: 50d")]),
        ("image-registry", [(R, '"repo@sha256:00"', '§"evil.example/repo:latest"')]),
    ],
)  # fmt: skip
def test_a_verdict_stands_at_what_its_rule_reads(
    written: Callable[..., Any], rule: str, changes: list[tuple[str, str, str]]
) -> None:
    result = written(*changes)
    judgement = judge(
        Stage.CONFIG,
        *config_document(result.state),
        load_rules([POLICIES]),
        today=dt.date(2026, 1, 1),
        positions=result.state.positions,
    )
    (verdict,) = [v for v in judgement.verdicts if v.rule == rule and v.outcome != "pass"]
    assert str(verdict.position) == result.marked


def test_every_config_verdict_has_a_place(written: Callable[..., Any]) -> None:
    state = written().state
    judgement = judge(
        Stage.CONFIG,
        *config_document(state),
        load_rules([POLICIES]),
        today=dt.date(2026, 1, 1),
        positions=state.positions,
    )
    assert judgement.verdicts
    assert all(v.position is not None and v.position.line for v in judgement.verdicts)


def test_what_explain_reads_of_the_whole_environment_has_its_place_too(written: Callable[..., Any]) -> None:
    result = written((A, "ttl: 12h", "§ttl: 12h"))
    document, objects = config_document(result.state)
    rules = [rule for rule in load_rules([POLICIES]) if rule.id == "ttl-in-clouds"]
    rule = rules[0].model_copy(update={"reads": ("input.environment.lifecycle.ttl",)})
    judgement = judge(Stage.CONFIG, document, objects, [rule], today=dt.date(2026, 1, 1))
    (row,) = explained(rule, judgement, document, objects, result.state.positions)  # of the one cloud scope
    (found,) = row.reads
    place = found.position
    assert place is not None
    assert (found.value, place.line) == ("43200", int(result.marked.split(":")[1]))


@pytest.mark.parametrize(
    ("item", "path", "expected"),
    [
        ({"path": ""}, "objective.budget", "objective.budget"),
        ({"path": "run"}, "limits.wall_time", "run.limits.wall_time"),
        ({"path": "scopes.aws"}, "input.environment.lifecycle.ttl", "lifecycle.ttl"),
        ({"path": "scopes.aws"}, "input.run.limits", "run.limits"),
        ({"kind": "selection", "scope": "aws"}, "region", "scopes.aws.region"),
        ({"kind": "resource", "address": "a.b"}, "after.tags", None),
    ],
)
def test_what_a_rule_reads_has_a_path_in_the_desired_state(
    item: dict[str, Any], path: str, expected: str | None
) -> None:
    assert written_path(item, path) == expected
