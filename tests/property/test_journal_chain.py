"""Properties of the journal's chain and of calibration that hold for any content."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from akotf.model.chain import check_chain, seal
from akotf.model.journal import Actor, Entry
from akotf.record.calibration import table

#: A busy machine must not fail a property.
unhurried = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
bodies = st.dictionaries(
    text,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def chain_of(contents: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    last: Entry | None = None
    for kind, body in contents:
        last = seal(
            last,
            time="2026-11-30T00:00:00Z",
            kind=kind,
            environment="e",
            subject="",
            actor=Actor(user="u", host="h"),
            body=body,
        )
        rows.append(last.model_dump(mode="json"))
    return rows


chains = st.lists(st.tuples(text, bodies), min_size=2, max_size=6).map(chain_of)


@unhurried
@given(chains)
def test_an_honest_chain_has_no_findings(rows: list[dict[str, Any]]) -> None:
    assert check_chain(rows, head=rows[-1]["hash"]) == []


@unhurried
@given(chains, st.data())
def test_a_change_of_any_field_is_found(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(sorted(rows[0])))
    value = rows[place][name]
    other: Any = (
        {**value, "x": "y"}
        if isinstance(value, dict)
        else value + 1
        if isinstance(value, int)
        else value + "x"
    )
    rows[place] = {**rows[place], name: other}
    assert check_chain(rows)


@unhurried
@given(chains, st.data())
def test_a_removed_entry_is_found(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    head = rows[-1]["hash"]
    del rows[data.draw(st.integers(0, len(rows) - 1))]
    assert check_chain(rows, head=head)


@unhurried
@given(chains, st.data())
def test_reordered_entries_are_found(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))).filter(lambda p: list(p) != sorted(p)))
    assert check_chain([rows[n] for n in order])
    numbered = [{**rows[n], "sequence": place} for place, n in enumerate(order, start=1)]
    assert check_chain(numbered)


@unhurried
@given(chains, bodies, st.data())
def test_an_entry_forged_with_a_right_hash_is_found_by_the_next(
    rows: list[dict[str, Any]], body: dict[str, Any], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows) - 2))
    entry = Entry.model_validate(rows[place])
    forged = entry.model_copy(update={"body": {**body, "forged": True}})
    rows[place] = forged.model_copy(update={"hash": forged.expected_hash()}).model_dump(mode="json")
    assert check_chain(rows)


positive = st.floats(1e-6, 1e6)


@unhurried
@given(positive, positive, st.integers(1, 5))
def test_after_calibrating_the_same_observation_is_predicted_right(
    predicted: float, observed: float, runs: int
) -> None:
    known = table([("d/b/t", predicted, observed)] * runs).entries["d/b/t"]
    assert math.isclose(predicted * known.ratio, observed, rel_tol=1e-9)
    assert math.isclose(known.spread, 1.0, rel_tol=1e-9)


@unhurried
@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6))
def test_the_ratio_lies_among_the_ratios_seen_and_the_order_does_not_matter(
    pairs: list[tuple[float, float]],
) -> None:
    rows = [("d/b/t", predicted, observed) for predicted, observed in pairs]
    known = table(rows).entries["d/b/t"]
    ratios = [observed / predicted for predicted, observed in pairs]
    assert min(ratios) * (1 - 1e-9) <= known.ratio <= max(ratios) * (1 + 1e-9)
    assert known.spread >= 1
    assert table(reversed(rows)) == table(rows)
