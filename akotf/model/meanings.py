"""What the fields of the models mean: one source for the reference pages and for the schemas that editors read.

A field's meaning is the comment on its own line in the model, or, where the name says it all to a programmer, an entry
of MEANINGS.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from functools import cache

from pydantic import BaseModel

#: Meanings of fields whose line in the model bears no comment.
MEANINGS = {
    "EnvironmentSpec.version": "Schema of this file.",
    "EnvironmentSpec.name": "Name of the environment; part of deployment ids and run ids.",
    "EnvironmentSpec.owner": "Who answers for it: a team or a person.",
    "EnvironmentSpec.labels": "Labels that policy can ask for and that clouds put on resources.",
    "EnvironmentSpec.template": "`NAME@VERSION`; `akotf.lock` pins its content.",
    "EnvironmentSpec.parameters": "Values for the template's parameters; the template types them.",
    "EnvironmentSpec.objective": "What the choice must meet, and what it prefers.",
    "EnvironmentSpec.scopes": "Where it may train, by name.",
    "EnvironmentSpec.lifecycle": "When machines go.",
    "EnvironmentSpec.monitor": "How drift is watched and healed.",
    "EnvironmentSpec.waivers": "Exceptions from policy rules.",
    "ScopeSpec.kind": "Where the machines are.",
    "ScopeSpec.backend": "Where runs run; `local` for a local scope, `slurm` for an HPC scope when not set.",
    "ScopeSpec.partition": "Partition of an HPC scope.",
    "ScopeSpec.nodes": "Declared inventory of an HPC scope.",
    "ScopeSpec.queue_wait": "Declared typical wait of an HPC scope.",
    "ScopeSpec.price": "Price of a local or HPC scope; a local machine without one costs nothing.",
    "ScopeSpec.provider": "Provider of a cloud scope.",
    "ScopeSpec.regions": "Regions of a cloud that may be used.",
    "ScopeSpec.market": "How a cloud may sell the machines.",
    "NodeInventory.count": "Number of equal nodes.",
    "NodeInventory.gpu": "GPU model.",
    "NodeInventory.gpus": "GPUs of a node.",
    "NodeInventory.cpus": "CPUs of a node.",
    "NodeInventory.memory": "Memory of a node.",
    "Objective.budget": "Most that a run may cost.",
    "Objective.deadline": "Longest time from submission to the end.",
    "Objective.prefer": "Among candidates that meet both: the cheapest, or the fastest.",
    "Lifecycle.teardown": "When Terraform destroys what it made.",
    "Lifecycle.ttl": "Hard end of what was provisioned. Checked against the wall time; nothing acts on it yet.",
    "MonitorSpec.telemetry": "Time between two looks at the agent.",
    "MonitorSpec.refresh": "Time between two looks at Terraform.",
    "MonitorSpec.heal": "`auto` heals; `alert` only tells.",
    "MonitorSpec.classes": "What is done about a class of drift where it differs from `heal`: `ignore`, `alert` or `heal`.",
    "MonitorSpec.ignore": "Fields that somebody else owns, such as `limits.cpus`; `*` stands for any text.",
    "MonitorSpec.consent": "What may be done to a node under a live run: `replace`.",
    "MonitorSpec.freeze": "Times in which nothing is healed.",
    "MonitorSpec.allow": "Times in which alone drift is healed; `freeze` wins over them.",
    "MonitorSpec.remedies": "Scripts of your own by class of drift, relative to the environment folder.",
    "MonitorSpec.hang": "Least time without a training step that counts as a hang.",
    "MonitorSpec.warn_at": "Share of the budget at which a run is warned of.",
    "MonitorSpec.stop_at": "Share of the budget at which a run saves itself and stops.",
    "Window.days": "Days on which it begins; every day when not set.",
    "Window.start": "Time of the day such as `22:00`, or a moment such as `2026-12-20T00:00`.",
    "Window.end": "Where it ends, in the same form; `06:00` after `22:00` is on the next day.",
    "Window.timezone": "IANA name of the timezone of both.",
    "Window.reason": "Why, for people.",
    "Waiver.rule": "Id of the rule.",
    "Waiver.owner": "Who answers for the exception.",
    "Waiver.reason": "Why it is needed.",
    "Waiver.ticket": "Where it was agreed.",
    "Waiver.expires": "Last day on which it holds.",
    "TemplateSpec.version": "Schema of this file.",
    "TemplateSpec.name": "Name of the template: the folder's parent.",
    "TemplateSpec.release": "Version of the template: the folder's name.",
    "TemplateSpec.description": "One line for `akotf template list`.",
    "TemplateSpec.roots": "Folder of the static Terraform root, by provider (`local`, `aws`, ...).",
    "TemplateSpec.modules": "Modules that `akotf template publish` copies into the template.",
    "TemplateSpec.parameters": "Parameters by name.",
    "ParameterSpec.type": "Type of the value. Durations reach `run.yaml` as seconds, `bytes` as bytes, `percent` as a share (`0.9`), a `gpu` by its canonical name.",
    "ParameterSpec.default": "Value when the environment gives none.",
    "ParameterSpec.required": "The environment must give a value.",
    "ParameterSpec.unit": "Unit, for help texts.",
    "ParameterSpec.min": "Smallest value, in the parameter's own type: `60`, `1m`, `256 MiB`, `90%`.",
    "ParameterSpec.max": "Largest value, in the same.",
    "ParameterSpec.choices": "The only values allowed.",
    "ParameterSpec.pattern": "Regular expression that the whole text must match.",
    "ParameterSpec.help": "One line of help.",
    "ParameterSpec.secret": "The value is a secret reference such as `env:NAME`, never the secret.",
    "RunSpec.image": "Container image.",
    "RunSpec.processes": "Training processes of a node; more than one start under torchrun.",
    "RunSpec.libraries": "Versions by distribution name, such as `torch: 2.11.0`.",
    "RunSpec.command": "Program and arguments; opaque text, never rendered.",
    "RunSpec.hyperparameters": "What the training reads at its start, by name.",
    "RunSpec.environment": "Environment variables of the process; opaque text. `AKOTF_*` is reserved.",
    "RunSpec.limits": "Resource limits.",
    "RunSpec.gpu_settings": "Settings of the GPUs: driver, ecc, mig, persistence, compute_mode, power_limit_watts.",
    "RunSpec.storage": "Folders that the run sees. Checked; the local backend mounts nothing yet.",
    "RunSpec.checkpoint": "How the run saves itself.",
    "RunSpec.workload": "How much work it is: what the planner computes with.",
    "ImageSpec.reference": "`REGISTRY/REPOSITORY@sha256:...`.",
    "ImageSpec.process": "A plain process is allowed where a scope has no container engine.",
    "Limits.nodes": "Nodes of the whole run.",
    "Limits.gpu": "GPU model that is required; any when not set.",
    "Limits.gpus_optional": "Take a GPU where there is one, else train on the CPU.",
    "Limits.open_files": "Open files of a process (soft RLIMIT_NOFILE).",
    "Limits.processes": "Processes of the user (soft RLIMIT_NPROC).",
    "Limits.wall_time": "Longest time of the whole run, over all its attempts.",
    "Limits.gpus": "GPUs of a node.",
    "Limits.cpus": "CPUs of a node: the process's affinity.",
    "Limits.memory": "Memory of a node; on a CPU also the process's limit (RLIMIT_DATA).",
    "Limits.shared_memory": "Shared memory of a node, for containers.",
    "StorageMount.target": "Where the run sees it.",
    "StorageMount.read_only": "The run can't write there.",
    "CheckpointSpec.interval_steps": "Steps between two checkpoints.",
    "CheckpointSpec.keep": "Complete checkpoints that are kept.",
    "CheckpointSpec.durable": "Checkpoints outlive the machine.",
    "WorkloadSpec.model": "The transformer.",
    "WorkloadSpec.builder": "`FILE:FUNCTION` in the environment's folder that gives a PyTorch model and a sample input, to measure it.",
    "WorkloadSpec.steps": "Optimisation steps.",
    "WorkloadSpec.precision": "Number format of the matrix products.",
    "WorkloadSpec.optimizer": "Optimiser, for its memory and traffic.",
    "WorkloadSpec.dataset_bytes": "Size of the data set that is staged.",
    "ModelSpec.layers": "Transformer blocks.",
    "ModelSpec.hidden": "Width of the residual stream.",
    "ModelSpec.heads": "Attention heads of a block.",
    "ModelSpec.vocabulary": "Size of the vocabulary.",
    "ModelSpec.sequence": "Tokens of a training sequence.",
    "ModelSpec.feed_forward": "Width of the feed-forward layer; 4 x hidden when not set.",
    "ModelSpec.kv_heads": "Heads of grouped keys and values; `heads` when not set.",
    "ModelSpec.architecture": "`llama` has a gated feed-forward layer, RMSNorm, rotary positions and no biases.",
    "ModelSpec.fused_attention": "No sequence x sequence matrices are stored (FlashAttention, SDPA).",
    "ModelSpec.tied_embeddings": "Input and output embeddings are one matrix.",
    "Rule.version": "Schema of this file.",
    "Rule.id": "Stable id: the folder's name.",
    "Rule.title": "What must hold, in one line.",
    "Rule.level": "How binding the rule is.",
    "Rule.stage": "Where it judges.",
    "Rule.match": "CEL over `object`: which objects the rule looks at; all when empty.",
    "Rule.reads": "Paths under the object, or under `input`, that must be known, else the rule says unknown.",
    "Rule.types": "Resource types that the rule looks at, and the paths that it reads of each, beside `reads`.",
    "Rule.expr": "CEL; true means passed. Sees `object`, `input` (the document), `params` and `values` (what was read).",
    "Rule.culprits": "CEL that gives a list: what of the object is refused, for the message.",
    "Rule.message": "What is wrong; `{path}`, `{params.NAME}`, `{values}` and `{culprits}` stand for what they name.",
    "Rule.unknown": "What unknown means for a hard-mandatory rule.",
    "Rule.params": "Values that `expr` and `message` may use as `params`.",
    "Rule.why": "Why the rule is there.",
    "Rule.remedy": "What to do when it fails.",
    "Progress.step": "Steps done.",
    "Progress.total_steps": "Steps of the whole run.",
    "Progress.loss": "Loss of the last step.",
    "Progress.step_time": "Mean of the last steps, in seconds.",
    "Progress.train_seconds": "Seconds that this attempt spent in steps.",
    "Progress.train_steps": "Steps that this attempt did.",
    "Progress.phase": "`setup`, `train`, `evaluate`, `checkpoint` or `done`.",
    "Progress.hyperparameters": "Values really in use, by name: what drift of `hyperparameters.in_use.*` is seen by.",
    "Progress.libraries": "Versions in use, by distribution name.",
    "Progress.time": "Unix seconds of this heartbeat.",
    "Progress.pid": "The process that writes it.",
}  # fmt: skip


@cache
def comments_of(model: type[BaseModel]) -> dict[str, str]:
    """The comment on each field's own lines."""
    source = textwrap.dedent(inspect.getsource(model))
    by_line = {
        t.start[0]: t.string.lstrip("# ")
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type == tokenize.COMMENT and not t.string.startswith(("# noqa", "# fmt"))
    }
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: " ".join(
            by_line[n] for n in range(node.lineno, (node.end_lineno or 0) + 1) if n in by_line
        )
        for node in body.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def meaning_of(model: type[BaseModel], name: str) -> str:
    """What a field means, as a sentence; empty when nobody said it. A field may be a base class's."""
    for owner in model.__mro__:
        if owner is BaseModel or not issubclass(owner, BaseModel):
            break
        if said := MEANINGS.get(f"{owner.__name__}.{name}") or sentence(comments_of(owner).get(name, "")):
            return said
    return ""


def prose(text: str) -> str:
    """A docstring on one line a paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,:;]", text) else text
    return text if text.endswith((".", "?")) else text + "."
