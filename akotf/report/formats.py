"""The formats of `akotf validate --report`: one file a format, all of one report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from akotf.model.report import ValidationReport
from akotf.report import github, junit, markdown, sarif, text
from akotf.report.sources import Sources


def as_json(report: ValidationReport) -> str:
    """The report itself; `akotf schema report` prints its schema."""
    return json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n"


_RENDER: dict[str, Callable[[ValidationReport, Sources, Path], str]] = {
    "text": lambda report, sources, _: text.report(report, sources) + "\n",
    "json": lambda report, _, __: as_json(report),
    "sarif": sarif.render,
    "junit": lambda report, _, __: junit.render(report),
    "github": github.render,
    "markdown": lambda report, _, root: markdown.render(report, root),
}
FORMATS = tuple(_RENDER)


def render(name: str, report: ValidationReport, sources: Sources, root: Path) -> str:
    """The report in one of FORMATS; files are told relative to `root` where readers are elsewhere."""
    return _RENDER[name](report, sources, root)
