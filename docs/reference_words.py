"""What the reference says where the code leaves it to the reader: kinds, codes and variables."""

from __future__ import annotations

#: Kinds of journal entries. A kind that the code writes and that does not stand here is an error.
KINDS = {
    "environment.upgraded": "The environment was moved to another template: from, to, its pin, the new baseline and revision.",
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
    "lease.taken": "A lease was taken from a holder that is dead: whose, for what, and how that is known.",
    "run.ended": "The run is over: state and reason.",
    "drift.seen": "A declared value differs for the first time: field, approved, observed, source.",
    "drift.cleared": "It is as approved again.",
    "decision.stop": "The run is about to be stopped by its own limits: which drift, and why.",
    "heal.intent": "Drift is about to be healed: what, how, why.",
    "heal.done": "It was.",
    "heal.failed": "It was not; the error.",
    "remedy.intent": "A script of the user's own is about to be started for a drift: which, and its digest.",
    "remedy.done": "How it ended: exit code (none: killed at its time limit) and seconds.",
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

UNITS = """A value is taken when it can mean one thing only, and exactly or not at all: nothing is rounded. Everything else is
refused with what to write instead.

| what | written | refused, and why |
|---|---|---|
| size | `16 GiB`, `16GB`, `1.5 GiB`, `80Gi`, `100 B` | `16G`: 2^30 to Slurm, 10^9 to Kubernetes; `16 Gb`: bits; `16384`: no unit; a fraction of a byte |
| duration | `90m`, `1h 30m`, `1.5h`, `500 ms`; Slurm's `6-12`, `6-12:30`, `6-00:00:00`, `100:00:00` and `10:00`, which are minutes and seconds; ISO 8601's `PT1H30M`, `P2W` | `90`: no unit (minutes to Slurm); `1:75:00`; `P1M`: months vary; finer than a millisecond; more than 36500 days |
| money | `25 USD`, `USD 25`, `0.50 EUR` (ISO 4217) | `25`: no currency; `$25`: several countries' sign; `1,000 USD`; `25.001 USD`: finer than the coins |
| price | `0.60 USD/gpu/h`, `12 USD/node/h` | `12 USD/h`: of what? |
| bit rate | `100 Gbit/s`, `100 Gb/s`, `100 Gbps` | `12.5 GB/s`: networks count bits; `1e11`: no unit |
| percentage | `95%`, `99.5 %` | `0.95`, `95`: which of the two? |

`16 GiB` is 17 179 869 184 bytes and `16 GB` is 16 000 000 000. A size is at most 2^63 - 1 bytes."""
