"""Cross-checks: each finding has its rule, its path, its place and a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from akotf.load.akoflow import MODELS
from akotf.load.environment import load
from akotf.model.config import DesiredState, EnvironmentSpec, RunSpec, ScopeSpec
from akotf.model.finding import Severity
from akotf.reading.bind import plain
from akotf.reading.yaml import parse
from akotf.validate.check import check

ROOT = Path(__file__).parents[3]


@pytest.fixture
def state(tmp_path: Path) -> DesiredState:
    """The quickstart's state over a folder of its own."""
    loaded = load(ROOT / "environments" / "quickstart", catalogues=[ROOT / "iac"])
    (tmp_path / "train.py").write_text("def build(h):\n    return h\n")
    (tmp_path / "akotf.lock").write_text("{}")
    (tmp_path / "data").mkdir()
    return loaded.model_copy(update={"folder": tmp_path, "akoflow": {}})


def changed(state: DesiredState, path: str, value: Any) -> DesiredState:
    """The state with the value at `run...` or a path of akotf.yaml replaced, validated anew."""
    run, environment = state.run.model_dump(), state.environment.model_dump()
    data: Any = {"run": run, **environment}
    target = data
    *parents, last = path.split("/")
    for part in parents:
        target = target[part]
    target[last] = value
    return state.model_copy(update={
        "run": RunSpec.model_validate(data.pop("run")), "environment": EnvironmentSpec.model_validate(data),
    })  # fmt: skip


def found(state: DesiredState) -> list[tuple[str, str, str]]:
    findings = check(state)
    assert all(f.position is not None and f.position.line and f.message for f in findings)
    assert all(f.remedy for f in findings if f.severity is not Severity.NOTE)
    return [(f.severity.value, f.rule.removeprefix("config/"), f.path) for f in findings]


def test_the_quickstart_has_no_fault(state: DesiredState) -> None:
    assert found(state) == []
    real = load(ROOT / "environments" / "quickstart", catalogues=[ROOT / "iac"])
    assert [f for f in check(real) if f.severity is Severity.ERROR] == []


