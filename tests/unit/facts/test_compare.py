"""Approved values against facts."""

from typing import Any

import pytest

from akotf.facts.compare import compare, line, same

BASELINE: dict[str, Any] = {
    "hyperparameters": {"learning_rate": 1e-3, "steps": 300},
    "environment": {"OMP_NUM_THREADS": "2"},
    "limits": {"open_files": 4096, "cpus": 2, "wall_time": 60, "gpus": 1, "nodes": 1, "shared_memory": 1},
    "libraries": {"torch": "2.13.0"},
    "gpu_settings": {"mig": "disabled", "power_limit_watts": "400"},
}
FACTS: dict[str, Any] = {
    "hyperparameters.file.learning_rate": 0.001,
    "hyperparameters.file.steps": 300.0,
    "hyperparameters.in_use.learning_rate": 0.001,
    "environment.OMP_NUM_THREADS": "2",
    "limits.open_files": 4096,
    "limits.cpus": 2,
    "libraries.torch": "2.13.0",
    "gpu.0.mig": "disabled",
    "gpu.0.power_limit_watts": 400.0,
}


def differences(**changes: Any) -> list[tuple[str, Any, Any]]:
    facts = {**FACTS, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [(d["field"], d["approved"], d["observed"]) for d in compare(BASELINE, facts)]


def test_equal_by_value_whatever_the_spelling() -> None:
    assert differences() == []


def test_each_group_is_seen() -> None:
    assert differences(
        hyperparameters__file__learning_rate=0.01, hyperparameters__in_use__learning_rate=0.02,
        environment__OMP_NUM_THREADS="8", limits__open_files=1024, limits__cpus=1, libraries__torch="2.12.0",
        gpu__0__mig="enabled", gpu__0__power_limit_watts=350.0,
    ) == [
        ("hyperparameters.file.learning_rate", 0.001, 0.01), ("hyperparameters.in_use.learning_rate", 0.001, 0.02),
        ("environment.OMP_NUM_THREADS", "2", "8"), ("limits.cpus", 2, 1), ("limits.open_files", 4096, 1024),
        ("libraries.torch", "2.13.0", "2.12.0"), ("gpu.0.mig", "disabled", "enabled"),
        ("gpu.0.power_limit_watts", "400", 350.0),
    ]  # fmt: skip


def test_what_nobody_declared_can_not_differ() -> None:
    assert differences(environment__EXTRA="x", hyperparameters__file__seed=3, limits__processes=5) == []
    assert differences(limits__wall_time=1, limits__gpus=0) == []  # declared, but no facts of a process


def test_absent_counts_where_it_was_looked_for() -> None:
    assert differences(hyperparameters__file__steps=None) == [("hyperparameters.file.steps", 300, None)]
    assert differences(environment__OMP_NUM_THREADS=None) == [("environment.OMP_NUM_THREADS", "2", None)]


def test_a_name_missing_from_a_file_that_was_read_is_absent() -> None:
    facts = {name: value for name, value in FACTS.items() if name != "hyperparameters.file.steps"}
    assert compare(BASELINE, facts) == [
        {"field": "hyperparameters.file.steps", "approved": 300, "observed": None}
    ]


def test_what_was_not_read_is_no_difference() -> None:
    assert compare(BASELINE, {}) == []
    only_file = {name: value for name, value in FACTS.items() if name.startswith("hyperparameters.file")}
    assert compare(BASELINE, only_file) == []


def test_unreadable_names_hide_a_field_or_a_group() -> None:
    facts = {**FACTS, "limits.open_files": 1, "environment.OMP_NUM_THREADS": "9"}
    assert compare(BASELINE, facts, {"limits": "?", "environment.OMP_NUM_THREADS": "?"}) == []
    assert len(compare(BASELINE, facts, {"limits.open": "?"})) == 2  # no prefix of a name by its letters


def test_every_gpu_is_held_to_the_settings() -> None:
    assert differences(gpu__1__mig="enabled", gpu__10__mig="disabled") == [
        ("gpu.1.mig", "disabled", "enabled")
    ]


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True), (1e-3, 0.001, True), (True, 1, False), (0, False, False), ("1", 1, False),
        ([1, 2.0], [1.0, 2], True), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"b": 1}, False),
        (2**70, float(2**70), True), (2**70 + 1, float(2**70), False), (None, 0, False), (None, None, True),
    ],
)  # fmt: skip
def test_equality_of_json_values(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal


def test_a_secret_is_compared_only_with_a_digest_of_the_same_kind() -> None:
    facts = {"environment.TOKEN": "hmac-sha256:aa"}
    assert compare({"environment": {"TOKEN": "env:TOKEN"}}, facts) == []
    assert compare({"environment": {"TOKEN": "hmac-sha256:aa"}}, facts) == []
    assert len(compare({"environment": {"TOKEN": "hmac-sha256:bb"}}, facts)) == 1


def test_a_line_is_ascii_and_says_all() -> None:
    told = line("n1", {"field": "limits.open_files", "approved": 4096, "observed": 1024})
    assert told == "node n1: limits.open_files: approved 4096, observed 1024"
    absent = line("n1", {"field": "environment.A", "approved": "é", "observed": None})
    assert absent == 'node n1: environment.A: approved "\\u00e9", observed absent'
