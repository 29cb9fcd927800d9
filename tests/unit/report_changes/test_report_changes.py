"""Terraform's plan as text and as Markdown."""

from __future__ import annotations

from typing import Any

from akotf.model.tfplan import ResourceChange, TfPlan
from akotf.report import changes


def plan(*rows: ResourceChange, drift: tuple[ResourceChange, ...] = ()) -> TfPlan:
    return TfPlan(root="/r", changes=rows, drift=drift)


def row(*actions: str, address: str = "module.m.akotf_baseline.this", **fields: Any) -> ResourceChange:
    return ResourceChange(address=address, type=address.split(".")[-2], actions=actions, **fields)


UPDATE = row(
    "update",
    before={"id": "x", "hyperparameters": {"rate": "0.5", "gone": "1"}, "differences": ["a"], "same": 1},
    after={"id": "x", "hyperparameters": {"rate": "0.001", "new": '"w"'}, "differences": [], "same": 1},
)


def test_each_changed_attribute_has_its_line() -> None:
    assert changes.text(plan(UPDATE)) == (
        "  ~ module.m.akotf_baseline.this will be updated in place\n"
        '      - differences = ["a"]\n'
        "      - hyperparameters.gone = 1\n"
        '      + hyperparameters.new = "w"\n'
        "      ~ hyperparameters.rate: 0.5 -> 0.001\n"
        "\n"
        "Plan: 0 to add, 1 to change, 0 to destroy."
    )


def test_a_creation_shows_what_is_known_only_later() -> None:
    made = row(
        "create",
        address="x.y",
        after={"a": 1, "empty": {}, "none": None, "off": False},
        after_unknown={"id": True},
    )
    assert changes.text(plan(made)).splitlines() == [
        "  + x.y will be created",
        "      + a = 1",
        "      + id = (known after apply)",
        "      + off = false",
        "",
        "Plan: 1 to add, 0 to change, 0 to destroy.",
    ]


def test_symbols_and_counts_of_replacement_and_deletion() -> None:
    text = changes.text(
        plan(
            row("delete", address="x.a", before={"v": 1}),
            row("delete", "create", address="x.b", before={"v": 1}, after={"v": 2}),
            row("no-op", address="x.c", before={"v": 1}, after={"v": 1}),
            row("read", address="data.x.d"),
        )
    )
    assert "  - x.a will be destroyed\n      - v = 1" in text
    assert "  -/+ x.b must be replaced\n      ~ v: 1 -> 2" in text
    assert "x.c" not in text and "data.x.d" not in text
    assert text.endswith("Plan: 1 to add, 0 to change, 2 to destroy.")


def test_sensitive_values_are_never_shown() -> None:
    secret = row(
        "update", before={"token": "old", "n": 1}, after={"token": "new", "n": 2}, sensitive=("token",)
    )
    for shown in (changes.text(plan(secret)), changes.markdown(plan(secret, drift=(secret,)))):
        assert "old" not in shown and "new" not in shown
        assert "~ token: (sensitive value) -> (sensitive value)" in shown


def test_an_unchanged_sensitive_value_is_no_change() -> None:
    same = row("update", before={"token": "t", "n": 1}, after={"token": "t", "n": 2}, sensitive=("token",))
    assert "token" not in changes.text(plan(same))


def test_drift_comes_first() -> None:
    text = changes.text(plan(UPDATE, drift=(row("delete", address="x.gone", before={"v": 1}),)))
    assert text.startswith("Changed outside of Terraform:\n\n  - x.gone is gone\n")


def test_no_changes() -> None:
    assert changes.text(plan()) == "No changes. What is there matches what is wanted."
    assert changes.markdown(plan()) == "**Terraform**: No changes. What is there matches what is wanted."


def test_hostile_values_stay_on_their_line_and_in_their_block() -> None:
    nasty = "a\n```\n# heading\x1b[2J\u202e\u0085"
    change = row("create", address="x.y", after={"v": nasty, "m": {nasty: nasty}})
    markdown = changes.markdown(plan(change))
    assert markdown.count("\n```") == 2  # the block's own begin and end
    assert all(line.isprintable() for line in markdown.splitlines())
    assert all(line.isprintable() for line in changes.text(plan(change)).split("\n"))


def test_long_values_are_shortened() -> None:
    text = changes.text(plan(row("create", address="x.y", after={"v": "z" * 10_000})))
    assert max(map(len, text.splitlines())) < 200


def test_markdown_colours_lines() -> None:
    lines = changes.markdown(plan(UPDATE, row("create", address="x.y", after={"v": 1}))).splitlines()
    assert lines[0] == "**Terraform**: Plan: 1 to add, 1 to change, 0 to destroy."
    assert lines[2] == "```diff" and lines[-1] == "```"
    assert "! ~ module.m.akotf_baseline.this" in lines
    assert "-     - hyperparameters.gone = 1" in lines
    assert "+ + x.y" in lines
