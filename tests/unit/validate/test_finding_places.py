"""Every finding stands at the value that it is about: through templates, parameters, defaults and overrides."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.model.finding import Severity
from akotf.validate import akoflow, conflicts, launcher_files, launchers, scopes, workload
from akotf.validate.check import check

A, T, R, E, W = "akotf.yaml", "template.yaml", "run.yaml", "environment.yaml", "workflow.yaml"
DS = "ds.json"
COMMAND = (R, "  - python\n  - train.py\n")

#: rule -> changes of the environment that is else without a fault; § is where the finding stands, ¤ the other place
CASES: list[tuple[str, list[tuple[str, str, str]]]] = [
    # scopes
    ("reserved-name", [(A, "  here:\n    kind", "  runs:\n    §kind")]),
    ("foreign-key", [(A, "kind: local", "kind: local\n    regions: §[a]")]),
    ("foreign-key", [(A, "kind: cloud", "kind: cloud\n    price: §1 USD/gpu/h")]),
    ("backend", [(A, "kind: local", "kind: local\n    backend: §slurm")]),
    ("no-inventory", [(A, "    nodes:\n      count: 2\n      gpu: A100-80GB\n      gpus: 4\n      cpus: 64\n      memory: 512 GiB\n", ""),
                      (A, "    kind: hpc", "    §kind: hpc")]),
    ("gpu-model", [(A, "      gpu: A100-80GB\n      gpus: 4", "      gpus: §4")]),
    ("gpu-count", [(A, "      gpu: A100-80GB\n      gpus: 4", "      gpu: §A100-80GB")]),
    ("no-partition", [(A, "    partition: gpu\n", ""), (A, "    kind: hpc", "    §kind: hpc")]),
    ("no-queue-wait", [(A, "    queue_wait: 45m\n", ""), (A, "    kind: hpc", "    §kind: hpc")]),
    ("no-provider", [(A, "    provider: aws\n", ""), (A, "    kind: cloud", "    §kind: cloud")]),
    ("no-region", [(A, "    regions: [us-east-1]\n", ""), (A, "    kind: cloud", "    §kind: cloud")]),
    ("duplicate", [(A, "[us-east-1]", "§[us-east-1, us-east-1]")]),
    ("no-market", [(A, "[spot]", "§[]")]),
    ("spot-without-checkpoint", [(R, "interval_steps: 5", "interval_steps: 5\n  durable: false"), (A, "[spot]", "§[spot]")]),
    ("currency", [(A, "0.60 USD/gpu/h", "§0.60 EUR/gpu/h")]),
    ("currency", [(A, "100 USD", "§100 EUR"), (A, "0.60 USD/gpu/h", "0.60 EUR/gpu/h")]),
    # variables, limits and times; values come from akotf.yaml, from a default of the template, or from run.yaml
    ("reserved-variable", [(R, "OMP_NUM_THREADS: \"2\"", "AKOTF_X: §\"2\"")]),
    ("variable-name", [(R, "OMP_NUM_THREADS: \"2\"", "A-B: §\"2\"")]),
    ("leased-variable", [(R, "OMP_NUM_THREADS: \"2\"", "CUDA_VISIBLE_DEVICES: §\"0,1\"")]),
    ("rank-variable", [(R, "OMP_NUM_THREADS: \"2\"", "RANK: §\"0\""), (R, "nodes: 1", "nodes: 2")]),
    ("variable-value", [(R, "OMP_NUM_THREADS: \"2\"", "X: §\"a\\0b\"")]),
    ("threads", [(R, "OMP_NUM_THREADS: \"2\"", "OMP_NUM_THREADS: §\"64\""), (A, "  cpus: 4", "  cpus: ¤4")]),
    ("threads", [(R, "OMP_NUM_THREADS: \"2\"", "MKL_NUM_THREADS: §\"64\"")]),
    ("gpu-count", [(R, "gpus: \"{{ gpus }}\"", "gpu: §A100-80GB")]),
    ("processes", [(R, "processes: 1", "processes: §2")]),
    ("processes", [(T, "batch: {type: integer", "procs: {type: integer, default: §2}\n  batch: {type: integer"),
                   (R, "processes: 1", "processes: \"{{ procs }}\"")]),
    ("memory", [(T, "default: 4 GiB", "default: §1 MiB")]),
    ("memory", [(A, "  wall: 1h", "  wall: 1h\n  memory: §1 MiB")]),
    ("memory", [(R, "memory: \"{{ memory }}\"", "memory: \"{{ memory }}\"\n  shared_memory: §5 GiB")]),
    ("process-limit", [(R, "memory: \"{{ memory }}\"", "memory: \"{{ memory }}\"\n  processes: §1")]),
    ("wall-time", [(A, "wall: 1h", "wall: §0s")]),
    ("deadline", [(A, "deadline: 2h", "deadline: §0s")]),
    ("deadline", [(A, "deadline: 2h", "deadline: §59m"), (A, "wall: 1h", "wall: ¤1h")]),
    ("ttl", [(A, "ttl: 12h", "ttl: §30m"), (A, "wall: 1h", "wall: ¤1h")]),
    ("heads", [(R, "heads: 2", "heads: §3")]),
    ("batch", [(T, "default: 8}", "default: §9}"), (R, "nodes: 1", "nodes: 2")]),
    ("checkpoint-interval", [(R, "interval_steps: 5", "interval_steps: §101")]),
    ("telemetry", [(A, "telemetry: 5s", "telemetry: §0.1s")]),
    ("refresh", [(A, "refresh: 5m", "refresh: §5s")]),
    ("refresh", [(A, "refresh: 5m", "refresh: §30s"), (A, "telemetry: 5s", "telemetry: 31s")]),
    # one thing in two places
    ("disagreement", [(R, "steps: \"{{ steps }}\"\n  learning", "max_steps: §200\n  learning"), (A, "steps: 100", "steps: ¤100")]),
    ("disagreement", [(R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  bf16: §true"), (R, "  global_batch:", "  precision: ¤fp16\n  global_batch:")]),
    ("disagreement", [(R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  precision: §16-mixed")]),
    ("disagreement", [(R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  world_size: §4")]),
    ("disagreement", [(R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  nodes: §4")]),
    ("secret-conflict", [(A, "objective:", "secrets: {TOKEN: §env:A}\nobjective:"), (R, "environment:\n", "secrets: {TOKEN: ¤env:B}\nenvironment:\n")]),
    ("budget", [(A, "0.60 USD/gpu/h", "§101 USD/gpu/h"), (A, "budget: 100", "budget: ¤100")]),
    # launchers
    ("launcher-conflict", [(R, "OMP_NUM_THREADS: \"2\"", "WORLD_SIZE: §\"4\""), (R, "processes: 1", "processes: ¤1")]),
    ("launcher-conflict", [(R, "OMP_NUM_THREADS: \"2\"", "ACCELERATE_MIXED_PRECISION: §fp16")]),
    ("launcher-conflict", [(R, "OMP_NUM_THREADS: \"2\"", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS: §\"1\""),
                           (R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  gradient_accumulation_steps: ¤16")]),
    ("launcher-conflict", [(*COMMAND, "  - torchrun\n  - §--nproc-per-node=4\n  - train.py\n")]),
    ("launcher-conflict", [(*COMMAND, "  - torchrun\n  - §--nnodes\n  - \"2\"\n  - train.py\n")]),
    ("launcher-conflict", [(*COMMAND, "  - bash\n  - -c\n  - §accelerate launch --num_processes 8 train.py\n")]),
    ("launcher-conflict", [(*COMMAND, "  - deepspeed\n  - train.py\n  - --deepspeed\n  - ds.json\n"),
                           (DS, "[1]", "{\"train_batch_size\": §16}"), (T, "default: 8}", "default: ¤8}")]),
    ("launcher-conflict", [(*COMMAND, "  - deepspeed\n  - train.py\n  - --deepspeed_config=ds.json\n"),
                           (DS, "[1]", "{\n  \"fp16\": {\"enabled\": §true}\n}")]),
    ("launcher-conflict", [(*COMMAND, "  - accelerate\n  - launch\n  - --config_file\n  - ds.json\n  - train.py\n"),
                           (DS, "[1]", "mixed_precision: §fp16\nnum_processes: 1\n")]),
    ("launcher-batch", [(*COMMAND, "  - deepspeed\n  - train.py\n  - --deepspeed\n  - ds.json\n"),
                        (DS, "[1]", "{\"train_batch_size\": §8, \"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 2}")]),
    ("launcher-file", [(*COMMAND, "  - deepspeed\n  - train.py\n  - --deepspeed\n  - ds.json\n"), (DS, "[1]", "{\"a\": 1, §\"a\": 2}")]),
    ("nested-launcher", [(*COMMAND, "  - §torchrun\n  - train.py\n"), (R, "nodes: 1", "nodes: 2"), (R, "processes: 1", "processes: ¤1")]),
    ("argument-conflict", [(*COMMAND, "  - python\n  - train.py\n  - §--learning-rate=1e-4\n"), (R, "learning_rate: 1e-3", "learning_rate: ¤1e-3")]),
    ("argument-conflict", [(*COMMAND, "  - python\n  - train.py\n  - §steps=7\n")]),
    # AkôFlow's files
    ("akoflow-name", [(E, "{id: rich", "{id: other"), (A, "name: rich", "name: §rich")]),
    ("akoflow-scope", [(E, "  - id: here", "  - §id: there")]),
    ("akoflow-conflict", [(A, "      cpus: 64", "      cpus: §32"), (E, "cpuCores: 64", "cpuCores: ¤64")]),
    ("akoflow-conflict", [(A, "0.60 USD/gpu/h", "§0.61 USD/gpu/h"), (E, "0.000666667", "¤0.000666667")]),
    ("akoflow-conflict", [(E, "  - id: here", "  - {id: more, type: hpc_machine, name: M, schedulable: true, computeSpeedup: 1.0, cpuCores: §32, memoryBytes: 549755813888, "
                           "metadata: {akotf.scope: campus}}\n  - id: here")]),
    ("akoflow-conflict", [(E, "providerId: gpu", "providerId: §batch"), (E, "akotf.nodes: 2", "akotf.nodes: 2\n      akotf.partition: gpu")]),
    ("akoflow-conflict", [(E, "cpuCores: 64", "cpuCores: §32"), (E, "akotf.nodes: 2", "akotf.nodes: 2\n      akotf.cpus: 64")]),
    ("akoflow-conflict", [(E, "memoryBytes: 549755813888", "memoryBytes: §1000"), (E, "akotf.nodes: 2", "akotf.nodes: 2\n      akotf.memory: 512 GiB")]),
    ("akoflow-conflict", [(E, "0.000666667", "§0.0007"), (E, "akotf.nodes: 2", "akotf.nodes: 2\n      akotf.price: 0.60 USD/gpu/h")]),
    ("akoflow-ignored", [(E, "name: Here\n    schedulable: true\n    computeSpeedup: 1.0", "name: Here\n    schedulable: true\n    computeSpeedup: 1.0\n    metadata: {akotf.gpus: §1}")]),
    ("akoflow-ignored", [(E, "name: Here\n    schedulable: true\n    computeSpeedup: 1.0", "name: Here\n    metadata: {akotf.kind: §local}")]),
    ("akoflow-ignored", [(E, "  - id: here\n    type: local_machine\n    name: Here\n    schedulable: true\n    computeSpeedup: 1.0", "  - §id: here\n    type: local_machine\n    name: Here")]),
    ("akoflow-ignored", [(E, "name: Here\n    schedulable: true\n    computeSpeedup: 1.0", "name: Here\n    schedulable: true"), (E, "  - id: here", "  - §id: here")]),
    ("activity-limit", [(W, "memoryLimit: 4Gi", "memoryLimit: §8GB")]),
    ("akoflow-ignored", [(E, "    cpuCores: 64\n", ""), (E, "akotf.nodes: 2", "akotf.nodes: §2")]),
    ("akoflow-ignored", [(E, "akotf.nodes: 2", "akotf.nodes: 2\n      akoft.bandwidth: §5")]),
    ("akoflow-ignored", [(E, "    mode: execution", "    mode: execution\n    configuration: {akotf.gpus: §4}")]),
    ("akoflow-ignored", [(E, "resources:", "resourceRuntimeBindings:\n  - §resourceId: campus\n    runtimeId: slurm\nresources:")]),
    ("image-conflict", [(E, "    mode: execution", "    mode: execution\n    configuration: {image: §other:v1}"), (R, "\"repo@", "¤\"repo@")]),
    ("activity-limit", [(W, "cpuLimit: \"4\"", "cpuLimit: §\"2\""), (A, "  cpus: 4", "  cpus: ¤4")]),
    ("activity-limit", [(W, "memoryLimit: 4Gi", "memoryLimit: §512Mi")]),
]  # fmt: skip


def found(written: Callable[..., Any], changes: list[tuple[str, str, str]]) -> tuple[list[Any], Any]:
    files = {DS: "[1]"} if any(file == DS for file, _, _ in changes) else {}
    asked = any(file in (E, W) for file, _, _ in changes) or any(
        "cpus: §32" in new or "0.61" in new for _, _, new in changes
    )
    result = written(*changes, akoflow=asked, **files)
    return [f for f in check(result.state) if f.rule != "config/unpinned"], result


def test_the_environment_of_these_tests_has_no_fault(written: Callable[..., Any]) -> None:
    assert [f for f in check(written(akoflow=True).state) if f.rule != "config/unpinned"] == []


@pytest.mark.parametrize(("rule", "changes"), CASES, ids=lambda v: v if isinstance(v, str) else v[0][2][:30])
def test_a_finding_stands_at_the_value(
    written: Callable[..., Any], rule: str, changes: list[tuple[str, str, str]]
) -> None:
    findings, result = found(written, changes)
    assert [f.rule for f in findings] == [f"config/{rule}"]
    assert str(findings[0].position) == result.marked
    if result.other:
        assert f"({result.other})" in findings[0].message
    assert findings[0].remedy or findings[0].severity is Severity.NOTE


def test_every_rule_of_these_checks_has_a_place_that_is_tested() -> None:
    rules = set()
    for module in (scopes, workload, akoflow, conflicts, launchers, launcher_files):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        rules |= set(re.findall(r'notes\.(?:error|warn|note)\(\s*"([a-z-]+)"', source))
    assert rules - {rule for rule, _ in CASES} == {
        "no-scope"
    }  # nothing is written there: the place is the file's top


def test_without_scopes_the_place_is_the_top_of_the_file(written: Callable[..., Any]) -> None:
    state = written().state
    bare = state.model_copy(
        update={
            "environment": state.environment.model_copy(update={"scopes": {}}),
            "positions": {"": state.positions[""]},
        }
    )
    first = check(bare)[0]
    assert (first.rule, str(first.position)) == ("config/no-scope", "rich/akotf.yaml:1:1")
