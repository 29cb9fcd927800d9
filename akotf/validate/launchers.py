"""What starts a training says things too: variables, flags and files of its launcher, against what run.yaml declares.

Sources: torchrun (PyTorch, `torch.distributed.run`, and its `PET_` variables), Accelerate's `launch` flags, `ACCELERATE_`
variables and configuration file, DeepSpeed's launcher and JSON file, mpirun, srun. Some of them win silently over
the training's own arguments, so a difference from the approved baseline is an error.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from akotf.model.config import Scalar
from akotf.model.finding import Position
from akotf.validate import launcher_files
from akotf.validate.conflicts import precision
from akotf.validate.noting import Notes

ACCUMULATION = (
    "gradient_accumulation_steps", "gradient_accumulation", "grad_accum", "grad_accumulation_steps", "accumulation_steps",
    "accumulate_grad_batches",
)  # fmt: skip
RATE = ("learning_rate", "lr")
CLIPPING = ("gradient_clipping", "max_grad_norm", "grad_clip", "clip_grad_norm")
ZERO = ("zero_stage",)

#: variable -> what it says (as in `facts_of`)
VARIABLES = {
    "WORLD_SIZE": "world", "LOCAL_WORLD_SIZE": "processes", "NNODES": "nodes", "NPROC_PER_NODE": "processes",
    "PET_NNODES": "nodes", "PET_NPROC_PER_NODE": "processes", "ACCELERATE_MIXED_PRECISION": "precision",
    "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "accumulation", "ACCELERATE_GRADIENT_CLIPPING": "clipping",
    "ACCELERATE_DEEPSPEED_ZERO_STAGE": "zero",
}  # fmt: skip
#: launcher -> flag, without dashes and with `_` -> what it says
FLAGS = {
    "torchrun": {"nproc_per_node": "processes", "nnodes": "nodes"},
    "accelerate": {
        "num_processes": "world", "num_machines": "nodes", "mixed_precision": "precision",
        "gradient_accumulation_steps": "accumulation", "config_file": "file",
    },
    "deepspeed": {"num_gpus": "processes", "num_nodes": "nodes"},
    "mpirun": {"np": "world", "n": "world"},
    "srun": {"nodes": "nodes", "N": "nodes", "ntasks": "world", "n": "world", "ntasks_per_node": "processes"},
}  # fmt: skip
_MODULES = {"torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun", "mpiexec": "mpirun"}
_SHELL = re.compile(r"(.*/)?(ba|da|k|z)?sh")
_SCRIPT = re.compile(r".+\.(py|sh|bash)")
_FOUND_OUT = frozenset({"", "auto", "gpu", "cpu", "xpu"})
_EXPANDED = re.compile(r"[$`{%]")
_RANGE = re.compile(r"([0-9]+):([0-9]+)")


@dataclass(frozen=True)
class Claim:
    """One value of a launcher layer: what it says, its text, where, and the path of a finding about it."""

    what: str
    value: Scalar
    source: str
    path: str
    place: Position | None = None


def check_launchers(notes: Notes) -> None:
    """Variables, flags and files, each against run.yaml; and arguments of the training against its hyperparameters."""
    facts = facts_of(notes)
    words = _words(notes.state.run.command)
    _nested(notes, words)
    claims = [*_variables(notes), *_flags(words)]
    claims += _from_files(notes, words, facts)
    for claim in claims:
        if claim.what in facts:
            _compare(notes, claim, *facts[claim.what])
    _arguments(notes, words)


def facts_of(notes: Notes) -> dict[str, tuple[Scalar, str]]:
    """What can be compared: value and the path that declares it."""
    run = notes.state.run
    work = run.workload
    world = run.processes * run.limits.nodes
    facts: dict[str, tuple[Scalar, str]] = {
        "nodes": (run.limits.nodes, "run.limits.nodes"), "processes": (run.processes, "run.processes"),
        "world": (world, "run.processes"), "precision": (work.precision, "run.workload.precision"),
        "batch": (work.global_batch, "run.workload.global_batch"),
    }  # fmt: skip
    if work.micro_batch is not None:
        facts["micro"] = (work.micro_batch, "run.workload.micro_batch")
        if work.global_batch % (work.micro_batch * world) == 0:
            facts["accumulation"] = (
                work.global_batch // (work.micro_batch * world),
                "run.workload.micro_batch",
            )
    for what, names in (
        ("accumulation", ACCUMULATION),
        ("rate", RATE),
        ("clipping", CLIPPING),
        ("zero", ZERO),
    ):
        for name in names:
            if name in run.hyperparameters:
                facts[what] = (run.hyperparameters[name], f"run.hyperparameters.{name}")
                break
    return facts


def same(one: Scalar, two: Scalar) -> bool:
    """Equal as numbers where both are (`1e-3` and `0.001`), else as text, whatever the case."""
    try:
        return math.isclose(float(one), float(two), rel_tol=1e-9)
    except ValueError:
        return str(one).lower() == str(two).lower()


def _compare(notes: Notes, claim: Claim, value: Scalar, path: str) -> None:
    if str(claim.value).lower() in _FOUND_OUT or _EXPANDED.search(str(claim.value)):
        return  # the launcher, or a shell, finds out
    if claim.what == "precision":
        agree = precision(claim.value) == precision(value) or (precision(claim.value), value) == (
            "fp32",
            "tf32",
        )
    elif claim.what == "nodes" and (match := _RANGE.fullmatch(str(claim.value))):
        agree = int(match[1]) <= int(value) <= int(match[2])
    else:
        agree = same(claim.value, value)
    if not agree:
        words = {"world": "the processes of all nodes are", "accumulation": "the gradient accumulation is"}
        what = words.get(claim.what, f"{path} is")
        if path.startswith("run.hyperparameters."):
            what = f"{path} is"
        notes.error("launcher-conflict", claim.path, f"{claim.source} says {claim.value}, but {what} {value}{notes.at(path)}",
                    "remove it, or write the same in both places", claim.place)  # fmt: skip


def _variables(notes: Notes) -> Iterator[Claim]:
    for name, what in VARIABLES.items():
        if name in notes.state.run.environment:
            yield Claim(
                what, notes.state.run.environment[name], f"variable {name}", f"run.environment.{name}"
            )


# -- the command ------------------------------------------------------------------------------------------------------

Word = tuple[int, str]  # index of the item in the command, text


def _words(command: tuple[str, ...]) -> list[Word]:
    """The command's words; a script given to a shell with -c is split as the shell would."""
    words: list[Word] = []
    for index, item in enumerate(command):
        if index and _SHELL.fullmatch(command[0]) and re.fullmatch(r"-[a-z]*c", command[index - 1]):
            words += [(index, word) for word in _split(item)]
        else:
            words.append((index, item))
    return words


