"""Checks of secrets: their variables, and secrets that somebody wrote out where only a reference may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from akotf.model.finding import Finding, Position, Severity
from akotf.model.literals import is_placeholder, is_secret_of, literals, names_secret
from akotf.model.secret import SCHEMES, is_reference
from akotf.validate.noting import Notes
from akotf.validate.workload import VARIABLE, check_name

Leaf = tuple[str, str, str]  # dotted path, the name that a text goes by, the text
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")


def check_secrets(notes: Notes) -> None:
    """Names of secret variables, references that would never be resolved, and literal secrets."""
    _check_names(notes)
    _check_strays(notes)
    _check_literals(notes)


def _check_names(notes: Notes) -> None:
    run, environment = notes.state.run, notes.state.environment
    for name in run.secrets:
        path = f"secrets.{name}" if name in environment.secrets else f"run.secrets.{name}"
        check_name(notes, path, name)
        if name in run.environment:
            notes.error("secret-twice", path, f"{name} is a secret and a plain variable of the environment too"
                        + notes.at(f"run.environment.{name}"), "keep it in secrets only")  # fmt: skip


def _check_strays(notes: Notes) -> None:
    """A reference is resolved under `secrets` only; elsewhere the training would get its text."""
    run = notes.state.run
    plain = [(f"run.environment.{name}", value) for name, value in run.environment.items()]
    plain += [
        (f"run.hyperparameters.{name}", value)
        for name, value in run.hyperparameters.items()
        if isinstance(value, str)
    ]
    plain += [(f"run.command.{index}", word) for index, word in enumerate(run.command)]
    for path, text in plain:
        if is_reference(text) and not text.startswith("file:/"):  # file:///data is a URL of data
            notes.warn("stray-reference", path, f"{path} is a reference to a secret, which nothing resolves here",
                       "move it to secrets:, by the name of a variable")  # fmt: skip


def _check_literals(notes: Notes) -> None:
    seen: set[tuple[Position | None, str]] = set()
    for path, name, text in _leaves(notes):
        kinds = [literal.kind for literal in literals(text)]
        if name and is_secret_of(name, text):
            kinds = kinds or [f"a value for {name}"]
        elif name and names_secret(name) and text and is_placeholder(text) and not is_reference(text):
            notes.warn("placeholder", path, f"{path} is a placeholder: the training would get this text as {name}",
                       f"remove it, and write secrets: {{{name}: env:{name}}}")  # fmt: skip
        for kind in dict.fromkeys(kinds):
            place = notes.place(path)
            if (place, kind) not in seen:  # a parameter's value stands in run.yaml too
                seen.add((place, kind))
                notes.findings.append(_literal(path, name, kind, place))


def _literal(path: str, name: str, kind: str, place: Position | None) -> Finding:
    variable = name if VARIABLE.fullmatch(name) and name.isupper() else "NAME"
    return Finding(
        rule="config/literal-secret",
        severity=Severity.ERROR,
        message=f"{path} holds {kind}: whoever can read this file has it",
        position=place,
        path=path,
        remedy=f"revoke it; give the new one as a variable by reference, secrets: {{{variable}: {SCHEMES['env']}}}",
        sensitive=True,
    )


def _leaves(notes: Notes) -> Iterator[Leaf]:
    """Every text that somebody wrote, keys included."""
    state = notes.state
    yield from _texts("", "", state.environment.to_json())
    yield from _texts("run", "", state.run.to_json())
    for file, document in state.akoflow.items():
        for path, name, text in _texts("", "", document):
            yield f"{file}:{path}", name, text


def _texts(path: str, name: str, value: Any) -> Iterator[Leaf]:
    if isinstance(value, str):
        yield path, name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else str(key)
            yield inner, "", str(key)
            yield from _texts(inner, str(key), item)
    elif isinstance(value, list):
        before = ""
        for index, item in enumerate(value):
            # `--password`, `hunter2`: a word after a flag goes by the flag's name
            named = before.lstrip("-") if isinstance(item, str) and _FLAG.fullmatch(before) else ""
            yield from _texts(f"{path}.{index}", named, item)
            before = item if isinstance(item, str) else ""
