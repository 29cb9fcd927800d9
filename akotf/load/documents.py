"""AkôFlow's documents of one environment, as far as they could be read, with their faults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from akotf.model.base import Frozen
from akotf.model.finding import Finding, Position
from akotf.reading.bind import suggest


@dataclass
class Documents:
    """The files that are there: models and JSON data by file name, faults, places (`workflow.yaml:spec.image`)."""

    models: dict[str, Frozen] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    notes: list[Finding] = field(default_factory=list)  # what is no fault: files that are not read

    def place(self, file: str, path: str) -> Position | None:
        """Where a value of a file was written, or the nearest one around it."""
        while path and f"{file}:{path}" not in self.positions:
            path = path.rpartition(".")[0]
        return self.positions.get(f"{file}:{path}")

    def fault(self, rule: str, file: str, path: str, message: str, remedy: str = "") -> None:
        """Note a fault at a value."""
        self.findings.append(
            Finding(
                rule=f"akoflow/{rule}",
                message=message,
                position=self.place(file, path),
                path=path,
                remedy=remedy,
            )
        )

    def known(self, file: str, path: str, value: str, known: Iterable[str], what: str) -> None:
        """Note a fault when `value` is not among `known`."""
        names = sorted(set(known))
        if value and value not in names:
            self.fault(
                "reference", file, path, f"{file}: there is no {what} {value!r}", suggest(value, names)
            )
