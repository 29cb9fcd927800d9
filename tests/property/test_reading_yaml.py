"""What holds for every input: reading ends in a value or in a ConfigError with places, and text survives."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.errors import ConfigError
from akotf.model.config import EnvironmentSpec, RunSpec
from akotf.reading import composer, yaml
from akotf.reading.bind import bind, plain
from akotf.reading.nodes import Mark, TextNode
from akotf.reading.scalars import INT64, read_number, resolve

DOCUMENT: dict[str, Any] = {
    "image": {"reference": "r"}, "command": ["c"], "checkpoint": {"interval_steps": 1},
    "limits": {"memory": "1 GiB", "wall_time": "1h"},
    "workload": {"global_batch": 1, "steps": 1,
                 "model": {"layers": 1, "hidden": 1, "heads": 1, "vocabulary": 1, "sequence": 1}},
}  # fmt: skip
PRINTABLE = st.characters(
    exclude_categories=["Cs", "Cc", "Cn"],
    exclude_characters="\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
)
TEXT = st.text(PRINTABLE, max_size=20)
SNIPPETS = st.lists(
    st.sampled_from(["a", "b", ":", ": ", "- ", "\n", "  ", "\t", "[", "]", "{", "}", ",", "&x ", "*x", "<<", "!", "'", '"',
                     "|\n", "#", "---\n", "...\n", "%", "1e5", "?", ">", "é", "\u00a0", "{{ x }}",
                     "\r\n", "\r", " \t", "\\ud83d", "\\", "# c", "|2\n", ">#", "!!str ", "%TAG ! x\n", "%YAML 1.1\n", "😀", "\u200b", "a: 1\n",
                     "- x\n", "`", "@", "<<: *x"]),
    max_size=30,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=60), SNIPPETS.map(str.encode)))
def test_any_bytes_give_a_document_or_faults_with_places(data: bytes) -> None:
    try:
        node = yaml.parse(data, "f")
    except ConfigError as error:
        assert error.findings
        lines = data.count(b"\n") + data.count(b"\r") + 2
        assert all(1 <= f.position.line <= lines and f.position.column >= 1 for f in error.findings)
    else:
        bound = bind(node, EnvironmentSpec)
        assert (bound.value is None) == bool(bound.findings)
        assert all(f.position is not None and f.message for f in bound.findings)


def outcome(text: str, loader: Any) -> Any:
    """The value that a loader of PyYAML leads to, or the class of what was raised."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composer, "LOADER", loader)
        try:
            return plain(yaml.parse(text.encode(), "f"))
        except (ConfigError, ValueError) as error:
            return type(error)


@settings(deadline=None, max_examples=300)
@given(SNIPPETS)
def test_both_parsers_agree_on_what_is_a_document_and_what_it_says(text: str) -> None:
    assert outcome(text, pyyaml.CSafeLoader) == outcome(text, pyyaml.SafeLoader)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-INT64, INT64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def written(data: object) -> bytes:
    """JSON with characters as they are, but for those that akotf wants escaped (a pair of surrogates is no YAML)."""
    text = json.dumps(data, ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]",
        lambda m: f"\\u{ord(m[0]):04x}",
        text,
    ).encode()


@settings(deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), JSON, max_size=4))
def test_json_is_yaml(data: dict[str, object]) -> None:
    assert plain(yaml.parse(written(data), "f")) == data


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_that_python_writes_is_read_back(value: float) -> None:
    for text in (repr(value), f"{value:e}", f"{value:g}"):
        number = read_number(text)
        assert number is not None
        assert math.isfinite(number)
        assert float(number) == float(text)


@given(st.integers())
def test_integers_are_exact_or_refused(value: int) -> None:
    if -INT64 <= value < INT64:
        assert read_number(str(value)) == value
    else:
        with pytest.raises(ValueError, match="64 bits"):
            read_number(str(value))


@settings(deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
        max_size=4,
    )
)
def test_environment_values_arrive_as_written(values: dict[str, str]) -> None:
    document = {**DOCUMENT, "environment": values}
    bound = bind(yaml.parse(written(document), "f"), RunSpec)
    assert bound.findings == []
    assert bound.value is not None
    assert bound.value.environment == values


def is_text(text: str) -> bool:
    """False for a text that PyYAML writes without quotes and that is a number here, such as 1e-4."""
    try:
        return resolve(TextNode(text, True, Mark("f"))) == text
    except ValueError:
        return False


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TREE = st.recursive(
    st.none() | st.booleans() | st.integers(-INT64, INT64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT.filter(is_text),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT.filter(bool), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(TREE, min_size=1, max_size=3), st.booleans())
def test_what_pyyaml_writes_is_read_back(data: list[Any], flow: bool) -> None:
    text = pyyaml.safe_dump(data, default_flow_style=flow, sort_keys=False)
    try:
        assert plain(yaml.parse(text.encode(), "f")) == data
    except (
        ConfigError
    ) as error:  # keys that look alike are two keys to PyYAML, and a tab may indent its blocks
        assert {f.rule for f in error.findings} <= {"config/duplicate-key", "config/invisible-character"}


@settings(deadline=None)
@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), ANY_TEXT | st.sampled_from(
    ["1e-4", "no", "0755", "1:30", "~", "null", "", "true", "1_000", ".inf", "2026-10-01", "<<", "=", "- a", "{{ x }}", "a: b", " x ", "x\n"]
)), st.sampled_from([None, '"', "'", "|"]))  # fmt: skip
def test_text_fields_keep_what_pyyaml_writes_in_any_style(values: dict[str, str], style: str | None) -> None:
    text = pyyaml.safe_dump({**DOCUMENT, "environment": values}, default_style=style, sort_keys=False)
    if style is not None:  # a style quotes numbers as well, with a tag
        text = re.sub(r"!!int [\"'|]-?\n? *([0-9]+)[\"']?", r"\1", text)
    bound = bind(yaml.parse(text.encode(), "f"), RunSpec)
    assert bound.findings == []
    assert bound.value is not None
    assert bound.value.environment == values


@settings(deadline=None)
@given(st.data())
def test_a_document_with_damage_is_read_or_refused_with_places(data: st.DataObject) -> None:
    text = pyyaml.safe_dump(DOCUMENT, sort_keys=False)
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 8)))
    damaged = text[:at] + data.draw(SNIPPETS | TEXT) + text[until:]
    try:
        bound = bind(yaml.parse(damaged.encode(), "f"), RunSpec)
    except ConfigError as error:
        assert all(f.position.line and f.message and f.remedy for f in error.findings)
    else:
        assert (bound.value is None) == bool(bound.findings)
        assert all(f.position and f.position.line and f.message and f.remedy for f in bound.findings)
