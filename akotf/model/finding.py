"""Findings: what is wrong or worth knowing, with its place and remedy. Rendered only in `report/`."""

from __future__ import annotations

from enum import StrEnum

from pydantic import field_validator

from akotf.model.base import Frozen
from akotf.model.literals import masked


class Severity(StrEnum):
    """How much a finding matters. `error` stops the command."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Position(Frozen):
    """A place in a file. Lines and columns count from 1; 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


class Finding(Frozen):
    """One fault, warning or note.

    `rule` is a stable id such as `config/unknown-key`; `path` the dotted path in the document
    (`objective.budget`); `remedy` what to write or do instead. Of a `sensitive` finding no reporter shows the line
    it is about: a secret stands there.
    """

    rule: str
    message: str
    severity: Severity = Severity.ERROR
    position: Position | None = None
    path: str = ""
    remedy: str = ""
    sensitive: bool = False

    @field_validator("message", "remedy")
    @classmethod
    def _masked(cls, text: str) -> str:
        """Findings are shared widely; many quote what was written, and what was written may be a secret."""
        return masked(text)

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.severity}: {self.message} [{self.rule}]{remedy}"


def has_errors(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """True when at least one finding is an error."""
    return any(f.severity is Severity.ERROR for f in findings)
