"""The quickstart's files say the same thing: the book, the AkôFlow documents, the manifests, the contract, the scripts."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

import akotf
from akotf.load.akoflow import read_documents
from akotf.load.environment import load
from akotf.model.akoflow import WorkflowFile
from akotf.model.akoflow_scopes import derive_scopes
from akotf.record.contract import parse

PROJECT = Path(__file__).resolve().parents[3]
QUICKSTART = PROJECT / "environments" / "quickstart"
ACTIVITIES = [
    "profile-workload", "plan-local-gpu", "plan-hpc", "plan-cloud", "compare-plans", "select-scope", "train",
]  # fmt: skip


@pytest.fixture(scope="module")
def documents() -> Any:
    """The four AkôFlow files, read strictly."""
    return read_documents(QUICKSTART, lambda folder, name: folder / name)


def read(name: str) -> Any:
    """A JSON or YAML file of the bundle."""
    return yaml.safe_load((QUICKSTART / name).read_text(encoding="utf-8"))


def test_the_book_is_the_one_its_readme_describes() -> None:
    """Size, digest, alphabet and unigram entropy, -sum p ln p over characters, as data/README.md states them."""
    text = (QUICKSTART / "data" / "alice.txt").read_bytes()
    counts = Counter(text)
    entropy = -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())
    readme = (QUICKSTART / "data" / "README.md").read_text(encoding="utf-8")
    assert f"{len(text)} bytes" in readme
    assert hashlib.sha256(text).hexdigest() in readme
    assert f"{len(counts)} different characters" in readme
    assert f"{entropy:.3f} nats" in readme
    assert text.isascii()


def test_no_mark_of_an_electronic_edition_is_left() -> None:
    """Names under which others publish the text are theirs."""
    text = (QUICKSTART / "data" / "alice.txt").read_text(encoding="utf-8").lower()
    assert not [word for word in ("gutenberg", "fulcrum", "copyright") if word in text]


def test_the_akoflow_files_are_without_fault(documents: Any) -> None:
    """Strict reading: no unknown field, no dangling reference."""
    assert [str(finding) for finding in documents.findings] == []
    assert sorted(documents.models) == ["environment.yaml", "scope.yaml", "topology.yaml", "workflow.yaml"]


def test_the_akoflow_resources_are_the_scopes_of_the_environment(documents: Any) -> None:
    """Who reads only AkôFlow's files gets the same three scopes."""
    state = load(QUICKSTART, catalogues=[PROJECT / "iac"])
    derived = derive_scopes(documents.models["environment.yaml"])
    assert derived == dict(state.environment.scopes)


def test_the_workflow_is_the_pass(documents: Any) -> None:
    """Seven activities in an order that can run; each calls itself by name and says what it publishes."""
    workflow = documents.models["workflow.yaml"]
    assert isinstance(workflow, WorkflowFile)
    activities = workflow.spec.activities
    assert [activity.name for activity in activities] == ACTIVITIES
    done: set[str] = set()
    for activity in activities:
        assert set(activity.dependsOn) <= done
        done.add(activity.name)
        assert activity.command is not None
        assert activity.command.entrypoint == "akotf"
        assert activity.command.arguments[:3] == ("activity", activity.name, ".")
        assert activity.expectedOutputs
        assert all(path.startswith("outputs/") for path in activity.expectedOutputs)


def test_every_dependency_on_data_names_what_its_producer_publishes(documents: Any) -> None:
    """A logical name is a file of `expectedOutputs`."""
    workflow = documents.models["workflow.yaml"]
    published = {activity.name: activity.expectedOutputs for activity in workflow.spec.activities}
    for edge in workflow.spec.dataDependencies:
        assert f"outputs/{edge.logicalName}" in published[edge.producerActivity]


