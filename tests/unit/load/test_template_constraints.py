"""Constraints between parameters: judged on the final values, told where the environment wrote the value at fault."""

from __future__ import annotations

import pytest

from akotf.load.parameters import bind_parameters
from akotf.load.typed import Parameters
from akotf.model.config import TemplateSpec
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import Mark

PARAMETERS = """\
version: 1
name: tiny
release: 1.0.0
roots: {local: r}
parameters:
  hidden: {type: integer, default: 128}
  heads: {type: integer, default: 4, min: 1}
  rate: {type: number, default: 0.5}
  memory: {type: bytes, default: 4 GiB}
  wall: {type: duration, default: 1h}
  gpu: {type: gpu}
  data: {type: string, required: true}
  token: {type: string, secret: true}
constraints:
"""
LINE = PARAMETERS.count("\n") + 1  # where the first constraint stands


def given(text: str, *constraints: str) -> Parameters:
    lines = "".join(f"  - {constraint}\n" for constraint in constraints)
    node = yaml.parse((PARAMETERS + lines).encode(), "template.yaml")
    spec = bind(node, TemplateSpec)
    assert spec.findings == []
    values = yaml.parse(text.encode(), "akotf.yaml")
    return bind_parameters(spec.value, node, values, Mark("akotf.yaml", 9, 1))


DIVIDES = (
    '{expr: "hidden % heads == 0", message: "hidden ({hidden}) is no multiple of heads ({heads})", '
    'remedy: "take {heads} heads less, or a hidden of 128"}'
)


def test_a_constraint_that_holds_says_nothing() -> None:
    assert given("data: x\nheads: 8\n", DIVIDES).findings == []


def test_a_broken_constraint_is_told_at_the_value_that_the_environment_gave() -> None:
    (found,) = given("data: x\nheads: 3\n", DIVIDES).findings
    assert (found.rule, str(found.position), found.path) == (
        "config/constraint",
        "akotf.yaml:2:8",
        "parameters.heads",
    )
    assert found.message == "hidden (128) is no multiple of heads (3)"
    assert found.remedy == "take 3 heads less, or a hidden of 128"


def test_of_two_values_given_the_one_that_the_expression_names_first_is_at_fault() -> None:
    (found,) = given("heads: 3\nhidden: 130\ndata: x\n", DIVIDES).findings
    assert (str(found.position), found.path) == ("akotf.yaml:2:9", "parameters.hidden")


def test_defaults_that_break_a_constraint_are_the_templates_fault() -> None:
    (found,) = given("data: x\n", '{expr: "heads > 4", message: "few heads"}').findings
    assert (found.rule, str(found.position)) == ("config/constraint", f"template.yaml:{LINE}:12")
    assert found.remedy == "change heads so that heads > 4"


def test_values_are_shown_in_their_unit_and_secrets_never() -> None:
    message = '{expr: "memory > 1 && wall < 1.0 && token == data", message: "{memory} {wall} {gpu} {rate} {token} {data}"}'
    (found,) = given("data: x\ntoken: env:HF_TOKEN\n", message).findings
    assert found.message == "4 GiB 1h nothing 0.5 (secret) 'x'"


def test_bytes_and_durations_are_bytes_and_seconds_in_expressions() -> None:
    lines = ('{expr: "memory == 4294967296", message: m}', '{expr: "wall == 3600.0", message: m}')
    assert given("data: x\n", *lines).findings == []
    units = (
        "{expr: \"memory == bytes_of('4 GiB')\", message: m}",
        "{expr: \"wall < seconds_of('2h')\", message: m}",
    )
    assert given("data: x\n", *units).findings == []


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ('{expr: "hidden %% heads", message: m}', "does not compile"),
        ('{expr: "hiden > 1", message: m}', "names 'hiden', which is no parameter"),
        ('{expr: "hidden > 1 || width > 1", message: m}', "names 'width'"),
        ('{expr: "[1, 2].all(n, n < width)", message: m}', "names 'width'"),
        ('{expr: "half(hidden) > 1", message: m}', "calls half()"),
        ('{expr: "hidden + heads", message: m}', "must be true or false"),
        ('{expr: "hidden * rate > 1.0", message: m}', "breaks"),
        ('{expr: "hidden > 1", message: "{width}"}', "shows {width}"),
        ('{expr: "hidden > 1", message: m, remedy: "{width}"}', "remedy of a constraint shows {width}"),
    ],
)
def test_a_constraint_that_is_wrong_is_the_templates_fault(constraint: str, words: str) -> None:
    (found,) = given("data: x\nhidden: 64\n", constraint).findings
    assert found.rule == "config/template"
    assert found.position.file == "template.yaml"
    assert found.position.line == LINE
    assert words in found.message
    assert found.remedy


def test_names_that_an_expression_binds_itself_are_no_parameters() -> None:
    assert given("data: x\n", '{expr: "[1, 2].all(n, n < heads)", message: m}').findings == []
    assert given("data: x\n", '{expr: "type(heads) == int", message: m}').findings == []


def test_a_parameter_without_a_value_must_be_asked_for_null() -> None:
    (found,) = given("data: x\n", "{expr: \"gpu.startsWith('A100')\", message: m}").findings
    assert found.rule == "config/template"
    assert "gpu has no value" in found.message
    assert found.remedy.startswith("write gpu == null || (")
    guarded = '{expr: "gpu == null || gpu.startsWith(\'A100\')", message: "no A100"}'
    assert given("data: x\n", guarded).findings == []
    assert [f.message for f in given("data: x\ngpu: L4\n", guarded).findings] == ["no A100"]


def test_a_constraint_waits_for_values_that_have_faults() -> None:
    found = given("data: x\nheads: 0\n", DIVIDES).findings  # else: division by zero
    assert [f.rule for f in found] == ["config/bounds"]
    missing = given("heads: 4\n", '{expr: "data.size() > 3", message: m}').findings
    assert [f.rule for f in missing] == ["config/missing-parameter"]


def test_every_broken_constraint_is_told() -> None:
    found = given("data: x\nheads: 3\n", DIVIDES, '{expr: "heads == 4", message: "four"}').findings
    assert [f.message for f in found] == ["hidden (128) is no multiple of heads (3)", "four"]


def test_an_expression_that_takes_too_much_ends() -> None:
    deep = "(" * 3000 + "heads" + ")" * 3000
    (found,) = given("data: x\n", f'{{expr: "{deep} == 4", message: m}}').findings
    assert found.rule == "config/template"
    assert found.position.line == LINE
