"""An environment folder to its desired state, or all its faults."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import ConfigError, IntegrityError
from akotf.load.environment import load
from akotf.load.template import lock
from akotf.model.config import DesiredState

Write = Callable[..., Path]


def faults(folder: Path, catalogue: Path, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[catalogue], **options)
    return [(f.rule.removeprefix("config/"), f.path) for f in caught.value.findings]


def test_the_state_holds_template_parameters_and_run(catalogue: Path, environment: Write) -> None:
    folder = environment("parameters: {steps: 20, region: no, note: abc}\n".replace("note: abc", "wall: 2h"))
    state = load(folder, catalogues=[catalogue])
    assert state.environment.parameters == {"steps": 20, "region": "no", "wall": 7200.0}
    assert state.parameters["rate"] == 0.1
    assert state.run.hyperparameters == {"steps": 20, "rate": 0.1, "amp": False, "name": "run-no-20"}
    assert state.run.command == ("python", "train.py", "{{ not rendered }}")
    assert state.run.environment == {"LR": "1e-4", "KEEP": "${{ run.args }}"}
    assert state.run.limits.gpu is None  # a parameter that is not set leaves the field alone
    assert state.run.limits.memory == 2**30
    assert (state.folder, state.template_folder) == (
        folder.resolve(),
        (catalogue / "tiny" / "1.0.0").resolve(),
    )


def test_places_lead_to_where_a_value_was_written(
    catalogue: Path, environment: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = environment("parameters:\n  steps: 20\n")
    monkeypatch.chdir(folder.parent)
    state = load(folder, catalogues=[catalogue])
    assert str(state.positions["scopes.here.kind"]) == "demo/akotf.yaml:5:23"
    assert str(state.positions["run.hyperparameters.steps"]) == "demo/akotf.yaml:7:10"
    assert str(state.positions["run.hyperparameters.rate"]) == "iac/tiny/1.0.0/template.yaml:6:33"


def test_the_same_text_elsewhere_is_the_same_revision(
    catalogue: Path, environment: Write, tmp_path: Path
) -> None:
    folder = environment()
    first = load(folder, catalogues=[catalogue])
    other = folder.rename(tmp_path / "elsewhere")
    assert load(other, catalogues=[catalogue]).revision() == first.revision()
    (other / "akotf.yaml").write_text((other / "akotf.yaml").read_text() + "parameters: {steps: 11}\n")
    assert load(other, catalogues=[catalogue]).revision() != first.revision()


def test_nothing_there_says_how_to_begin(tmp_path: Path, catalogue: Path) -> None:
    for folder in (tmp_path / "absent", catalogue):
        with pytest.raises(ConfigError) as caught:
            load(folder, catalogues=[catalogue])
        assert caught.value.remedy == f"akotf init {folder}"


def test_akotf_yaml_by_another_name_is_told(catalogue: Path, environment: Write) -> None:
    folder = environment()
    (folder / "akotf.yaml").rename(folder / "akotf.yml")
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[catalogue])
    assert caught.value.remedy == "rename akotf.yml to akotf.yaml"


def test_faults_of_all_files_come_at_once(catalogue: Path, environment: Write) -> None:
    folder = environment(
        "parameters: {steps: 0, stepz: 1}\nlabls: {}\n",
        workflow_yaml="name: w\nspec: {namespace: n, activities: [{name: a, run: x, dependsOn: [b]}]}\n",
    )
    assert sorted(faults(folder, catalogue)) == [
        ("akoflow/reference", "spec.activities.0.dependsOn.0"),
        ("bounds", "parameters.steps"),
        ("unknown-key", "labls"),
        ("unknown-parameter", "parameters.stepz"),
    ]


def test_a_fault_in_the_rendered_run_points_to_the_environment(catalogue: Path, environment: Write) -> None:
    run = catalogue / "tiny" / "1.0.0" / "run.yaml"
    run.write_text(run.read_text().replace("cpus: 1", 'cpus: "{{ steps - 10 }}"'))
    with pytest.raises(ConfigError) as caught:
        load(environment("parameters:\n  steps: 10\n"), catalogues=[catalogue])
    (finding,) = caught.value.findings
    assert (finding.path, finding.position.line) == ("run.limits.cpus", 7)
    assert finding.position.file.endswith("akotf.yaml")


def test_a_fault_of_a_default_points_to_the_template(catalogue: Path, environment: Write) -> None:
    run = catalogue / "tiny" / "1.0.0" / "run.yaml"
    run.write_text(run.read_text().replace("cpus: 1", 'cpus: "{{ steps - 10 }}"'))
    with pytest.raises(ConfigError) as caught:
        load(environment(), catalogues=[catalogue])
    (finding,) = caught.value.findings
    assert str(finding.position).endswith("template.yaml:5:35")  # the 10 of steps


def test_an_unknown_template_is_told_where_it_is_named(catalogue: Path, environment: Write) -> None:
    folder = environment()
    (folder / "akotf.yaml").write_text(
        (folder / "akotf.yaml").read_text().replace("tiny@1.0.0", "tiny@3.0.0")
    )
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[catalogue])
    (finding,) = caught.value.findings
    assert (finding.path, finding.position.line, finding.position.column) == ("template", 4, 11)
    assert "tiny@1.0.0" in finding.remedy


def test_a_pin_holds_the_template(catalogue: Path, environment: Write) -> None:
    folder = environment()
    pinned = lock(folder, "tiny@1.0.0", [catalogue]).content
    assert load(folder, catalogues=[catalogue]).template.content == pinned
    with (catalogue / "tiny" / "1.0.0" / "run.yaml").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(ConfigError) as caught:
        load(folder, catalogues=[catalogue])
    (finding,) = caught.value.findings
    assert finding.rule == "config/pin"
    assert pinned in finding.message
    assert finding.message.count("sha256:") == 2
    (folder / "akotf.lock").write_text((folder / "akotf.lock").read_text().replace("1.0.0", "0.9.0"))
    assert faults(folder, catalogue) == [("pin", "template")]


def test_a_changed_published_template_is_an_integrity_error(catalogue: Path, environment: Write) -> None:
    (catalogue / "index.lock").write_text('{"schema": 1, "templates": {"tiny@1.0.0": "sha256:00"}}')
    with pytest.raises(IntegrityError):
        load(environment(), catalogues=[catalogue])


@pytest.mark.parametrize(
    ("overrides", "path", "value"),
    [
        ({"steps": "40"}, "parameters.steps", 40),
        ({"steps": 41}, "parameters.steps", 41),
        ({"parameters.steps": "42"}, "parameters.steps", 42),
        ({"region": "no"}, "parameters.region", "no"),
        ({"wall": "2h"}, "parameters.wall", 7200.0),
        ({"rate": 0.5}, "parameters.rate", 0.5),
        ({"objective.deadline": "90m"}, "environment.objective.deadline", 5400.0),
        ({"owner": "off"}, "environment.owner", "off"),
        ({"scopes.aws": {"kind": "cloud", "regions": ["a"]}}, "environment.scopes.aws.regions.0", "a"),
    ],
)
def test_overrides_win(
    overrides: dict[str, Any], path: str, value: Any, catalogue: Path, environment: Write
) -> None:
    state: Any = load(environment("parameters: {steps: 20}\n"), catalogues=[catalogue], overrides=overrides)
    for part in path.split("."):
        state = (
            state[int(part)]
            if part.isdigit()
            else state[part]
            if isinstance(state, dict)
            else getattr(state, part)
        )
    assert state == value
    assert type(state) is type(value)


def test_a_wrong_override_is_named(catalogue: Path, environment: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        load(environment(), catalogues=[catalogue], overrides={"steps": "many", "stepz": "1"})
    assert [str(f.position) for f in caught.value.findings] == ["override stepz", "override steps"]


@pytest.mark.parametrize(
    ("name", "rule", "path", "remedy"),
    [
        ("stepz", "unknown-parameter", "parameters.stepz", "did you mean 'steps'?"),
        ("parameters.a.b", "unknown-parameter", "parameters.a.b", "allowed here: "),
        ("objektive.budget", "unknown-key", "objektive.budget", "did you mean 'objective'?"),
        ("objective.budgets", "unknown-key", "objective.budgets", "did you mean 'budget'?"),
        ("scopes.here.regoins", "unknown-key", "scopes.here.regoins", "did you mean 'regions'?"),
    ],
)
def test_an_override_of_what_is_not_there_is_told_with_the_near_name(
    name: str, rule: str, path: str, remedy: str, catalogue: Path, environment: Write
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(environment(), catalogues=[catalogue], overrides={name: "1"})
    (finding,) = caught.value.findings
    assert (finding.rule, finding.path) == (f"config/{rule}", path)
    assert str(finding.position) == f"override {name.removeprefix('parameters.')}"
    assert finding.remedy.startswith(remedy)


def test_files_that_lead_out_of_the_folder_are_refused(
    catalogue: Path, environment: Write, tmp_path: Path
) -> None:
    folder = environment()
    secret = tmp_path / "secret.yaml"
    (folder / "akotf.yaml").rename(secret)
    (folder / "akotf.yaml").symlink_to(secret)
    with pytest.raises(ConfigError, match="leads out"):
        load(folder, catalogues=[catalogue])
    (folder / "akotf.yaml").unlink()
    secret.rename(folder / "akotf.yaml")
    (folder / "workflow.yaml").symlink_to("/etc/hostname")
    assert faults(folder, catalogue) == [("akoflow/file", "")]


def test_an_environment_file_that_never_ends_is_not_opened(catalogue: Path, environment: Write) -> None:
    folder = environment()
    (folder / "akotf.yaml").unlink()
    os.mkfifo(folder / "akotf.yaml")
    assert faults(folder, catalogue) == [("file", "")]


def test_the_quickstart_says_what_the_readme_promises(quickstart: DesiredState) -> None:
    assert quickstart.environment.name == "quickstart"
    assert list(quickstart.environment.scopes) == ["workstation", "campus", "aws"]
    campus = quickstart.environment.scopes["campus"]
    assert (campus.nodes.gpu, campus.queue_wait, str(campus.price)) == ("A100-80GB", 2700.0, "0.60 USD/gpu/h")
    assert quickstart.run.hyperparameters["learning_rate"] == 1e-3
    assert quickstart.run.workload.steps == quickstart.run.hyperparameters["steps"] == 300
    assert "@sha256:" in quickstart.run.image.reference
    assert quickstart.run.outputs == ("model.pt", "metrics.json", "sample.txt")


@pytest.fixture
def quickstart() -> DesiredState:
    root = Path(__file__).parents[3]
    return load(root / "environments" / "quickstart", catalogues=[root / "iac"])
