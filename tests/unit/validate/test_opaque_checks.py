"""Texts that no process or Terraform takes, and paths that leave the folder: each told at its place, with what to write."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from akotf.load.environment import load
from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec
from akotf.model.finding import Severity
from akotf.validate.check import check
from akotf.validate.files import path_fault
from akotf.validate.texts import MAX_STRING, MAX_TOTAL, RESERVED

ROOT = Path(__file__).parents[3]
DECOMPOSED = unicodedata.normalize("NFD", "é")


@pytest.fixture(scope="module")
def quickstart() -> DesiredState:
    return load(ROOT / "environments" / "quickstart", catalogues=[ROOT / "iac"])


@pytest.fixture
def state(tmp_path: Path, quickstart: DesiredState) -> DesiredState:
    """The quickstart's state over a folder of its own."""
    (tmp_path / "train.py").write_text("def build(h):\n    return h\n")
    (tmp_path / "akotf.lock").write_text("{}")
    return quickstart.model_copy(update={"folder": tmp_path, "akoflow": {}})


def with_run(state: DesiredState, **changes: Any) -> DesiredState:
    return state.model_copy(update={"run": RunSpec.model_validate({**state.run.model_dump(), **changes})})


def found(state: DesiredState) -> list[tuple[str, str]]:
    findings = [f for f in check(state) if f.severity is Severity.ERROR]
    assert all(f.position and f.position.line and f.remedy for f in findings)
    assert all(f.message.isprintable() and len(f.message) < 400 for f in findings)
    return [(f.rule.removeprefix("config/"), f.path) for f in findings]


def test_what_linux_takes_is_what_is_allowed(state: DesiredState) -> None:
    # The kernel is the document: the longest string that passes the check is executed, one byte more is not
    longest, long = "x" * MAX_STRING, "x" * (MAX_STRING + 1)
    subprocess.run(["/bin/true", longest], env={"A": longest[2:]}, check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(["/bin/true", long], env={}, check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(["/bin/true"], env={"A": long[2:]}, check=True)
    assert found(with_run(state, command=["x", longest], environment={"A": longest[2:]})) == []
    assert found(with_run(state, command=["x", long], environment={"A": long[2:]})) == [
        ("too-long", "run.command.1"), ("too-long", "run.environment.A"),
    ]  # fmt: skip


def test_bytes_count_and_not_characters(state: DesiredState) -> None:
    assert found(with_run(state, environment={"AB": "é" * 65_534})) == []  # 3 + 2 x 65534 = 131071
    assert found(with_run(state, environment={"AB": "é" * 65_535})) == [("too-long", "run.environment.AB")]


def test_all_texts_together_must_fit(state: DesiredState) -> None:
    many = {f"V{number:05}": "x" * 1000 for number in range(1950)}  # 1950 x (7 + 1000 + 1 + 8) = 1.98 MB
    subprocess.run(["/bin/true"], env=many, check=True)
    assert found(with_run(state, environment=many)) == [("too-long", "run.command")]
    assert found(with_run(state, environment=dict(list(many.items())[:1900]))) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["x", "a\0b"], [("command", "run.command.1")]),
        (["", "x"], [("command", "run.command.0")]),
        (["sh", "-c", "cd /x && python other.py"], []),
        (["sh", "-c", "absent.sh"], []),
        (["python", "-m", "absent.py"], []),
        (["python", "train.py", "../absent.py", "$(x).sh"], []),
        (["echo {{ x }}.py", "${SCRIPT}.sh", "https://host/a.py"], []),
        (["python", "absent.py"], [("missing-file", "run.command.1")]),
        (["/usr/bin/thing.sh"], []),
    ],
)
def test_commands(state: DesiredState, command: list[str], expected: list[tuple[str, str]]) -> None:
    assert found(with_run(state, command=command)) == expected


def test_half_characters_are_refused(state: DesiredState) -> None:
    run = state.run.model_copy(update={"command": ("x", "\udcff"), "environment": {"A": "\ud83d"}})
    broken = state.model_copy(update={"run": run})
    assert found(broken) == [("encoding", "run.command.1"), ("encoding", "run.environment.A")]


def test_names_that_terraform_would_change_are_told_and_values_of_the_baseline_are_free(
    state: DesiredState,
) -> None:
    environment = {**state.environment.model_dump(), "labels": {"cost-center": DECOMPOSED, "stage": "é"}}
    changed = with_run(
        state, hyperparameters={**state.run.hyperparameters, DECOMPOSED: 1, "text": DECOMPOSED},
        environment={"A": DECOMPOSED}, libraries={DECOMPOSED: "1"},
    ).model_copy(update={"environment": EnvironmentSpec.model_validate(environment)})  # fmt: skip
    assert found(changed) == [
        ("normalised", "labels.cost-center"), ("normalised", f"run.hyperparameters.{DECOMPOSED}"),
        ("normalised", f"run.libraries.{DECOMPOSED}"),
    ]  # fmt: skip


def test_an_expression_in_akotf_yaml_is_a_warning_but_for_parameters(state: DesiredState) -> None:
    data = {**state.environment.model_dump(), "owner": "{{ team }}", "parameters": {"x": "{{ messages }}"}}
    changed = state.model_copy(update={"environment": EnvironmentSpec.model_validate(data)})
    (warning,) = [f for f in check(changed) if f.rule == "config/not-rendered"]
    assert (warning.severity, warning.path) == (Severity.WARNING, "owner")


