"""Expressions in run.yaml: types survive, text stays text, nothing escapes the sandbox or its limits."""

from __future__ import annotations

from typing import Any

import pytest

from akotf.load.rendering import Rendered, evaluate, render
from akotf.reading import yaml
from akotf.reading.nodes import Mark, TextNode, ValueNode

VALUES: dict[str, Any] = {
    "steps": 300, "rate": 1e-4, "amp": True, "name": "1_000", "unset": None, "gpus": 8, "text": "a'b\"{{ x }}",
}  # fmt: skip


def rendered(text: str, given: dict[str, Mark] | None = None) -> Rendered:
    return render(yaml.parse(text.encode(), "run.yaml"), VALUES, given or {})


def one(expression: str) -> Any:
    result = rendered(f"a: '{expression}'\n")
    assert result.findings == []
    return result.node.get("a")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{{ steps }}", 300), ("{{steps}}", 300), ("{{ rate }}", 1e-4), ("{{ amp }}", True), ("{{ name }}", "1_000"),
        ("{{ unset }}", None), ("{{ steps * 2 }}", 600), ("{{ steps / 2 }}", 150.0), ("{{ gpus > 4 }}", True),
        ("{{ name | upper }}", "1_000"), ("{{ (steps / 7) | int }}", 42), ('{{ "x" if amp else "y" }}', "x"),
        ("{{ text }}", "a'b\"{{ x }}"), ('{{ "}}" }}', "}}"), ("{{- steps -}}", 300),
    ],
)  # fmt: skip
def test_a_scalar_that_is_one_expression_takes_its_value_and_type(expression: str, value: Any) -> None:
    node = one(expression.replace("'", "''"))
    assert isinstance(node, ValueNode)
    assert node.value == value
    assert type(node.value) is type(value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("run-{{ steps }}", "run-300"), ("{{ steps }}{{ steps }}", "300300"), (" {{ steps }}", " 300"),
        ("{{ amp }}!", "true!"), ("{{ rate }} s", "0.0001 s"), ("{{ name }}.", "1_000."), ("x {{ text }}", "x a'b\"{{ x }}"),
    ],
)  # fmt: skip
def test_any_other_scalar_is_text_and_stays_text(expression: str, text: str) -> None:
    node = one(expression)
    assert isinstance(node, TextNode)
    assert (node.text, node.plain) == (text, False)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("{{ stepz }}", "no parameter 'stepz'"),
        ("x {{ missing }}", "no parameter 'missing'"),
        ("{% if amp %}x{% endif %}", "statements"),
        ("{{ steps }}{# note #}", "statements"),
        ("{{ steps", "unexpected end"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ steps.real.__class__ }}", "SecurityError"),
        ('{{ "".__class__.__mro__ }}', "SecurityError"),
        ("{{ name.missing }}", "UndefinedError"),
        ("{{ [1, 2] }}", "list"),
        ("{{ 10 ** 30 }}", "not one finite value"),
        ("{{ 1e308 * 10 }}", "not one finite value"),
        ("a {{ unset }}", "without a value"),
        ("{{ range(3) }}", "no parameter 'range'"),
        ("{{ steps | random }}", "random"),
        ("{{ (name * 70000) }}", "longer than"),
    ],
)
def test_what_can_not_be_rendered_is_a_fault_at_its_place(expression: str, words: str) -> None:
    result = rendered(f"b: 1\na: '{expression}'\n")
    assert [(f.rule, f.path, f.position.line) for f in result.findings] == [("config/expression", "run.a", 2)]
    assert words in result.findings[0].message


def test_all_faults_come_at_once_and_name_the_nearest_parameter() -> None:
    result = rendered("a: '{{ stepz }}'\nb: ['{{ rat }}', '{{ gpus }}']\n")
    assert [f.remedy for f in result.findings] == ["did you mean 'steps'?", "did you mean 'rate'?"]


def test_the_command_and_the_environment_are_opaque() -> None:
    text = "command: [sh, -c, 'echo {{ steps }} {% x %}']\nenvironment: {A: '${{ run.args }}', B: '{{ steps }}'}\n"
    result = rendered(text)
    assert result.findings == []
    assert result.node == yaml.parse(text.encode(), "run.yaml")


def test_values_are_never_rendered_again() -> None:
    assert evaluate(["{{ text }}"], {"text": "{{ 7 * 7 }}"}) == [("value", "{{ 7 * 7 }}", ("text",))]


@pytest.mark.parametrize("name", [*VALUES, "missing", "true", "false", "none", "not", "nothing"])
def test_a_plain_name_means_what_jinja_says(name: str) -> None:
    direct, through_jinja = (rendered(f"a: '{{{{ {text} }}}}'\n") for text in (name, f"({name})"))
    assert bool(direct.findings) == bool(through_jinja.findings) == (name in ("missing", "not", "nothing"))
    if not direct.findings:
        assert direct.node == through_jinja.node
    elif name != "not":
        assert direct.findings == through_jinja.findings


@pytest.mark.parametrize("expression", ["{{ 9 ** (9 ** 9) }}", "{{ 'x' * 10 ** 10 }}"])
def test_an_expression_without_end_or_measure_is_one_fault(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from akotf.load import rendering

    limited = rendering.run_limited
    monkeypatch.setattr(rendering, "run_limited", lambda f, args: limited(f, args, seconds=0.5, memory=2**26))
    result = rendered(f'a: "{expression}"\nb: "{{{{ steps }}}}"\n')
    assert [f.rule for f in result.findings] == ["config/expression"]
    assert "limit" in result.findings[0].message


def test_a_value_from_one_parameter_takes_the_place_where_the_environment_wrote_it() -> None:
    place = Mark("akotf.yaml", 7, 9)
    result = rendered("a: '{{ steps }}'\nb: '{{ steps + gpus }}'\n", {"steps": place})
    assert result.node.get("a").mark == place
    assert result.node.get("b").mark == Mark("run.yaml", 2, 4)
    assert result.uses == {("a",): ("steps",), ("b",): ("gpus", "steps")}
