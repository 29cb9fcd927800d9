"""Checks of files: what the command, the builder, the storage and the outputs name lies where it may."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from akotf.facts.files import read_bytes
from akotf.model.layout import Layout
from akotf.validate.noting import Notes

_SCRIPT = re.compile(r"[^\s;&|<>$`'\"(){}*?=:]+\.(py|sh|bash)")  # one word that names a script, and no more
_BUILDER = re.compile(r"(?P<file>[^:]+\.py):(?P<function>[A-Za-z_][A-Za-z0-9_]*)")
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://\S+")
_LONGEST, _LONGEST_PART = 4095, 255  # bytes (PATH_MAX without its end, NAME_MAX)


def check_files(notes: Notes) -> None:
    """Files exist, lie below the environment folder and are not akotf's own."""
    run, folder = notes.state.run, notes.state.folder
    _check_script(notes)
    if run.workload.builder:
        _check_builder(notes, run.workload.builder)
    _check_storage(notes)
    _check_outputs(notes)
    if not (folder / "akotf.lock").is_file():
        notes.warn("unpinned", "template", f"template {notes.state.environment.template} is not pinned: no akotf.lock",
                   "akotf template lock, and commit akotf.lock")  # fmt: skip


def path_fault(name: str) -> tuple[str, str, str] | None:
    """What keeps a text from being a relative path that stays where it begins: rule, message, remedy; None: nothing."""
    parts = name.split("/")
    if not name or not name.strip():
        return "path", f"{name!r} names no file", "write a path below the environment folder"
    if any(not c.isprintable() for c in name):
        return "path", f"{name!a} holds a character that can't be seen", "rename the file"
    if "\\" in name:
        return "path", f"{name!r} holds a backslash", "write / between folders"
    if name.startswith("~"):
        return (
            "path",
            f"{name!r}: no shell reads it, so ~ is no home",
            "write a path below the environment folder",
        )
    if name.startswith("/") or ".." in parts:
        return "outside", f"{name!r} leaves the environment folder", "write a path below it"
    if len(name.encode()) > _LONGEST or any(len(part.encode()) > _LONGEST_PART for part in parts):
        return "path", f"{name[:40] + '...'!r} is longer than a path can be", "use shorter names"
    return None


def _check_script(notes: Notes) -> None:
    """The script that the command starts: its first word that names one, unless it is given code or a module."""
    for index, word in enumerate(notes.state.run.command):
        if word in ("-c", "-m"):
            return
        if _SCRIPT.fullmatch(word) and not word.startswith("-"):
            if not word.startswith("/"):
                _inside(notes, f"run.command.{index}", word)
            return


def _check_storage(notes: Notes) -> None:
    targets: set[PurePosixPath] = set()
    for index, mount in enumerate(notes.state.run.storage):
        path = f"run.storage.{index}"
        url = _URL.fullmatch(mount.source)
        if url is not None and url["scheme"] == "file":
            notes.error("outside", f"{path}.source", f"{mount.source!r} names a file of the machine",
                        "write a path below the environment folder, or the URL of a store")  # fmt: skip
        elif url is None:
            _inside(notes, f"{path}.source", mount.source)
        target, remedy = PurePosixPath(mount.target), ""
        fault = path_fault(mount.target.removeprefix("/"))
        if not mount.target.startswith("/") or fault is not None or target == PurePosixPath("/"):
            message, remedy = (
                f"{mount.target[:60]!r} is not an absolute path of a folder",
                "write /data or so",
            )
        elif target in targets:
            message, remedy = f"{mount.target!r} is mounted twice", "choose another target"
        if remedy:
            notes.error("mount-target", f"{path}.target", message, remedy)
        targets.add(target)


def _check_outputs(notes: Notes) -> None:
    seen: set[PurePosixPath] = set()
    for index, output in enumerate(notes.state.run.outputs):
        path, name = f"run.outputs.{index}", PurePosixPath(output)
        if (fault := path_fault(output)) is not None:
            _, message, remedy = fault
            notes.error(
                "output",
                path,
                message.replace("environment", "output"),
                remedy.replace("environment", "output"),
            )
        elif not name.parts or output.endswith("/"):
            notes.error("output", path, f"{output!r} names a folder", "name a file that the run leaves")
        elif name in seen:
            notes.error("output", path, f"{output!r} is here twice", "keep one of them")
        seen.add(name)


def _check_builder(notes: Notes, builder: str) -> None:
    path = "run.workload.builder"
    match = _BUILDER.fullmatch(builder)
    if match is None:
        notes.error("builder", path, f"{builder!r} is not FILE:FUNCTION", "write train.py:build")
        return
    file = _inside(notes, path, match["file"])
    if file is None:
        return
    try:
        text = read_bytes(str(file)).decode(errors="replace")
    except (OSError, ValueError) as error:
        notes.error("builder", path, f"{match['file']} can't be read: {error}", "put a Python file there")
        return
    name = match["function"]
    if not re.search(rf"^(async )?def {name}\b|^{name}\s*[:=]", text, re.MULTILINE):
        notes.error("builder", path, f"{match['file']} has no function {name}", f"add def {name}")


def _inside(notes: Notes, path: str, name: str) -> Path | None:
    """The file or folder of the environment that `name` means, links followed; None when the fault was noted."""
    if (fault := path_fault(name)) is not None:
        notes.error(fault[0], path, fault[1], fault[2])
        return None
    folder = notes.state.folder
    own = Layout(folder).base
    target = Path(os.path.realpath(folder / name))  # unlike resolve, no error for links that lead in a circle
    if not target.is_relative_to(os.path.realpath(folder)):
        notes.error("outside", path, f"{name!r} is a link that leads out of the environment folder",
                    "put the file itself there")  # fmt: skip
        return None
    written = Path(os.path.normpath(folder / name))
    if any(p.is_relative_to(own) or own.is_relative_to(p) for p in (written, target)):
        notes.error("outside", path, f"{name!r} lies in akotf's own folder, or holds it",
                    "name what lies beside akotf.yaml")  # fmt: skip
        return None
    try:
        mode = target.stat().st_mode
    except OSError:
        notes.error(
            "missing-file", path, f"there is no {name!r} in {folder.name}/", f"add {name}, or mend the name"
        )
        return None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        notes.error("path", path, f"{name!r} is neither a file nor a folder", "put a plain file there")
        return None
    return target
