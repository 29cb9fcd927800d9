"""The page about YAML says what the reader does: its table of scalars is read and tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from akotf.model.config import RunSpec
from akotf.reading import source, syntax, yaml
from akotf.reading.bind import bind

PAGE = (Path(__file__).parents[2] / "docs/how-to/yaml.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \| (.*?) \|$", PAGE, re.MULTILINE)
DOCUMENT = """\
image: {{reference: x}}
command: [python]
environment:
  A: {0}
hyperparameters:
  a: {0}
limits: {{memory: 16 GiB, wall_time: 1h}}
checkpoint: {{interval_steps: 5}}
workload: {{model: {{layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}}, global_batch: 2, steps: 3}}
"""


def test_the_table_is_there() -> None:
    assert len(ROWS) == 16


@pytest.mark.parametrize(("written", "text", "value"), ROWS)
def test_a_row_says_what_is_read(written: str, text: str, value: str) -> None:
    quoted = bind(yaml.parse(DOCUMENT.format(f"'{written}'").encode(), "run.yaml"), RunSpec).value
    assert quoted is not None
    assert quoted.environment == {"A": text}
    bound = bind(yaml.parse(DOCUMENT.format(written).encode(), "run.yaml"), RunSpec)
    if value.startswith("refused"):
        assert [f.path for f in bound.findings] == ["hyperparameters.a"]  # and the environment's text is none
    else:
        assert bound.value is not None
        assert bound.value.environment == {"A": text}
        assert bound.value.hyperparameters["a"] == (True if value == "true" else float(value))


def test_the_limits_are_those_of_the_code() -> None:
    assert f"more than 1 MiB, {syntax.MAX_DEPTH} levels, or {yaml.MAX_NODES:,} values" in PAGE
    assert source.MAX_BYTES == 2**20
    assert source.MAX_FAULTS == 50
