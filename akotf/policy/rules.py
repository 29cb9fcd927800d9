"""Reads rules: one folder a rule, one `rule.yaml` in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from akotf.errors import ConfigError
from akotf.model.finding import Finding, Position
from akotf.model.policy import Rule

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_rules(folders: Sequence[Path]) -> tuple[Rule, ...]:
    """All rules of the folders, by id; of two with the same id the one in the earlier folder counts.

    A folder that is not there holds no rules. ConfigError with all faults at once.
    """
    rules: dict[str, Rule] = {}
    faults: list[Finding] = []
    for path in rule_files(folders):
        rule, found = read_rule(path)
        faults += found
        if rule is not None:
            rules[rule.id] = rule
    if faults:
        count = len(faults)
        raise ConfigError(f"{count} {'fault' if count == 1 else 'faults'} in the policies", faults)
    return tuple(rules[name] for name in sorted(rules))


def rule_files(folders: Sequence[Path]) -> list[Path]:
    """The `rule.yaml` of each rule that counts, sorted by id. It need not exist."""
    files: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            for path in folder.iterdir():
                if path.is_dir() and path.name[0] not in "._":
                    files.setdefault(path.name, path / "rule.yaml")
    return [files[name] for name in sorted(files)]


def read_rule(path: Path) -> tuple[Rule | None, list[Finding]]:
    """One rule, or what is wrong with its file."""
    try:
        data = read_yaml(path)
        rule = Rule.model_validate(data)
    except FileNotFoundError:
        remedy = "write one, or move the folder out of the policies"
        return None, [fault(path, "the folder has no rule.yaml", remedy=remedy)]
    except (OSError, UnicodeDecodeError) as error:
        return None, [fault(path, f"can't be read: {error}")]
    except yaml.YAMLError as error:
        return None, [_not_yaml(path, error)]
    except ValidationError as error:
        return None, [_mismatch(path, e) for e in error.errors(include_url=False)]
    if rule.id != path.parent.name:
        remedy = f"call the folder {rule.id}, or the rule {path.parent.name}"
        return None, [
            fault(path, f"rule {rule.id!r} lies in folder {path.parent.name!r}", field="id", remedy=remedy)
        ]
    return rule, []


def read_yaml(path: Path) -> Any:
    """A trusted YAML file of the project."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader


def fault(
    path: Path, message: str, *, field: str = "", remedy: str = "", line: int = 0, column: int = 0
) -> Finding:
    """An error in a policy's file."""
    prefix = f"{field}: " if field else ""
    position = Position(file=str(path), line=line, column=column)
    return Finding(rule="policy/rule", message=prefix + message, position=position, path=field, remedy=remedy)


def _mismatch(path: Path, error: ErrorDetails) -> Finding:
    field = ".".join(str(part) for part in error["loc"])
    unquoted = error["type"] == "string_type" and not isinstance(error["input"], (dict, list))
    remedy = "put the text in quotes" if unquoted else ""  # YAML takes no, yes and 1.0 for other things
    return fault(path, error["msg"].removeprefix("Value error, "), field=field, remedy=remedy)


def _not_yaml(path: Path, error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return fault(path, f"not YAML: {problem}", line=line, column=column)
