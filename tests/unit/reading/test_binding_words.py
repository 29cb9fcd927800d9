"""Faults of binding: each says the place, what is wrong and what to write; a key in the wrong place, where it belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from akotf.load.rendering import render
from akotf.model.akoflow import TopologyFile
from akotf.model.config import EnvironmentSpec, RunSpec, TemplateSpec
from akotf.model.finding import Finding
from akotf.reading import yaml
from akotf.reading.bind import bind
from akotf.reading.nodes import Mark

ENVIRONMENT = "version: 1\nname: demo\nowner: me\ntemplate: tiny@1.0.0\n"
RUN = """\
image: {reference: x}
command: [python]
limits: {memory: 16 GiB, wall_time: 1h}
checkpoint: {interval_steps: 5}
workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: 3}
"""


def findings(text: str, model: Any = EnvironmentSpec) -> list[Finding]:
    return bind(yaml.parse(text.encode(), "f.yaml"), model).findings


def one(text: str, model: Any = EnvironmentSpec) -> Finding:
    (found,) = findings(text, model)
    return found


@pytest.mark.parametrize(
    ("lines", "remedy"),
    [
        ("budget: 25 USD\n", "it belongs elsewhere: objective.budget"),
        ("teardown: always\n", "it belongs elsewhere: lifecycle.teardown"),
        ("heal: auto\n", "it belongs elsewhere: monitor.heal"),
        ("objective: {scopes: {}}\n", "'scopes' belongs at the top of the document: mend its indentation"),
        ("scopes:\n  a:\n    kind: local\n    lifecycle: {}\n", "'lifecycle' belongs at the top of the document: mend its indentation"),
        ("monitor: {ttl: 1h}\n", "it belongs elsewhere: lifecycle.ttl"),
        ("partition: gpu\n", "it belongs elsewhere: scopes.NAME.partition"),
        ("objective: {budgets: 1 USD}\n", "did you mean 'budget'?"),
        ("Objective: {}\n", "did you mean 'objective'?"),
        ("owner:team: x\n", "write a space after the colon: owner: team"),
        ("lifecycle: {kind: x}\n", "it belongs elsewhere: scopes.NAME.kind"),
    ],
)  # fmt: skip
def test_a_misplaced_key_is_told_where_it_belongs(lines: str, remedy: str) -> None:
    found = one(ENVIRONMENT + lines)
    assert (found.rule, found.remedy) == ("config/unknown-key", remedy)


def test_a_misplaced_key_is_known_in_any_spelling_of_its_case() -> None:
    text = "id: a\nname: a\nversion: 1\nexecutionScopeId: s\npriceperbyte: 1\n"
    assert one(text, TopologyFile).remedy == "it belongs elsewhere: links.N.pricePerByte"


@pytest.mark.parametrize(
    ("lines", "place", "remedy"),
    [
        ("limits: {H100:8, memory: 1 GiB, wall_time: 1h}", "f.yaml:3:10", "allowed here: nodes"),
        ("outputs: {a, b}", "f.yaml:6:10", "write [a, b]"),
        ("outputs: model.pt", "f.yaml:6:10", "write [model.pt]"),
        ("outputs: {a: b}", "f.yaml:6:10", "write - item lines"),
        ("environment: [A=1]", "f.yaml:6:14", "write key: value lines"),
        ("processes: [4]", "f.yaml:6:12", "write 4"),
        ("processes: {a: 4}", "f.yaml:6:12", "write one value, in quotes if it holds ': ' or brackets"),
        ("processes: [4, 5]", "f.yaml:6:12", "write one value, in quotes if it holds commas or brackets"),
        ("environment: {H100:8}", "f.yaml:6:15", "write a space after the colon: H100: 8"),
        ("environment: {A: }", "f.yaml:6:15", "write one, or remove the line"),
        ("processes: '4'", "f.yaml:6:12", "write 4 without quotes"),
        ("processes: 4.0", "f.yaml:6:12", "write decimal digits, such as 8"),
        ("processes: 0x10", "f.yaml:6:12", "write decimal digits, such as 8"),
        ("processes: 99999999999999999999", "f.yaml:6:12", "write a whole number of at most 18 digits"),
        ("processes: 0", "f.yaml:6:12", "write at least 1"),
        ("hyperparameters: {lr: 1e999}", "f.yaml:6:23", "quote it to mean text"),
        ("hyperparameters: {amp: yes}", "f.yaml:6:24", "write true or false; to mean text, quote it: 'yes'"),
    ],
)  # fmt: skip
def test_a_fault_names_its_place_and_what_to_write(lines: str, place: str, remedy: str) -> None:
    key = lines.partition(":")[0]
    text = (
        RUN
        if f"\n{key}:" not in RUN
        else "\n".join(r for r in RUN.split("\n") if not r.startswith(f"{key}:"))
    )
    text = text + lines + "\n" if text == RUN else text.replace("checkpoint:", f"{lines}\ncheckpoint:")
    found = one(text, RunSpec)
    assert str(found.position) == place
    assert found.remedy.startswith(remedy)


WRONG = ["", "~", "{}", "[]", "[a]", "{a: b}", "{a}", "'x'", "x", "yes", "1", "-1", "1.5", "1e999", "9" * 30, "0x1",
         ".inf", "1:30", "2026-10-01", "2026-99-01", "''", "' '", "[[]]", "[{}]", "{a: {b: c}}", "&x [1, 2]", "1 GiB", "1e-400"]  # fmt: skip


@pytest.mark.parametrize("model", [EnvironmentSpec, RunSpec, TemplateSpec])
def test_every_fault_of_every_field_has_place_words_and_remedy(model: Any) -> None:
    """Each field of each document with each wrong value."""
    count = 0
    for name in model.model_fields:
        for value in WRONG:
            for text in (f"{name}: {value}\n", f"{name}: {{a: {value}}}\n", f"{name}: [{value or '~'}]\n"):
                for found in findings(text, model):
                    assert found.position, text
                    assert found.position.line >= 1, text
                    assert len(found.message) > 5, text
                    assert found.remedy, (text, found)
                    count += 1
    assert count > 1000


def test_a_document_of_nothing_but_faults_tells_the_first_fifty() -> None:
    text = ENVIRONMENT + "".join(f"wrong{i}: 1\n" for i in range(500))
    found = findings(text)
    assert [f.rule for f in found[:50]] == ["config/unknown-key"] * 50
    assert [f.rule for f in found[50:]] == ["config/too-many-faults"]
    assert [f.position.line for f in found[:50] if f.position] == list(range(5, 55))


MERGED = """\
x-defaults: &defaults
  budget: 25
  deadline: 2h