def _split(script: str) -> list[str]:
    """A script's words; the whole of one whose quotes do not match, which the shell will tell."""
    try:
        return shlex.split(script, comments=True)
    except ValueError:
        return [script]


def _launcher(words: list[Word], number: int) -> str:
    """The launcher that a word starts; the value of an option starts none."""
    before = words[number - 1][1] if number else ""
    if before.startswith("-") and not re.fullmatch(r"-[a-z]*[cm]", before):
        return ""
    name = words[number][1].rsplit("/", 1)[-1]
    name = _MODULES.get(name, name)
    return name if name in FLAGS else ""


def _launched(words: list[Word]) -> Iterator[tuple[str, list[Word]]]:
    """Each launcher of the command with its own words: up to the next launcher or the script."""
    name, own = "", list[Word]()
    for number, word in enumerate(words):
        start = _launcher(words, number)
        if name and (start or _SCRIPT.fullmatch(word[1])):
            yield name, own
            name = ""
        if start:
            name, own = start, []
        elif name:
            own.append(word)
    if name:
        yield name, own


def options(words: list[Word]) -> Iterator[tuple[int, str, str]]:
    """Index, name (`_` for `-`) and value of each `--name value`, `--name=value` and `-n value`."""
    for position, (index, text) in enumerate(words):
        if not text.startswith("-") or text in ("-", "--"):
            continue
        name, equals, value = text.lstrip("-").partition("=")
        if not equals:
            following = words[position + 1][1] if position + 1 < len(words) else "-"
            if following.startswith("-") and not re.fullmatch(r"-[0-9.].*", following):
                continue
            value = following
        yield index, name.replace("-", "_"), value


def _flags(words: list[Word]) -> Iterator[Claim]:
    for launcher, own in _launched(words):
        for index, name, value in options(own):
            what = FLAGS[launcher].get(name)
            if what and what != "file":
                yield Claim(what, value, f"{launcher}'s {name}", f"run.command.{index}")


def _nested(notes: Notes, words: list[Word]) -> None:
    """akotf starts several processes itself: a launcher in the command would start as many again for each."""
    run = notes.state.run
    if run.processes * run.limits.nodes == 1:
        return
    for number, (index, _) in enumerate(words):
        if launcher := _launcher(words, number):
            notes.error("nested-launcher", f"run.command.{index}",
                        f"the command starts {launcher}, but akotf starts {run.processes} processes a node"
                        f"{notes.at('run.processes')}: each would start them again",
                        f"write the training's own command, without {launcher}")  # fmt: skip
            return


def _arguments(notes: Notes, words: list[Word]) -> None:
    """An argument of the script with a hyperparameter's name: the script takes the argument."""
    start = next((n for n, (_, text) in enumerate(words) if _SCRIPT.fullmatch(text)), len(words))
    hyperparameters = notes.state.run.hyperparameters
    own = words[start + 1 :]
    pairs = [(i, text.partition("=")) for i, text in own if re.match(r"[A-Za-z_]\w*=", text)]
    hydra = [(index, name, value) for index, (name, _, value) in pairs]
    for index, name, value in [*options(own), *hydra]:
        if name in hyperparameters and not same(value, hyperparameters[name]) and not _EXPANDED.search(value):
            path = f"run.hyperparameters.{name}"
            notes.error("argument-conflict", f"run.command.{index}",
                        f"the command says {name} {value}, but {path} is {hyperparameters[name]}{notes.at(path)}",
                        "remove the argument: the training reads its hyperparameters from AKOTF_HYPERPARAMETERS")  # fmt: skip


# -- files ------------------------------------------------------------------------------------------------------------


def _from_files(notes: Notes, words: list[Word], facts: dict[str, tuple[Scalar, str]]) -> list[Claim]:
    claims: list[Claim] = []
    for index, name, value in options(words):
        if name in ("deepspeed", "deepspeed_config", "config_file", "ds_config") or value.endswith(".json"):
            found = launcher_files.read(notes, f"run.command.{index}", value)
            if found is not None:
                world = int(facts["world"][0])
                claims += [
                    Claim(c.what, c.value, c.source, c.path, c.place)
                    for c in launcher_files.claims(notes, found, world)
                ]
    return claims
