"""What `policy test` finds in a rule and its inputs, and where."""

from pathlib import Path

import pytest

from akotf.policy.selftest import test_rules

RULE = """\
version: 1
id: cheap
title: Cheap
level: advisory
stage: tfplan
match: object.kind == "resource" && object.after != null
types:
  aws_ebs_volume: [after.size]
expr: values.all(size, size <= params.most)
params: {most: 10}
message: "{address}: {values} GB are more than {params.most}"
why: money
remedy: less
"""
PASS = "object: {kind: resource, type: aws_ebs_volume, after: {size: 10}}"
FAIL = "object: {kind: resource, type: aws_ebs_volume, after: {size: 11}}"


def write(folder, text=RULE, inputs=None):
    home = folder / "cheap"
    for name, content in {"rule": text, "pass/a": PASS, "fail/a": FAIL, **(inputs or {})}.items():
        path = home / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return home


def found(folder, **options):
    """(file, line, column, message and remedy) of each finding."""
    return [
        (Path(f.position.file).name, f.position.line, f.position.column, f"{f.message} ({f.remedy})")
        for f in test_rules([folder], **options)
    ]


def test_the_rule_they_are_made_from_is_good(tmp_path):
    write(tmp_path)
    assert found(tmp_path) == []


# Each change of one word, the line and column of the field that holds it, and what the finding must say.
@pytest.mark.parametrize(
    ("old", "new", "line", "column", "says"),
    [
        ("remedy:", "remmedy:", 13, 1, "unknown key 'remmedy' (did you mean 'remedy'?)"),
        ("level: advisory", "level: adviser", 4, 8, "did you mean 'advisory'?"),
        ("stage: tfplan", "stage: plan", 5, 8, "is not one of config, selection, tfplan, drift"),
        ('"resource"', '"resoruce"', 6, 8, "no objects of kind 'resoruce' (did you mean 'resource'?)"),
        ("object.after != null", "objekt.after != null", 6, 8, "names 'objekt', which is not known; did you mean 'object'?"),
        ("[after.size]", "[afterr.size]", 8, 20, "nothing is called 'afterr' (did you mean 'after'?)"),
        ("[after.size]", "['after.size[']", 8, 20, "is no path"),
        ("[after.size]", "[input.live_run]", 8, 20, "nothing is called 'live_run' (did you mean 'live_runs'?)"),
        ("values.all(", "valuse.all(", 9, 7, "names 'valuse', which is not known; did you mean 'values'?"),
        ("size <= params.most", "sizes(size) <= params.most", 9, 7, "calls sizes(), which is not known; did you mean 'size'?"),
        ("size <= params.most", "size <= params.mist", 9, 7, "params has no 'mist' (did you mean 'most'?)"),
        ("size <= params.most", "size <=", 9, 7, "does not compile"),
        ("{params.most}", "{params.mots}", 11, 10, "params has no 'mots' (did you mean 'most'?)"),
        ("{address}", "{adress}", 11, 10, "nothing is called 'adress' (did you mean 'address'?)"),
        ("{values}", "{culprits}", 11, 10, "{culprits} needs the rule's field culprits"),
        ("stage: tfplan", "stage: selection", 8, 3, "stage selection has no resources"),
    ],
)  # fmt: skip
def test_a_mistyped_rule_is_told_with_its_place(tmp_path, old, new, line, column, says):
    write(tmp_path, RULE.replace(old, new))
    faults = found(tmp_path)
    places = [(file, at, where) for file, at, where, text in faults if says in text]
    assert places == [("rule.yaml", line, column)], faults


# What no stage and no Terraform gives; each would make a rule look right that never sees such data.
@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("{kind: resuorce, type: aws_ebs_volume}", "does not match any of the expected tags"),
        ("{type: aws_ebs_volume, after: {size: 1}}", "Unable to extract tag using discriminator 'kind'"),
        ("{kind: resource, type: aws_ebs_volume, after: {size: 1}, afterwards: 1}", "Extra inputs are not permitted"),
        ("{kind: plan, destroys: many}", "valid integer"),
        ("{kind: resource, type: aws_ebs_volume, after: {size: 1}, actions: [make]}", "are none of Terraform's"),
        ("{kind: resource, type: aws_ebs_volume, after: {size: 1}, actions: [delete]}", "before must be there"),
        ("{kind: resource, type: aws_ebs_volume, after: {size: 1}, before: {size: 2}}", "before must be null"),
        ("{kind: resource, type: aws_ebs_volume, after: null}", "after must be there"),
        ("{kind: resource, type: aws_ebs_volume, address: aws_instance.x, after: {size: 1}}", "is not one of a aws_ebs_volume"),
        ("{kind: resource, type: aws_ebs_volume, after: {size: 1}, after_unknown: {size: true}}", "after.size has a value and is marked"),
        ("{kind: resource, type: t, after: {d: [{e: 1}]}, after_unknown: {d: [{e: true}]}}", "after.d.0.e has a value and is marked"),
    ],
)  # fmt: skip
def test_an_input_that_nothing_can_produce_is_an_error(tmp_path, item, says):
    write(tmp_path, inputs={"pass/b": f"object: {item}"})
    ((file, _, _, text),) = found(tmp_path)
    assert file == "b.yaml"
    assert says in text


def test_an_input_may_replace_params_but_not_invent_them(tmp_path):
    write(tmp_path, inputs={"pass/b": FAIL + "\nparams: {most: 11}", "pass/c": PASS + "\nparams: {least: 1}"})
    assert [(file, text) for file, _, _, text in found(tmp_path)] == [
        ("c.yaml", "params: the rule has no 'least' ()")
    ]


def test_an_input_is_read_as_strictly_as_every_file(tmp_path):
    write(tmp_path, inputs={"fail/b": FAIL + "\n" + FAIL})
    ((file, line, column, text),) = found(tmp_path)
    assert (file, line, column) == ("b.yaml", 2, 1)
    assert "twice" in text


def test_no_rule_is_an_error(tmp_path):
    ((_, _, _, text),) = found(tmp_path)
    assert "there is no policy rule to test" in text


def test_only_the_named_rules_are_tested(tmp_path):
    write(tmp_path)
    (tmp_path / "other").mkdir()
    assert found(tmp_path, only=["cheap"]) == []
    assert found(tmp_path) != []


def test_a_rule_without_a_fail_input_that_fires_is_an_error(tmp_path):
    """A fail input that is only unknown shows that the rule can't tell, not that it ever refuses."""
    unknown = "expect: unknown\nobject: {kind: resource, type: aws_ebs_volume, after: {}, after_unknown: {size: true}}"
    write(tmp_path, inputs={"fail/a": unknown})
    ((file, line, _, text),) = found(tmp_path)
    assert (file, line) == ("rule.yaml", 9)
    assert "never fires" in text
