"""Checks of files: what the command, the builder, the storage and the outputs name."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from akotf.model.layout import Layout
from akotf.validate.noting import Notes

_SCRIPTS = (".py", ".sh", ".bash")
_BUILDER = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_][A-Za-z0-9_]*)")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")


def check_files(notes: Notes) -> None:
    """Files exist, lie below the environment folder and are not akotf's own."""
    run, folder = notes.state.run, notes.state.folder
    for index, item in enumerate(run.command):
        if item.endswith(_SCRIPTS) and not item.startswith(("-", "/")):
            _inside(notes, f"run.command.{index}", item)
    if run.workload.builder:
        _check_builder(notes, run.workload.builder)
    targets: set[str] = set()
    for index, mount in enumerate(run.storage):
        path = f"run.storage.{index}"
        if not _URL.match(mount.source):
            _inside(notes, f"{path}.source", mount.source)
        if not mount.target.startswith("/") or ".." in PurePosixPath(mount.target).parts:
            notes.error(
                "mount-target",
                f"{path}.target",
                f"{mount.target!r} is not an absolute path",
                "write /data or so",
            )
        if mount.target in targets:
            notes.error(
                "mount-target",
                f"{path}.target",
                f"{mount.target!r} is mounted twice",
                "choose another target",
            )
        targets.add(mount.target)
    for index, output in enumerate(run.outputs):
        if not output or PurePosixPath(output).is_absolute() or ".." in PurePosixPath(output).parts:
            notes.error(
                "output",
                f"run.outputs.{index}",
                f"{output!r} is not below the output folder",
                "write a relative path",
            )
        if output in run.outputs[:index]:
            notes.error("output", f"run.outputs.{index}", f"{output!r} is here twice", "keep one of them")
    if not (folder / "akotf.lock").is_file():
        notes.warn("unpinned", "template", f"template {notes.state.environment.template} is not pinned: no akotf.lock",
                   "akotf template lock, and commit akotf.lock")  # fmt: skip


def _check_builder(notes: Notes, builder: str) -> None:
    path = "run.workload.builder"
    match = _BUILDER.fullmatch(builder)
    if match is None:
        notes.error("builder", path, f"{builder!r} is not FILE:FUNCTION", "write train.py:build")
    elif _inside(notes, path, match["file"]):
        text = (notes.state.folder / match["file"]).read_text(encoding="utf-8", errors="replace")
        if not re.search(
            rf"^(async )?def {match['function']}\b|^{match['function']}\s*[:=]", text, re.MULTILINE
        ):
            notes.error(
                "builder",
                path,
                f"{match['file']} has no function {match['function']}",
                f"add def {match['function']}",
            )


def _inside(notes: Notes, path: str, name: str) -> bool:
    """True when `name` is a file or folder of the environment; else the fault is noted."""
    folder = notes.state.folder
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts:
        notes.error("outside", path, f"{name!r} leaves the environment folder", "write a path below it")
        return False
    target = (folder / relative).resolve()
    if not target.is_relative_to(folder.resolve()):
        notes.error(
            "outside",
            path,
            f"{name!r} is a link that leads out of the environment folder",
            "put the file itself there",
        )
        return False
    if target == Layout(folder).base or target.is_relative_to(Layout(folder).base):
        notes.error("outside", path, f"{name!r} lies in akotf's own folder", "put it beside akotf.yaml")
        return False
    if not target.exists():
        notes.error(
            "missing-file", path, f"there is no {name!r} in {folder.name}/", f"add {name}, or mend the name"
        )
        return False
    return True
