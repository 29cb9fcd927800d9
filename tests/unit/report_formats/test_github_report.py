"""GitHub's workflow commands: one line a finding, whatever its text; escaped as actions/toolkit's command.ts does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from akotf.model.finding import Finding, Position
from akotf.model.report import ValidationReport
from akotf.report import github
from akotf.report.sources import Sources

#: `::name key=value,key=value::message`, as the runner's ActionCommand.TryParseV2 reads it.
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def parsed(said: str) -> list[tuple[str, dict[str, str], str]]:
    """What the runner makes of the lines: properties and data unescaped."""

    def plain(text: str) -> str:
        for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(code, character)
        return text

    rows = []
    for line in said.split("\n")[:-1]:
        match = COMMAND.fullmatch(line)
        assert match, line
        properties = dict(pair.split("=", 1) for pair in match[2].split(","))
        rows.append((match[1], {k: plain(v) for k, v in properties.items()}, plain(match[3])))
    return rows


def test_each_finding_is_a_line_with_its_place(
    report: ValidationReport, sources: Sources, root: Path
) -> None:
    rows = {p["title"]: (level, p, said) for level, p, said in parsed(github.render(report, sources, root))}
    level, place, said = rows["policy/total-gpus"]
    assert (level, said) == ("error", "scope aws: 72 GPUs are more than 64\nask for fewer")
    # `parameters: {steps: 0}` has 22 characters: its end, where column 22 is the brace, is column 23
    assert place == {
        "file": "environments/één/akotf.yaml", "line": "4", "col": "22", "endColumn": "23", "title": "policy/total-gpus",
    }  # fmt: skip
    assert rows["config/unpinned"][1] == {
        "file": "environments/één/akotf.yaml", "line": "1", "col": "1", "title": "config/unpinned",
    }  # fmt: skip
    assert rows["config/template"][1] == {"file": "/nowhere/template.yaml", "title": "config/template"}
    assert (
        "endColumn" not in rows["config/literal-secret"][1]
    )  # the length of its line would tell that of the secret
    assert "endColumn" not in rows["config/unknown-key"][1]


def test_errors_come_first_because_github_shows_ten(
    report: ValidationReport, sources: Sources, root: Path
) -> None:
    levels = [level for level, _, _ in parsed(github.render(report, sources, root))]
    assert levels == ["error"] * 5 + ["warning"] * 4 + ["notice"] * 2


def test_no_text_of_others_is_a_command(report: ValidationReport, sources: Sources, root: Path) -> None:
    lines = github.render(report, sources, root).split("\n")
    assert len(lines) == 12  # 11 findings, and the end of the last line
    assert all(line.startswith(("::error file=", "::warning file=", "::notice file=")) for line in lines[:-1])
    assert not {"\r", "\x1b", "\u202e"} & set("".join(lines))
    (said,) = [m for _, p, m in parsed("\n".join(lines)) if p["title"] == "config/type"]
    assert said.startswith("a|b `c` <img src=x> @octocat #12 **d** %0A::error::x\n::set-env name=P::q ")


def test_a_file_name_can_not_add_properties(root: Path, make: Any) -> None:
    name = "a,line=9::b%.yaml"
    finding = Finding(rule="config/type", message="m", position=Position(file=name, line=2, column=0))
    said = github.render(make.whole(make.environment(Path("een"), [finding])), Sources([]), root)
    assert said == "::error file=environments/a%2Cline=9%3A%3Ab%25.yaml,line=2,title=config/type::m\n"


def test_what_several_environments_share_is_said_once(root: Path, make: Any) -> None:
    shared = Finding(
        rule="policy/rule", message="m", position=Position(file="../policies/a/rule.yaml", line=1)
    )
    report = make.whole(make.environment(Path("a"), [shared]), make.environment(Path("b"), [shared]))
    assert github.render(report, Sources([]), root).count("\n") == 1
