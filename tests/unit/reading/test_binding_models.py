"""Nodes to models: text as written, strict numbers, all faults at once with their places."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from akotf.model.config import EnvironmentSpec, RunSpec
from akotf.reading import yaml
from akotf.reading.bind import bind

GOOD = """\
version: 1
name: demo
owner: no
template: tiny@1.0.0
labels: {stage: 1e-4, zone: 0755, mode: off}
objective: {budget: 25 USD, deadline: 1:30:00}
monitor: {telemetry: 2s}
waivers: [{rule: a, owner: b, reason: c, ticket: T-1, expires: 2026-10-01}]
"""
RUN = """\
image: {reference: x}
command: [python, -u, 3.10]
environment: {LR: 1e-4, REGION: no, WANDB_MODE: off, ZERO: 0}
hyperparameters: {lr: 1e-4, steps: 3, amp: true, name: plain, day: 2026-10-01}
limits: {cpus: 2, memory: 16 GiB, wall_time: 6-00:00:00}
checkpoint: {interval_steps: 5}
workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: 3}
"""


def read(text: str, model: Any, **options: Any) -> Any:
    return bind(yaml.parse(text.encode(), "f.yaml"), model, **options)


def rules(text: str, model: Any = EnvironmentSpec) -> list[tuple[str, str, int]]:
    return [(f.rule, f.path, f.position.line) for f in read(text, model).findings]


def test_text_fields_keep_what_was_written() -> None:
    value = read(GOOD, EnvironmentSpec).value
    assert value.owner == "no"
    assert value.labels == {"stage": "1e-4", "zone": "0755", "mode": "off"}
    run = read(RUN, RunSpec).value
    assert run.command == ("python", "-u", "3.10")
    assert run.environment == {"LR": "1e-4", "REGION": "no", "WANDB_MODE": "off", "ZERO": "0"}


def test_units_are_parsed_from_the_text() -> None:
    value = read(GOOD, EnvironmentSpec).value
    assert value.objective.deadline == 5400.0  # 1:30:00 is hours, minutes, seconds, never base 60
    assert str(value.objective.budget) == "25 USD"
    assert value.waivers[0].expires == dt.date(2026, 10, 1)
    limits = read(RUN, RunSpec).value.limits
    assert (limits.memory, limits.wall_time) == (16 * 2**30, 6 * 86400.0)


def test_hyperparameters_take_the_type_that_the_text_shows() -> None:
    values = read(RUN, RunSpec).value.hyperparameters
    assert values == {"lr": 1e-4, "steps": 3, "amp": True, "name": "plain", "day": "2026-10-01"}
    assert [type(v) for v in values.values()] == [float, int, bool, str, str]


@pytest.mark.parametrize(
    "text", ["yes", "No", "True", "1_000", "0755", "08", "0x10", ".inf", "nan", "1:30", "1,000"]
)
def test_a_hyperparameter_that_leaves_doubt_is_refused(text: str) -> None:
    source = RUN.replace("name: plain", f"name: '{text}'")
    assert read(source, RunSpec).value.hyperparameters["name"] == text  # quoted: text
    found = read(source.replace(f"'{text}'", text), RunSpec).findings if "," not in text else None
    if found is not None:
        assert [f.rule for f in found] == ["config/ambiguous-value"]
        assert f"'{text}'" in found[0].remedy


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
version: 2
nme: demo
name: Demo!
owner: me
labels: {x: }
objective: {budget: 25, deadline: 90, prefer: costs}
scopes:
  Bad: {kind: local}
  campus: {kind: hcp, nodes: {count: 0, cpus: "8", memory: 64}}
  aws: {kind: cloud, market: spot, price: 12}
monitor: 5
"""
    assert rules(text) == [
        ("config/missing-key", "template", 1),
        ("config/type", "version", 1),
        ("config/unknown-key", "nme", 2),
        ("config/value", "name", 3),
        ("config/needs-value", "labels.x", 5),
        ("config/value", "objective.budget", 6),
        ("config/value", "objective.deadline", 6),
        ("config/type", "objective.prefer", 6),
        ("config/value", "scopes.Bad", 8),
        ("config/type", "scopes.campus.kind", 9),
        ("config/value", "scopes.campus.nodes.count", 9),
        ("config/type", "scopes.campus.nodes.cpus", 9),
        ("config/value", "scopes.campus.nodes.memory", 9),
        ("config/type", "scopes.aws.market", 10),
        ("config/value", "scopes.aws.price", 10),
        ("config/type", "monitor", 11),
    ]


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("objectives: {}", "did you mean 'objective'?"),
        ("Labels: {}", "did you mean 'labels'?"),
        ("paramaters: {}", "did you mean 'parameters'?"),
        ("zzz: 1", "allowed here: version, name"),
    ],
)
def test_a_misspelt_key_names_the_right_one(line: str, remedy: str) -> None:
    finding = read(GOOD + line + "\n", EnvironmentSpec).findings[0]
    assert finding.rule == "config/unknown-key"
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize("top", ["- a\n- b\n", "just text\n", "'x'\n", "3\n"])
def test_a_document_that_is_no_mapping_is_one_fault(top: str) -> None:
    assert rules(top) == [("config/type", "", 1)]


@pytest.mark.parametrize("null", ["", "~", "null", "NULL"])
def test_a_null_is_never_text(null: str) -> None:
    found = read(RUN.replace("REGION: no", f"REGION: {null}"), RunSpec).findings
    assert [(f.rule, f.path) for f in found] == [("config/needs-value", "environment.REGION")]
    assert "needs a value" in found[0].message


def test_a_bare_number_has_no_unit() -> None:
    found = read(RUN.replace("16 GiB", "64").replace("6-00:00:00", "3600"), RunSpec).findings
    assert [f.path for f in found] == ["limits.memory", "limits.wall_time"]


def test_whole_numbers_are_not_floats_and_booleans_are_not_words() -> None:
    text = RUN.replace("interval_steps: 5", "interval_steps: 5.0, durable: yes")
    assert [f.path for f in read(text, RunSpec).findings] == [
        "checkpoint.interval_steps",
        "checkpoint.durable",
    ]


def test_a_date_is_a_calendar_date() -> None:
    for text in ("2026", "2026-13-01", "01-10-2026"):
        assert [f.path for f in read(GOOD.replace("2026-10-01", text), EnvironmentSpec).findings] == [
            "waivers.0.expires"
        ]


def test_every_value_has_its_place_under_the_prefix() -> None:
    positions = read(RUN, RunSpec, prefix="run").positions
    assert str(positions["run.environment.REGION"]) == "f.yaml:3:33"
    assert str(positions["run.command.2"]) == "f.yaml:2:23"
    assert str(positions["run.workload.model.heads"]) == "f.yaml:7:49"


def test_null_can_mean_absent_as_in_go() -> None:
    bound = read(RUN + "outputs: null\nstorage:\n", RunSpec, null_is_absent=True)
    assert bound.findings == []
    assert bound.value.outputs == ()
