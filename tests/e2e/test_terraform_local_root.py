"""The rendered local root with the real Terraform and akotf's real provider."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import akotf
from akotf.apply import deploy
from akotf.apply.destroy import destroy
from akotf.apply.heal import heal
from akotf.errors import TerraformError
from akotf.model.config import DesiredState
from akotf.model.drift import Action, Decision
from akotf.model.journal import GENESIS, Actor, Entry
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.model.tree import FileTree
from akotf.render.provider import launcher_paths
from akotf.render.tree import render
from akotf.terraform.runner import TerraformRunner, find_binary

pytestmark = pytest.mark.terraform

REPOSITORY = Path(__file__).parents[2]
INPUT = REPOSITORY / "tests" / "golden" / "render_local" / "in"
BASELINE = "module.local_gpu.akotf_baseline.this"
DEPLOYMENT = Deployment(environment="demo", scope="workstation", placement="here")
SELECTION = "sha256:selection"


class Kinds:
    """A journal of which only the kinds matter here."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        self.kinds.append(kind)
        return Entry(
            sequence=len(self.kinds), time="", kind=kind, environment=environment, subject=subject,
            actor=Actor(user="u", host="h"), body=dict(body), previous=GENESIS, hash="",
        )  # fmt: skip

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        return iter(())


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """This Python, or, where akotf is only on PYTHONPATH (which the launcher rightly ignores), a script that adds it."""
    asked = [sys.executable, "-E", "-P", "-c", "import akotf.tfprovider"]
    folder = tmp_path_factory.mktemp("python")
    if subprocess.run(asked, cwd=folder, capture_output=True, check=False).returncode == 0:
        return sys.executable
    place = str(Path(akotf.__file__).parents[1])
    code = f"import runpy, sys; sys.path.insert(0, {place!r}); runpy.run_module('akotf.tfprovider', run_name='__main__', alter_sys=True)"
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -E -P -c "{code}"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "xdg")}


@pytest.fixture
def runner(surroundings: dict[str, str]) -> TerraformRunner:
    return TerraformRunner(find_binary(), environment=surroundings)


@pytest.fixture
def tree_of(tmp_path: Path, interpreter: str) -> Callable[..., FileTree]:
    folder = tmp_path / "template"
    shutil.copytree(REPOSITORY / "iac" / "gpu-training" / "1.0.0" / "terraform", folder / "terraform")
    shutil.copytree(REPOSITORY / "modules" / "local-gpu", folder / "modules" / "local-gpu")

    def make(run: Mapping[str, Any] | None = None, environment: Mapping[str, Any] | None = None) -> FileTree:
        state = json.loads((INPUT / "state.json").read_text())
        state["run"].update(run or {})
        state["run"]["limits"].update(cpus=1)
        state["environment"].update(environment or {})
        return render(
            DesiredState.model_validate({**state, "folder": tmp_path, "template_folder": folder}),
            Candidate.model_validate_json((INPUT / "candidate.json").read_text()), DEPLOYMENT,
            node_directory=tmp_path / "node", state_path=tmp_path / "state" / "terraform.tfstate",
            interpreter=interpreter, selection_digest=SELECTION, baseline_digest="sha256:baseline",
        )  # fmt: skip

    return make


def deployed(runner: TerraformRunner, root: Path, tree: FileTree) -> FileTree:
    """Applies a tree; returns it with its approval."""
    plan = deploy.prepare(runner, root, tree)
    runner.discard(plan)
    approval = deploy.approval_for(plan, tree.digest(), SELECTION)
    approved = deploy.with_approval(tree, approval)
    deploy.apply(runner, root, approved, approval, journal=Kinds(), environment="demo", deployment=DEPLOYMENT)
    return approved


def hyperparameters(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "node" / "hyperparameters.json").read_text())
    return found


