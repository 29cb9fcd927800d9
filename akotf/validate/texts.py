"""Checks of text that must arrive as it is: in a process, and in Terraform."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from akotf.model.written import has_half_characters
from akotf.terraform.texts import REMEDY, keeps
from akotf.validate.noting import Notes

#: Bytes of one word or of one NAME=VALUE that Linux gives to a process, its end not counted (MAX_ARG_STRLEN, execve(2)).
MAX_STRING = 131_071
#: Bytes of all of them, each with its end and its pointer: a quarter of the usual stack of 8 MiB (ARG_MAX, execve(2)).
MAX_TOTAL = 2 * 2**20
#: Of which so much is left for what akotf, the backend and a launcher of several processes add.
RESERVED = 128 * 2**10
_POINTER = 8
_SYMBOLS = ("{{", "{%", "{#")


def check_opaque(notes: Notes) -> None:
    """Commands and variables that a process can take."""
    run = notes.state.run
    if not run.command[0]:
        notes.error("command", "run.command.0", "the command names no program", "write one, such as python")
    total = 0
    for path, text, prefix in _opaque(notes):
        if "\0" in text and path.startswith("run.command"):  # of a variable: told by its own check
            notes.error(
                "command", path, f"{path} holds a NUL character", "remove it: it would end the word there"
            )
        if has_half_characters(text):
            notes.error("encoding", path, f"{path} holds half of a character", "write the whole character")
            continue
        size = len(prefix) + len(os.fsencode(text))
        total += size + 1 + _POINTER
        if size > MAX_STRING:
            notes.error(
                "too-long", path, f"{path} has {size} bytes, a process takes {MAX_STRING}",
                "put it into a file of the environment folder, and name the file here",
            )  # fmt: skip
    if total > MAX_TOTAL - RESERVED:
        notes.error(
            "too-long", "run.command",
            f"command and environment together have {total} bytes, a process takes {MAX_TOTAL - RESERVED}",
            "put long texts into files of the environment folder, and name the files here",
        )  # fmt: skip


def _opaque(notes: Notes) -> Iterator[tuple[str, str, str]]:
    """Path, text, and what a process gets before it."""
    for index, word in enumerate(notes.state.run.command):
        yield f"run.command.{index}", word, ""
    for name, value in notes.state.run.environment.items():
        yield f"run.environment.{name}", value, f"{name}="


def check_terraform_texts(notes: Notes) -> None:
    """Names and labels: Terraform has them as its own texts, where values of the baseline travel as ASCII."""
    run = notes.state.run
    groups: dict[str, Mapping[str, object]] = {
        "labels": notes.state.environment.labels, "run.hyperparameters": run.hyperparameters,
        "run.libraries": run.libraries, "run.gpu_settings": run.gpu_settings,
    }  # fmt: skip
    for group, named in groups.items():
        for name, value in named.items():
            path = f"{group}.{name}"
            if not keeps(name):
                notes.error(
                    "normalised", path, f"Terraform would not keep the name {name!a} as it is", REMEDY
                )
            if group == "labels" and not keeps(str(value)):
                notes.error("normalised", path, f"Terraform would not keep {value!a} as it is", REMEDY)


def check_expressions(notes: Notes) -> None:
    """Expressions where nothing is rendered. Values of parameters are any text, so none is looked at."""
    environment = notes.state.environment
    texts = {"owner": environment.owner}
    texts |= {f"labels.{name}": value for name, value in environment.labels.items()}
    texts |= {f"scopes.{name}.partition": scope.partition for name, scope in environment.scopes.items()}
    for index, waiver in enumerate(environment.waivers):
        texts |= {f"waivers.{index}.{key}": getattr(waiver, key) for key in ("owner", "reason", "ticket")}
    for path, text in texts.items():
        if any(symbol in text for symbol in _SYMBOLS):
            notes.warn(
                "not-rendered", path, f"{path}: nothing is rendered in akotf.yaml, so this stays as it is written",
                "write the value itself; expressions belong into the run.yaml of a template",
            )  # fmt: skip


def check_folders(notes: Notes) -> None:
    """Names that become folders below `.akotf`. Those of environment and scopes have a pattern of their own."""
    for name, scope in notes.state.environment.scopes.items():
        text = scope.partition
        if len(os.fsencode(text)) > 200 or any(
            c.isspace() or not c.isprintable() or c in "/\\" for c in text
        ):
            notes.error(
                "partition", f"scopes.{name}.partition", f"{text[:60]!r} can't be the name of a partition",
                "write one as sinfo lists it: at most 200 characters, no spaces and no '/'",
            )  # fmt: skip
