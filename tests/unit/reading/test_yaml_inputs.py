"""Every input gives the value that was meant or faults that say where, what and what to write; on any PyYAML."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "readings.py"
OTHERS = [folder for folder in os.environ.get("AKOTF_TEST_OTHER_PYYAML", "").split(os.pathsep) if folder]


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("akotf_test_readings", PROGRAM)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


readings = _load()


def typed(value: Any) -> Any:
    """With the type of every value, as 1 == 1.0 == True."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value).__name__, value)


@pytest.mark.parametrize("name", readings.VALUES)
def test_an_input_gives_the_value_that_was_meant(name: str) -> None:
    data, expected = readings.VALUES[name]
    found = readings.outcome(data)
    assert typed(found.get("value", found)) == typed(expected)


@pytest.mark.parametrize("name", readings.FAULTS)
def test_an_input_gives_faults_with_place_and_remedy(name: str) -> None:
    data, expected = readings.FAULTS[name]
    rows = readings.outcome(data)["faults"]
    assert [tuple(row[:3]) for row in rows] == list(expected.found)
    assert all(message and remedy for *_, message, remedy in rows)


@pytest.mark.parametrize("name", readings.DEEP)
def test_an_input_without_end_gives_one_fault(name: str) -> None:
    data, rule = readings.DEEP[name]
    rows = readings.outcome(data)["faults"]
    assert rows[-1][0] == rule
    assert len(rows) == 1 or rule == "too-many-faults"


@pytest.fixture(scope="module")
def installed() -> dict[str, Any]:
    """What this PyYAML's C parser gives."""
    return in_child("CSafeLoader")


def in_child(loader: str, folder: str = "") -> dict[str, Any]:
    """All inputs read in a process of its own, by a loader of the PyYAML in `folder` (default: the installed one)."""
    path = [
        folder,
        os.environ.get("PYTHONPATH", ""),
        *(p for p in sys.path if p and "site-packages" not in p),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in path if p),
        "PYTHONWARNINGS": "default",
    }
    done = subprocess.run(
        [sys.executable, str(PROGRAM), loader], env=environment, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def agree(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The same values, the same words."""
    assert one["outcomes"].keys() == other["outcomes"].keys()
    for name in (
        "deep brackets",
        "deep braces",
    ):  # libyaml stops by itself at the thousandth, and says so there
        for outcomes in (one["outcomes"], other["outcomes"]):
            outcomes[name] = {"faults": [row[:1] + row[-2:] for row in outcomes[name]["faults"]]}
    differing = {
        name: (found, other["outcomes"][name])
        for name, found in one["outcomes"].items()
        if typed(found) != typed(other["outcomes"][name])
    }
    assert differing == {}


def test_the_python_parser_gives_the_same(installed: dict[str, Any]) -> None:
    assert len(installed["outcomes"]) > 100
    agree(installed, in_child("SafeLoader"))


def test_other_versions_of_pyyaml_give_the_same(installed: dict[str, Any]) -> None:
    if not OTHERS:
        message = "AKOTF_TEST_OTHER_PYYAML names no folder with another PyYAML; `./dev test` installs one"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    for folder in OTHERS:
        version = in_child("SafeLoader", folder)
        assert version["pyyaml"] != installed["pyyaml"]
        agree(installed, version)
        agree(installed, in_child("CSafeLoader", folder))
