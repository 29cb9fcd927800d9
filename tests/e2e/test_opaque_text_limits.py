"""As much text as a process takes at all, in the spelling that swells most, through Terraform, process and agent."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from akotf.apply import deploy
from akotf.backends.local import LocalBackend
from akotf.facts.node import read_baseline
from akotf.model.config import DesiredState, Limits
from akotf.model.plan import Candidate
from akotf.model.run import RunRequest
from akotf.model.tfplan import Deployment
from akotf.render.tree import render
from akotf.telemetry.agent_client import AgentSource
from akotf.terraform.runner import TerraformRunner, find_binary
from akotf.validate.texts import MAX_STRING, MAX_TOTAL, RESERVED

REPOSITORY = Path(__file__).parents[2]
INPUT = REPOSITORY / "tests" / "golden" / "render_local" / "in"
# JSON makes six bytes of each of these: 14 variables are 1.8 MB for the process and 11 MB in a file
VARIABLES = {f"V{number:02}": "\x01" * (MAX_STRING - 4) for number in range(14)}
SWOLLEN = 6 * (MAX_STRING - 4) * 14
# Six of them are 4.7 MB on the way to the provider, more than the 4 MiB that gRPC takes by itself
SIX = dict(list(VARIABLES.items())[:6])


def test_the_variables_are_about_as_many_as_are_allowed() -> None:
    total = sum(len(name) + 1 + len(value) + 1 + 8 for name, value in VARIABLES.items())
    assert total < MAX_TOTAL - RESERVED < total + MAX_STRING


def test_process_and_agent_take_them(tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.mkdir()
    baseline = {"schema": 1, "deployment": "e/s/p", "environment": VARIABLES}
    (node / "baseline.json").write_text(json.dumps(baseline))
    request = RunRequest(
        key="big-a1", run_id="big", attempt=1, environment_name="e", deployment="e/s/p", baseline_digest="sha256:0",
        command=(sys.executable, "-I", "-c", "import time; time.sleep(100)"), working_directory=str(tmp_path),
        run_directory=str(tmp_path / "run"), attempt_directory=str(tmp_path / "run" / "attempt-1"),
        node_directory=str(node), environment=VARIABLES, limits=Limits(memory=2**30, wall_time=100.0),
    )  # fmt: skip
    backend, source = LocalBackend(), AgentSource()
    handle = backend.submit(request)
    try:
        source.start_agent(node, linger=1.0)
        assert len(source.get(node, "/observation")) > SWOLLEN
        facts = source.read(node).facts
        assert {name: facts[f"environment.{name}"] for name in VARIABLES} == VARIABLES
    finally:
        backend.cancel(request, handle, grace=1.0)
        end = time.monotonic() + 20
        while (node / "agent.json").exists() and time.monotonic() < end:
            time.sleep(0.05)


@pytest.mark.terraform
def test_terraform_and_the_provider_take_them(tmp_path: Path) -> None:
    template = tmp_path / "template"
    shutil.copytree(REPOSITORY / "iac" / "gpu-training" / "1.0.0" / "terraform", template / "terraform")
    shutil.copytree(REPOSITORY / "modules" / "local-gpu", template / "modules" / "local-gpu")
    state = json.loads((INPUT / "state.json").read_text())
    state["run"]["environment"] = SIX
    state["run"]["limits"].update(cpus=1)
    tree = render(
        DesiredState.model_validate({**state, "folder": tmp_path, "template_folder": template}),
        Candidate.model_validate_json((INPUT / "candidate.json").read_text()),
        Deployment(environment="demo", scope="workstation", placement="here"), node_directory=tmp_path / "node",
        state_path=tmp_path / "terraform.tfstate", interpreter=sys.executable, selection_digest="sha256:s",
        baseline_digest="sha256:b",
    )  # fmt: skip
    assert len(tree.files["akotf.auto.tfvars.json"]) > 4 * 2**20
    surroundings = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"),
    }  # fmt: skip
    runner = TerraformRunner(find_binary(), environment=surroundings)
    plan = deploy.prepare(runner, tmp_path / "root", tree)
    runner.apply(plan)
    runner.discard(plan)
    assert read_baseline(tmp_path / "node")["environment"] == SIX
    again = deploy.prepare(runner, tmp_path / "root", tree)
    runner.discard(again)
    assert not again.has_changes
