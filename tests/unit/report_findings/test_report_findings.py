"""Findings and verdicts as people read them."""

import json
from pathlib import Path

import pytest

from akotf.model.finding import Finding, Position, Severity
from akotf.model.policy import Judgement, Level, Outcome, Stage, Verdict
from akotf.report import sources, text, verdicts

SOURCE = "version: 1\nparameters:\n  steps: abc\n"


def finding(line=3, column=10, **changes):
    values = {
        "rule": "config/type", "message": "'abc' is not a whole number", "remedy": "write one such as 300",
        "position": Position(file="akotf.yaml", line=line, column=column),
    }  # fmt: skip
    return Finding.model_validate(values | changes)


def show(*given, source=SOURCE, **options):
    return text.text(given, lambda _: source, **options)


def test_a_finding_shows_place_line_caret_and_remedy():
    assert show(finding()) == (
        "akotf.yaml:3:10: error: 'abc' is not a whole number [config/type]\n"
        "    3 |   steps: abc\n"
        "      |          ^\n"
        "  remedy: write one such as 300"
    )


def test_without_a_source_the_place_remains():
    assert show(finding(remedy=""), source=None) == (
        "akotf.yaml:3:10: error: 'abc' is not a whole number [config/type]"
    )


@pytest.mark.parametrize(
    "place", [None, Position(file="akotf.yaml"), Position(file="akotf.yaml", line=99, column=1)]
)
def test_a_place_without_a_line_has_no_excerpt(place):
    assert "|" not in show(finding(position=place))


def test_severities_and_several_findings():
    shown = show(finding(severity=Severity.WARNING), finding(severity=Severity.NOTE, line=1, column=1))
    assert [line.split(": ")[1] for line in shown.split("\n") if "[config" in line] == ["warning", "note"]


def test_the_caret_stands_under_wide_characters_and_tabs():
    shown = show(finding(line=1, column=8, remedy=""), source="\tname: 訓練x")
    line, caret = shown.split("\n")[1:]
    assert line == "    1 |  name: 訓練x"
    assert caret == "      |        ^"
    shown = show(finding(line=1, column=10, remedy=""), source="\tname: 訓練x")
    assert shown.split("\n")[2] == "      |            ^"  # two characters of two columns each


def test_of_a_long_line_the_part_around_the_caret_is_shown():
    shown = show(finding(line=1, column=501, remedy=""), source="x" * 500 + "HERE" + "y" * 500)
    line, caret = shown.split("\n")[1:]
    assert len(line) <= 110
    assert line[caret.index("^") :].startswith("HERE")


def test_text_of_others_cannot_drive_the_terminal():
    shown = show(finding(message="a\x1b[2Jb\u202ec"), source="\n\n\x1b]0;title\x07 steps")
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_colour_only_when_wanted():
    assert "\x1b[31merror\x1b[0m" in show(finding(), color=True)
    assert "\x1b" not in show(finding())


def test_the_file_itself_is_read_when_it_is_there(tmp_path):
    file = tmp_path / "akotf.yaml"
    file.write_text(SOURCE)
    place = Position(file=str(file), line=3, column=3)
    assert "3 |   steps: abc" in text.text([finding(position=place)])
    file.write_bytes(b"\xff\xfe")
    assert "|" not in text.text([finding(position=place)])
    assert sources.read_file(str(tmp_path)) is None
    assert sources.read_file("a\0b") is None


def test_the_line_of_a_sensitive_finding_is_shown_for_no_finding():
    absolute = Position(file=str(Path("akotf.yaml").absolute()), line=3, column=3)
    shown = show(
        finding(sensitive=True), finding(remedy="", position=absolute), finding(line=2, column=1, remedy="")
    )
    assert "abc\n" not in shown
    assert "3 |" not in shown
    assert "2 | parameters:" in shown


def test_a_line_with_a_token_is_shown_for_no_finding():
    """The form of a GitHub token: ghp_ and 36 letters or digits."""
    shown = show(finding(line=1, column=1, remedy=""), source="ownr: ghp_" + "q7Zt3LmX9w" * 3 + "pK4vBn")
    assert shown == "akotf.yaml:1:1: error: 'abc' is not a whole number [config/type]"


