"""The same thing said in two places of a desired state: the places, the values and how to decide."""

from __future__ import annotations

from akotf.model.config import Scalar, ScopeKind, ScopeSpec
from akotf.model.settings import Leaf, shown
from akotf.model.units import format_duration
from akotf.validate.noting import Notes

#: Names that trainings give to what akotf declares elsewhere in run.yaml.
ALIASES: dict[str, tuple[str, ...]] = {
    "run.workload.steps": ("steps", "max_steps", "total_steps", "train_steps", "num_train_steps"),
    "run.workload.global_batch": ("batch", "batch_size", "global_batch", "global_batch_size", "train_batch_size"),
    "run.workload.micro_batch": ("micro_batch", "micro_batch_size", "per_device_train_batch_size"),
    "run.workload.precision": ("precision", "mixed_precision"),
    "run.workload.model.layers": ("layers", "num_layers", "n_layers", "n_layer", "num_hidden_layers"),
    "run.workload.model.hidden": ("hidden", "hidden_size", "n_embd", "d_model"),
    "run.workload.model.heads": ("heads", "num_heads", "n_heads", "n_head", "num_attention_heads"),
    "run.workload.model.sequence": ("sequence", "sequence_length", "seq_length", "seq_len", "max_seq_len", "block_size"),
    "run.workload.model.vocabulary": ("vocabulary", "vocab_size", "vocabulary_size"),
    "run.checkpoint.interval_steps": ("checkpoint_interval", "checkpoint_every", "save_steps", "save_interval"),
    "run.limits.nodes": ("nodes", "num_nodes", "nnodes"),
    "run.processes": ("processes", "nproc_per_node", "processes_per_node", "local_world_size"),
}  # fmt: skip
#: How launchers, Lightning and PyTorch write a precision.
_PRECISIONS = {
    "no": "fp32", "32": "fp32", "32-true": "fp32", "float32": "fp32", "float": "fp32", "16": "fp16", "16-mixed": "fp16",
    "16-true": "fp16", "float16": "fp16", "half": "fp16", "bf16-mixed": "bf16", "bf16-true": "bf16", "bfloat16": "bf16",
}  # fmt: skip


def check_conflicts(notes: Notes) -> None:
    """Hyperparameters against what run.yaml declares, budget against time, and what loading noticed."""
    notes.findings.extend(notes.state.notes)
    _hyperparameters(notes)
    _world(notes)
    _budget(notes)


def precision(value: Scalar) -> str:
    """A precision as akotf names it: `bf16-mixed` -> `bf16`, `no` -> `fp32`; other words as they are."""
    text = str(value).lower()
    return _PRECISIONS.get(text, text)


def declared(notes: Notes) -> dict[str, Scalar]:
    """What run.yaml declares, by path; what is not set is left out."""
    run = notes.state.run
    work, model = run.workload, run.workload.model
    values: dict[str, Scalar | None] = {
        "run.workload.steps": work.steps, "run.workload.global_batch": work.global_batch,
        "run.workload.micro_batch": work.micro_batch, "run.workload.precision": work.precision,
        "run.workload.model.layers": model.layers, "run.workload.model.hidden": model.hidden,
        "run.workload.model.heads": model.heads, "run.workload.model.sequence": model.sequence,
        "run.workload.model.vocabulary": model.vocabulary, "run.checkpoint.interval_steps": run.checkpoint.interval_steps,
        "run.limits.nodes": run.limits.nodes, "run.processes": run.processes,
    }  # fmt: skip
    return {path: value for path, value in values.items() if value is not None}


def _hyperparameters(notes: Notes) -> None:
    """A hyperparameter that says what the workload, the limits or the checkpoints say must say the same."""
    run, known = notes.state.run, declared(notes)
    for path, value in known.items():
        for name in ALIASES[path]:
            used = run.hyperparameters.get(name, value)
            same = precision(used) == precision(value) if path.endswith("precision") else used == value
            if name == "batch_size" and used == run.workload.micro_batch:
                continue  # many scripts mean the batch of one process
            if not same:
                here = f"run.hyperparameters.{name}"
                notes.error("disagreement", here, f"{here} is {_text(used)}, but {path} is {_text(value)}{notes.at(path)}",
                            "write the same in both places of run.yaml, best as one parameter")  # fmt: skip
    for name in ("fp16", "bf16"):
        if run.hyperparameters.get(name) is True and run.workload.precision != name:
            here, path = f"run.hyperparameters.{name}", "run.workload.precision"
            notes.error("disagreement", here, f"{here} is true, but {path} is {run.workload.precision}{notes.at(path)}",
                        f"write {name}: false, or precision: {name}")  # fmt: skip


def _world(notes: Notes) -> None:
    """world_size among the hyperparameters is all processes of all nodes."""
    run = notes.state.run
    world = run.processes * run.limits.nodes
    used = run.hyperparameters.get("world_size", world)
    if used != world:
        here = "run.hyperparameters.world_size"
        notes.error("disagreement", here,
                    f"{here} is {_text(used)}, but {run.limits.nodes} nodes{notes.at('run.limits.nodes')} with {run.processes}"
                    f" processes{notes.at('run.processes')} are {world}", "remove it: the launcher tells the training")  # fmt: skip


def _budget(notes: Notes) -> None:
    """The whole wall time at a declared price, against the budget."""
    state = notes.state
    budget, wall = state.environment.objective.budget, state.run.limits.wall_time
    if budget is None:
        return
    for name, scope in state.environment.scopes.items():
        hour = _hourly(notes, scope)
        if hour is None or scope.price is None or scope.price.currency != budget.currency:
            continue
        if hour * wall / 3600 > float(budget.amount):
            enough = format_duration(float(budget.amount) / hour * 3600 // 1)
            notes.warn("budget", f"scopes.{name}.price",
                       f"a run may take {format_duration(wall)}{notes.at('run.limits.wall_time')} and costs {hour:.2f} {budget.currency}"
                       f" an hour at {name}: the budget of {budget}{notes.at('objective.budget')} ends after {enough}",
                       "lower wall_time, or raise the budget")  # fmt: skip


def _hourly(notes: Notes, scope: ScopeSpec) -> float | None:
    """What all nodes of the run cost an hour at a scope's declared price."""
    limits = notes.state.run.limits
    if scope.price is None or scope.kind is ScopeKind.CLOUD:
        return None
    present = scope.nodes.gpus if scope.nodes else limits.gpus
    units = limits.nodes * (limits.gpus_of(present) if scope.price.per == "gpu" else 1)
    return float(scope.price.amount) * units or None


def _text(value: Scalar) -> str:
    return shown(Leaf("", value))
