"""The how-to's backend is real: its file, its entry point and its tests are taken from the page and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from akotf.backends import registry
from akotf.ports import Backend

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-backend.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The page's Python files under the names it gives them."""
    names = re.findall(r"^`(\w+\.py)`:$", PAGE.read_text(encoding="utf-8"), re.M)
    assert names == ["akotf_polite.py", "test_akotf_polite.py"]
    for name, text in zip(names, blocks("python"), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_entry_point_of_the_page_loads(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package))
    (table,) = (tomllib.loads(block)["project"]["entry-points"][registry.GROUP] for block in blocks("toml"))
    points = {name: EntryPoint(name=name, value=value, group=registry.GROUP) for name, value in table.items()}
    assert registry.load("polite", points).name == "polite"


def test_page_names_every_method_of_the_port() -> None:
    methods = {name for name in vars(Backend) if not name.startswith("_")}
    named = set(re.findall(r"^\| `(\w+)\(", PAGE.read_text(encoding="utf-8"), re.M))
    assert named == {name for name in methods if callable(getattr(Backend, name))}


def test_tests_of_the_page_pass(package: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "polite and not died"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), *filter(None, sys.path)])}
    done = subprocess.run(
        [*command, "test_akotf_polite.py"],
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) passed", done.stdout)
    assert found is not None and int(found[1]) > 20
