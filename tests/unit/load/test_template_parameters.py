"""Typed parameters: the template's types and bounds hold, all faults at once, secrets are never shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from akotf.load.parameters import bind_parameters
from akotf.load.typed import Parameters
from akotf.model.config import TemplateSpec
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import Mark

HEAD = "version: 1\nname: tiny\nrelease: 1.0.0\nroots: {local: r}\nparameters:\n"
PARAMETERS = """\
  steps: {type: integer, default: 10, min: 1, max: 1000, unit: steps}
  rate: {type: number, default: 1e-3, min: 0, max: 1}
  region: {type: string, default: no, choices: [no, eu, 3.10]}
  amp: {type: boolean, default: false}
  wall: {type: duration, default: 1h, min: 60, max: 86400}
  memory: {type: bytes, default: 1 GiB, max: 2147483648}
  image: {type: string, pattern: '[a-z]+@[0-9]+'}
  data: {type: string, required: true, help: where the text lies}
  token: {type: string, secret: true}
"""


def given(text: str, parameters: str = PARAMETERS) -> Parameters:
    node = yaml.parse((HEAD + parameters).encode(), "template.yaml")
    spec = bind(node, TemplateSpec)
    assert spec.findings == []
    values = yaml.parse(text.encode(), "akotf.yaml") if text else None
    return bind_parameters(spec.value, node, values, Mark("akotf.yaml", 9, 1))


def faults(text: str, parameters: str = PARAMETERS) -> list[tuple[str, str]]:
    return [
        (f.rule.removeprefix("config/"), f.path.removeprefix("parameters."))
        for f in given(text, parameters).findings
    ]


def test_defaults_have_their_parameters_type() -> None:
    result = given("data: x")
    assert result.findings == []
    assert result.values == {
        "steps": 10, "rate": 0.001, "region": "no", "amp": False, "wall": 3600.0, "memory": 2**30, "image": None,
        "data": "x", "token": None,
    }  # fmt: skip
    assert list(result.given) == ["data"]
    assert result.given["data"] == Mark("akotf.yaml", 1, 7)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("region: 3.10", "region", "3.10"),  # text keeps its zero
        ("rate: 1", "rate", 1.0),
        ("rate: 3e-4", "rate", 3e-4),
        ("wall: 1:30:00", "wall", 5400.0),
        ("memory: 512MB", "memory", 512_000_000),
        ("steps: 1000", "steps", 1000),
        ("image: 'abc@12'", "image", "abc@12"),
        ("token: env:HF_TOKEN", "token", "env:HF_TOKEN"),
    ],
)
def test_a_value_is_read_by_its_type(text: str, name: str, value: Any) -> None:
    result = given(f"data: x\n{text}\n")
    assert result.findings == []
    assert result.values[name] == value
    assert type(result.values[name]) is type(value)


@pytest.mark.parametrize(
    ("text", "fault", "words"),
    [
        ("steps: 0", ("bounds", "steps"), "0 steps is below 1 steps"),
        ("steps: 1001", ("bounds", "steps"), "above 1000 steps"),
        ("steps: 1e2", ("type", "steps"), "whole number"),
        ("steps: '10'", ("type", "steps"), "is text"),
        ("rate: yes", ("type", "rate"), "finite number"),
        ("rate: .inf", ("type", "rate"), "finite number"),
        ("region: us", ("choice", "region"), "not a choice"),
        ("amp: no", ("type", "amp"), "not a boolean"),
        ("wall: 90", ("type", "wall"), "has no unit"),
        ("wall: 2d", ("bounds", "wall"), "2d is above 1d"),
        ("memory: 3 GiB", ("bounds", "memory"), "3 GiB is above 2 GiB"),
        ("image: abc", ("pattern", "image"), "does not match"),
        ("image: 'abc@1\n'", ("pattern", "image"), "does not match"),
        ("steps: [1]", ("type", "steps"), "one value"),
        ("steps:", ("needs-value", "steps"), "needs a value"),
        ("stepz: 5", ("unknown-parameter", "stepz"), "no parameter"),
        ("token: hunter2", ("secret", "token"), "must not stand here"),
    ],
)
def test_a_wrong_value_is_a_fault(text: str, fault: tuple[str, str], words: str) -> None:
    result = given(f"data: x\n{text}\n")
    assert [
        (f.rule.removeprefix("config/"), f.path.removeprefix("parameters.")) for f in result.findings
    ] == [fault]
    assert words in result.findings[0].message
    assert result.findings[0].position.line == 2
    assert "hunter2" not in str(result.findings)


def test_all_faults_come_at_once() -> None:
    assert sorted(faults("steps: 0\nrate: x\nstepz: 1\n")) == [
        ("bounds", "steps"), ("missing-parameter", "data"), ("type", "rate"), ("unknown-parameter", "stepz"),
    ]  # fmt: skip


def test_of_very_many_unknown_ones_the_first_are_told_and_how_many_there_are() -> None:
    found = given("data: x\n" + "".join(f"stray{n}: 1\n" for n in range(3000))).findings
    assert [f.rule for f in found] == ["config/unknown-parameter"] * 50 + ["config/too-many-faults"]
    assert found[-1].message.startswith("3000 parameters") and found[-1].path == "parameters"


def test_a_required_parameter_says_what_it_is_for() -> None:
    found = given("").findings
    assert [(f.rule, f.position.line) for f in found] == [("config/missing-parameter", 9)]
    assert "where the text lies" in found[0].remedy


@pytest.mark.parametrize(
    ("line", "at", "words"),
    [
        ("  x: {type: integer, default: 5, max: 4}", "default", "its default 5 is above 4"),
        ("  x: {type: integer, default: a}", "default", "its default"),
        ("  x: {type: integer, min: 5, max: 4}", "min", "min 5 is above max 4"),
        ("  x: {type: bytes, min: 2 GiB, max: 1 GiB}", "min", "min 2 GiB is above max 1 GiB"),
        ("  x: {type: duration, min: soon}", "min", "not a duration"),
        ("  x: {type: string, choices: [a], default: b}", "default", "not a choice"),
        ("  x: {type: integer, choices: [1, b]}", "choices", "a choice"),
        ("  x: {type: integer, max: 3, choices: [1, 4]}", "choices", "4 is above 3"),
        ("  x: {type: integer, choices: [1, 1]}", "choices", "twice"),
        ("  x: {type: string, pattern: '['}", "pattern", "can't be read"),
        ("  x: {type: string, pattern: 'a{99999999999999999999}'}", "pattern", "can't be read"),
        ("  x: {type: string, min: 1}", "min", "no min and max"),
        ("  x: {type: boolean, max: 1}", "max", "no min and max"),
        ("  x: {type: integer, secret: true}", "secret", "secret is for strings"),
        ("  x: {type: integer, pattern: a}", "pattern", "pattern is for strings"),
        ("  x: {type: gpu, default: A100}", "default", "A100"),
        ("  x: {type: integer, required: true, default: 1}", "default", "keep one|has a default"),
        ("  x: {type: string, secret: true, default: hunter2}", "default", "must not stand here"),
        ("  x: {type: string, secret: true, choices: [hunter2]}", "choices", "must not stand here"),
        ("  x-y: {type: integer}", "x-y", "can't be a name"),
        ("  not: {type: integer}", "not", "can't be a name"),
    ],
)
def test_a_template_that_contradicts_itself_is_told_at_its_place(line: str, at: str, words: str) -> None:
    found = [f for f in given("", line + "\n").findings if f.rule == "config/template"]
    assert [str(f.position) for f in found] == [f"template.yaml:6:{line.index(at + ':') + 1}"]
    assert re.search(words, found[0].message)
    assert found[0].remedy or "name" in found[0].message or "bounds" in found[0].rule
    assert "hunter2" not in str(found)


def test_neither_a_secret_reference_nor_its_choices_stand_in_a_message() -> None:
    line = "  token: {type: string, secret: true, choices: [env:TEAM_A, env:TEAM_B]}\n"
    assert given("token: env:TEAM_B\n", line).values == {"token": "env:TEAM_B"}
    (found,) = given("token: file:hunter2\n", line).findings
    assert (found.rule, found.sensitive) == ("config/choice", True)
    assert not re.search("hunter2|TEAM_A", repr(found))
    (found,) = given(
        "token: file:hunter2\n", "  token: {type: string, secret: true, pattern: 'env:.*'}\n"
    ).findings
    assert (found.rule, found.sensitive) == ("config/pattern", True)
    assert "hunter2" not in repr(found)


def test_bounds_are_written_in_the_parameters_own_unit() -> None:
    line = "  m: {type: bytes, min: 256 MiB, max: 2 GiB, default: 1 GiB}\n  w: {type: duration, min: 1m, default: 1h}\n"
    assert given("", line).values == {"m": 2**30, "w": 3600.0}
    found = given("m: 255 MiB\nw: 59s\n", line).findings
    assert [(f.rule, f.message) for f in found] == [
        ("config/bounds", "parameter 'm': 255 MiB is below 256 MiB"),
        ("config/bounds", "parameter 'w': 59s is below 1m"),
    ]
    assert [f.remedy for f in found] == ["write at least 256 MiB", "write at least 1m"]


def test_a_gpu_parameter_takes_one_canonical_name() -> None:
    line = "  gpu: {type: gpu, choices: [A100-80GB, L4]}\n"
    assert given("gpu: nvidia-a100-sxm4-80gb\n", line).values == {"gpu": "A100-80GB-SXM"}
    assert given("gpu: nvidia-l4\n", line).values == {"gpu": "L4-24GB"}
    assert given("", line).values == {"gpu": None}
    assert faults("gpu: A100\n", line) == [("type", "gpu")]
    assert faults("gpu: V100-16GB\n", line) == [("choice", "gpu")]
    assert faults("gpu: A100-40GB-SXM\n", line) == [("choice", "gpu")]


def test_a_percentage_is_a_share() -> None:
    line = "  p: {type: percent, default: 10%, max: 90%}\n"
    assert given("", line).values == {"p": 0.1}
    assert given("p: 12.5%\n", line).values == {"p": 0.125}
    assert [f.message for f in given("p: 91%\n", line).findings] == ["parameter 'p': 91% is above 90%"]
    assert faults("p: 0.5\n", line) == [("type", "p")]


def test_a_parameter_whose_specification_is_wrong_is_still_known() -> None:
    found = given("x: 3\n", "  x: {type: integer, min: 5, max: 4}\n").findings
    assert [f.rule for f in found] == ["config/template"]


@pytest.mark.parametrize(
    "reference",
    [
        "env:HF_TOKEN", "file:/run/secrets/token", "aws-sm:prod/hf#token", "gcp-sm:projects/my-project/secrets/hf",
        "azure-kv:team/hf", "vault:kv/hf#token",
    ],
)  # fmt: skip
def test_a_secret_parameter_takes_every_kind_of_reference(reference: str) -> None:
    assert given(f"data: x\ntoken: '{reference}'\n").values["token"] == reference


@pytest.mark.parametrize(
    "literal", ["hunter2", "hf_hunter2", "https://hunter2", "vault:hunter2", "env: hunter2"]
)
def test_the_literal_value_of_a_secret_parameter_is_never_shown(literal: str) -> None:
    found = given(f"data: x\ntoken: '{literal}'\n").findings
    assert [f.rule for f in found] == ["config/secret"]
    assert "hunter2" not in repr(found)
    assert found[0].sensitive  # no report shows the line that it is about
    assert "vault:MOUNT/PATH#KEY" in found[0].remedy


def test_a_pattern_that_takes_for_ever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from akotf.load import parameters

    limited = parameters.run_limited
    monkeypatch.setattr(parameters, "run_limited", lambda f, args, **_: limited(f, args, seconds=0.5))
    result = given(f"x: '{'a' * 40}!'\n", "  x: {type: string, pattern: '(a+)+'}\n")
    assert [f.rule for f in result.findings] == ["config/pattern"]
    assert "limit" in result.findings[0].message
