"""`akotf schema`."""

from __future__ import annotations

import argparse
import json

from pydantic import BaseModel

from akotf.model.config import EnvironmentSpec, RunSpec, TemplateSpec
from akotf.model.policy import Rule

EXAMPLES = ("akotf schema akotf.yaml > akotf.schema.json",)

_MODELS: dict[str, type[BaseModel]] = {
    "akotf.yaml": EnvironmentSpec,
    "template.yaml": TemplateSpec,
    "run.yaml": RunSpec,
    "rule.yaml": Rule,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("file", choices=sorted(_MODELS), help="which file")


def run(arguments: argparse.Namespace) -> int:
    """Print the JSON schema, for editors."""
    schema = _MODELS[arguments.file].model_json_schema(mode="validation")
    print(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2))
    return 0
