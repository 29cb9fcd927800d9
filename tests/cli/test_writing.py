"""init, validate, template and policy: what somebody does before anything runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def project(new_project: Any) -> Any:
    return new_project()


def test_a_new_environment_validates_at_once_outside_any_project(project: Any, tmp_path: Path) -> None:
    done = project.akotf("init", "my-training", cwd=tmp_path)
    assert sorted(Path(line).name for line in done.stdout.split()) == [
        "README.md", "akotf.lock", "akotf.yaml", "train.py",
    ]  # fmt: skip
    assert "akotf validate my-training" in done.stderr
    assert project.json("validate", "my-training", cwd=tmp_path)["valid"] is True


def test_a_new_environment_validates_at_once_inside_a_project(project: Any) -> None:
    project.akotf("init", "environments/second", "--name", "the-second")
    (found,) = project.json("validate", "environments/second")["environments"]
    assert (found["valid"], found["environment"]) == (True, "the-second")
    # from within the folder, too
    (within,) = project.json("validate", cwd=project.folder / "environments" / "second")["environments"]
    assert [within[key] for key in ("valid", "revision", "baseline")] == [
        found[key] for key in ("valid", "revision", "baseline")
    ]


def test_init_overwrites_nothing(project: Any) -> None:
    before = (project.environment / "akotf.yaml").read_text()
    assert "already" in project.akotf("init", str(project.environment), code=1).stderr
    assert (project.environment / "akotf.yaml").read_text() == before


def test_a_name_that_can_not_be_is_refused_with_one_that_can(project: Any) -> None:
    assert "--name my-run" in project.akotf("init", "My Run!", code=1).stderr
    assert not (project.folder / "My Run!").exists()


def test_validate_shows_every_fault_with_file_line_and_column(project: Any) -> None:
    file = project.environment / "akotf.yaml"
    text = (
        file.read_text()
        .replace("prefer: cost", "prefer: beauty")
        .replace("budget: 10 USD", "budget: 10 pebbles")
    )
    file.write_text(text)
    lines = text.splitlines()
    said = project.akotf("validate", str(project.environment), code=1).stderr
    for word in ("beauty", "10 pebbles"):
        number = next(n for n, line in enumerate(lines, 1) if word in line)
        column = lines[number - 1].index(word) + 1
        assert f"akotf.yaml:{number}:{column}: " in said, said
    (found,) = project.json("validate", str(project.environment), code=1)["environments"]
    assert {(f["position"]["line"], f["position"]["column"]) for f in found["findings"]} == {
        (n, line.index(word) + 1)
        for n, line in enumerate(lines, 1) for word in ("beauty", "10 pebbles") if word in line
    }  # fmt: skip


def test_a_folder_that_is_not_there_says_how_to_make_one(project: Any) -> None:
    assert "akotf init nowhere" in project.akotf("validate", "nowhere", code=1).stderr


def test_templates_are_listed_shown_locked_and_verified(project: Any) -> None:
    assert "gpu-training@1.0.0" in project.akotf("template", "list").stdout
    assert project.json("template", "list")["templates"][0]["reference"] == "gpu-training@1.0.0"
    assert "checkpoint_interval" in project.akotf("template", "show", "gpu-training@1.0.0").stdout
    pinned = (project.environment / "akotf.lock").read_text()
    project.akotf("template", "lock", str(project.environment))
    assert (project.environment / "akotf.lock").read_text() == pinned
    assert project.json("template", "verify")["intact"] is True


def test_a_published_template_can_not_be_changed_in_silence(project: Any) -> None:
    template = project.folder / "iac" / "gpu-training" / "1.0.0"
    with (template / "terraform" / "local" / "main.tf").open("a") as file:
        file.write("# harmless?\n")
    assert project.json("template", "verify", code=1)["intact"] is False
    said = project.akotf("validate", str(project.environment), code=1).stderr
    assert "gpu-training" in said


def test_rules_are_listed_explained_and_tested(project: Any) -> None:
    rules = project.json("policy", "list")["rules"]
    assert "total-gpus" in {rule["id"] for rule in rules}
    assert "64" in project.akotf("policy", "explain", "total-gpus").stdout
    assert "policy list" in project.akotf("policy", "explain", "no-such-rule", code=1).stderr
    assert {rule["stage"] for rule in project.json("policy", "list", "--stage", "drift")["rules"]} == {
        "drift"
    }
    read = project.json("policy", "explain", "budget-present", str(project.environment))["objects"][0][
        "reads"
    ][0]
    assert (read["path"], Path(read["position"]["file"]).name) == ("objective", "akotf.yaml")
    assert "--tfplan" in project.akotf("policy", "explain", "imdsv2", str(project.environment), code=1).stderr
    assert project.json("policy", "test", "total-gpus")["passed"] is True
    assert project.json("policy", "test")["passed"] is True
    rule = project.folder / "policies" / "budget-present" / "rule.yaml"
    rule.write_text(rule.read_text().replace("> 0.0", "> 1000000.0"))
    assert project.json("policy", "test", code=1)["passed"] is False


def test_the_schema_is_for_editors(project: Any) -> None:
    schema = project.json("schema", "akotf.yaml")
    assert {"name", "template", "scopes"} <= set(schema["properties"])


def test_doctor_says_what_is_missing_and_how_to_get_it(project: Any) -> None:
    found = project.json("doctor")
    assert found["ready"] is True
    assert {c["name"] for c in found["checks"]} >= {"terraform or tofu", "torch", "sbatch", "boto3"}
    assert all(c["found"] or c["remedy"] for c in found["checks"])
    git = shutil.which("git")
    bare = project.folder / "bin"
    bare.mkdir()
    if git:
        (bare / "git").symlink_to(git)
    done = project.akotf("doctor", code=1, PATH=str(bare))
    assert "MISSING" in done.stdout
    assert "1.10" in done.stdout
