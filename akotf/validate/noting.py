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
        """Where a value was written, or the nearest one around it."""
        positions = self.state.positions
        while path and path not in positions:
            path = path.rpartition(".")[0]
        return positions.get(path)

    def error(self, rule: str, path: str, message: str, remedy: str) -> None:
        """Note a fault that stops the command."""
        self._add(Severity.ERROR, rule, path, message, remedy)

    def warn(self, rule: str, path: str, message: str, remedy: str) -> None:
        """Note something that is likely to be wrong."""
        self._add(Severity.WARNING, rule, path, message, remedy)

    def note(self, rule: str, path: str, message: str, remedy: str = "") -> None:
        """Note something worth knowing."""
        self._add(Severity.NOTE, rule, path, message, remedy)

    def _add(self, severity: Severity, rule: str, path: str, message: str, remedy: str) -> None:
        self.findings.append(
            Finding(rule=f"config/{rule}", message=message, severity=severity, position=self.place(path), path=path,
                    remedy=remedy)
        )  # fmt: skip
