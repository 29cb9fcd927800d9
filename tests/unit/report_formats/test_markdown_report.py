"""Markdown for a pull request: a table that no text of others leaves, within what GitHub takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from akotf.model.finding import Finding, Position, Severity
from akotf.model.report import ValidationReport
from akotf.report import markdown

LIMIT = 65_536  # characters of a comment's body, by GitHub's API


def as_html(text: str) -> str:
    """As GitHub renders it: CommonMark with tables."""
    rendered: str = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    return rendered


def test_every_finding_is_a_row_and_the_clean_are_counted(report: ValidationReport, root: Path) -> None:
    said = markdown.render(report, root)
    assert said.startswith("<!-- akotf validate -->\n### akotf validate: 1 of 2 environments are valid\n")
    assert "5 errors, 4 warnings, 2 notes; akotf 0.1.0" in said
    assert (
        "| ❌ | denied: scope aws: 72 GPUs are more than 64<br>Remedy: ask for fewer | "
        "<code>environments/één/akotf.yaml:4</code> | <code>policy/total-gpus</code> |"
    ) in said
    assert (
        "| ℹ️ | waived: scope aws: 72 GPUs are more than 64<br>Waiver: ann, T-7, until 2027-03-01: launch |"
        in said
    )
    assert "<summary>1 without findings</summary>\n\nb c\n" in said
    assert "hunter2" not in said
    assert as_html(said).count("<tr>") == 1 + 11  # head and findings


@pytest.mark.parametrize(
    "text",
    [
        "a | b", "`code`", "``` fence", "<script>alert(1)</script>", "</td></table>", "[x](https://e.org)", "![x](y)",
        "**bold**", "_it_ ~~gone~~", "a\n| new | row |", "\\| slash", "&lt;b&gt;", "<!-- open", "# head",
    ],
)  # fmt: skip
def test_a_text_stays_the_text_that_it_is(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {markdown.cell(text)} | end |\n"
    (body,) = re.findall(r"<tbody>\n<tr>\n<td>(.*)</td>\n<td>end</td>\n</tr>\n</tbody>", as_html(table))
    shown = re.sub(
        r"&(lt|gt|amp|quot);", lambda m: {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}[m[1]], body
    )
    assert shown.replace("\u200b", "") == " ".join(text.split())
    assert "<" not in body


@pytest.mark.parametrize("text", ["@octocat", "see #12", "@org/team", "x@y.org"])
def test_nobody_and_no_issue_is_mentioned(text: str) -> None:
    shown = as_html(markdown.cell(text))
    assert not re.search(r"[@#]\w", re.sub(r"&#\d+;", "\u200b", shown))
    assert re.search("[@#]\u200b", shown)


def test_a_long_report_is_cut_at_a_row_and_says_how_much_is_missing(root: Path, make: Any) -> None:
    place = Position(file="één/akotf.yaml", line=4, column=1)
    findings = [
        Finding(
            rule="config/type",
            message=f"{n} é" + "ü" * 90,
            severity=Severity.ERROR,
            position=place,
            path=f"a.{n}",
        )
        for n in range(2000)
    ]
    said = markdown.render(make.whole(make.environment(Path("één"), findings)), root)
    assert 50_000 < len(said.encode()) <= LIMIT
    rows = said.count("| ❌ |")
    assert f"… and {2000 - rows} more findings" in said
    assert as_html(said).count("<tr>") == 1 + rows


def test_a_report_that_fits_is_whole(root: Path, make: Any) -> None:
    findings = [Finding(rule="config/type", message="m", path=f"a.{n}") for n in range(300)]
    said = markdown.render(make.whole(make.environment(Path("één"), findings)), root)
    assert said.count("| ❌ |") == 300
    assert "more findings" not in said
