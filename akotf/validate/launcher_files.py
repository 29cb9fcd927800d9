"""DeepSpeed's JSON and Accelerate's YAML in the environment folder: what they say of batch, precision and processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError
from akotf.model.config import Scalar
from akotf.model.finding import Position
from akotf.reading import yaml
from akotf.reading.bind import plain
from akotf.reading.nodes import MapNode
from akotf.validate.noting import Notes

#: key of the file -> what it says (as in `launchers.facts_of`)
KEYS = {
    "train_batch_size": "batch", "train_micro_batch_size_per_gpu": "micro", "gradient_accumulation_steps": "accumulation",
    "gradient_clipping": "clipping", "optimizer.params.lr": "rate", "zero_optimization.stage": "zero",
    "num_processes": "world", "num_machines": "nodes", "mixed_precision": "precision",
    "deepspeed_config.gradient_accumulation_steps": "accumulation", "deepspeed_config.zero_stage": "zero",
    "deepspeed_config.gradient_clipping": "clipping",
}  # fmt: skip


@dataclass(frozen=True)
class LauncherFile:
    """A file as read."""

    name: str  # as the command names it
    node: MapNode

    def at(self, path: str) -> tuple[Any, Position] | None:
        """The value at a dotted path, and its place."""
        node: Any = self.node
        for part in path.split("."):
            node = node.get(part) if isinstance(node, MapNode) else None
        try:
            return None if node is None else (plain(node), node.mark.position())
        except ValueError:
            return None  # a number that can't be held is told by whoever reads the file


@dataclass(frozen=True)
class FileClaim:
    """A value of the file, ready to be compared."""

    what: str
    value: Scalar
    source: str
    path: str
    place: Position


def read(notes: Notes, path: str, name: str) -> LauncherFile | None:
    """The file `name` of the environment folder; None when it is not there. A file that can't be read is a warning."""
    folder = notes.state.folder.resolve()
    file = (folder / name).resolve()
    if Path(name).is_absolute() or not file.is_relative_to(folder) or not file.is_file():
        return None
    try:
        node = yaml.read(folder / name)
    except ConfigError as error:
        place = error.findings[0].position if error.findings else None
        notes.warn(
            "launcher-file",
            path,
            f"{name} can't be compared with run.yaml: {error.message}",
            "mend the file",
            place,
        )
        return None
    return LauncherFile(name, node) if isinstance(node, MapNode) else None


def claims(notes: Notes, file: LauncherFile, world: int) -> Iterator[FileClaim]:
    """What the file says; what contradicts itself or the precision is noted at once."""
    for key, what in KEYS.items():
        found = file.at(key)
        if found is not None and isinstance(found[0], (bool, int, float, str)):
            yield FileClaim(what, found[0], f"{key} in {file.name}", f"{file.name}:{key}", found[1])
    _check_precision(notes, file)
    _check_batch(notes, file, world)


def _check_precision(notes: Notes, file: LauncherFile) -> None:
    """`fp16.enabled` and `bf16.enabled` against the declared precision."""
    path = "run.workload.precision"
    ours = notes.state.run.workload.precision
    for name in ("fp16", "bf16"):
        found = file.at(f"{name}.enabled")
        if found is None or not isinstance(found[0], bool) or found[0] is (ours == name):
            continue
        says = "true" if found[0] else "false"
        notes.error("launcher-conflict", f"{file.name}:{name}.enabled",
                    f"{name}.enabled in {file.name} is {says}, but {path} is {ours}{notes.at(path)}",
                    "write the same precision in both places", found[1])  # fmt: skip


def _check_batch(notes: Notes, file: LauncherFile, world: int) -> None:
    """DeepSpeed refuses to start unless batch = micro batch x accumulation x processes."""
    found = [file.at(key) for key in list(KEYS)[:3]]
    numbers = [f[0] for f in found if f is not None and isinstance(f[0], int)]
    if len(numbers) == 3 and numbers[0] != numbers[1] * numbers[2] * world and found[0] is not None:
        notes.error("launcher-batch", f"{file.name}:train_batch_size",
                    f"train_batch_size {numbers[0]} in {file.name} is not {numbers[1]} x {numbers[2]} x {world} processes"
                    f"{notes.at('run.processes')}", "leave one of the three out", found[0][1])  # fmt: skip
