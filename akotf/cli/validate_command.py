"""`akotf validate`."""

from __future__ import annotations

import argparse

from akotf.cli.common import add_environment, add_parameters, parameters_of, session_of
from akotf.cli.view import View
from akotf.errors import ConfigError, PolicyDenied
from akotf.model.finding import has_errors
from akotf.pipeline.planning import load, validate

EXAMPLES = ("akotf validate environments/quickstart", "akotf validate . --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_parameters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Load, check and judge by the config rules."""
    view = View(arguments)
    session = session_of(arguments, view)
    state = load(session, parameters_of(arguments))
    findings, judgement = validate(session, state)
    view.on_validated((state, findings, judgement))
    if arguments.json:
        view.result(
            {
                "schema": 1,
                "environment": state.environment.name,
                "valid": not has_errors(findings) and not judgement.denied,
                "revision": state.revision(),
                "baseline": state.baseline().digest(),
                "findings": [f.to_json() for f in findings],
                "policy": judgement.to_json(),
            },
            "",
        )
    elif not has_errors(findings) and not judgement.denied:
        view.line(f"{state.environment.name} is valid", "bold green")
    if has_errors(findings):
        if arguments.json:
            return ConfigError.exit_code
        raise ConfigError(
            f"{state.environment.name} has faults", findings, where=str(session.layout.environment)
        )
    return PolicyDenied.exit_code if judgement.denied else 0