HPC = {"kind": "hpc", "backend": "slurm", "partition": "gpu", "queue_wait": 60.0}
NODES = {"count": 1, "cpus": 8, "memory": 2**33}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("scopes", {}, ("error", "no-scope", "scopes")),
        ("scopes", {"runs": {"kind": "local"}}, ("error", "reserved-name", "scopes.runs")),
        ("scopes", {"w": {"kind": "local", "backend": "slurm"}}, ("error", "backend", "scopes.w.backend")),
        ("scopes", {"w": {"kind": "local", "regions": ["a"]}}, ("error", "foreign-key", "scopes.w.regions")),
        ("scopes", {"h": {**HPC, "provider": "aws", "nodes": NODES}}, ("error", "foreign-key", "scopes.h.provider")),
        ("scopes", {"h": HPC}, ("warning", "no-inventory", "scopes.h")),
        ("scopes", {"h": {**HPC, "partition": "", "nodes": NODES}}, ("warning", "no-partition", "scopes.h")),
        ("scopes", {"h": {**HPC, "queue_wait": None, "nodes": NODES}}, ("note", "no-queue-wait", "scopes.h")),
        ("scopes", {"h": {**HPC, "nodes": {**NODES, "gpus": 4}}}, ("error", "gpu-model", "scopes.h.nodes.gpus")),
        ("scopes", {"h": {**HPC, "nodes": {**NODES, "gpu": "H100-80GB"}}}, ("error", "gpu-count", "scopes.h.nodes.gpu")),
        ("scopes", {"h": {**HPC, "nodes": NODES, "price": "1 EUR/gpu/h"}}, ("error", "currency", "scopes.h.price")),
        ("scopes", {"c": {"kind": "cloud", "regions": ["a"]}}, ("error", "no-provider", "scopes.c")),
        ("scopes", {"c": {"kind": "cloud", "provider": "aws"}}, ("error", "no-region", "scopes.c")),
        ("scopes", {"c": {"kind": "cloud", "provider": "aws", "regions": ["a", "a"]}}, ("error", "duplicate", "scopes.c.regions")),
        ("scopes", {"c": {"kind": "cloud", "provider": "aws", "regions": ["a"], "market": []}}, ("error", "no-market", "scopes.c.market")),
        ("scopes", {"c": {"kind": "cloud", "provider": "aws", "regions": ["a"], "price": "1 USD/gpu/h"}}, ("error", "foreign-key", "scopes.c.price")),
        ("run/checkpoint/durable", False, ("error", "spot-without-checkpoint", "scopes.aws.market")),
        ("run/environment/AKOTF_RUN_ID", "x", ("error", "reserved-variable", "run.environment.AKOTF_RUN_ID")),
        ("run/environment/A-B", "x", ("error", "variable-name", "run.environment.A-B")),
        ("run/environment/CUDA_VISIBLE_DEVICES", "0", ("error", "leased-variable", "run.environment.CUDA_VISIBLE_DEVICES")),
        ("run/environment/X", "a\0b", ("error", "variable-value", "run.environment.X")),
        ("run/environment/OMP_NUM_THREADS", "64", ("warning", "threads", "run.environment.OMP_NUM_THREADS")),
        ("run/limits", {"gpu": "H100-80GB", "gpus": 0, "cpus": 2, "memory": 2**32, "wall_time": 60.0}, ("error", "gpu-count", "run.limits.gpu")),
        ("run/limits/memory", 2**20, ("error", "memory", "run.limits.memory")),
        ("run/limits/shared_memory", 2**40, ("error", "memory", "run.limits.shared_memory")),
        ("run/limits/processes", 1, ("error", "process-limit", "run.limits.processes")),
        ("run/limits/wall_time", 0.0, ("error", "wall-time", "run.limits.wall_time")),
        ("run/limits/wall_time", 7201.0, ("warning", "deadline", "objective.deadline")),
        ("lifecycle/ttl", 3599.0, ("error", "ttl", "lifecycle.ttl")),
        ("objective/deadline", 0.0, ("error", "deadline", "objective.deadline")),
        ("run/workload/steps", 299, ("error", "disagreement", "run.hyperparameters.steps")),
        ("run/hyperparameters/batch_size", 31, ("error", "disagreement", "run.hyperparameters.batch_size")),
        ("run/hyperparameters/checkpoint_interval", 7, ("error", "disagreement", "run.hyperparameters.checkpoint_interval")),
        ("monitor/telemetry", 0.1, ("error", "telemetry", "monitor.telemetry")),
        ("monitor/refresh", 1.0, ("error", "refresh", "monitor.refresh")),
        ("monitor/telemetry", 301.0, ("warning", "refresh", "monitor.refresh")),
        ("run/command", ["python", "absent.py"], ("error", "missing-file", "run.command.1")),
        ("run/command", ["python", "../train.py"], ("error", "outside", "run.command.1")),
        ("run/workload/builder", "train.py:bild", ("error", "builder", "run.workload.builder")),
        ("run/workload/builder", "train:build", ("error", "builder", "run.workload.builder")),
        ("run/workload/builder", "absent.py:build", ("error", "missing-file", "run.workload.builder")),
        ("run/storage", [{"source": "absent", "target": "/d"}], ("error", "missing-file", "run.storage.0.source")),
        ("run/storage", [{"source": "/etc", "target": "/d"}], ("error", "outside", "run.storage.0.source")),
        ("run/storage", [{"source": ".akotf/runs", "target": "/d"}], ("error", "outside", "run.storage.0.source")),
        ("run/storage", [{"source": "data", "target": "d"}], ("error", "mount-target", "run.storage.0.target")),
        ("run/storage", [{"source": "data", "target": "/d"}, {"source": "s3://b", "target": "/d"}], ("error", "mount-target", "run.storage.1.target")),
        ("run/outputs", ["../x"], ("error", "output", "run.outputs.0")),
        ("run/outputs", ["x", "x"], ("error", "output", "run.outputs.1")),
        ("waivers", [{"rule": "a", "owner": " ", "reason": "r", "ticket": "t", "expires": "2026-01-01"}], ("error", "waiver", "waivers.0.owner")),
    ],
)  # fmt: skip
def test_one_fault_is_one_finding(
    state: DesiredState, path: str, value: Any, expected: tuple[str, str, str]
) -> None:
    assert found(changed(state, path, value)) == [expected]


