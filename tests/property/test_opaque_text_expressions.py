"""Our reading of a text with expressions gives what Jinja gives, wherever Jinja leaves the text around them alone."""

from __future__ import annotations

from typing import Any

import jinja2
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import sandbox

from akotf.load.expressions import evaluate
from akotf.load.rendering import _named

NAMES = ["steps", "rate", "amp", "name", "unset", "loop", "super", "missing", "true_", "nothing"]
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20), st.sampled_from(["{{ steps }}", "{% x %}", "1_000", "null", "\r\n"]),
)  # fmt: skip
VALUES = st.fixed_dictionaries({**dict.fromkeys(NAMES[:7], SCALARS), "name": st.text(max_size=20)})
EXPRESSIONS = st.sampled_from([
    "{{ steps }}", "{{steps}}", "{{- name -}}", "{{+ name }}", "{{ name -}}", "{{ rate }}", "{{ amp }}", "{{ name ~ steps }}",
    "{{ '{%' }}", "{{ '}}' }}", '{{ "{{" }}', "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ name | upper }}", "{{ name | length + 1 }}",
    "{{\n  loop\n}}", "{{ 'x' if amp else 'y' }}", "{{ name.strip() }}", "{{ (1, 2)[0] }}", "{{ -1 }}", "{{-1}}", "{{ super }}",
])  # fmt: skip
AROUND = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r{"), max_size=8
)  # Jinja makes \r\n and \r one \n


def jinja(text: str, values: dict[str, Any]) -> str:
    """The text as Jinja renders it whole, with booleans as YAML writes them."""
    environment = sandbox.ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
        finalize=lambda value: {True: "true", False: "false"}[value] if isinstance(value, bool) else value,
    )  # fmt: skip
    return environment.from_string(text).render(values)


@settings(deadline=None, max_examples=100)
@given(pieces=st.lists(st.tuples(AROUND, EXPRESSIONS), max_size=4), tail=AROUND, values=VALUES)
def test_a_text_becomes_what_jinja_makes_of_it(
    pieces: list[tuple[str, str]], tail: str, values: dict[str, Any]
) -> None:
    text = "".join(around + expression for around, expression in pieces) + tail
    (outcome,) = evaluate([text], values)
    assert not outcome.flaws
    spelt = (
        {True: "true", False: "false"}.get(outcome.value)
        if isinstance(outcome.value, bool)
        else outcome.value
    )
    assert str(spelt) == jinja(text, values)


@settings(deadline=None, max_examples=100)
@given(
    name=st.sampled_from([*NAMES, "self", "true", "none", "not", "and"]), space=st.booleans(), values=VALUES
)
def test_the_short_way_for_a_name_alone_is_jinjas(name: str, space: bool, values: dict[str, Any]) -> None:
    text = f"{{{{ {name} }}}}" if space else f"{{{{{name}}}}}"
    short, (long,) = _named(text, values), evaluate([text], values)
    if short is not None and name not in ("and",):  # a word of Jinja's: it can't be a parameter's name either
        assert short == long
        assert type(short.value) is type(long.value)


@settings(deadline=None, max_examples=200)
@given(text=st.text(st.sampled_from("{}%#-+ \r\n'\"\\abx.|()[]~*1"), max_size=30))
def test_no_text_raises(text: str) -> None:
    (outcome,) = evaluate([text], {"a": 1, "b": "x"})
    assert outcome.flaws or outcome.value is None or isinstance(outcome.value, (str, int, float))
    if not any(mark in text for mark in ("{{", "{%", "{#")):
        assert outcome.value == text
