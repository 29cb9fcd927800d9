"""Expressions in run.yaml: types survive, text stays text, nothing escapes the sandbox or its limits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError
from akotf.load import expressions, rendering
from akotf.load.environment import load
from akotf.load.expressions import MAX_TEXT, Outcome, evaluate
from akotf.load.rendering import Rendered, render
from akotf.reading import yaml
from akotf.reading.nodes import Entry, MapNode, Mark, TextNode, ValueNode

VALUES: dict[str, Any] = {
    "steps": 300, "rate": 1e-4, "amp": True, "name": "1_000", "unset": None, "gpus": 8, "text": "a'b\"{{ x }}",
}  # fmt: skip


def rendered(text: str, given: dict[str, Mark] | None = None) -> Rendered:
    return render(yaml.parse(text.encode(), "run.yaml"), VALUES, given or {})


MARK = Mark("run.yaml", 1, 1)


def tree(**texts: str) -> MapNode:
    """A mapping of texts as quotes would give them."""
    return MapNode({key: Entry(MARK, TextNode(text, False, MARK)) for key, text in texts.items()}, MARK)


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
        ("{{ steps", "}} is missing"),
        ("{{ }}", "Expected an expression"),
        ("a {{ [1, 2] }}", "list"),
        ("a {{ 10 ** 30 }}", "not one finite value"),
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
    assert evaluate(["{{ text }}", "x{{ text }}"], {"text": "{{ 7 * 7 }}"}) == [
        Outcome("{{ 7 * 7 }}", False, ("text",)),
        Outcome("x{{ 7 * 7 }}", True, ("text",)),
    ]


@pytest.mark.parametrize("name", [*VALUES, "missing", "true", "false", "none", "not", "nothing"])
def test_a_plain_name_means_what_jinja_says(name: str) -> None:
    direct, through_jinja = (rendered(f"a: '{{{{ {text} }}}}'\n") for text in (name, f"({name})"))
    assert bool(direct.findings) == bool(through_jinja.findings) == (name in ("missing", "not", "nothing"))
    if not direct.findings:
        assert direct.node == through_jinja.node
    elif name != "not":
        assert direct.findings == through_jinja.findings


ESCAPES = [
    "{{ ''.__class__ }}", "{{ ''['__class__'] }}", "{{ name.__class__.__mro__[1].__subclasses__() }}",
    "{{ lipsum }}", "{{ lipsum.__globals__ }}", "{{ cycler.__init__ }}", "{{ joiner }}", "{{ namespace() }}", "{{ dict() }}",
    "{{ range(10 ** 9) }}", "{{ self }}", "{{ self.__init__ }}", "{{ config }}", "{{ loop }}", "{{ caller() }}",
    "{{ '{0.__class__}'.format(name) }}", "{{ '{0}'.format_map({}) }}", "{{ '%s' | format(name) }}", "{{ '%9999999999d' % 1 }}",
    "{{ name | attr('__class__') }}", "{{ [name] | map(attribute='__class__') | first }}", "{{ [1] | map('string') }}",
    "{{ [1] | select('callable') }}", "{{ name | pprint }}", "{{ name | tojson }}", "{{ name | random }}", "{{ name | urlize }}",
    "{{ name.encode('utf-16') }}", "{{ name.upper }}", "{{ [].append(1) }}", "{{ {'a': 1}.items() }}", "{{ (1).to_bytes(10 ** 9) }}",
    "{{ 'a' * 10 ** 9 }}", "{{ 10 ** 9 * 'a' }}", "{{ [0] * 10 ** 9 }}", "{{ 9 ** (9 ** 9) }}", "{{ 2 ** 1025 }}", "{{ 'a'.center(10 ** 9) }}",
    "{{ name.zfill(10 ** 9) }}", "{{ 'a'.expandtabs(10 ** 9) }}", "{{ 'a' | indent(10 ** 9) }}", "{{ 'a' | center(10 ** 9) }}",
    "{{ ('a' * 100000).replace('a', 'a' * 100000) }}", "{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "{{ " + "-" * 3000 + "1 }}",
    "{{ " + "+".join(["'" + "a" * 60000 + "'"] * 3) + " }}", "{{ steps.__add__(1) }}", "{{ amp.real }}", "{{ 1 if }}", "{{ a b }}", "{{ steps } }",
]  # fmt: skip


@pytest.mark.parametrize("expression", ESCAPES, ids=range(len(ESCAPES)))
def test_escapes_and_bombs_are_faults_of_their_own_and_hide_no_other(expression: str) -> None:
    result = render(tree(a=expression, b="{{ rat }}", c="x {{ steps + 1 }}"), VALUES, {})
    assert [f.path for f in result.findings] == ["run.a", "run.b"]
    assert "Traceback" not in result.findings[0].message
    assert "rendering ended" not in result.findings[0].message


def _reveal(texts: list[str], _: object) -> list[Outcome]:
    return [Outcome(os.environ.get("AKOTF_TEST_TOKEN", "nothing"), False, ()) for _ in texts]


def test_the_child_has_none_of_our_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AKOTF_TEST_TOKEN", "hunter2")
    monkeypatch.setattr(rendering, "evaluate", _reveal)
    node = one("{{ steps + 1 }}")
    assert isinstance(node, ValueNode)
    assert node.value == "nothing"


def test_an_expression_that_takes_too_long_is_one_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_SECONDS", 0.3)
    monkeypatch.setattr(rendering, "_SECONDS_EACH", 0.3)
    endless = "{{ " + "('a' * 131072).count('a' * 65535 ~ 'b') ~ " * 2500 + "1 }}"
    result = render(tree(a="{{ steps + 1 }}", b=endless, c="{{ steps + 1 }}"), VALUES, {})
    assert [(f.rule, f.path) for f in result.findings] == [("config/expression", "run.b")]
    assert "time limit" in result.findings[0].message


def test_text_around_expressions_stays_as_it_is() -> None:
    around = "a\r\nb\rc\u2028\u0085d\x0b}} %} #}\n\n"
    result = render(tree(a=around + "{{ steps }}" + around), VALUES, {})
    assert result.node.get("a") == TextNode(around + "300" + around, False, MARK)
    carried = render(tree(a="x{{ text }}"), {"text": "1\r\n2\r"}, {})
    assert carried.node.get("a") == TextNode("x1\r\n2\r", False, MARK)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("{{ '{%' }} {{ '{#' }} {{ '{{' }}", "{% {# {{"), ("a {{- steps -}} b", "a300b"), ("a {{+ steps }} b", "a 300 b"),
        ("{{ {'a': {'b': 1}}['a']['b'] }}!", "1!"), ("{{ '}}' }}{{ \"'\" }}", "}}'"), ("$" "{{ steps }}", "$300"), ("{{ -steps }}s", "-300s"),
        ("{{ name[1:] ~ '-' ~ gpus }}.", "_000-8."), ("{{ name.replace('_', '') | int + 1 }}.", "1001."), ("{{\n steps\r\n}}.", "300."),
    ],
)  # fmt: skip
def test_what_stands_in_text(text: str, becomes: str) -> None:
    assert render(tree(a=text), VALUES, {}).node.get("a") == TextNode(becomes, False, MARK)


@pytest.mark.parametrize("name", ["super", "loop", "caller", "values", "context", "environment"])
def test_a_parameter_may_have_a_name_that_means_something_to_jinja(name: str) -> None:
    result = render(tree(a=f"{{{{ {name} }}}}", b=f"{{{{ {name} ~ '' }}}}"), {name: "mine"}, {})
    assert result.findings == []
    assert [result.node.get(key).value for key in "ab"] == ["mine", "mine"]


def test_jinjas_self_is_no_parameter_even_where_one_is_given() -> None:
    result = render(tree(a="{{ self }}", b="{{ self ~ '' }}", c="{{ (self) }}"), {"self": "mine"}, {})
    assert [f.message.split(": ")[1] for f in result.findings] == ["there is no parameter 'self'"] * 3


def test_a_key_is_never_rendered() -> None:
    result = rendered(
        "hyperparameters:\n  '{{ name }}': 1\nenvironment: {'{{ name }}': a}\ncommand: ['{{']\n"
    )
    assert [(f.path, f.position.line) for f in result.findings] == [("run.hyperparameters.{{ name }}", 2)]


def test_a_text_that_is_too_long_is_refused_however_it_came_about() -> None:
    values = {"long": "x" * MAX_TEXT, "longer": "x" * (MAX_TEXT + 1)}
    result = render(
        tree(a="{{ long }}", b="{{ longer }}", c="{{ long ~ 1 }}", d="{{ long }}{{ long }}"), values, {}
    )
    assert [f.path for f in result.findings] == ["run.b", "run.c", "run.d"]


PLACES = """\
a: "x {{ stepz }} {{ stepz }}"
b: 'it''s {{ name }} {{ ''a'' ~ rat }}'
c: |
  first {{ steps }}
    second {{ gpuz }} {{ steps +
      gpuz }}
