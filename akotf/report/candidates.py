"""Candidates and the choice for people: a table for terminals, text, and Markdown for a pull request.

Each figure has its interval beside it and the number of its source, which stands below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from akotf.model.plan import Candidate, Chosen
from akotf.model.units import Estimate
from akotf.model.words import clock, interval, money
from akotf.report.ansi import clean

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_PER_SCOPE = 3  # rows shown of a scope, the rest is counted
_WEIGHTY = 0.15  # of the time: a phase that large has its own source named
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Sources:
    """Numbers sources in the order in which they are first named."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, source: str) -> str:
        """The superscript of a source."""
        return str(self.numbers.setdefault(source, len(self.numbers) + 1)).translate(_SUPERSCRIPT)

    def lines(self) -> list[str]:
        """`¹ text` in order."""
        return [f"{str(number).translate(_SUPERSCRIPT)} {source}" for source, number in self.numbers.items()]


def table(chosen: Chosen, *, all_rows: bool = False, color: bool = True) -> Table:
    """A rich table, grouped by scope: the best few of each and how many more there are, or all of them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    sources, reasons = _Sources(), _reasons(chosen)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), caption_justify="left")
    grid.add_column("")
    grid.add_column("candidate", no_wrap=True)
    grid.add_column("time", justify="right", no_wrap=True)
    grid.add_column("cost", justify="right", no_wrap=True)
    grid.add_column("feasible, or why not chosen", overflow="fold", min_width=24, ratio=1)
    for scope, shown, rest in _groups(chosen, all_rows):
        for candidate in shown:
            won = candidate.id == chosen.selection.winner
            feasible = candidate.id in chosen.selection.order
            style = ("bold green" if won else "" if feasible else "dim") if color else ""
            grid.add_row(
                Text("➤" if won else "✓" if feasible else "✗", style=style),
                Text(clean(candidate.id), style=style),
                _stack(_time_cell(candidate, sources), style, color),
                _stack(_cost_cell(candidate, sources), style, color),
                Text(_verdict(candidate, chosen, reasons), style=style),
            )
        if rest:
            grid.add_row("", Text(_rest_text(scope, rest, chosen), style="dim" if color else ""), "", "", "")
        grid.add_section()
    grid.caption = Text("\n".join(clean(line) for line in sources.lines()))
    return grid


def text_selection(chosen: Chosen) -> list[str]:
    """The winner with its figures and phases, its notes, and the reason against each loser, like ones together."""
    selection = chosen.selection
    if selection.winner is None:
        lines = [f"nothing is feasible; the binding limit is: {selection.binding}"]
        if selection.relaxation:
            lines.append(f"cheapest relaxation: {selection.relaxation.message}")
    else:
        winner = chosen.winner()
        lines = [f"chosen: {winner.id}", f"  {_summary(winner)}"]
        if winner.phases:
            lines.append(f"  of which {_phases(winner)}")
        lines += [f"  note: {note}" for note in selection.notes]
    if selection.losers:
        lines.append("against the others:")
        lines += [f"  {line}" for line in _loser_lines(chosen)]
    return [clean(line) for line in lines]


def markdown(chosen: Chosen) -> str:
    """A comment for a pull request: the choice, the best candidates, all of them folded away, and the sources."""
    selection, sources = chosen.selection, _Sources()
    if selection.winner is None:
        head = f"**Nothing is feasible**; the binding limit is {_cell(selection.binding)}."
        if selection.relaxation:
            head += f" Cheapest relaxation: {_cell(selection.relaxation.message)}."
    else:
        head = f"Chosen: **`{selection.winner}`**, {_cell(_summary(chosen.winner()))}."
    notes = [f"> {_cell(note)}" for note in selection.notes]
    best = [candidate for _, shown, _ in _groups(chosen, all_rows=False) for candidate in shown]
    total = len(chosen.plan.candidates)
    lines = [
        "### Candidates",
        "",
        head,
        "",
        *notes,
        *([""] if notes else []),
        *_markdown_table(chosen, best, sources),
    ]
    if total > len(best):
        lines += ["", f"<details><summary>All {total} candidates</summary>", ""]
        lines += [*_markdown_table(chosen, chosen.plan.candidates, sources), "", "</details>"]
    lines += ["", "<sub>", *(f"{_cell(line)}<br>" for line in sources.lines())]
    lines += [f"Frozen inputs `{chosen.plan.inputs[:19]}`, planner {chosen.plan.planner}", "</sub>", ""]
    return "\n".join(lines)


def _groups(chosen: Chosen, all_rows: bool) -> list[tuple[str, list[Candidate], list[Candidate]]]:
    """(scope, shown, rest) in the order of the plan; the feasible in the order of the choice come first."""
    place = {candidate_id: number for number, candidate_id in enumerate(chosen.selection.order)}
    scopes: dict[str, list[Candidate]] = {}
    for candidate in chosen.plan.candidates:
        scopes.setdefault(candidate.scope, []).append(candidate)
    groups = []
    for scope, members in scopes.items():
        members.sort(
            key=lambda c: (place.get(c.id, len(place)), c.time is None, c.time.value if c.time else 0, c.id)
        )
        limit = len(members) if all_rows else _PER_SCOPE
        groups.append((scope, members[:limit], members[limit:]))
    return groups


def _rest_text(scope: str, rest: Sequence[Candidate], chosen: Chosen) -> str:
    feasible = sum(candidate.id in chosen.selection.order for candidate in rest)
    return f"… {len(rest)} more of {scope}, {feasible} of them feasible"


def _reasons(chosen: Chosen) -> dict[str, str]:
    return {loser.candidate: loser.reason for loser in chosen.selection.losers}


def _verdict(candidate: Candidate, chosen: Chosen, reasons: dict[str, str]) -> str:
    if candidate.id == chosen.selection.winner:
        return "chosen"
    return clean(reasons.get(candidate.id, ""))


def _time_cell(candidate: Candidate, sources: _Sources) -> tuple[str, str]:
    if candidate.time is None:
        return "–", ""
    marks = " ".join(sources.mark(source) for source in _time_sources(candidate))
    return f"{clock(candidate.time.value)} {marks}", interval(candidate.time)


def _cost_cell(candidate: Candidate, sources: _Sources) -> tuple[str, str]:
    if candidate.cost is None:
        return "unknown" if candidate.time else "–", ""
    cost = candidate.cost
    return f"{money(cost.value, cost.unit)} {sources.mark(cost.source)}", interval(cost)


def _stack(cell: tuple[str, str], style: str, color: bool) -> Text:
    """The value, and the interval dimmed below it."""
    from rich.text import Text

    value, spread = cell
    lines = [Text(value, style=style)]
    if spread:
        lines.append(Text(spread, style="dim" if color else ""))
    return Text("\n").join(lines)


def _time_sources(candidate: Candidate) -> list[str]:
    """Where the time comes from: the step's source, and that of every phase that weighs."""
    total = candidate.time.value if candidate.time else 0.0
    step = [f"step time: {candidate.step_time.source}"] if candidate.step_time else []
    weighty = [
        f"{name}: {span.source}"
        for name, span in candidate.phases.items()
        if name != "training" and span.value > _WEIGHTY * total
    ]
    return step + weighty


