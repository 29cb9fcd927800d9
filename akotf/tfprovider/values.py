"""Values on their way through Terraform: JSON texts in maps, exact numbers."""

from __future__ import annotations

import json
from typing import Any

from tf.types import TfType, Unknown

from akotf.facts.compare import same


class Num(TfType):  # type: ignore[misc] # the library is untyped
    """A number. Terraform sends one that is no exact float64 (0.1, 2**70) as text."""

    def decode(self, value: Any) -> Any:
        """int or float from the wire."""
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                return float(value)
        return value

    def encode(self, value: Any) -> Any:
        """For the wire; text where 64 bits are not enough."""
        if isinstance(value, int):
            return value if -(2**63) <= value < 2**63 else str(value)
        if isinstance(value, float):
            return int(value) if value.is_integer() and abs(value) < 2**53 else repr(value)
        return value

    def tf_type(self) -> bytes:
        """Terraform's name of the type."""
        return b'"number"'


def to_text(value: Any) -> str:
    """The ASCII JSON text of a value: nothing in it that Terraform could normalise."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True)


def from_text(text: str) -> Any:
    """The value of a JSON text. ValueError when it is not one; NaN and infinities are not JSON."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def known(value: Any) -> bool:
    """True for a value that is set and known at this moment."""
    return value is not None and value is not Unknown


def map_to_values(texts: dict[str, str] | None) -> dict[str, Any]:
    """Real values of a map of JSON texts."""
    return {name: from_text(text) for name, text in (texts or {}).items()}


def map_to_texts(values: dict[str, Any], prior: dict[str, str] | None) -> dict[str, str]:
    """JSON texts of values, each spelled as in `prior` where it is equal: `1e-3` stays `1e-3` when 0.001 is read."""
    return {name: _keep_text(value, (prior or {}).get(name)) for name, value in values.items()}


def _keep_text(value: Any, prior: Any) -> str:
    if isinstance(prior, str):
        try:
            if same(from_text(prior), value):
                return prior
        except ValueError:
            return to_text(value)
    return to_text(value)


def same_map(left: Any, right: Any) -> bool:
    """Two maps of JSON texts with equal values, however spelled. Unknown or null ones are equal to nothing."""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return False
    if left.keys() != right.keys() or not all(isinstance(v, str) for v in (*left.values(), *right.values())):
        return False
    try:
        return all(same(from_text(left[name]), from_text(right[name])) for name in left)
    except ValueError:
        return False
