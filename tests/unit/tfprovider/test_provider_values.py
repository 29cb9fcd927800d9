"""Values on their way through Terraform, and faults of a configuration."""

from typing import Any

import pytest
from tf.types import Unknown

from akotf.tfprovider.checks import check_baseline, check_pool
from akotf.tfprovider.values import Num, from_text, map_to_texts, same_map, to_text


@pytest.mark.parametrize("value", [0, 1, -5, 2**70, 0.1, 3e-4, 1.5])
def test_numbers_survive_the_wire(value: float) -> None:
    assert Num().decode(Num().encode(value)) == value


def test_terraforms_inexact_numbers_become_numbers() -> None:
    assert Num().decode("0.0003") == 0.0003
    assert Num().decode("1180591620717411303424") == 2**70


def test_texts_are_ascii_json() -> None:
    assert to_text("é") == '"\\u00e9"'
    assert from_text(to_text("e\u0301")) == "e\u0301"  # not composed to one character
    with pytest.raises(ValueError, match="NaN"):
        from_text("NaN")


def test_a_value_read_back_keeps_its_spelling() -> None:
    prior = {"a": "1e-3", "b": "0.5", "c": "not json"}
    assert map_to_texts({"a": 0.001, "b": 0.25, "c": 1, "d": True}, prior) == {
        "a": "1e-3", "b": "0.25", "c": "1", "d": "true",
    }  # fmt: skip


def test_maps_compare_by_value() -> None:
    assert same_map({"a": "1e-3"}, {"a": "0.001"})
    assert not same_map({"a": "1"}, {"a": "true"})
    assert not same_map({"a": "1"}, {"b": "1"})
    assert not same_map({"a": "1"}, {"a": Unknown})
    assert not same_map(Unknown, {})
    assert same_map({}, {})


RIGHT: dict[str, Any] = {
    "deployment": "env/ws/here", "node_directory": "/n", "hyperparameters": {"a": "1"}, "environment": {"A": '"x"'},
    "limits": {"open_files": "4096"}, "libraries": {}, "gpu_settings": {},
}  # fmt: skip


def test_a_right_configuration_and_one_not_known_yet_have_no_faults() -> None:
    assert list(check_baseline(RIGHT)) == []
    assert (
        list(check_baseline({**RIGHT, "limits": Unknown, "environment": {"A": Unknown}, "deployment": None}))
        == []
    )


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"deployment": "a|b"}, ["deployment"]), ({"deployment": ""}, ["deployment"]),
        ({"node_directory": "relative"}, ["node_directory"]),
        ({"hyperparameters": {"a": "abc"}}, ["hyperparameters", ("a",)]),
        ({"hyperparameters": {"a": "NaN"}}, ["hyperparameters", ("a",)]),
        ({"hyperparameters": {"a": None}}, ["hyperparameters", ("a",)]),
        ({"environment": {"A": "1"}}, ["environment", ("A",)]),
        ({"limits": {"gpus": "1"}}, ["limits", ("gpus",)]),
        ({"limits": {"cpus": "0"}}, ["limits", ("cpus",)]), ({"limits": {"cpus": "true"}}, ["limits", ("cpus",)]),
        ({"limits": {"memory": "1.5"}}, ["limits", ("memory",)]),
        ({"gpu_settings": {"mig": "false"}}, ["gpu_settings", ("mig",)]),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_attribute(change: dict[str, Any], path: list[Any]) -> None:
    faults = list(check_baseline({**RIGHT, **change}))
    assert [fault[0] for fault in faults] == [path]


def test_all_faults_at_once() -> None:
    assert len(list(check_baseline({**RIGHT, "limits": {"x": "1", "cpus": "no"}, "deployment": ""}))) == 3


@pytest.mark.parametrize(
    ("gpus", "cpus", "count"), [(0, 1, 0), (8, 64, 0), (-1, 1, 1), (0, 0, 1), (1.5, "0.5", 2)]
)
def test_counts_of_a_pool(gpus: Any, cpus: Any, count: int) -> None:
    assert len(list(check_pool({"deployment": "a/b/c", "gpus": gpus, "cpus": cpus}))) == count