def test_input_and_expected_manifest_agree() -> None:
    """AkôFlow's validator compares showcase and artifacts; both files must name the same."""
    given, expected = read("data/input.json"), read("expected/manifest.json")
    assert set(given) == {"slug", "title", "stages", "artifacts"}
    assert expected == {"showcase": given["slug"], "artifacts": given["artifacts"], "status": "success"}
    assert given["stages"] == ACTIVITIES


def test_the_contract_asks_for_what_the_quickstart_shows() -> None:
    """All kinds are there, the three drifts by name, and a margin that counting letters can't reach."""
    contract = parse(read("validation.yaml"))
    assert {check.kind for check in contract.checks} == {
        "run", "artifacts", "digests", "expected", "metric", "drifts", "prediction", "evidence",
    }  # fmt: skip
    drifts = next(check for check in contract.checks if check.kind == "drifts")
    assert drifts.fields == (
        "hyperparameters.file.learning_rate", "limits.open_files", "hyperparameters.in_use.learning_rate",
    )  # fmt: skip
    metric = next(check for check in contract.checks if check.kind == "metric")
    assert (metric.metric, metric.below, metric.margin) == ("validation_loss", "unigram_entropy", 0.5)


def test_outputs_the_run_must_leave_are_those_the_contract_names() -> None:
    """What the template declares as outputs is what `artifacts` asks for."""
    state = load(QUICKSTART, catalogues=[PROJECT / "iac"])
    contract = parse(read("validation.yaml"))
    artifacts = next(check for check in contract.checks if check.kind == "artifacts")
    assert set(artifacts.paths) == set(state.run.outputs)
    assert set(read("expected/manifest.json")["artifacts"]) <= set(state.run.outputs)


@pytest.mark.training
def test_the_declared_vocabulary_and_shape_are_those_of_the_model() -> None:
    """`akotf profile` traces the builder on meta tensors; the declared model must give the same parameter count."""
    state = load(QUICKSTART, catalogues=[PROJECT / "iac"])
    code = (
        "import json, sys, importlib.util as u, torch\n"
        "s = u.spec_from_file_location('train', sys.argv[1]); m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        "with torch.device('meta'): module, inputs = m.build(json.loads(sys.argv[2]))\n"
        "shape = list(module(*inputs).shape)\n"
        "print(json.dumps([sum(p.numel() for p in module.parameters()), shape]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(QUICKSTART / "train.py"), json.dumps(state.run.hyperparameters)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    parameters, shape = json.loads(done.stdout)
    model = state.run.workload.model
    layers, hidden = model.layers, model.hidden
    # tied embeddings V x h, positions S x h, a block 12 h^2 + 13 h, the last norm 2 h; the book has V = 70
    assert parameters == (70 + model.sequence) * hidden + layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden
    assert shape == [state.run.workload.global_batch, model.sequence, 70]


@pytest.mark.parametrize("script", ["dev", ".ci/run", "environments/quickstart/run.sh"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    """`sh -n` reads them without a fault."""
    path = PROJECT / script
    assert path.stat().st_mode & stat.S_IXUSR
    subprocess.run(["sh", "-n", str(path)], check=True)


def test_dev_tells_its_verbs_and_refuses_others() -> None:
    """`./dev help` needs nothing installed; an unknown verb fails and shows them too."""
    shown = subprocess.run(["sh", str(PROJECT / "dev"), "help"], capture_output=True, text=True, check=True)
    for verb in ("quickstart", "setup", "tools", "test", "check", "bench"):
        assert f"\n  {verb} " in shown.stdout
    wrong = subprocess.run(
        ["sh", str(PROJECT / "dev"), "nonsense"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "nonsense" in wrong.stderr


@pytest.mark.skipif("AKOTF_TEST_INSTALLED" not in os.environ, reason="only `./dev test` installs the wheel")
def test_the_package_under_test_is_the_installed_wheel() -> None:
    """Not the tree beside the tests."""
    assert Path(akotf.__file__).is_relative_to(sys.prefix)
