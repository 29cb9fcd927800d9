"""`akotf schema`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from akotf.cli.arguments import project_folder
from akotf.cli.view import View
from akotf.errors import UsageError
from akotf.facts.files import write_atomic
from akotf.load.template import open_template
from akotf.model.report import ValidationReport
from akotf.model.schemas import FILES, file_schema, model_schema, parameters_schema
from akotf.policy.schemas import policy_input_schemas
from akotf.wiring.surroundings import catalogues

EXAMPLES = (
    "akotf schema",
    "akotf schema akotf.yaml > akotf.schema.json",
    "akotf schema akotf.yaml --template gpu-training@1.0.0",
    "akotf schema --out .akotf-schemas",
)
_TEMPLATED = "akotf.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument(
        "name", nargs="?", choices=sorted(_names()), help="which schema; without it, their names"
    )
    parser.add_argument("--template", default="", metavar="NAME@VERSION",
                        help="of akotf.yaml: type the parameters as this template does")  # fmt: skip
    parser.add_argument(
        "-o", "--out", metavar="FOLDER", help="write NAME.schema.json there: the one named, or all"
    )
    parser.add_argument(
        "-f", "--folder", default=".", help="project folder that has the template (default: this folder)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or write JSON Schemas: of the files that people write, of the report of `akotf validate --json`, and of what
    policy rules see at each stage.
    """
    if arguments.template and arguments.name not in (None, _TEMPLATED):
        raise UsageError(
            "--template is for the schema of akotf.yaml",
            remedy="akotf schema akotf.yaml --template NAME@VERSION",
        )
    if arguments.out:
        return _write(arguments, [arguments.name] if arguments.name else _names())
    if arguments.name:
        print(_text(arguments, arguments.name), end="")
        return 0
    View(arguments).result({"schema": 1, "schemas": _names()}, "\n".join(_names()))
    return 0


def _names() -> list[str]:
    return [*FILES, "report", *policy_input_schemas()]


def _text(arguments: argparse.Namespace, name: str) -> str:
    return json.dumps(_schema(arguments, name), indent=2, ensure_ascii=False) + "\n"


def _schema(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    if name == "report":
        return model_schema(ValidationReport, name)
    if name not in FILES:
        return policy_input_schemas()[name]
    schema = file_schema(name)
    if name == _TEMPLATED and arguments.template:
        spec = open_template(arguments.template, catalogues(project_folder(arguments))).spec
        said = schema["properties"]["parameters"]["description"]
        schema["properties"]["parameters"] = {"description": said, **parameters_schema(spec)}
        schema["$id"] += f":{arguments.template}"
    return schema


def _write(arguments: argparse.Namespace, names: list[str]) -> int:
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        path = folder / f"{name}.schema.json"
        write_atomic(path, _text(arguments, name).encode(), 0o644)
        written.append(str(path))
    View(arguments).result({"schema": 1, "written": written}, "\n".join(written))
    return 0