def test_processes_share_gpus_and_batch(state: DesiredState) -> None:
    three = changed(changed(state, "run/processes", 3), "run/limits/gpus_optional", False)
    assert {f[1:] for f in found(three)} == {
        ("processes", "run.processes"), ("batch", "run.workload.global_batch"), ("threads", "run.environment.OMP_NUM_THREADS"),
    }  # fmt: skip


def test_heads_share_the_width_of_the_model(state: DesiredState) -> None:
    three = changed(changed(state, "run/workload/model/heads", 3), "run/hyperparameters/heads", 3)
    assert found(three) == [("error", "heads", "run.workload.model.heads")]  # 128 = 3 x 42 + 2


def test_a_budget_in_another_currency_can_not_be_compared(state: DesiredState) -> None:
    found_paths = [f[2] for f in found(changed(state, "objective/budget", "25 EUR"))]
    assert found_paths == ["scopes.campus.price", "objective.budget"]


def test_a_checkpoint_after_the_end_is_a_warning(state: DesiredState) -> None:
    late = changed(
        changed(state, "run/checkpoint/interval_steps", 301), "run/hyperparameters/checkpoint_interval", 301
    )
    assert found(late) == [("warning", "checkpoint-interval", "run.checkpoint.interval_steps")]


def test_an_unpinned_template_is_a_warning_where_it_is_named(state: DesiredState) -> None:
    (state.folder / "akotf.lock").unlink()
    (finding,) = check(state)
    assert (finding.severity, finding.rule, finding.path) == (Severity.WARNING, "config/unpinned", "template")
    assert finding.position == state.positions["template"]


def test_a_link_that_leads_out_is_refused(state: DesiredState) -> None:
    (state.folder / "train.py").unlink()
    (state.folder / "train.py").symlink_to("/etc/hostname")
    assert {f[1] for f in found(state)} == {"outside"}


def test_errors_come_first(state: DesiredState) -> None:
    (state.folder / "akotf.lock").unlink()
    severities = [f[0] for f in found(changed(state, "scopes", {"runs": {"kind": "local"}, "h": HPC}))]
    assert severities == ["error", "warning", "warning"]


AKOFLOW = """\
environment: {id: lab, name: Lab}
version: {id: v, version: 1, status: published}
resources:
  - {id: campus, type: hpc_partition, name: C, providerId: batch, cpuCores: 64, memoryBytes: 549755813888, schedulable: true, computeSpeedup: 1.0,
     metadata: {akotf.gpu: A100-80GB, akotf.gpus: 8, akotf.nodes: 4}}
  - {id: other, type: local_machine, name: O, schedulable: true}
"""


def test_a_conflict_with_the_akoflow_files_is_told(state: DesiredState) -> None:
    document = MODELS["environment.yaml"].model_validate(plain(parse(AKOFLOW.encode(), "f"))).to_json()
    both = state.model_copy(update={"akoflow": {"environment.yaml": document}})
    assert found(both) == [
        ("warning", "akoflow-name", "name"),
        ("warning", "akoflow-conflict", "scopes.campus.partition"),
        ("warning", "akoflow-conflict", "scopes.campus.nodes.gpus"),
        ("note", "akoflow-scope", "environment.yaml:resources.1"),
    ]
    assert "is gpu in akotf.yaml and batch in environment.yaml" in check(both)[1].message


def test_scope_specs_of_the_checks_are_those_of_the_model() -> None:
    from akotf.validate.scopes import FOREIGN

    assert all(key in ScopeSpec.model_fields for keys in FOREIGN.values() for key in keys)
