"""An environment moved to another template: one line of akotf.yaml changes, nothing else of it, and never half of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from akotf.errors import ConfigError
from akotf.load import upgrade as upgrading
from akotf.load.comparison import Change
from akotf.load.environment import load
from akotf.load.template import lock
from akotf.load.upgrade import Upgrade, prepare, rewritten, write

Environment = Callable[..., Path]


@pytest.fixture
def newer(catalogue: Path) -> Path:
    """tiny@1.1.0: another default of `steps`, a new one `warmup`, no `amp`."""
    folder = catalogue / "tiny" / "1.1.0"
    shutil.copytree(catalogue / "tiny" / "1.0.0", folder)
    for name, edits in {
        "template.yaml": {
            "release: 1.0.0": "release: 1.1.0", "default: 10, min": "default: 20, min",
            "  amp: {type: boolean, default: false}": "  warmup: {type: integer, default: 3}",
            "default: 1 GiB": "default: 2 GiB",
        },
        "run.yaml": {'amp: "{{ amp }}"': 'warmup: "{{ warmup }}"', "interval_steps: 5": "interval_steps: 7"},
    }.items():  # fmt: skip
        text = (folder / name).read_text()
        for old, new in edits.items():
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder


def prepared(folder: Path, catalogue: Path, reference: str = "tiny@1.1.0") -> Upgrade:
    return prepare(folder, reference, [catalogue], catalogue.parent / "cache")


def test_it_shows_what_the_baseline_would_change_and_writes_nothing(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    folder = environment()
    lock(folder, "tiny@1.0.0", [catalogue])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    found = prepared(folder, catalogue)
    assert found.effects == {
        "baseline": (
            Change("hyperparameters.steps", 10, 20),
            Change("hyperparameters.amp", False, None),
            Change("hyperparameters.name", "run-eu-10", "run-eu-20"),
            Change("limits.memory", "1 GiB", "2 GiB"),
            Change("hyperparameters.warmup", None, 3),
        ),
        "run": (Change("checkpoint.interval_steps", 5, 7), Change("workload.steps", 10, 20)),
        "parameters": (
            Change("steps", 10, 20), Change("amp", False, None), Change("memory", 2**30, 2**31), Change("warmup", None, 3),
        ),
    }  # fmt: skip
    assert {p.name: p.kind for p in found.parameters} == {
        "steps": "changed", "memory": "changed", "amp": "removed", "warmup": "added",
    }  # fmt: skip
    assert not found.nothing
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_written_it_loads_with_the_new_template_and_there_is_nothing_more_to_do(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    folder = environment("parameters: {steps: 30}\n")
    lock(folder, "tiny@1.0.0", [catalogue])
    found = prepared(folder, catalogue)
    write(found)
    state = load(folder, catalogues=[catalogue])
    assert state.revision() == found.new.revision()
    assert (state.template.version, state.run.hyperparameters["steps"]) == ("1.1.0", 30)
    again = prepared(folder, catalogue)
    assert again.nothing
    assert all(changes == () for changes in again.effects.values())


def test_parameters_that_the_new_template_asks_for_or_does_not_know_are_findings(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    path = newer / "template.yaml"
    path.write_text(
        path.read_text().replace(
            "warmup: {type: integer, default: 3}", "warmup: {type: integer, required: true}"
        )
    )
    folder = environment("parameters: {amp: true}\n")
    found = prepared(folder, catalogue)
    assert found.new is None
    assert [(f.rule, f.path) for f in found.error.findings] == [
        ("config/unknown-parameter", "parameters.amp"),
        ("config/missing-parameter", "parameters.warmup"),
    ]
    assert {p.name: p.kind for p in found.parameters}["amp"] == "removed"


@pytest.mark.parametrize("step", ["write_lock", "write_atomic"])
def test_a_crash_between_the_steps_leaves_a_clear_error_and_can_be_finished(
    catalogue: Path, environment: Environment, newer: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = environment()
    lock(folder, "tiny@1.0.0", [catalogue])
    found = prepared(folder, catalogue)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrading, step, die)
        with pytest.raises(KeyboardInterrupt):
            write(found)
    if step == "write_lock":
        assert load(folder, catalogues=[catalogue]).template.version == "1.0.0"
    else:
        with pytest.raises(ConfigError) as caught:
            load(folder, catalogues=[catalogue])
        (fault,) = caught.value.findings
        assert fault.rule == "config/pin"
        assert "tiny@1.0.0" in fault.message
        assert "tiny@1.1.0" in fault.message
    again = prepared(folder, catalogue)
    assert again.effects == found.effects
    write(again)
    assert load(folder, catalogues=[catalogue]).revision() == found.new.revision()


def test_an_edit_that_somebody_made_meanwhile_is_not_lost(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    folder = environment()
    found = prepared(folder, catalogue)
    (folder / "akotf.yaml").write_text((folder / "akotf.yaml").read_text() + "# mine\n")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        write(found)
    assert not (folder / "akotf.lock").exists()


def test_an_environment_that_does_not_load_can_be_upgraded(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    folder = environment()
    shutil.rmtree(catalogue / "tiny" / "1.0.0")
    found = prepared(folder, catalogue)
    assert "no template tiny@1.0.0" in found.trouble
    write(found)
    assert load(folder, catalogues=[catalogue]).template.version == "1.1.0"


def test_the_mode_of_akotf_yaml_stays_and_a_link_stays_a_link(
    catalogue: Path, environment: Environment, newer: Path
) -> None:
    folder = environment()
    (folder / "akotf.yaml").rename(folder / "real.yaml")
    (folder / "real.yaml").chmod(0o640)
    (folder / "akotf.yaml").symlink_to("real.yaml")
    write(prepared(folder, catalogue))
    assert (folder / "akotf.yaml").is_symlink()
    assert "tiny@1.1.0" in (folder / "real.yaml").read_text()
    assert os.stat(folder / "real.yaml").st_mode & 0o777 == 0o640


GIT = "git+https://git.example.com/org/repo//t?ref=v1.1.0"


@pytest.mark.parametrize("reference", ["tiny@1.1.0", GIT])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("version: 1\ntemplate: tiny@1.0.0\n", "version: 1\ntemplate: NEW\n"),
        ("template:   tiny@1.0.0   # why: 'x'\r\nname: d\r\n", "template:   NEW   # why: 'x'\r\nname: d\r\n"),
        ("template: 'tiny@1.0.0'\n", "template: 'NEW'\n"),
        ('"template": "tiny@1.0.0" # é\n', '"template": "NEW" # é\n'),
        ("# tiny@1.0.0\nname: é日本\ntemplate: tiny@1.0.0", "# tiny@1.0.0\nname: é日本\ntemplate: NEW"),
        ("\ufefftemplate: tiny@1.0.0\nx: y\n", "\ufefftemplate: NEW\nx: y\n"),
        ("a: |\n  template: tiny@1.0.0\ntemplate: tiny@1.0.0\n", "a: |\n  template: tiny@1.0.0\ntemplate: NEW\n"),
        ("{version: 1, template: tiny@1.0.0, name: d}\n", "{version: 1, template: NEW, name: d}\n"),
        ("template:\n  tiny@1.0.0\nname: d\n\n\n", "template:\n  NEW\nname: d\n\n\n"),
        ("notes: [tiny@1.0.0]\ntemplate: tiny@1.0.0\nn: {template: tiny@1.0.0}\n",
         "notes: [tiny@1.0.0]\ntemplate: NEW\nn: {template: tiny@1.0.0}\n"),
        ("name: 😀\ntemplate: \"tiny\\u00401.0.0\"\n", "name: 😀\ntemplate: \"NEW\"\n"),
    ],
)  # fmt: skip
def test_every_other_byte_of_akotf_yaml_stays(before: str, after: str, reference: str) -> None:
    assert rewritten(before.encode(), "akotf.yaml", reference) == after.replace("NEW", reference).encode()


@pytest.mark.parametrize(
    "text",
    [
        "a: &t tiny@1.0.0\ntemplate: *t\n",
        "template: &t tiny@1.0.0\na: *t\n",
        "template: !!str tiny@1.0.0\n",
        "template: >-\n  tiny@1.0.0\n",
        "b: &b {template: tiny@1.0.0}\n<<: *b\n",
    ],
)
def test_where_the_line_can_not_be_changed_by_itself_it_says_what_to_write(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rewritten(text.encode(), "akotf.yaml", "tiny@1.1.0")
    assert "template: tiny@1.1.0" in caught.value.remedy


def test_a_folder_without_an_environment_is_told(catalogue: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no akotf\.yaml"):
        prepared(tmp_path, catalogue)
