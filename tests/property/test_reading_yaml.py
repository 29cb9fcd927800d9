"""What holds for every input: reading ends in a value or in a ConfigError with places, and text survives."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from akotf.errors import ConfigError
from akotf.model.config import EnvironmentSpec, RunSpec
from akotf.reading import composer, yaml
from akotf.reading.bind import bind, plain
from akotf.reading.scalars import INT64, read_number

PRINTABLE = st.characters(
    exclude_categories=["Cs", "Cc", "Cn"],
    exclude_characters="\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
)
TEXT = st.text(PRINTABLE, max_size=20)
SNIPPETS = st.lists(
    st.sampled_from(["a", "b", ":", ": ", "- ", "\n", "  ", "\t", "[", "]", "{", "}", ",", "&x ", "*x", "<<", "!", "'", '"',
                     "|\n", "#", "---\n", "...\n", "%", "1e5", "?", ">", "é", "\u00a0", "{{ x }}"]),
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


@settings(deadline=None)
@given(SNIPPETS)
def test_both_parsers_agree_on_what_is_a_document(text: str) -> None:
    results = []
    for loader in (composer.pyyaml.CSafeLoader, composer.pyyaml.SafeLoader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(composer, "LOADER", loader)
            try:
                results.append(plain(yaml.parse(text.encode(), "f")))
            except ConfigError:
                continue
            except ValueError:
                continue
    if len(results) == 2:
        assert results[0] == results[1]


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
    document = {
        "image": {"reference": "r"}, "command": ["c"], "environment": values, "checkpoint": {"interval_steps": 1},
        "limits": {"memory": "1 GiB", "wall_time": "1h"},
        "workload": {"global_batch": 1, "steps": 1,
                     "model": {"layers": 1, "hidden": 1, "heads": 1, "vocabulary": 1, "sequence": 1}},
    }  # fmt: skip
    bound = bind(yaml.parse(written(document), "f"), RunSpec)
    assert bound.findings == []
    assert bound.value is not None
    assert bound.value.environment == values
