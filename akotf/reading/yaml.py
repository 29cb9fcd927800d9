"""YAML files to positioned nodes, or to all their faults. The door to `akotf.reading`."""

from __future__ import annotations

from pathlib import Path

import yaml as pyyaml

from akotf.errors import ConfigError
from akotf.model.finding import Finding
from akotf.reading.composer import MAX_NODES, Composer
from akotf.reading.nodes import Node
from akotf.reading.source import MAX_BYTES, MAX_FAULTS, Unreadable, decode
from akotf.reading.syntax import MAX_DEPTH, syntax

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_FAULTS", "MAX_NODES", "parse", "read", "shown_path"]


def read(path: Path, file: str | None = None) -> Node:
    """The document in `path`; `file` is the name for messages. ConfigError with all faults found."""
    name = file or shown_path(path)
    try:
        if not path.is_file():
            raise ConfigError(f"{name} is not a file", where=name, remedy="write a regular YAML file there")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"can't read {name}: {error.strerror}", where=name, remedy="check its permissions"
        ) from error
    return parse(data, name)


def shown_path(path: Path) -> str:
    """A path for messages: relative to where the user stands, when it lies below."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def parse(data: bytes, file: str) -> Node:
    """The one document in `data`. ConfigError with all faults found, in the order of the file."""
    findings: list[Finding] = []
    node: Node | None = None
    try:
        text = decode(data, file)
        composer = Composer(text, file)
        findings = composer.findings
        node = composer.document()
    except Unreadable as error:
        findings.append(error.finding)
    except pyyaml.YAMLError as error:
        found = syntax(error, text, file)
        told = any(f.rule == found.rule and f.position == found.position for f in findings)
        hidden = any(f.rule == "config/invisible-character" for f in findings)  # it breaks what follows
        if not told and not (hidden and found.rule in ("config/syntax", "config/invisible-character")):
            findings.append(found)
    if findings or node is None:
        findings.sort(key=lambda f: (f.position.line, f.position.column) if f.position else (0, 0))
        raise ConfigError(findings[0].message, findings, where=str(findings[0].position or file))
    return node
