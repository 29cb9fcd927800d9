"""What a child may send, and what it can't make us call."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from akotf.isolation.transport import decode
from akotf.model.finding import Severity


class PickledAs:
    """Pickles as a call, as `__reduce__` may."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.call


def test_a_member_of_an_enum_arrives_as_python_3_11_2_pickles_it() -> None:
    # CPython 3.11.0 to 3.11.3: Enum.__reduce_ex__ returns (getattr, (class, name))
    message = pickle.dumps(("ok", PickledAs(getattr, Severity, "WARNING")))
    assert decode(message) == ("ok", Severity.WARNING)


@pytest.mark.parametrize(
    "call",
    [(Severity, "mro"), (Severity, "__init__"), ("text", "format"), (Severity.ERROR, "value")],
)
def test_nothing_else_is_reached_through_getattr(call: tuple[Any, str]) -> None:
    with pytest.raises(pickle.UnpicklingError, match="no member of an enum"):
        decode(pickle.dumps(("ok", PickledAs(getattr, *call))))


def test_no_function_is_called() -> None:
    with pytest.raises(pickle.UnpicklingError, match="not a value"):
        decode(pickle.dumps(("ok", PickledAs(print, "called"))))
