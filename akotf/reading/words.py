"""What a misspelt or misplaced word was most likely meant to be."""

from __future__ import annotations

import difflib
import functools
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

Names = tuple[
    str, ...
]  # of keys from the top of a document; NAME stands for a free key, N for a place in a list
_SHOWN = 3  # so many places of a word are worth naming


def suggest(word: str, known: list[str]) -> str:
    """`did you mean 'gpus'?`, or the words that are allowed."""
    if near := nearest(word, known, 0.6):
        return f"did you mean {near!r}?"
    return f"allowed here: {', '.join(known)}" if known else "remove it"


def nearest(word: str, known: list[str], cutoff: float) -> str:
    """The known word that is most like this one, case and dashes apart, or ""."""
    folded = {fold(k): k for k in known}
    near = difflib.get_close_matches(fold(word), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else ""


def fold(word: str) -> str:
    """A word as it is compared: `Wall-Time` is `wall_time`."""
    return word.lower().replace("-", "_")


@functools.cache
def fields(model: type[BaseModel]) -> dict[str, tuple[Any, tuple[Any, ...], bool]]:
    """Written name -> annotation, metadata, required."""
    return {
        info.alias or name: (info.annotation, tuple(info.metadata), info.is_required())
        for name, info in model.model_fields.items()
    }


def misplaced(word: str, depth: int, root: type[BaseModel]) -> str:
    """Where an unknown key of a mapping `depth` levels down belongs in the document: a remedy, or ""."""
    found = sorted(
        _places(root).get(fold(word), ()), key=lambda names: (abs(len(names) - 1 - depth), len(names))
    )
    if not found:
        return ""
    nearest_first = [".".join(names) for names in found[:_SHOWN]]
    if found[0][:-1] == ():
        return f"{found[0][0]!r} belongs at the top of the document: mend its indentation"
    return f"it belongs elsewhere: {' or '.join(nearest_first)}"


@functools.cache
def _places(root: type[BaseModel]) -> dict[str, list[Names]]:
    """Folded word -> every place of a document where it is a key."""
    found: dict[str, list[Names]] = {}
    for names in _walk(root, (), ()):
        found.setdefault(fold(names[-1]), []).append(names)
    return found


def _walk(model: type[BaseModel], above: Names, seen: tuple[type[BaseModel], ...]) -> Iterator[Names]:
    if model in seen:
        return
    for name, (annotation, _, _) in fields(model).items():
        yield (*above, name)
        for inner, child in _models(annotation):
            yield from _walk(child, (*above, name, *inner), (*seen, model))


def _models(annotation: Any) -> Iterator[tuple[Names, type[BaseModel]]]:
    """The models that a field holds, and what stands between its name and theirs."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield (), annotation
    elif origin is typing.Annotated:
        yield from _models(arguments[0])
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _models(argument)
    elif origin in (tuple, dict):
        step = "NAME" if origin is dict else "N"
        for inner, model in _models(arguments[1] if origin is dict else arguments[0]):
            yield (step, *inner), model