def _summary(candidate: Candidate) -> str:
    """`takes 1m 12s (40s to 2m 3s), costs 0.00 USD`."""
    parts = []
    if candidate.time:
        parts.append(f"takes {_with_interval(clock(candidate.time.value), candidate.time)}")
    if candidate.cost:
        parts.append(
            f"costs {_with_interval(money(candidate.cost.value, candidate.cost.unit), candidate.cost)}"
        )
    elif candidate.time:
        parts.append("cost unknown")
    return ", ".join(parts)


def _with_interval(value: str, figure: Estimate) -> str:
    spread = interval(figure)
    return f"{value} ({spread})" if spread else value


def _phases(candidate: Candidate) -> str:
    return ", ".join(
        f"{name} {clock(span.value)}" for name, span in candidate.phases.items() if span.value > 0
    )


def _loser_lines(chosen: Chosen) -> list[str]:
    """Of each scope the best few feasible losers and the last; then why others can't, like reasons together."""
    reasons, lines = _reasons(chosen), []
    for scope, members, _ in _groups(chosen, all_rows=True):
        losers = [candidate for candidate in members if candidate.id in reasons]
        able = [candidate for candidate in losers if candidate.id in chosen.selection.order]
        lines += [f"{candidate.id}: {reasons[candidate.id]}" for candidate in able[:_PER_SCOPE]]
        if len(able) > _PER_SCOPE:
            more = len(able) - _PER_SCOPE
            lines.append(f"… {more} more of {scope}, to {able[-1].id}: {reasons[able[-1].id]}")
        alike: dict[str, list[str]] = {}
        for candidate in losers:
            if candidate not in able:
                alike.setdefault(reasons[candidate.id], []).append(candidate.id)
        for reason, names in list(alike.items())[:_PER_SCOPE]:
            lines.append(
                f"{names[0]}: {reason}" if len(names) == 1 else f"{len(names)} of {scope}: each {reason}"
            )
        untold = sum(len(names) for names in list(alike.values())[_PER_SCOPE:])
        if untold:
            lines.append(f"… {untold} more of {scope} are not feasible")
    return lines


def _markdown_table(chosen: Chosen, candidates: Iterable[Candidate], sources: _Sources) -> list[str]:
    reasons = _reasons(chosen)
    lines = ["| | candidate | time | cost | why not |", "|---|---|---:|---:|---|"]
    for candidate in candidates:
        won = candidate.id == chosen.selection.winner
        mark = "➤" if won else "✓" if candidate.id in chosen.selection.order else "✗"
        cells = [
            "<br>".join(part for part in cell if part)
            for cell in (_time_cell(candidate, sources), _cost_cell(candidate, sources))
        ]
        name = f"**`{candidate.id}`**" if won else f"`{candidate.id}`"
        verdict = _cell(_verdict(candidate, chosen, reasons))
        lines.append(f"| {mark} | {name} | {_cell(cells[0])} | {_cell(cells[1])} | {verdict} |")
    return lines


def _cell(text: str) -> str:
    """Text that can't leave its table cell."""
    return clean(text).replace("|", "\\|").replace("\n", " ").replace("<0.01", "&lt;0.01")
