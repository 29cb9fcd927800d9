"""How checks speak: findings with the place of the value they are about."""

from __future__ import annotations

from dataclasses import dataclass, field

from akotf.model.config import DesiredState
from akotf.model.finding import Finding, Position, Severity


@dataclass
class Notes:
    """Findings about one desired state."""

    state: DesiredState
    findings: list[Finding] = field(default_factory=list)

    def place(self, path: str) -> Position | None:
        """Where a value was decided, or the nearest one around it; `FILE:path` is of one of AkôFlow's files."""
        positions = self.state.positions
        file, colon, inner = path.rpartition(":")
        while inner and f"{file}{colon}{inner}" not in positions:
            inner = inner.rpartition(".")[0]
        return positions.get(f"{file}{colon}{inner}")

    def at(self, path: str) -> str:
        """` (run.yaml:22:20)`: the place of the other value, for messages about two."""
        place = self.place(path)
        return f" ({place})" if place else ""

    def error(self, rule: str, path: str, message: str, remedy: str, place: Position | None = None) -> None:
        """Note a fault that stops the command; `place` is for what is not in the desired state."""
        self._add(Severity.ERROR, rule, path, message, remedy, place)

    def warn(self, rule: str, path: str, message: str, remedy: str, place: Position | None = None) -> None:
        """Note something that is likely to be wrong."""
        self._add(Severity.WARNING, rule, path, message, remedy, place)

    def note(self, rule: str, path: str, message: str, remedy: str = "") -> None:
        """Note something worth knowing."""
        self._add(Severity.NOTE, rule, path, message, remedy, None)

    def _add(
        self, severity: Severity, rule: str, path: str, message: str, remedy: str, place: Position | None
    ) -> None:
        self.findings.append(
            Finding(rule=f"config/{rule}", message=message, severity=severity, position=place or self.place(path),
                    path=path, remedy=remedy)
        )  # fmt: skip
