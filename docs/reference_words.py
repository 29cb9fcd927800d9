"""What the reference says where the code leaves it to the reader: meanings of fields, kinds, codes and variables."""

from __future__ import annotations

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
    "Rule.reads": "Dotted paths under the object that must be known, else the rule says unknown.",
    "Rule.expr": "CEL; true means passed. Sees `object`, `input` (the whole document) and `params`.",
    "Rule.message": "What is wrong; `{path}` stands for a value of the object.",
    "Rule.unknown": "What unknown means for a hard-mandatory rule.",
    "Rule.params": "Values that `expr` and `message` may use as `params`.",
    "Rule.why": "Why the rule is there.",
    "Rule.remedy": "What to do when it fails.",
}  # fmt: skip

MEANINGS |= {
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
}

#: Kinds of journal entries. A kind that the code writes and that does not stand here is an error.
KINDS = {
    "policy.judged": "The rules of a stage judged: how many passed, and every verdict that did not.",
    "plan.made": "Candidates were compared and one was chosen; digests of inputs, choice and revision.",
    "approval.given": "Somebody approved changes, tree and selection: who, and the digest that binds.",
    "apply.intent": "Terraform is about to apply: addresses, actions, names of attributes.",
    "apply.done": "It has.",
    "apply.failed": "It has not; the error.",
    "run.intent": "An attempt is about to be submitted; its key.",
    "run.submitted": "The backend has it; its handle.",
    "attempt.started": "The attempt counts as started.",
    "attempt.ended": "How an attempt ended: outcome, exit code, reason.",
    "run.ended": "The run is over: state and reason.",
    "drift.seen": "A declared value differs for the first time: field, approved, observed, source.",
    "drift.cleared": "It is as approved again.",
    "heal.intent": "Drift is about to be healed: what, how, why.",
    "heal.done": "It was.",
    "heal.failed": "It was not; the error.",
    "destroy.intent": "Terraform is about to destroy.",
    "destroy.done": "It has.",
    "destroy.failed": "It has not; the error.",
    "evidence.written": "The evidence folder of a run is complete.",
    "prediction.recorded": "Predicted and observed time, step time and cost; calibrates the next plan.",
}

#: Environment variables that akotf reads.
VARIABLES = {
    "NO_COLOR": "Set to anything: no colours.",
    "AKOTF_SIGNING_KEY": "File with an Ed25519 private key (PEM) that signs evidence.",
    "AKOTF_USER": "Name of the actor in the journal, where the login name says little.",
    "CI": "Set to anything: the journal says that the actor is CI.",
    "XDG_CACHE_HOME": "Where measurements of this machine are kept, in a folder `akotf`; `~/.cache` by default.",
    "XDG_STATE_HOME": "Where leases on this machine's devices are kept, in a folder `akotf`; `~/.local/state` by default.",
}

EXIT_CODES = {
    0: "done",
    1: "error, also of usage",
    2: "changes or drift, with `--detailed-exitcode`",
    3: "denied by policy, or not approved",
    4: "no feasible candidate",
    5: "locked by someone else",
    6: "the run failed",
    130: "interrupted",
}

HEARTBEAT = (
    "The two protocols of a training, for scripts that don't use `akotf.runtime.Training`. The file `AKOTF_HEARTBEAT` is a JSON object "
    'with `"schema": 1` and the fields below, replaced as a whole (write a file beside it, then rename), at most some times a '
    "second. Step times are observed from `train_seconds` and `train_steps`; without them nothing is learnt for the next plan."
)

CHECKPOINTS = """## Checkpoints

A checkpoint is a folder `step-NNNNNNNN` (the step, eight digits) in `AKOTF_CHECKPOINTS`. `manifest.json` is written last:

```json
{
  "schema": 1,
  "step": 100,
  "baseline": "the value of AKOTF_BASELINE",
  "hyperparameters": {"learning_rate": 0.001},
  "files": {"model.pt": {"size": 3291, "sha256": "hexadecimal"}}
}
```

It is complete when the manifest can be read and every file has that size and digest. `hyperparameters` (optional) are those in
use when it was saved: one that was trained with other than the approved values is passed over. A restart begins from the newest
complete one that is left, whose folder is then in `AKOTF_RESUME_FROM`."""

RUN_EXTRA = """## What the training sees

The process gets exactly `environment`, and:

| variable | value |
|---|---|
| `AKOTF_RUN_ID`, `AKOTF_ATTEMPT` | which run, which attempt |
| `AKOTF_RUN_DIRECTORY` | folder of the run |
| `AKOTF_CHECKPOINTS`, `AKOTF_OUTPUTS` | where checkpoints and outputs go |
| `AKOTF_CHECKPOINT_KEEP` | how many complete checkpoints to keep |
| `AKOTF_HEARTBEAT` | the file in which to tell the progress |
| `AKOTF_HYPERPARAMETERS` | the file with the approved hyperparameters, to read at the start |
| `AKOTF_BASELINE` | digest of the baseline, for checkpoint manifests |
| `AKOTF_RESUME_FROM` | folder of the checkpoint to go on from; only when resuming |
| `AKOTF_DEVICES`, `CUDA_VISIBLE_DEVICES` | indices of the leased GPUs |
| `PATH`, `HOME`, `LANG` | a floor, where `environment` does not set them |"""
