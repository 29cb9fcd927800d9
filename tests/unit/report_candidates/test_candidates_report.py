"""The candidate table, its text and its Markdown: what is chosen, why the others are not, where figures come from."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from akotf.model.config import ScopeKind
from akotf.model.plan import Candidate, Chosen, Loser, Offer, PlanResult, Relaxation, Selection
from akotf.model.profile import unmeasured_cpu
from akotf.model.units import Estimate
from akotf.model.words import clock, excess, interval, money
from akotf.report.candidates import markdown, table, text_selection


def seconds(value: float, source: str, factor: float = 2) -> Estimate:
    return Estimate(value=value, low=value / factor, high=value * factor, unit="s", source=source)


def candidate(name: str, time: float, cost: float | None, *, queue: float = 0) -> Candidate:
    scope, placement, machine = name.split("/")[:3]
    price = None if cost is None else Decimal(1)
    offer = Offer(
        id=name.rsplit("/", 1)[0], scope=scope, kind=ScopeKind.LOCAL, backend="local", placement=placement,
        machine=machine, device=unmeasured_cpu(2, 2**30, "test"), gpus=0, cpus=2, memory=2**30, max_nodes=1,
        price=price, price_source="price book of 2026-09-24", queue_wait=seconds(queue, "q"),
        provisioning=seconds(0, "p"), source="test",
    )  # fmt: skip
    step = seconds(time / 100, "traced FLOPs over measured here 2026-11-30")
    return Candidate(
        id=name, scope=scope, offer=offer, nodes=1, processes=1, feasible=True, step_time=step,
        phases={"queue": seconds(queue, "declared: queue_wait 45m"), "training": seconds(time, step.source)},
        time=seconds(time + queue, step.source),
        cost=None if cost is None else Estimate(
            value=cost, low=cost / 2, high=cost * 2, unit="USD", source="price book of 2026-09-24"
        ),
    )  # fmt: skip


@pytest.fixture
def three_scopes() -> Chosen:
    clouds = [candidate(f"aws/us-east-1/g{n}.xlarge/spot/n1", 200 + n, n / 10) for n in range(1, 8)]
    unpriced = candidate("aws/us-east-1/p9.xlarge/spot/n1", 100, None)
    members = [candidate("desk/ws/cpu/n1", 72, 0), candidate("campus/gpu/A100-80GB/n1", 60, 0.02, queue=2700)]
    everyone = (*members, *clouds, unpriced)
    reason = "has no known price (no spot price in the price book), so it can't be held against the budget"
    losers = [
        Loser(candidate=c.id, reason=f"costs {c.cost.value:.2f} USD more") for c in everyone[1:] if c.cost
    ]
    selection = Selection(
        inputs="sha256:" + "ab" * 32, winner="desk/ws/cpu/n1", order=tuple(c.id for c in everyone if c.cost),
        losers=(*losers, Loser(candidate=unpriced.id, reason=reason)),
        notes=("at the high end of its interval it takes 2m 24s, over the deadline of 2m",),
    )  # fmt: skip
    return Chosen(
        plan=PlanResult(planner="1", inputs=selection.inputs, candidates=everyone), selection=selection
    )


def printed(chosen: Chosen, width: int = 120, **options: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(table(chosen, **options))
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"), (0.0004, "1 ms"), (0.047, "47 ms"), (8.44, "8.4s"), (9.96, "10s"), (72, "1m 12s"), (3599.7, "1h"),
        (7515, "2h 5m"), (86400 * 3 + 3600 * 4 + 1700, "3d 4h"),
    ],
)  # fmt: skip
def test_times(value: float, text: str) -> None:
    assert clock(value) == text


def test_money() -> None:
    assert [money(v, "USD") for v in (0, 0.004, 0.005, 1234.5)] == [
        "0.00 USD",
        "<0.01 USD",
        "0.01 USD",
        "1,234.50 USD",
    ]
    assert excess(0.001, "EUR") == "less than 0.01 EUR"
    assert interval(Estimate(value=1, low=0.5, high=2, unit="USD", source="")) == "0.50 to 2.00 USD"
    assert interval(Estimate.exact(5, "s", "")) == ""


@pytest.mark.parametrize("width", [100, 120, 160])
def test_the_table_names_winner_figures_intervals_and_reasons(three_scopes: Chosen, width: int) -> None:
    text = printed(three_scopes, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    (winner,) = [line for line in lines if "➤" in line]
    assert "desk/ws/cpu/n1" in winner
    assert "1m 12s ¹" in winner
    assert "0.00 USD" in winner
    assert "chosen" in winner
    assert "36s to 2m 24s" in text
    assert "0.01 to 0.04 USD" in text
    assert "costs 0.02 USD" in text
    assert "¹ step time: traced FLOPs over measured here 2026-11-30" in text
    assert "queue: declared: queue_wait 45m" in text
    assert "price book of 2026-09-24" in text


def test_a_scope_shows_its_best_few_and_counts_the_rest(three_scopes: Chosen) -> None:
    text = printed(three_scopes)
    assert [f"g{n}.xlarge" in text for n in range(1, 8)] == [True] * 3 + [False] * 4
    assert "… 5 more of aws, 4 of them feasible" in text
    every = printed(three_scopes, all_rows=True)
    assert all(c.id in every for c in three_scopes.plan.candidates)
    assert "more of aws" not in every


def test_without_colour_there_are_no_escapes(three_scopes: Chosen) -> None:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system="truecolor")
    console.print(table(three_scopes, color=False))
    assert "\x1b[32m" not in out.getvalue()
    assert "\x1b[1;32m" not in out.getvalue()


def test_the_text_tells_the_winner_and_groups_the_losers(three_scopes: Chosen) -> None:
    lines = text_selection(three_scopes)
    assert lines[:3] == [
        "chosen: desk/ws/cpu/n1",
        "  takes 1m 12s (36s to 2m 24s), costs 0.00 USD",
        "  of which training 1m 12s",
    ]
    assert "  note: at the high end of its interval it takes 2m 24s, over the deadline of 2m" in lines
    assert "  campus/gpu/A100-80GB/n1: costs 0.02 USD more" in lines
    assert "  … 4 more of aws, to aws/us-east-1/g7.xlarge/spot/n1: costs 0.70 USD more" in lines


def test_losers_with_the_same_reason_stand_on_one_line(three_scopes: Chosen) -> None:
    losers = tuple(
        loser.model_copy(update={"reason": "needs 4 GPUs a node, has 1"})
        if loser.candidate.startswith("aws")
        else loser
        for loser in three_scopes.selection.losers
    )
    order = tuple(name for name in three_scopes.selection.order if not name.startswith("aws"))
    selection = three_scopes.selection.model_copy(update={"losers": losers, "order": order})
    assert "  8 of aws: each needs 4 GPUs a node, has 1" in text_selection(
        three_scopes.model_copy(update={"selection": selection})
    )


def test_nothing_feasible_tells_the_binding_limit_and_the_relaxation(three_scopes: Chosen) -> None:
    message = "raise objective.budget to 2.00 USD: then aws/x is feasible"
    selection = three_scopes.selection.model_copy(
        update={
            "winner": None, "order": (), "binding": "budget", "notes": (),
            "relaxation": Relaxation(candidate="aws/x", limit="budget", to=2, unit="USD", message=message),
        }
    )  # fmt: skip
    nothing = three_scopes.model_copy(update={"selection": selection})
    assert text_selection(nothing)[:2] == [
        "nothing is feasible; the binding limit is: budget",
        f"cheapest relaxation: {message}",
    ]
    assert f"binding limit is budget. Cheapest relaxation: {message}." in markdown(nothing)
    assert "➤" not in printed(nothing)


def test_markdown_for_a_pull_request(three_scopes: Chosen) -> None:
    text = markdown(three_scopes)
    assert "Chosen: **`desk/ws/cpu/n1`**, takes 1m 12s (36s to 2m 24s), costs 0.00 USD." in text
    assert "> at the high end" in text
    assert "<details><summary>All 10 candidates</summary>" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.count(" | ") == 4 for line in rows if "|---" not in line)
    assert "¹ step time" in text
    assert "planner 1" in text


def test_text_of_others_cant_leave_its_cell(three_scopes: Chosen) -> None:
    losers = (Loser(candidate="campus/gpu/A100-80GB/n1", reason="a | b\n\x1b[31mc"),)
    selection = three_scopes.selection.model_copy(update={"losers": losers})
    hostile = three_scopes.model_copy(update={"selection": selection})
    assert "a \\| b \N{REPLACEMENT CHARACTER}[31mc |" in markdown(hostile)
    assert "\x1b" not in "\n".join(text_selection(hostile))