def test_a_message_of_several_lines_begins_no_line():
    shown = show(finding(message="a\n::error::b\n \t::c", remedy="d\n##[error]e f ##[g]"), source=None)
    assert not _commands(shown)
    assert all(word in shown for word in (":error::b", "#[error]e"))


def verdict(outcome=Outcome.FAIL, **changes):
    values = {
        "rule": "total-gpus", "level": Level.HARD, "stage": Stage.SELECTION, "outcome": outcome, "object": "aws/p5",
        "message": "72 GPUs are more than 64", "why": "money", "remedy": "ask for fewer",
    }  # fmt: skip
    return Verdict.model_validate(values | changes)


JUDGEMENT = Judgement(
    stage=Stage.SELECTION,
    rules=2,
    verdicts=(
        verdict(Outcome.PASS, message="Few GPUs"),
        verdict(Outcome.WAIVED, waiver="ann, T-7, until 2027-03-01: launch"),
        verdict(denies=True, position=Position(file="akotf.yaml", line=3, column=1)),
        verdict(Outcome.UNKNOWN),
        verdict(level=Level.ADVISORY),
        verdict(level=Level.SOFT, waiver="overridden by bob"),
    ),
)


def test_a_judgement_tells_the_tally_and_what_did_not_pass():
    assert verdicts.text(JUDGEMENT) == (
        "policy selection: 2 rules, 1 denied, 1 unknown, 1 failed, 1 overridden, 1 waived, 1 passed\n"
        "  denied     total-gpus (hard-mandatory) on aws/p5: 72 GPUs are more than 64\n"
        "             at: akotf.yaml:3:1\n"
        "             why: money\n"
        "             remedy: ask for fewer\n"
        "  unknown    total-gpus (hard-mandatory) on aws/p5: 72 GPUs are more than 64\n"
        "             why: money\n"
        "             remedy: ask for fewer\n"
        "  failed     total-gpus (advisory) on aws/p5: 72 GPUs are more than 64\n"
        "             why: money\n"
        "             remedy: ask for fewer\n"
        "  overridden total-gpus (soft-mandatory) on aws/p5: 72 GPUs are more than 64\n"
        "             waiver: overridden by bob\n"
        "             why: money\n"
        "             remedy: ask for fewer\n"
        "  waived     total-gpus (hard-mandatory) on aws/p5: 72 GPUs are more than 64\n"
        "             waiver: ann, T-7, until 2027-03-01: launch\n"
        "             why: money"
    )


def test_passed_verdicts_are_shown_on_request():
    assert verdicts.text(JUDGEMENT, passed=True).endswith(
        "passed     total-gpus (hard-mandatory) on aws/p5: Few GPUs"
    )


def test_nothing_to_judge_is_said():
    assert verdicts.text(Judgement(stage=Stage.DRIFT, verdicts=(), rules=1)) == (
        "policy drift: 1 rule, nothing to judge"
    )


def test_a_label_cannot_drive_the_terminal():
    assert "\x1b" not in verdicts.verdict_text(verdict(message="\x1b[2J", object="\x1b[2J"))
    assert "\x1b[31m" in verdicts.verdict_text(verdict(denies=True), color=True)


def test_a_judgement_as_json():
    data = json.loads(json.dumps(verdicts.to_json(JUDGEMENT)))
    assert (data["schema"], data["stage"], data["denied"], data["rules"]) == (1, "selection", True, 2)
    assert data["tally"] == dict.fromkeys(
        ["denied", "unknown", "failed", "overridden", "waived", "passed"], 1
    )
    assert data["verdicts"][2]["position"]["line"] == 3


def test_a_file_name_of_several_lines_begins_no_line():
    for name in ("a\n::error::b/akotf.yaml", "::error::b/akotf.yaml", "##[error]b/akotf.yaml"):
        shown = show(finding(position=Position(file=name, line=3, column=3)), source=None)
        assert not _commands(shown)


def test_a_line_of_a_file_is_no_command_and_its_caret_stays():
    shown = show(finding(position=Position(file="a.yaml", line=1, column=13)), source="x: ##[error] y\n")
    assert not _commands(shown)
    line, caret = shown.split("\n")[1:3]
    assert line[caret.index("^")] == " "
    assert line[caret.index("^") + 1] == "y"


def _commands(text: str) -> list[str]:
    """The lines that GitHub's runner takes for commands (actions/runner, `ActionCommand`)."""
    return [line for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]