@pytest.mark.parametrize("partition", ["a/b", "a b", "../..", "a\nb", "x" * 201, "a\\b", "\x00"])
def test_a_partition_must_be_a_name(state: DesiredState, partition: str) -> None:
    data = state.environment.model_dump()
    data["scopes"]["campus"]["partition"] = partition
    changed = state.model_copy(update={"environment": EnvironmentSpec.model_validate(data)})
    assert found(changed) == [("partition", "scopes.campus.partition")]


LEAVING = ["..", "../x", "a/../../b", "a/..", "./..", "/etc/passwd", "/", "//x"]
NO_PATHS = [
    "",
    " ",
    "~",
    "~/x",
    "~root/x",
    "a\\b",
    "a\0b",
    "a\nb",
    "a\x7f",
    "a\u202eb",
    "x" * 256,
    "a/" * 2048 + "a",
    "é" * 128,
]


@pytest.mark.parametrize("name", [*LEAVING, *NO_PATHS])
@pytest.mark.parametrize("field", ["source", "output", "builder", "target"])
def test_a_path_that_leaves_or_is_none_is_refused_in_every_field(
    state: DesiredState, field: str, name: str
) -> None:
    assert path_fault(name) is not None
    changes: dict[str, Any] = {
        "source": {"storage": [{"source": name, "target": "/d"}]}, "output": {"outputs": [name]},
        "builder": {"workload": {**state.run.workload.model_dump(), "builder": f"{name}/x.py:build"}},
        "target": {"storage": [{"source": "s3://b/k", "target": f"/{name}"}]},
    }  # fmt: skip
    places = {"source": "run.storage.0.source", "output": "run.outputs.0", "target": "run.storage.0.target"}
    if field == "builder" and not name.strip():
        return  # "/x.py" and " /x.py" are other names
    if field == "target" and name in ("/", "//x", "/etc/passwd", "~", "~/x", "~root/x", " "):
        return  # "//x" is absolute, and so on
    ((_, path),) = found(with_run(state, **changes[field]))
    assert path == places.get(field, "run.workload.builder")


@pytest.mark.parametrize(
    "name",
    ["a", "a/b.c", "./a", "a//b", "ä ö/ü", "-x", "...", "..a", "a..", "x" * 255, "$(touch x)", "{{ x }}"],
)
def test_an_odd_name_is_a_name(name: str) -> None:
    assert path_fault(name) is None


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (["a/b", "a//b"], [("output", "run.outputs.1")]), (["a", "./a"], [("output", "run.outputs.1")]),
        (["a/"], [("output", "run.outputs.0")]), (["."], [("output", "run.outputs.0")]), (["./"], [("output", "run.outputs.0")]),
        (["a b/${x}.pt"], []),
    ],
)  # fmt: skip
def test_outputs_name_files_once(
    state: DesiredState, outputs: list[str], expected: list[tuple[str, str]]
) -> None:
    assert found(with_run(state, outputs=outputs)) == expected


@pytest.mark.parametrize(
    "source",
    ["file:///etc/passwd", ".", "./", "a/../.akotf", ".akotf", "./.akotf/runs", ".akotf//runs", "s3://b/a b"],
)
def test_sources_that_are_no_data_of_the_environment(state: DesiredState, source: str) -> None:
    (state.folder / ".akotf" / "runs").mkdir(parents=True)
    ((_, path),) = found(with_run(state, storage=[{"source": source, "target": "/d"}]))
    assert path == "run.storage.0.source"


def test_links_are_followed_before_they_are_judged(
    state: DesiredState, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, outside = state.folder, tmp_path_factory.mktemp("outside")
    (outside / "f").write_text("x")
    (folder / "real").mkdir()
    (folder / "real" / "f").write_text("x")
    (folder / ".akotf").mkdir()
    links = {
        "good": "real", "leaf": outside / "f", "middle": outside, "climb": "..", "loop": "loop", "gone": "nowhere", "own": ".akotf",
        "twice": "leaf", "all": ".",
    }  # fmt: skip
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")

    def rule(source: str) -> list[str]:
        return [rule for rule, _ in found(with_run(state, storage=[{"source": source, "target": "/d"}]))]

    for good in ("good", "good/f", "real", "real/f"):
        assert rule(good) == []
    for bad in ("leaf", "middle", "middle/f", "climb", "twice", "own", "all"):
        assert rule(bad) == ["outside"], bad
    assert rule("loop") == rule("gone") == rule("real/absent") == rule("real/f/x") == ["missing-file"]
    assert rule("pipe") == ["path"]


def test_a_builder_that_is_no_file_hangs_nobody(state: DesiredState) -> None:
    os.mkfifo(state.folder / "pipe.py")
    (state.folder / "folder.py").mkdir()
    for file, rule in (("pipe.py", "path"), ("folder.py", "builder")):
        workload = {**state.run.workload.model_dump(), "builder": f"{file}:build"}
        assert found(with_run(state, workload=workload)) == [(rule, "run.workload.builder")]


def test_the_environment_may_be_reached_through_a_link(
    state: DesiredState, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(state.folder)
    assert found(state.model_copy(update={"folder": link})) == []


def test_the_guide_says_these_limits() -> None:
    page = (ROOT / "docs" / "how-to" / "text-and-paths.md").read_text()
    assert f"more than {MAX_STRING:,} bytes" in page
    assert f"more than {MAX_TOTAL - RESERVED:,} bytes" in page
