"""What travels from a limited child to us: pickled, and read so that it can't run code here."""

from __future__ import annotations

import builtins
import dataclasses
import datetime
import decimal
import enum
import io
import pathlib
import pickle
import sys
from typing import Any

from akotf.errors import AkotfError

_PLAIN: dict[tuple[str, str], Any] = {
    (kind.__module__, kind.__qualname__): kind
    for kind in (
        set, frozenset, bytearray, complex, range,
        datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone,
        decimal.Decimal, pathlib.Path, pathlib.PosixPath, pathlib.PurePosixPath,
    )
}  # fmt: skip
_PLAIN["pathlib", "PosixPath"] = pathlib.PosixPath  # the class's module moved in later Pythons
_PLAIN["pathlib", "PurePosixPath"] = pathlib.PurePosixPath

#: Sent when the child ran out of memory: made beforehand, because nothing can be made then.
OUT_OF_MEMORY = pickle.dumps(("memory", None))


def encode_result(value: Any) -> bytes:
    """The message for a returned value; a value that can't be pickled becomes a message that says so."""
    try:
        return pickle.dumps(("ok", value), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        return pickle.dumps(("lost", f"its result ({type(value).__name__}) can't be sent back: {error}"))


def encode_error(error: BaseException) -> bytes:
    """The message for a raised exception. akotf's and Python's own travel whole, any other as its text."""
    text = pickle.dumps(("lost", f"it raised {type(error).__name__}: {error}"))
    pythons = isinstance(error, Exception) and getattr(builtins, type(error).__name__, None) is type(error)
    if not (pythons or isinstance(error, AkotfError)):
        return text
    try:
        return pickle.dumps(("error", error), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return text


def decode(message: bytes) -> tuple[str, Any]:
    """`("ok", value)`, `("error", exception)`, `("lost", text)` or `("memory", None)`.

    pickle.UnpicklingError when the message names anything but plain data, akotf's values and exceptions.
    """
    answer = _Reader(io.BytesIO(message)).load()
    if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], str)):
        raise pickle.UnpicklingError("not an answer")
    return answer


class _Reader(pickle.Unpickler):
    """An unpickler that finds classes of values only: a child that ran foreign code can't make us call anything."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _enum_member  # how Python 3.11.0 to 3.11.3 pickle a member of an enum
        if (module, name) in _PLAIN:
            return _PLAIN[module, name]
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type) and found.__module__ == module and _is_value(found, module):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a value")


def _enum_member(kind: Any, name: Any) -> enum.Enum:
    """A member by name, in place of `getattr`: of an enum that `find_class` let through, and nothing else."""
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum) and name in kind.__members__):
        raise pickle.UnpicklingError(f"{kind!r}.{name} is no member of an enum")
    return kind[name]


def _is_value(kind: type, module: str) -> bool:
    if module == "builtins":
        return issubclass(kind, Exception)
    if not module.startswith("akotf."):
        return False
    return (
        issubclass(kind, (enum.Enum, tuple, AkotfError))
        or dataclasses.is_dataclass(kind)
        or hasattr(kind, "__pydantic_validator__")
    )
