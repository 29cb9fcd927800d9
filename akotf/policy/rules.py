"""Reads rules: one folder a rule, one `rule.yaml` in it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from akotf.errors import ConfigError
from akotf.model.finding import Finding, Position
from akotf.model.policy import Rule
from akotf.reading import yaml
from akotf.reading.bind import bind


class RuleFile(NamedTuple):
    """A rule as read: None when its file has faults; `positions` are where each field was written."""

    path: Path
    rule: Rule | None
    faults: tuple[Finding, ...]
    positions: dict[str, Position]

    def fault(self, message: str, *, field: str = "", remedy: str = "") -> Finding:
        """An error in this file, at the field if it is there."""
        place = self.positions.get(field) or self.positions.get("") or Position(file=str(self.path))
        return Finding(rule="policy/rule", message=message, position=place, path=field, remedy=remedy)


def load_rules(folders: Sequence[Path]) -> tuple[Rule, ...]:
    """All rules of the folders, by id; of two with the same id the one in the earlier folder counts.

    A folder that is not there holds no rules. ConfigError with all faults at once.
    """
    files = [read_rule(path) for path in rule_files(folders)]
    faults = [fault for file in files for fault in file.faults]
    if faults:
        count = len(faults)
        raise ConfigError(f"{count} {'fault' if count == 1 else 'faults'} in the policies", faults)
    return tuple(sorted((file.rule for file in files if file.rule), key=lambda rule: rule.id))


def rule_files(folders: Sequence[Path]) -> list[Path]:
    """The `rule.yaml` of each rule that counts, sorted by id. It need not exist."""
    files: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            for path in folder.iterdir():
                if path.is_dir() and path.name[0] not in "._":
                    files.setdefault(path.name, path / "rule.yaml")
    return [files[name] for name in sorted(files)]


def read_rule(path: Path) -> RuleFile:
    """One rule, or what is wrong with its file. A file that has not changed is read once in a process."""
    try:
        found = path.stat()
    except OSError:
        remedy = "write one, or move the folder out of the policies"
        place = Position(file=str(path))
        missing = Finding(
            rule="policy/rule", message="the folder has no rule.yaml", position=place, remedy=remedy
        )
        return RuleFile(path, None, (missing,), {})
    return _read(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1024)
def _read(path: Path, _changed: int, _size: int) -> RuleFile:
    try:
        bound = bind(yaml.read(path, str(path)), Rule)
    except ConfigError as error:
        return RuleFile(path, None, tuple(error.findings), {})
    file = RuleFile(path, bound.value, tuple(bound.findings), bound.positions)
    if bound.value is not None and bound.value.id != path.parent.name:
        rule, folder = bound.value.id, path.parent.name
        message = f"rule {rule!r} lies in folder {folder!r}"
        fault = file.fault(message, field="id", remedy=f"call the folder {rule}, or the rule {folder}")
        return file._replace(rule=None, faults=(fault,))
    return file
