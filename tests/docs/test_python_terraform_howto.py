"""The how-to on python-terraform is run as it is written, and the faults that the ADR names are still there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import akotf
from akotf.model.config import DesiredState
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.render.tree import render
from akotf.terraform.runner import find_binary

pytestmark = pytest.mark.terraform

REPOSITORY = Path(__file__).parents[2]
INPUT = REPOSITORY / "tests" / "golden" / "render_local" / "in"
HOWTO = REPOSITORY / "docs" / "how-to" / "script-with-python-terraform.md"


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """PATH finds a `terraform`, which the library starts by that name; and what an evil shell would have set."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "terraform").symlink_to(find_binary())
    return {
        "PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "xdg"),
        "TF_CLI_ARGS_plan": "-destroy",
    }  # fmt: skip


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """This Python, or, where akotf is only on PYTHONPATH (which the launcher rightly ignores), a script that adds it."""
    asked = [sys.executable, "-E", "-P", "-c", "import akotf.tfprovider"]
    if subprocess.run(asked, cwd=tmp_path, capture_output=True, check=False).returncode == 0:
        return sys.executable
    place = str(Path(akotf.__file__).parents[1])
    code = f"import runpy, sys; sys.path.insert(0, {place!r}); runpy.run_module('akotf.tfprovider', run_name='__main__', alter_sys=True)"
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -E -P -c "{code}"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def root(tmp_path: Path, interpreter: str) -> Iterator[Path]:
    """A rendered root, as `akotf plan` leaves it."""
    template = tmp_path / "template"
    shutil.copytree(REPOSITORY / "iac" / "gpu-training" / "1.0.0" / "terraform", template / "terraform")
    shutil.copytree(REPOSITORY / "modules" / "local-gpu", template / "modules" / "local-gpu")
    state = json.loads((INPUT / "state.json").read_text())
    state["run"]["limits"]["cpus"] = 1
    tree = render(
        DesiredState.model_validate({**state, "folder": tmp_path, "template_folder": template}),
        Candidate.model_validate_json((INPUT / "candidate.json").read_text()),
        Deployment(environment="demo", scope="workstation", placement="here"),
        node_directory=tmp_path / "node", state_path=tmp_path / "terraform.tfstate",
        interpreter=interpreter, selection_digest="sha256:s", baseline_digest="sha256:b",
    )  # fmt: skip
    folder = tmp_path / "root"
    for name, data in tree.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o755 if name in tree.executable else 0o644)
    yield folder


def test_the_script_finds_drift_and_puts_it_right(
    root: Path, surroundings: dict[str, str], tmp_path: Path
) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", HOWTO.read_text(), re.MULTILINE | re.DOTALL)
    script = tmp_path / "heal.py"
    script.write_text(block)

    def run() -> list[str]:
        argv = [sys.executable, "-W", "error", str(script), str(root)]
        ended = subprocess.run(argv, env=surroundings, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout.splitlines()

    created = run()
    assert "module.local_gpu.akotf_baseline.this create" in created and created[-1] == "[]"
    assert run() == ["[]"]
    file = tmp_path / "node" / "hyperparameters.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "learning_rate": 9}))
    assert run() == ["module.local_gpu.akotf_baseline.this update", "[]"]
    assert json.loads(file.read_text())["learning_rate"] == 0.001
    assert not list(root.glob("*.tfplan"))


FAULTS = """
import json, sys
from python_terraform import Terraform
terraform = Terraform(working_dir=sys.argv[1])
found = {"init": terraform.init()[0], "planned": terraform.plan()[1]}
found["apply"] = terraform.apply()[2]
found["applied"] = terraform.apply(skip_plan=True)[0]
found["directory"] = terraform.plan("x")[2]
found["destroy"] = terraform.destroy()[2]
try:
    terraform.output("a")
except TypeError as error:
    found["output"] = str(error)
print(json.dumps(found))
"""


def test_the_faults_that_the_decision_rests_on_are_still_there(
    surroundings: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "main.tf").write_text('output "a" {\n  value = "b"\n}\n')
    argv = [sys.executable, "-c", FAULTS, str(root)]
    ended = subprocess.run(
        argv, env={k: v for k, v in surroundings.items() if not k.startswith("TF_")}, capture_output=True, text=True, check=True
    )  # fmt: skip
    found = json.loads(ended.stdout)
    assert (found["init"], found["applied"]) == (0, 0)
    assert "EOF" in found["apply"]
    assert "Too many command line arguments" in found["directory"]
    assert "-force" in found["destroy"]
    assert "indices" in found["output"]
