"""The heartbeat of a training: a small JSON file that any framework can write."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Optional, Tuple

from akotf.facts.files import read_json

SCHEMA = 1
_LARGEST = 2**20  # bytes
_TEXT, _COUNT, _NUMBER = "text", "a whole number >= 0", "a number"
_FIELDS: Dict[str, Tuple[str, bool]] = {  # name -> (type, may be null)
    "step": (_COUNT, False),
    "total_steps": (_COUNT, True),
    "loss": (_NUMBER, True),
    "step_time": (_NUMBER, True),
    "train_seconds": (_NUMBER, False),
    "train_steps": (_COUNT, False),
    "phase": (_TEXT, False),
    "time": (_NUMBER, False),
    "pid": (_COUNT, False),
}
_REQUIRED = ("step", "time")


class Unreadable(ValueError):
    """The file is there and is not a heartbeat; the message says why."""


def read(path: str | os.PathLike[str]) -> Dict[str, Any]:
    """The heartbeat in `path`: the fields of `Progress`, unknown ones left out.

    Raises FileNotFoundError before the first one, Unreadable for half-written or foreign content, OSError otherwise.
    A loss or step time that is not finite becomes None: the file is right, the training diverged.
    """
    try:
        data = read_json(path, _LARGEST)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return parse(data)


def parse(data: Any) -> Dict[str, Any]:
    """The same for JSON data that is already read."""
    if not isinstance(data, dict):
        raise Unreadable("the heartbeat is not a JSON object")
    if data.get("schema", SCHEMA) != SCHEMA:
        raise Unreadable(f"heartbeat schema {data.get('schema')!r} is unknown; this akotf reads {SCHEMA}")
    missing = [name for name in _REQUIRED if name not in data]
    if missing:
        raise Unreadable(f"the heartbeat lacks {', '.join(missing)}")
    found: Dict[str, Any] = {}
    for name, (kind, nullable) in _FIELDS.items():
        if name in data:
            found[name] = _field(name, data[name], kind, nullable)
    found["hyperparameters"] = _values(data, "hyperparameters")
    found["libraries"] = _values(data, "libraries")
    for name, value in found["libraries"].items():
        if not isinstance(value, str):
            raise Unreadable(f"heartbeat library {name} is not text")
    return found


def _field(name: str, value: Any, kind: str, nullable: bool) -> Any:
    if value is None and nullable:
        return None
    right = {_TEXT: _is_text, _COUNT: _is_count, _NUMBER: _is_number}[kind](value)
    if not right:
        raise Unreadable(f"heartbeat field {name} is {value!r}, not {kind}")
    if kind == _NUMBER and not math.isfinite(value):
        if not nullable:
            raise Unreadable(f"heartbeat field {name} is not finite")
        return None
    return value


def _values(data: Dict[str, Any], group: str) -> Dict[str, Any]:
    values: Optional[Any] = data.get(group)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise Unreadable(f"heartbeat field {group} is not an object")
    # JSON data has no NaN: a learning rate that became one is told as text, and so differs from any number
    return {
        name: repr(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
