"""Which checkpoint a run goes on from: the newest one that is proved complete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.errors import CheckpointError
from akotf.facts.compare import same

SCHEMA = 1
MANIFEST = "manifest.json"


def newest_complete(
    checkpoints: Path, approved: Mapping[str, Any] | None = None
) -> tuple[Path | None, list[str]]:
    """The newest complete checkpoint that was trained with the approved values, and what is wrong with each newer one.

    `approved` are the baseline's hyperparameters: a checkpoint whose manifest tells other values in use carries the
    drift that a restart is to heal, and is passed over. (None, [...]) when there is none to go on from.
    CheckpointError when one can't be trusted and none is left: a run that has trained never starts from scratch in
    silence.
    """
    broken: list[str] = []
    drifted: list[str] = []
    for folder in _newest_first(checkpoints):
        if fault := fault_of(folder):
            broken.append(f"{folder.name}: {fault}")
        elif others := _others(folder, approved or {}):
            drifted.append(f"{folder.name}: it was trained with {others}")
        else:
            return folder, broken + drifted
    if broken:
        raise CheckpointError(
            "none of the checkpoints is complete: " + "; ".join(broken + drifted),
            where=str(checkpoints),
            remedy="mend one, or move the folder away to let the run start from its first step",
        )
    return None, drifted


def _others(folder: Path, approved: Mapping[str, Any]) -> str:
    """Values in use that are not the approved ones, by a complete checkpoint's manifest."""
    used = json.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("hyperparameters") or {}
    return ", ".join(
        f"{name} {json.dumps(used[name])} (approved {json.dumps(approved[name])})"
        for name in sorted(used.keys() & approved.keys())
        if not same(used[name], approved[name])
    )


def complete_steps(checkpoints: Path) -> list[int]:
    """Steps of the checkpoints that have a manifest, ascending; sizes and digests are not read here."""
    steps = (_step(folder) for folder in _newest_first(checkpoints) if (folder / MANIFEST).is_file())
    return sorted({step for step in steps if step is not None})


def fault_of(folder: Path) -> str:
    """Why a checkpoint folder is not complete; "" when manifest, sizes and SHA-256 digests are right."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files, step = manifest["files"], manifest["step"]
        if manifest["schema"] != SCHEMA:
            return f"manifest schema {manifest['schema']!r} is unknown; this akotf reads {SCHEMA}"
        if step != _step(folder):
            return f"its manifest is of step {step}"
        if not files:
            return "its manifest names no file"
        for name, entry in files.items():
            if fault := _file_fault(folder, name, entry["size"], entry["sha256"]):
                return fault
    except FileNotFoundError:
        return "it has no manifest: the write was cut off"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"its manifest can't be read: {error}"
    return ""


def _file_fault(folder: Path, name: str, size: int, sha256: str) -> str:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return f"{name} lies outside the checkpoint"
    if not path.is_file():
        return f"{name} is missing"
    if path.stat().st_size != size:
        return f"{name} has {path.stat().st_size} bytes instead of {size}"
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return "" if found == sha256 else f"{name} has another SHA-256 than its manifest says"


def _newest_first(checkpoints: Path) -> list[Path]:
    """Folders `step-NNNNNNNN`, newest step first; one that a newer write of its step replaced comes after that."""
    found = [path for path in checkpoints.glob("step-*") if path.is_dir() and _step(path) is not None]
    return sorted(found, key=lambda path: (-(_step(path) or 0), path.name))


def _step(folder: Path) -> int | None:
    digits = folder.name.removeprefix("step-").removesuffix(".replaced")
    return int(digits) if digits.isdecimal() else None
