"""Checks of what runs: environment, limits, hyperparameters against the declared workload, checkpoints."""

from __future__ import annotations

import re

from akotf.model.units import format_bytes, format_duration
from akotf.validate.noting import Notes

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Variables that the backend sets from what was leased.
LEASED = frozenset({"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
#: Variables that differ from process to process: a launcher sets them.
_RANKS = frozenset({"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "PET_NODE_RANK"})
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_SMALL = 64 * 2**20


def check_environment(notes: Notes) -> None:
    """Names of environment variables, and what OpenMP is told against the CPUs."""
    run = notes.state.run
    for name, value in run.environment.items():
        path = f"run.environment.{name}"
        named = len([device for device in value.split(",") if device.strip()])
        against = "" if named == run.limits.gpus else (
            f"; it names {named}, the run takes {run.limits.gpus}{notes.at('run.limits.gpus')}"
        )  # fmt: skip
        check_name(notes, path, name, against)
        if name in _RANKS and run.processes * run.limits.nodes > 1:
            notes.error("rank-variable", path, f"{path} is one value for {run.processes * run.limits.nodes} processes",
                        "remove it: the launcher sets it for each process")  # fmt: skip
        if "\0" in value:
            notes.error("variable-value", path, f"{path} holds a NUL character", "remove it")
    for name in _THREADS:
        threads = run.environment.get(name, "")
        if threads.isascii() and threads.isdigit() and int(threads) * run.processes > run.limits.cpus:
            notes.warn("threads", f"run.environment.{name}",
                       f"{run.processes} x {threads} threads share {run.limits.cpus} CPUs{notes.at('run.limits.cpus')}",
                       f"lower {name} or raise cpus")  # fmt: skip


def check_name(notes: Notes, path: str, name: str, against: str = "") -> None:
    """The name of a variable that the run gets; `against` is what to say more of one that the backend sets."""
    if name.startswith("AKOTF_"):
        notes.error(
            "reserved-variable", path, f"{path}: names with AKOTF_ are akotf's own", "choose another name"
        )
    elif not VARIABLE.fullmatch(name):
        notes.error("variable-name", path, f"{name!r} is not a name of an environment variable",
                    "use letters, digits and '_', no digit first")  # fmt: skip
    elif name in LEASED:
        notes.error(
            "leased-variable",
            path,
            f"{path}: the backend sets it to the leased devices{against}",
            "remove it",
        )


def check_limits(notes: Notes) -> None:
    """Limits against each other, the processes and the objective."""
    run, environment = notes.state.run, notes.state.environment
    limits = run.limits
    if limits.gpu is not None and not limits.gpus:
        notes.error(
            "gpu-count",
            "run.limits.gpu",
            f"GPU model {limits.gpu} is required, but 0 GPUs{notes.at('run.limits.gpus')}",
            "set gpus, or remove gpu",
        )
    if limits.gpus and not limits.gpus_optional and run.processes > limits.gpus:
        notes.error("processes", "run.processes", f"{run.processes} processes share {limits.gpus} GPUs of a node{notes.at('run.limits.gpus')}",
                    f"set processes to at most {limits.gpus}")  # fmt: skip
    if run.processes > limits.cpus:
        notes.warn("processes", "run.processes",
                   f"{run.processes} processes share {limits.cpus} CPUs{notes.at('run.limits.cpus')}", "raise cpus")  # fmt: skip
    if limits.memory < _SMALL * run.processes:
        notes.error("memory", "run.limits.memory", f"{format_bytes(limits.memory)} is too little for {run.processes} processes{notes.at('run.processes')}",
                    f"write at least {format_bytes(_SMALL * run.processes)}")  # fmt: skip
    if limits.shared_memory is not None and limits.shared_memory > limits.memory:
        notes.error("memory", "run.limits.shared_memory",
                    f"shared memory {format_bytes(limits.shared_memory)} is more than the memory"
                    f" {format_bytes(limits.memory)}{notes.at('run.limits.memory')}", "lower it")  # fmt: skip
    if limits.processes is not None and limits.processes < run.processes + 1:
        notes.error("process-limit", "run.limits.processes", f"{limits.processes} processes can't hold {run.processes}{notes.at('run.processes')} and their parent",
                    "raise it to some hundreds: threads count too")  # fmt: skip
    if limits.wall_time <= 0:
        notes.error(
            "wall-time",
            "run.limits.wall_time",
            "wall_time must be more than nothing",
            "write a duration such as 1h",
        )
    _check_times(notes, limits.wall_time, environment.objective.deadline, environment.lifecycle.ttl)


def _check_times(notes: Notes, wall: float, deadline: float | None, ttl: float | None) -> None:
    if deadline is not None and deadline <= 0:
        notes.error(
            "deadline",
            "objective.deadline",
            "the deadline must be more than nothing",
            "write a duration such as 2h",
        )
    elif deadline is not None and wall > deadline:
        notes.warn("deadline", "objective.deadline",
                   f"a run may take {format_duration(wall)}{notes.at('run.limits.wall_time')}, the deadline is {format_duration(deadline)}",
                   "lower wall_time, or raise the deadline")  # fmt: skip
    if ttl is not None and ttl < wall:
        notes.error("ttl", "lifecycle.ttl", f"machines end after {format_duration(ttl)}, a run may take {format_duration(wall)}"
                    f"{notes.at('run.limits.wall_time')}",
                    f"write at least {format_duration(wall)}")  # fmt: skip


def check_workload(notes: Notes) -> None:
    """The model's shape, and the batch over the processes."""
    run = notes.state.run
    work, model = run.workload, run.workload.model
    if model.hidden % model.heads:
        notes.error("heads", "run.workload.model.heads", f"hidden {model.hidden} can't be shared by {model.heads} heads{notes.at('run.workload.model.hidden')}",
                    "make hidden a multiple of heads")  # fmt: skip
    workers = run.processes * run.limits.nodes
    if work.global_batch % workers:
        notes.error("batch", "run.workload.global_batch", f"batch {work.global_batch} can't be shared by {workers} processes{notes.at('run.processes')}",
                    f"make it a multiple of {workers}")  # fmt: skip


def check_checkpoints(notes: Notes) -> None:
    """A checkpoint before the end, or a restart loses everything."""
    interval, steps = notes.state.run.checkpoint.interval_steps, notes.state.run.workload.steps
    if interval > steps:
        notes.warn("checkpoint-interval", "run.checkpoint.interval_steps",
                   f"a checkpoint every {interval} steps, but the run has {steps}{notes.at('run.workload.steps')}: a restart begins at step 0",
                   f"write at most {max(1, steps // 2)}")  # fmt: skip


def check_monitor(notes: Notes) -> None:
    """Intervals that can be kept."""
    monitor = notes.state.environment.monitor
    if monitor.telemetry < 0.5:
        notes.error(
            "telemetry",
            "monitor.telemetry",
            f"telemetry every {monitor.telemetry:g} s is too often",
            "write at least 500ms",
        )
    if monitor.refresh < 10:
        notes.error(
            "refresh",
            "monitor.refresh",
            f"a Terraform refresh every {monitor.refresh:g} s is too often",
            "write at least 10s",
        )
    elif monitor.refresh < monitor.telemetry:
        notes.warn(
            "refresh",
            "monitor.refresh",
            "Terraform is asked more often than the node's agent",
            "raise refresh",
        )
