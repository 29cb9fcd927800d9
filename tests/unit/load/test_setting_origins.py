"""Each setting's origin: the source that decided it, the place, and the way that the value came."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.load.environment import load
from akotf.model.config import DesiredState
from akotf.model.origin import Origin, Source
from akotf.model.settings import Leaf, settings, shown

Write = Callable[..., Path]

RUN = """\
image: {reference: "repo@sha256:00"}
command: [python, train.py]
hyperparameters:
  steps: "{{ steps }}"
  rate: "{{ rate }}"
  twice: "{{ steps * 2 }}"
  name: "run-{{ region }}-{{ steps }}"
  fixed: 7
  sum: "{{ 1 + 1 }}"
secrets: {TOKEN: env:THEIRS, ONLY: env:ONLY}
limits:
  cpus: 1
  memory: "{{ memory }}"
  wall_time: "{{ wall }}"
  gpu: "{{ gpu }}"
checkpoint: {<<: &keeping {keep: 2}, interval_steps: 5}
workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: "{{ steps }}"}
"""


@pytest.fixture
def state(
    catalogue: Path, environment: Write, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., DesiredState]:
    """Loads an environment with these lines more; places are relative to the folder above it."""
    template = catalogue / "tiny" / "1.0.0"
    (template / "run.yaml").write_text(RUN)
    text = (template / "template.yaml").read_text()
    (template / "template.yaml").write_text(text.replace("roots:", "  gpu: {type: string}\nroots:"))
    monkeypatch.chdir(catalogue.parent)

    def read(more: str = "", **options: Any) -> DesiredState:
        files = options.pop("files", {})
        return load(environment(more, **files), catalogues=[catalogue], **options)

    return read


def told(origin: Origin) -> tuple[str, str, str]:
    return (origin.source.value, origin.name, str(origin.place or ""))


RUN_FILE, TEMPLATE = "iac/tiny/1.0.0/run.yaml", "iac/tiny/1.0.0/template.yaml"


def test_each_source_is_told_with_its_place(state: Callable[..., DesiredState]) -> None:
    origins = state(
        "parameters:\n  steps: 20\nobjective: {deadline: 2h}\n", overrides={"rate": "0.5"}
    ).origins
    expected = {
        "owner": ("environment", "", "demo/akotf.yaml:3:8"),
        "objective.deadline": ("environment", "", "demo/akotf.yaml:8:23"),
        "objective.budget": ("default", "", ""),
        "parameters.steps": ("environment", "steps", "demo/akotf.yaml:7:10"),
        "parameters.rate": ("override", "rate", "override rate"),
        "parameters.wall": ("parameter-default", "wall", f"{TEMPLATE}:9:35"),
        "run.hyperparameters.steps": ("parameter", "steps", "demo/akotf.yaml:7:10"),
        "run.hyperparameters.twice": ("parameter", "steps", "demo/akotf.yaml:7:10"),
        "run.hyperparameters.rate": ("override", "rate", "override rate"),
        "run.hyperparameters.name": ("parameter", "region, steps", f"{RUN_FILE}:7:9"),
        "run.hyperparameters.fixed": ("template", "", f"{RUN_FILE}:8:10"),
        "run.hyperparameters.sum": ("template", "", f"{RUN_FILE}:9:8"),
        "run.limits.memory": ("parameter-default", "memory", f"{TEMPLATE}:10:34"),
        "run.limits.gpu": ("parameter-default", "gpu", f"{TEMPLATE}:12:3"),
        "run.limits.open_files": ("default", "", ""),
        "run.checkpoint.keep": ("template", "", f"{RUN_FILE}:16:34"),  # through a merge
        "run.command.1": ("template", "", f"{RUN_FILE}:2:19"),
        "scopes.here.backend": ("scope", "local", "demo/akotf.yaml:5:23"),
        "monitor.refresh": ("default", "", ""),
        "labels": ("default", "", ""),
    }  # fmt: skip
    assert {path: told(origins[path]) for path in expected} == expected


def test_the_way_of_a_value_names_the_expression_and_all_its_parameters(
    state: Callable[..., DesiredState],
) -> None:
    origins = state("parameters:\n  steps: 20\n").origins
    assert [told(step) for step in origins["run.hyperparameters.name"].via] == [
        ("template", "run-{{ region }}-{{ steps }}", f"{RUN_FILE}:7:9"),
        ("parameter-default", "region", f"{TEMPLATE}:7:35"),
        ("environment", "steps", "demo/akotf.yaml:7:10"),
    ]  # fmt: skip
    assert [told(step) for step in origins["run.limits.wall_time"].via] == [
        ("template", "{{ wall }}", f"{RUN_FILE}:14:14"),
        ("parameter-default", "wall", f"{TEMPLATE}:9:35"),
    ]
    assert origins["run.hyperparameters.fixed"].via == ()


def test_every_setting_has_an_origin_and_every_written_value_a_place(
    state: Callable[..., DesiredState],
) -> None:
    loaded = state("parameters: {steps: 20}\n")
    paths = [leaf.path for leaf in settings(loaded.environment, loaded.parameters, loaded.run)]
    assert len(paths) == len(set(paths)) > 50
    assert set(paths) <= loaded.origins.keys()
    for path in paths:
        origin = loaded.origins[path]
        assert (origin.place is None) == (origin.source is Source.DEFAULT), path
        if origin.place is not None:
            assert loaded.positions[path] == origin.place


def test_the_environments_secrets_win_and_another_reference_is_a_warning(
    state: Callable[..., DesiredState],
) -> None:
    loaded = state("secrets: {TOKEN: env:OURS, MORE: env:MORE}\n")
    assert loaded.run.secrets == {"TOKEN": "env:OURS", "ONLY": "env:ONLY", "MORE": "env:MORE"}
    assert told(loaded.origins["run.secrets.TOKEN"]) == ("environment", "", "demo/akotf.yaml:6:18")
    assert told(loaded.origins["run.secrets.ONLY"]) == ("template", "", f"{RUN_FILE}:10:36")
    (finding,) = loaded.notes
    assert (finding.rule, finding.path, str(finding.position)) == (
        "config/secret-conflict",
        "secrets.TOKEN",
        "demo/akotf.yaml:6:18",
    )
    assert "env:OURS" in finding.message
    assert f"env:THEIRS in run.yaml ({RUN_FILE}:10:18)" in finding.message
    assert state("secrets: {TOKEN: env:THEIRS}\n").notes == ()


AKOFLOW = """\
environment: {id: lab, name: Lab}
version: {id: v, version: 1, status: published}
resources:
  - {id: campus, type: hpc_partition, name: C, providerId: batch, cpuCores: 64, memoryBytes: 1024,
     schedulable: true, pricePerSecond: 0.001, metadata: {akotf.gpu: A100-80GB, akotf.gpus: 8}}
  - {id: aws, type: cloud_vm, name: A, region: us-east-1, schedulable: true, metadata: {akotf.provider: aws}}
