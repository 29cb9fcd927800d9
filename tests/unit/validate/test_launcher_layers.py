"""What a launcher's variables, flags and files say, against run.yaml: contradictions are told, and nothing else is.

Layers as documented by PyTorch (torchrun), Accelerate (launch, environment variables, configuration file), DeepSpeed (its JSON:
train_batch_size = micro batch x accumulation x processes) and Slurm (srun).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from akotf.validate import launchers
from akotf.validate.check import check

R = "run.yaml"
COMMAND = (R, "  - python\n  - train.py\n")
VARIABLE = (R, 'OMP_NUM_THREADS: "2"')
ACCUMULATION = (R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  gradient_accumulation_steps: 16")


def rules(written: Callable[..., Any], *changes: tuple[str, str, str], **files: str) -> list[str]:
    found = check(written(*changes, **files).state)
    return [f.rule.removeprefix("config/") for f in found if f.rule != "config/unpinned"]


def command(*words: str) -> tuple[str, str, str]:
    return (*COMMAND, "".join(f"  - {word}\n" for word in words))


@pytest.mark.parametrize(
    "variable",
    [
        'WORLD_SIZE: "1"', 'PET_NPROC_PER_NODE: auto', 'PET_NNODES: "1:4"', 'ACCELERATE_MIXED_PRECISION: bf16',
        'ACCELERATE_MIXED_PRECISION: BF16', 'NNODES: "$SLURM_NNODES"', 'ACCELERATE_GRADIENT_ACCUMULATION_STEPS: "4"',
        'CUDA_HOME: /usr/local/cuda', 'MASTER_PORT: "29500"',
    ],
)  # fmt: skip
def test_a_variable_that_agrees_or_is_found_out_later_is_fine(
    written: Callable[..., Any], variable: str
) -> None:
    assert rules(written, (*VARIABLE, variable)) == []


@pytest.mark.parametrize(
    "words",
    [
        ("torchrun", "--standalone", "--nproc-per-node=1", "train.py"),
        ("torchrun", "--nproc_per_node=gpu", "train.py"),
        ("torchrun", "--nnodes", '"1:4"', "train.py"),
        ("python", "-m", "torch.distributed.run", "--nproc-per-node", '"1"', "train.py"),
        ("accelerate", "launch", "--mixed_precision", "bf16", "--num_processes", '"1"', "train.py"),
        ("bash", "-lc", '"torchrun --nproc-per-node=$GPUS train.py --steps 100"'),
        ("bash", "-c", '"echo \'unmatched"'),
        ("python", "train.py", "--output", "runs/torchrun", "--nodes", '"9"'),  # the script's own
        ("python", "train.py", "--learning-rate=0.001", "--steps", '"100"', "steps=100", "learning_rate=1.0e-3"),
        ("python", "train.py", "--steps", "$STEPS"),
        ("python", "-c", '"steps=7; import train"'),
        ("srun", "--ntasks-per-node=1", "-N", '"1"', "python", "train.py"),
        ("deepspeed", "train.py", "--deepspeed", "absent.json"),
        ("deepspeed", "train.py", "--deepspeed", "../iac/rich/1.0.0/template.yaml"),
    ],
)  # fmt: skip
def test_a_command_that_agrees_is_fine(written: Callable[..., Any], words: tuple[str, ...]) -> None:
    assert set(rules(written, command(*words))) <= {"missing-file"}


@pytest.mark.parametrize(
    "words",
    [
        ("python", "-m", "torch.distributed.run", "--nproc-per-node", '"4"', "train.py"),
        ("python", "-m", "torch.distributed.launch", "--nproc_per_node=2", "train.py"),
        ("/opt/venv/bin/torchrun", "--nproc-per-node=4", "train.py"),
        ("torchrun", "--nnodes=2:4", "train.py"),
        ("accelerate", "launch", "--mixed_precision=no", "train.py"),
        ("mpirun", "-np", '"8"', "python", "train.py"),
        ("mpiexec", "-n", '"8"', "python", "train.py"),
        ("srun", "--nodes=2", "python", "train.py"),
        ("srun", "-N", '"2"', "python", "train.py"),
        ("deepspeed", "--num_gpus=4", "train.py"),
        ("bash", "-euc", '"source env.sh; torchrun --nproc-per-node=4 train.py"'),
    ],
)  # fmt: skip
def test_a_flag_that_contradicts_is_an_error(written: Callable[..., Any], words: tuple[str, ...]) -> None:
    assert rules(written, command(*words)) == ["launcher-conflict"]


def test_only_nodes_are_a_range(written: Callable[..., Any]) -> None:
    variable = (*VARIABLE, 'ACCELERATE_GRADIENT_ACCUMULATION_STEPS: "1:4"')
    text = (R, "  learning_rate: 1e-3", "  learning_rate: 1e-3\n  gradient_accumulation_steps: auto")
    assert rules(written, variable, text) == ["launcher-conflict"]


def test_accumulation_follows_from_the_micro_batch(written: Callable[..., Any]) -> None:
    """Batch 8 over 1 process in micro batches of 2 is 4 accumulated steps."""
    micro = (R, "  global_batch:", "  micro_batch: 2\n  global_batch:")
    for steps, expected in (("4", []), ("8", ["launcher-conflict"])):
        variable = (*VARIABLE, f'ACCELERATE_GRADIENT_ACCUMULATION_STEPS: "{steps}"')
        assert rules(written, micro, variable) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"train_batch_size": 8, "gradient_accumulation_steps": 16, "bf16": {"enabled": true}}', []),
        ('{"train_batch_size": "auto", "fp16": {"enabled": "auto"}, "optimizer": {"params": {"lr": "auto"}}}', []),
        ('{"optimizer": {"params": {"lr": 1e-3}}, "fp16": {"enabled": false}}', []),
        ('{"optimizer": {"params": {"lr": 0.0001}}}', ["launcher-conflict"]),
        ('{"gradient_accumulation_steps": 1}', ["launcher-conflict"]),
        ('{"bf16": {"enabled": false}}', ["launcher-conflict"]),
        ('{"fp16": {"enabled": true}, "bf16": {"enabled": true}}', ["launcher-conflict"]),
        ('{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 16}', ["launcher-batch"]),
        ("[1, 2]", []),
        ("{", ["launcher-file"]),
    ],
)  # fmt: skip
def test_deepspeeds_file(written: Callable[..., Any], text: str, expected: list[str]) -> None:
    changes = [command("deepspeed", "train.py", "--deepspeed", "ds.json"), ACCUMULATION]
    assert rules(written, *changes, **{"ds.json": text}) == expected


def test_deepspeeds_batch_is_shared_by_all_processes(written: Callable[..., Any]) -> None:
    """On 2 nodes with 1 process each 8 = 2 x 2 x 2."""
    changes = [command("python", "train.py", "--deepspeed", "ds.json"), (R, "nodes: 1", "nodes: 2")]
    text = '{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}'
    assert rules(written, *changes, **{"ds.json": text}) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("torchrun", "--nnodes=2", "train.py"), ["nested-launcher"]),
        (("bash", "-c", "torchrun --nnodes=2 train.py"), ["nested-launcher"]),
        (("python", "train.py", "--output", "runs/torchrun"), []),
        (("env", "--chdir", "torchrun", "python", "train.py"), []),
    ],
)
def test_akotf_starts_several_processes_itself(
    written: Callable[..., Any], words: tuple[str, ...], expected: list[str]
) -> None:
    assert rules(written, command(*words), (R, "nodes: 1", "nodes: 2")) == expected


def test_a_budget_is_held_against_the_wall_time(written: Callable[..., Any]) -> None:
    """1 GPU at 101 USD an hour: 50.50 USD for half an hour, 101 for one, with a budget of 100."""
    price = ("akotf.yaml", "0.60 USD/gpu/h", "101 USD/gpu/h")
    assert rules(written, price, ("akotf.yaml", "wall: 1h", "wall: 30m")) == []
    (finding,) = [f for f in check(written(price).state) if f.rule == "config/budget"]
    assert "ends after 59m 24s" in finding.message  # 100 / 101 x 3600 s = 3564 s


def test_a_file_behind_a_link_out_of_the_folder_is_not_read(
    written: Callable[..., Any], tmp_path: Any
) -> None:
    state = written(command("deepspeed", "train.py", "--deepspeed=ds.json")).state
    (tmp_path / "outside.json").write_text('{"train_batch_size": 9}')
    (tmp_path / "rich" / "ds.json").symlink_to(tmp_path / "outside.json")
    assert [f for f in check(state) if f.rule.startswith("config/launcher")] == []


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        ("1e-3", 0.001, True), ("0.0010", 0.001, True), ("8", 8, True), ("8.0", 8, True), ("True", True, True), ("false", False, True),
        ("1", True, True), ("1e-3", 0.0011, False), ("adamw", "AdamW", True), ("adam", "adamw", False), ("", 0, False),
    ],
)  # fmt: skip
def test_values_are_compared_as_what_they_mean(one: Any, two: Any, equal: bool) -> None:
    assert launchers.same(one, two) is equal


@pytest.mark.parametrize(
    ("written_as", "is_fp32"), [("no", True), ("32-true", True), ("bf16-mixed", False), ("float16", False)]
)
def test_precisions_go_by_many_names(written: Callable[..., Any], written_as: str, is_fp32: bool) -> None:
    changes = [
        (R, "  global_batch:", "  precision: tf32\n  global_batch:"),
        (*VARIABLE, f"ACCELERATE_MIXED_PRECISION: '{written_as}'"),
    ]
    assert rules(written, *changes) == ([] if is_fp32 else ["launcher-conflict"])


def test_the_message_names_both_values_both_places_and_what_to_do(written: Callable[..., Any]) -> None:
    variable = (*VARIABLE, 'ACCELERATE_GRADIENT_ACCUMULATION_STEPS: "1"')
    (finding,) = [
        f for f in check(written(variable, ACCUMULATION).state) if f.rule == "config/launcher-conflict"
    ]
    assert finding.message == (
        "variable ACCELERATE_GRADIENT_ACCUMULATION_STEPS says 1, but run.hyperparameters.gradient_accumulation_steps is 16"
        " (iac/rich/1.0.0/run.yaml:10:32)"
    )
    assert str(finding.position) == "iac/rich/1.0.0/run.yaml:12:43"
    assert finding.remedy == "remove it, or write the same in both places"