d: >-
  folded {{ name }}

  and {{ amq }}
e: plain {{ nam }}
f: {g: ["{{ 1 / 0 }}", "{{ \\"q\\" ~ unse }}"], h: "{{ \\x73tepz }}"}
i: "tail {% if %}"
"""


def test_a_fault_stands_at_its_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + PLACES.replace("\n", "\r\n").encode())
    result = render(yaml.read(file, "run.yaml"), VALUES, {}, file)
    found = [(f.path.removeprefix("run."), f.position.line, f.position.column) for f in result.findings]
    # Columns counted in PLACES: of the name that is unknown, else of the expression
    assert found == [
        ("a", 1, 10), ("a", 1, 22), ("b", 2, 33), ("c", 5, 15), ("c", 6, 7), ("d", 10, 10), ("e", 11, 13),
        ("f.g.0", 12, 10), ("f.g.1", 12, 36), ("f.h", 12, 50), ("i", 13, 10),
    ]  # fmt: skip


def test_without_its_file_a_fault_stands_at_its_scalar(tmp_path: Path) -> None:
    node = yaml.parse(PLACES.encode(), "run.yaml")
    for source in (None, tmp_path / "gone.yaml", tmp_path):
        result = render(node, VALUES, {}, source)
        assert [f.position.line for f in result.findings][:5] == [1, 1, 2, 3, 3]


def test_a_value_from_one_parameter_takes_the_place_where_the_environment_wrote_it() -> None:
    place = Mark("akotf.yaml", 7, 9)
    result = rendered("a: '{{ steps }}'\nb: '{{ steps + gpus }}'\n", {"steps": place})
    assert result.node.get("a").mark == place
    assert result.node.get("b").mark == Mark("run.yaml", 2, 4)
    assert result.uses == {("a",): ("steps",), ("b",): ("gpus", "steps")}


def test_the_guide_lists_what_the_language_has() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "text-and-paths.md").read_text()
    filters, methods = re.search(
        r"Filters: (.*?)\. Methods of texts: (.*?)\. A result", page, re.DOTALL
    ).groups()
    assert set(re.findall(r"`(\w+)`", filters)) == expressions._FILTERS
    assert set(re.findall(r"`(\w+)`", methods)) == expressions._METHODS
    assert f"at most {MAX_TEXT:,} characters" in page


def test_a_loaded_environment_tells_where_in_the_scalar(
    catalogue: Path, environment: Callable[..., Path]
) -> None:
    run = catalogue / "tiny" / "1.0.0" / "run.yaml"
    run.write_text(run.read_text().replace("run-{{ region }}-{{ steps }}", "run-{{ region }}-{{ stepz }}"))
    with pytest.raises(ConfigError) as caught:
        load(environment(), catalogues=[catalogue])
    (finding,) = caught.value.findings
    line = run.read_text().splitlines()[2]
    assert finding.position is not None
    assert (finding.position.line, finding.position.column) == (3, line.index("stepz") + 1)


def test_parameters_are_text_whatever_they_look_like(
    catalogue: Path, environment: Callable[..., Path]
) -> None:
    state = load(
        environment("labels: {a: '{{ x }}', b: '{% if %}'}\n"),
        catalogues=[catalogue],
    )
    assert state.environment.labels == {"a": "{{ x }}", "b": "{% if %}"}
    assert state.run.command == ("python", "train.py", "{{ not rendered }}")
    assert state.run.environment == {"LR": "1e-4", "KEEP": "${{ run.args }}"}