"""


def test_scopes_of_the_akoflow_files_lead_to_the_field_that_says_it(
    state: Callable[..., DesiredState], environment: Write
) -> None:
    head = "version: 1\nname: demo\nowner: me\ntemplate: tiny@1.0.0\n"
    origins = state(files={"akotf": head, "environment_yaml": AKOFLOW}).origins
    file = "demo/environment.yaml"
    expected = {
        "scopes.campus.kind": ("akoflow", "environment.yaml", f"{file}:4:24"),
        "scopes.campus.partition": ("akoflow", "environment.yaml", f"{file}:4:60"),
        "scopes.campus.nodes.gpus": ("akoflow", "environment.yaml", f"{file}:5:93"),
        "scopes.campus.nodes.cpus": ("akoflow", "environment.yaml", f"{file}:4:77"),
        "scopes.campus.price": ("akoflow", "environment.yaml", f"{file}:5:41"),
        "scopes.campus.backend": ("scope", "hpc", f"{file}:4:24"),
        "scopes.aws.regions.0": ("akoflow", "environment.yaml", f"{file}:6:48"),
        "scopes.aws.market.0": ("default", "", ""),
    }
    assert {path: told(origins[path]) for path in expected} == expected


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (17179869184, "bytes", "16 GiB"),  # 16 x 2^30
        (5400.0, "duration", "1h 30m"),
        (64, "sequences", "64 sequences"),
        (True, "", "true"),
        (0.001, "", "0.001"),
        (None, "bytes", "not set"),
        ((), "", "none"),
        ({}, "", "none"),
        ("", "", '""'),
        ("plain text", "", "plain text"),
        (" edge", "", '" edge"'),
        ("a\nb\x1b[31m", "", '"a\\nb\\u001b[31m"'),
        ("right\u202eleft", "", '"right\\u202eleft"'),
        ("naïve ${x} {{ y }}", "", "naïve ${x} {{ y }}"),
    ],
)  # fmt: skip
def test_values_are_shown_in_their_unit_and_text_never_moves_the_cursor(
    value: Any, unit: str, text: str
) -> None:
    assert shown(Leaf("x", value, unit)) == text
