"""An in-memory file tree: what render returns and apply writes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from akotf.model.base import digest


@dataclass(frozen=True)
class FileTree:
    """Relative POSIX paths and their bytes. `executable` names those with mode 0755."""

    files: Mapping[str, bytes]
    executable: frozenset[str] = field(default_factory=frozenset)

    def digest(self) -> str:
        """`sha256:` digest over paths, modes and contents; equal trees, equal digest."""
        return digest(
            {p: [hashlib.sha256(d).hexdigest(), p in self.executable] for p, d in self.files.items()}
        )

    def to_json(self) -> dict[str, Any]:
        """JSON data, contents in base64; for the object store."""
        return {
            "files": {p: base64.b64encode(d).decode() for p, d in sorted(self.files.items())},
            "executable": sorted(self.executable),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FileTree:
        """The inverse of `to_json`."""
        return cls(
            {p: base64.b64decode(d) for p, d in data["files"].items()}, frozenset(data.get("executable", ()))
        )