objective:
  <<: *defaults
  prefer: cost
"""


def test_a_merged_value_is_told_at_the_place_where_it_was_written() -> None:
    found = {f.path: f for f in findings(ENVIRONMENT + MERGED)}
    assert str(found["objective.budget"].position) == "f.yaml:6:11"  # 25 without a currency, in the anchor
    bound = bind(yaml.parse((ENVIRONMENT + MERGED).encode(), "f.yaml"), EnvironmentSpec)
    places = {path: str(position) for path, position in bound.positions.items()}
    assert places["objective.deadline"] == "f.yaml:7:13"
    assert places["objective.prefer"] == "f.yaml:10:11"
    assert places["objective"] == "f.yaml:9:3"


def test_an_alias_is_told_where_its_anchor_is_and_by_the_path_that_uses_it() -> None:
    text = RUN + "environment: {A: &none , B: *none }\n"
    assert [(f.path, str(f.position)) for f in findings(text, RunSpec)] == [
        ("environment.A", "f.yaml:6:15"), ("environment.B", "f.yaml:6:26"),
    ]  # fmt: skip


def test_places_survive_rendering(tmp_path: Path) -> None:
    """A constraint on a rendered value names where the parameter was given, or where the expression stands."""
    text = RUN.replace("interval_steps: 5", "interval_steps: '{{ every }}', keep: '{{ 1 - 1 }}'")
    text = text.replace("checkpoint: {", "x: &m {").replace("steps: 3", "steps: '{{ total }}'")
    text = text.replace("workload:", "checkpoint: {<<: *m}\nworkload:")
    source = tmp_path / "run.yaml"
    source.write_text(text)
    rendered = render(yaml.parse(text.encode(), "run.yaml"), {"every": 0, "total": 9}, {"every": Mark("akotf.yaml", 7, 3)}, source)  # fmt: skip
    bound = bind(rendered.node, RunSpec, prefix="run")
    found = {f.path: str(f.position) for f in bound.findings if f.rule == "config/value"}
    assert found == {
        "run.checkpoint.interval_steps": "akotf.yaml:7:3",
        "run.checkpoint.keep": "run.yaml:4:45",
    }
    assert str(bound.positions["run.workload.steps"]) == "run.yaml:6:105"
