"""Facts of the machine."""

import json
import os

import pytest

from akotf.facts import machine


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0-3,8\n", {0, 1, 2, 3, 8}), ("0", {0}), ("", set()), ("0-1,4-5", {0, 1, 4, 5})],
)
def test_the_kernels_cpu_lists(text: str, expected: set[int]) -> None:
    assert machine.parse_cpu_list(text) == expected


def test_the_figures_agree_with_the_kernels() -> None:
    assert os.sched_getaffinity(0) <= machine.cpus_online()
    assert 0 < machine.cpus_usable() <= len(os.sched_getaffinity(0))
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < machine.memory_total() <= physical
    assert machine.cpu_model()


def test_the_description_is_json_of_this_machine() -> None:
    found = machine.describe()
    assert found["hostname"] == os.uname().nodename
    assert json.loads(json.dumps(found)) == found