def test_applied_drifted_healed_destroyed(
    runner: TerraformRunner, tree_of: Callable[..., FileTree], surroundings: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    tree = tree_of()
    approved = deployed(runner, root, tree)
    assert hyperparameters(tmp_path) == {
        "learning_rate": 0.001,
        "steps": 300,
        "schedule": "cosine",
        "nesterov": True,
    }
    assert runner.outputs(root)["baseline_id"] == DEPLOYMENT.id
    settled = deploy.prepare(runner, root, tree)
    runner.discard(settled)
    assert not settled.has_changes

    # Somebody changes the file, and somebody (else) the root.
    spoilt = {**hyperparameters(tmp_path), "learning_rate": 0.5}
    (tmp_path / "node" / "hyperparameters.json").write_text(json.dumps(spoilt))
    (root / "evil.tf").write_text('resource "terraform_data" "evil" {}\n')

    # A plain `terraform plan` in the root, without any of our configuration, shows both.
    typed = subprocess.run(
        [str(find_binary()), "plan", "-no-color"], cwd=root, env=surroundings, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert typed.returncode == 0, typed.stderr
    assert (
        "0.5" in typed.stdout
        and "0.001" in typed.stdout
        and f"# {BASELINE} will be updated in-place" in typed.stdout
    )
    assert "terraform_data.evil" in typed.stdout

    journal = Kinds()
    decision = Decision(action=Action.HEAL_IN_PLACE, drifts=(), reason="drift", addresses=(BASELINE,))
    result = heal(
        runner, root, approved, decision, judge=lambda plan: None, journal=journal, environment="demo",
        deployment=DEPLOYMENT,
    )  # fmt: skip
    assert result.applied and [c.address for c in result.changes] == [BASELINE]
    assert hyperparameters(tmp_path)["learning_rate"] == 0.001
    assert "evil" not in json.dumps(runner.state(root))

    gone = destroy(
        runner, root, judge=lambda plan: None, journal=journal, environment="demo", deployment=DEPLOYMENT
    )
    assert len(gone.addresses) == 3
    again = destroy(
        runner, root, judge=lambda plan: None, journal=journal, environment="demo", deployment=DEPLOYMENT
    )
    assert again.addresses == ()
    assert journal.kinds == ["heal.intent", "heal.done", "destroy.intent", "destroy.done"]


def test_a_plain_terraform_apply_heals(
    runner: TerraformRunner, tree_of: Callable[..., FileTree], surroundings: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    deployed(runner, root, tree_of())
    (tmp_path / "node" / "hyperparameters.json").write_text("{}")
    typed = subprocess.run(
        [str(find_binary()), "apply", "-auto-approve", "-no-color"], cwd=root, env=surroundings, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert typed.returncode == 0, typed.stderr
    assert "0 added, 1 changed, 0 destroyed" in typed.stdout
    assert hyperparameters(tmp_path)["learning_rate"] == 0.001


def test_a_rendered_root_without_its_interpreter_says_so(
    runner: TerraformRunner, tree_of: Callable[..., FileTree], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    runner.discard(deploy.prepare(runner, root, tree_of()))
    (root / ".akotf-python").unlink()
    with pytest.raises(TerraformError, match=r"\.akotf-python is missing"):
        runner.plan(root)


PIECES = ["$", "%", "{", "}", '"', "\\", "\n", "~", "$$", "${", "%{", "$${", "%%{", "a", " ", "é", "😀", "\t", "<<EOT", "//", "#",
          "/*", "*/", "\u2028", "\x7f", "\x01", "${file(\"/etc/hostname\")}", "%{ for k in [1] }x%{ endfor }"]  # fmt: skip


def test_hostile_texts_come_out_equal(
    runner: TerraformRunner, tree_of: Callable[..., FileTree], tmp_path: Path
) -> None:
    # No character of a user's text is code for Terraform: 500 texts through labels (plain) and 500 through the
    # baseline (JSON text), read back from Terraform itself.
    draw = random.Random(7)
    texts = ["".join(draw.choice(PIECES) for _ in range(draw.randrange(0, 9))) for _ in range(500)]
    named = {f"n{i}": text for i, text in enumerate(texts)}
    tree = tree_of(environment={"labels": named}, run={"environment": named})
    reader = (
        'variable "labels" {\n  type = map(string)\n}\nvariable "baseline" {\n  type = any\n}\n'
        'output "labels" {\n  value = var.labels\n}\noutput "environment" {\n  value = { for k, v in var.baseline.environment : k => jsondecode(v) }\n}\n'
    )
    root = tmp_path / "reader"
    root.mkdir()
    for name in ("akotf.auto.tfvars.json", "backend.tf"):
        (root / name).write_bytes(tree.files[name])
    (root / "main.tf").write_text(reader)
    runner.init(root)
    plan = runner.plan(root)
    runner.discard(plan)
    assert plan.outputs["labels"] == named
    assert plan.outputs["environment"] == named


def test_a_hostile_state_path_is_only_a_path(runner: TerraformRunner, tmp_path: Path) -> None:
    from akotf.render.hcl import local_backend

    hostile = tmp_path / '${path.cwd}"%{x}\\n' / 'a"\n}\nb.tfstate'
    root = tmp_path / "root"
    root.mkdir()
    (root / "backend.tf").write_text(local_backend(hostile))
    (root / "main.tf").write_text('resource "terraform_data" "a" {}\n')
    runner.init(root)
    plan = runner.plan(root)
    runner.apply(plan)
    runner.discard(plan)
    assert hostile.is_file()


def test_the_provider_is_found_below_any_folder(
    runner: TerraformRunner, tree_of: Callable[..., FileTree], tmp_path: Path
) -> None:
    root = tmp_path / "a${b %{c \"'\\ \U0001f600" / "root"
    plan = deploy.prepare(runner, root, tree_of())
    runner.discard(plan)
    assert BASELINE in {change.address for change in plan.changes}


@pytest.mark.parametrize("module", sorted(p.name for p in (REPOSITORY / "modules").iterdir() if p.is_dir()))
def test_modules_pass_terraform_test(
    module: str, tree_of: Callable[..., FileTree], surroundings: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "module"
    shutil.copytree(REPOSITORY / "modules" / module, folder)
    tree = tree_of()
    for name in (*launcher_paths(), ".akotf-python"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(tree.files[name])
        (folder / name).chmod(0o755)
    terraform = str(find_binary())
    for argv in (["init", "-input=false"], ["validate"], ["test"]):
        ended = subprocess.run(
            [terraform, *argv, "-no-color"], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 failed" in ended.stdout and "passed" in ended.stdout
