"""Reading rules, testing them by their own inputs, and the rules that akotf ships."""

import os
from pathlib import Path

import pytest

from akotf.errors import ConfigError
from akotf.model.policy import Stage
from akotf.policy.explain import explain
from akotf.policy.rules import load_rules
from akotf.policy.selftest import test_rules

SHIPPED = Path(__file__).parents[3] / "policies"

RULE = """\
version: 1
id: {id}
title: {title}
level: advisory
stage: selection
match: object.kind == "selection"
expr: {expr}
message: refused
why: because
remedy: mend it
"""


def write(folder, name, *, called="", title="T", expr="object.nodes < 3", inputs=True):
    path = folder / name / "rule.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(RULE.format(id=called or name, title=title, expr=expr))
    if inputs:
        write_input(path.parent / "pass" / "a.yaml", "object: {kind: selection, nodes: 1}")
        write_input(path.parent / "fail" / "a.yaml", "object: {kind: selection, nodes: 3}")
    return path


def write_input(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def messages(folder):
    return [(Path(f.position.file).relative_to(folder).as_posix(), f.message) for f in test_rules([folder])]


def test_the_first_folder_wins(tmp_path):
    write(tmp_path / "own", "a", title="mine")
    write(tmp_path / "shipped", "a", title="theirs")
    write(tmp_path / "shipped", "b", title="theirs")
    rules = load_rules([tmp_path / "own", tmp_path / "shipped", tmp_path / "not-there"])
    assert [(r.id, r.title) for r in rules] == [("a", "mine"), ("b", "theirs")]


def test_all_faults_come_at_once_with_their_places(tmp_path):
    write(tmp_path, "a", called="other")
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken" / "rule.yaml"
    broken.parent.mkdir()
    broken.write_text("version: 1\nid: [\n")
    wrong = write(tmp_path, "wrong")
    wrong.write_text(wrong.read_text().replace("level: advisory", "level: high") + "extra: 1\n")
    with pytest.raises(ConfigError, match="5 faults") as caught:
        load_rules([tmp_path])
    found = [(Path(f.position.file).parent.name, f.position.line, f.path) for f in caught.value.findings]
    assert found == [
        ("a", 2, "id"),
        ("broken", 3, ""),
        ("empty", 0, ""),
        ("wrong", 4, "level"),
        ("wrong", 11, "extra"),
    ]


def test_a_rule_that_changed_is_read_again(tmp_path):
    path = write(tmp_path, "a", title="before")
    assert load_rules([tmp_path])[0].title == "before"
    path.write_text(path.read_text().replace("before", "after!"))
    os.utime(path, ns=(0, 1))  # even where the clock has not moved, and the size is the same
    assert load_rules([tmp_path])[0].title == "after!"


def test_text_stays_as_written(tmp_path):
    path = write(tmp_path, "a")
    path.write_text(path.read_text().replace("message: refused", "message: no"))
    assert load_rules([tmp_path])[0].message == "no"


def test_a_good_rule_has_no_findings(tmp_path):
    write(tmp_path, "good")
    assert messages(tmp_path) == []


def test_a_rule_without_inputs_is_an_error(tmp_path):
    write(tmp_path, "bare", inputs=False)
    assert messages(tmp_path) == [
        ("bare/rule.yaml", "rule bare has no pass input"),
        ("bare/rule.yaml", "rule bare has no fail input"),
    ]


def test_a_rule_that_never_fires_is_an_error(tmp_path):
    write(tmp_path, "lax", expr="object.nodes < 30")
    assert messages(tmp_path) == [
        ("lax/fail/a.yaml", "expected fail, the rule said pass"),
        ("lax/rule.yaml", "rule lax never fires on any of its inputs"),
    ]


def test_a_rule_that_refuses_what_it_should_let_pass_is_an_error(tmp_path):
    write(tmp_path, "strict", expr="object.nodes < 0")
    assert messages(tmp_path) == [("strict/pass/a.yaml", "expected pass, the rule said fail")]


@pytest.mark.parametrize(
    "expr", ["object.nodes <", "object.nodes", "objekt.nodes < 1", "length(object.nodes) < 1"]
)
def test_a_rule_that_is_wrong_is_an_error(tmp_path, expr):
    write(tmp_path, "wrong", expr=expr)
    ((file, _),) = messages(tmp_path)
    assert file == "wrong/rule.yaml"


def test_a_rule_without_inputs_is_compiled_too(tmp_path):
    write(tmp_path, "wrong", expr="object.nodes <", inputs=False)
    assert any("does not compile" in message for _, message in messages(tmp_path))


def test_a_rule_that_kills_its_child_is_an_error(tmp_path):
    write(tmp_path, "huge", expr="+".join(["1"] * 20_000) + " > 0")
    ((_, message),) = messages(tmp_path)
    assert "evaluation died" in message


@pytest.mark.parametrize(
    "text",
    ["- 1", "{}", "object: 1", "object: {}\nobjects: []", "objects: {}", "object: {}\ndocument: 3",
     "object: {}\nother: 1", "object: {kind: selection}\nexpect: fail", "object: ["],
)  # fmt: skip
def test_inputs_that_make_no_sense_are_errors(tmp_path, text):
    write(tmp_path, "rule")
    write_input(tmp_path / "rule" / "pass" / "b.yaml", text)
    assert [file for file, _ in messages(tmp_path)] == ["rule/pass/b.yaml"]


def test_inputs_may_expect_unknown_and_skipped(tmp_path):
    path = write(
        tmp_path, "rule", expr="object.owner_gpus < params.max && input.owner != 'bob'", inputs=False
    )
    text = path.read_text().replace('kind == "selection"', 'kind == "selection" && object.gpus > 0')
    path.write_text(text + "reads: [owner_gpus]\nparams: {max: 9}\n")
    for name, text in {
        "pass/a": "{object: {kind: selection, gpus: 1, owner_gpus: 1}}",
        "pass/b": "{object: {kind: selection}, expect: skipped}",
        "pass/c": "{object: {kind: selection, gpus: 1, owner_gpus: 20}, params: {max: 30}}",
        "fail/a": "{object: {kind: selection, gpus: 1, owner_gpus: 9}}",
        "fail/b": "{object: {kind: selection, gpus: 1, owner_gpus: null}, expect: unknown}",
        "fail/c": "{object: {kind: selection, gpus: 1, owner_gpus: 1}, document: {owner: bob}}",
    }.items():
        write_input(path.parent / f"{name}.yaml", text)
    assert messages(tmp_path) == []


def test_the_shipped_rules_hold_on_their_inputs():
    assert [str(f) for f in test_rules([SHIPPED])] == []


def test_every_stage_has_a_shipped_rule():
    assert {rule.stage for rule in load_rules([SHIPPED])} == set(Stage)


def test_explain_says_what_a_rule_says():
    (rule,) = [r for r in load_rules([SHIPPED]) if r.id == "max-destroys"]
    told = explain(rule)
    for part in (rule.title, rule.expr, rule.why, rule.remedy, "max = 3", "only a waiver", "tfplan"):
        assert part in told
