"""Every id that a finding can have, and what it means. An id that the code uses and that does not stand here is a fault.

Ids are stable: one never changes its meaning, and one that is no longer used is used for nothing else.
`policy/RULE` is the verdict of the policy rule of that name, `error/CODE` an error that ended an environment's checks.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Reading any YAML file of ours.
_READING = {
    "config/alias": "An alias has no anchor before it, or stands inside its own anchor.",
    "config/ambiguous-value": "A plain scalar may mean text or a number, and nothing says which.",
    "config/anchor": "An anchor is defined twice.",
    "config/control-character": "A file holds a control character.",
    "config/directive": "A file begins with a YAML directive.",
    "config/duplicate-key": "A mapping has a key twice, or two keys that look alike.",
    "config/empty": "A file is empty.",
    "config/encoding": "A file or a text is not Unicode in UTF-8.",
    "config/escape": "A double-quoted text has an escape that YAML does not know, or half of a character.",
    "config/file": "A file can't be read.",
    "config/invisible-character": "A character that looks like a space or like nothing stands outside quotes.",
    "config/key": "A key is empty or is no text.",
    "config/lookalike-character": "A word outside quotes has a letter that looks like a Latin one.",
    "config/merge": "`<<` merges something other than mappings.",
    "config/missing-key": "A key that is required is not there.",
    "config/needs-value": "A key has no value.",
    "config/not-yaml": "A file holds something other than YAML.",
    "config/number": "A number is written in a way that is not read, such as octal.",
    "config/several-documents": "A file holds more than one YAML document.",
    "config/syntax": "A file is not YAML.",
    "config/tab": "A tab indents a line.",
    "config/tag": "A YAML tag is used.",
    "config/too-deep": "A file is nested too deeply.",
    "config/too-large": "A file is too large.",
    "config/too-many-faults": "A file has so many faults that the rest was not read.",
    "config/too-many-values": "A file holds too many values, those of its aliases counted.",
    "config/type": "A value is of another type than its field.",
    "config/unknown-key": "A key is not known here.",
    "config/value": "A value is not one that its field takes.",
}

#: Templates and their parameters.
_TEMPLATES = {
    "config/bounds": "A parameter is below its minimum or above its maximum.",
    "config/choice": "A parameter is not one of its choices.",
    "config/constraint": "Parameters break a constraint of the template.",
    "config/expression": "An expression of run.yaml can't be computed.",
    "config/missing-parameter": "A required parameter is not given.",
    "config/pattern": "A parameter does not match its pattern.",
    "config/pin": "The template is not what akotf.lock pins.",
    "config/secret": "A value stands where only a reference to a secret may stand.",
    "config/source": "A template's address in git is not allowed.",
    "config/template": "The template can't be found or has a fault of its own.",
    "config/template-name": "template.yaml has another name or version than its folder.",
    "config/unknown-parameter": "The template has no such parameter.",
    "config/unpinned": "No akotf.lock pins the template.",
}

#: What no single field can tell.
_CHECKS = {
    "config/argument-conflict": "The command's arguments say something other than the hyperparameters.",
    "config/backend": "A scope can't run on this backend.",
    "config/batch": "The batch can't be shared by the processes.",
    "config/budget": "The budget ends before the wall time.",
    "config/builder": "The builder is not FILE:FUNCTION, or the function is not there.",
    "config/checkpoint-interval": "The run is shorter than two checkpoints: a restart begins at step 0.",
    "config/command": "The command can't be started as it is written.",
    "config/currency": "Prices and budget are in several currencies.",
    "config/deadline": "The deadline is no time at all, or the wall time goes beyond it.",
    "config/disagreement": "A hyperparameter contradicts the workload or the launcher.",
    "config/duplicate": "A list holds a value twice.",
    "config/foreign-key": "A key makes no sense for this kind of scope.",
    "config/gpu-count": "Nodes have a GPU model but no GPUs.",
    "config/gpu-model": "Nodes have GPUs of no model.",
    "config/heads": "The model's width can't be shared by its heads.",
    "config/launcher-batch": "A launcher's file gives batch sizes that contradict each other.",
    "config/launcher-conflict": "A launcher's file, argument or variable contradicts run.yaml.",
    "config/launcher-file": "A launcher's file can't be compared with run.yaml.",
    "config/leased-variable": "A variable is set that the backend sets from what was leased.",
    "config/literal-secret": "A value looks like a secret that is written out.",
    "config/memory": "The memory is too little for its processes, or less than the shared memory.",
    "config/missing-file": "A file that is named is not in the environment folder.",
    "config/mount-target": "A mount's target is no absolute path, or is used twice.",
    "config/nested-launcher": "The command starts a launcher although akotf starts the processes.",
    "config/no-inventory": "An HPC scope declares no nodes.",
    "config/no-market": "A cloud scope buys in no market.",
    "config/no-partition": "An HPC scope names no partition.",
    "config/no-provider": "A cloud scope names no provider.",
    "config/no-queue-wait": "An HPC scope declares no queue wait.",
    "config/no-region": "A cloud scope names no region.",
    "config/no-scope": "No scope says where to train.",
    "config/normalised": "Terraform would change a text, such as a label, on its way.",
    "config/not-rendered": "An expression stands where nothing is rendered.",
    "config/output": "An output is not below the output folder, or is there twice.",
    "config/outside": "A path leaves the environment folder, or lies in akotf's own.",
    "config/partition": "A text can't be the name of a partition.",
    "config/path": "A text can't be a path of this folder.",
    "config/placeholder": "A placeholder stands where the training would take it for the value.",
    "config/process-limit": "The limit of processes can't hold those that start.",
    "config/processes": "More processes than GPUs or CPUs of a node share them.",
    "config/rank-variable": "A variable is set that the launcher sets for each process.",
    "config/refresh": "Terraform would be asked too often.",
    "config/reserved-name": "A scope has a name that akotf keeps for itself.",
    "config/reserved-variable": "A variable has a name that akotf keeps for itself.",
    "config/secret-conflict": "Template and environment give one secret different references.",
    "config/secret-twice": "A name is a secret and a plain variable of the environment.",
    "config/spot-without-checkpoint": "Spot machines may be taken, but checkpoints are not durable.",
    "config/stray-reference": "A reference to a secret stands where nothing resolves it.",
    "config/telemetry": "The node's agent would be asked too often.",
    "config/threads": "The processes' threads together are more than the CPUs.",
    "config/too-long": "A text is longer than a process takes.",
    "config/ttl": "What is provisioned ends before the run may.",
    "config/variable-name": "A text can't be the name of an environment variable.",
    "config/variable-value": "A text can't be the value of an environment variable.",
    "config/waiver": "A waiver lacks what it must say, or is there twice.",
    "config/wall-time": "The wall time is not more than nothing.",
}

#: AkôFlow's four files.
_AKOFLOW = {
    "akoflow/command": "An activity runs nothing, or two things.",
    "akoflow/cycle": "Activities wait for each other.",
    "akoflow/dependency": "An activity waits for one that is not there.",
    "akoflow/duplicate": "An id is there twice.",
    "akoflow/file": "One of AkôFlow's files can't be read.",
    "akoflow/file-name": "A file looks like one of AkôFlow's, but has another name and is not read.",
    "akoflow/metadata": "A key of akotf in the metadata is not known or has a value that it can't have.",
    "akoflow/reference": "An id is named that is not there.",
    "config/activity-limit": "An activity's limits and those of the run contradict each other.",
    "config/akoflow-conflict": "akotf.yaml and AkôFlow's files contradict each other.",
    "config/akoflow-ignored": "A part of AkôFlow's files has no effect.",
    "config/akoflow-name": "akotf.yaml and environment.yaml have different names.",
    "config/akoflow-scope": "environment.yaml has a scope that akotf.yaml leaves out.",
    "config/image-conflict": "A runtime has another image than the run.",
}

#: `akotf template`, `akotf policy`, `akotf verify`, `akotf audit verify`.
_OTHERS = {
    "contract/invalid": "An exchange file of the seven activities breaks its contract.",
    "evidence/added": "The evidence folder holds a file that its manifest does not name.",
    "evidence/changed": "A file of the evidence is not what its manifest says.",
    "evidence/mismatch": "Two files of the evidence contradict each other.",
    "evidence/missing": "A file of the evidence is not there.",
    "evidence/not-replayed": "The plan was made by another planner, so it was not computed again.",
    "evidence/replay": "The plan does not follow from its frozen inputs.",
    "evidence/signature": "A signature does not hold.",
    "evidence/unreadable": "A file of the evidence can't be read.",
    "evidence/unsigned": "The evidence bears no signature of a pinned key.",
    "journal/changed": "An entry of the journal was changed.",
    "journal/missing": "An entry of the journal is not there.",
    "journal/relinked": "The chain of the journal was written anew.",
    "journal/reordered": "Entries of the journal stand in another order.",
    "journal/truncated": "The end of the journal was cut off.",
    "journal/unprotected": "The journal's database no longer refuses changes.",
    "policy/input": "A rule's own input does not give what its folder says.",
    "policy/rule": "A policy rule has a fault.",
    "policy/waiver": "A waiver names no rule, or lacks what it must say.",
    "secret/unresolved": "A secret's reference gives no value.",
    "template/changed": "A published template is not what was published.",
    "template/incomplete": "A template lacks a file.",
    "template/missing": "A published template is not there.",
    "template/moved": "A tag in git names another commit than the one that was locked.",
    "template/unfinished": "A publication was interrupted.",
    "template/unpublished": "A template in the catalogue is not in its index.",
}

#: Id -> what a finding of it says, in one sentence; by where the finding comes from.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Reading YAML": _READING,
    "Templates and parameters": _TEMPLATES,
    "The desired state as a whole": _CHECKS,
    "AkôFlow's files": _AKOFLOW,
    "Other commands": _OTHERS,
}
RULES: Mapping[str, str] = {rule: said for group in GROUPS.values() for rule, said in group.items()}


def meaning(rule: str) -> str:
    """What a rule's findings say, in one sentence."""
    family, _, name = rule.partition("/")
    if rule in RULES:
        return RULES[rule]
    if family == "policy":
        return f"The policy rule {name} does not pass."
    return f"The environment can't be read or judged: error {name}."
