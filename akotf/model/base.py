"""What all models share: frozen, strict about unknown fields, and one canonical JSON for digests."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A frozen value. Unknown fields are errors; NaN and infinities are refused."""

    # Schemas are built when a model is first used: a command pays for the models it needs.
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants", defer_build=True
    )

    def to_json(self) -> Any:
        """Plain JSON data (dicts, lists, str, int, float, bool, None)."""
        return self.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """`sha256:` digest of the canonical JSON."""
        return digest(self.to_json())


def canonical_json(value: Any) -> bytes:
    """Bytes that are equal when the JSON data is equal: sorted keys, no spaces, UTF-8, finite numbers only."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
    ).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON data")


def digest(value: Any) -> str:
    """`sha256:` digest of JSON data, or of bytes as they are."""
    data = value if isinstance(value, bytes) else canonical_json(value)
    return "sha256:" + hashlib.sha256(data).hexdigest()
