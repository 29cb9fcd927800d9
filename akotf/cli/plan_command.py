"""`akotf plan`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.common import add_environment, add_parameters, parameters_of, session_of
from akotf.cli.view import View
from akotf.pipeline.planning import loaded, make_plan
from akotf.pipeline.provisioning import propose
from akotf.report import candidates, changes

EXAMPLES = (
    "akotf plan environments/quickstart",
    "akotf plan . --scope workstation -p steps=600",
    "akotf plan . --markdown --out comment.md",
    "akotf plan . --detailed-exitcode",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_parameters(parser)
    parser.add_argument("--scope", default="", help="choose among this scope's candidates only")
    parser.add_argument("--markdown", action="store_true", help="a report fit for a pull-request comment")
    parser.add_argument(
        "--out", default="", metavar="FILE", help="write the report (JSON or Markdown) to a file"
    )
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="2 when applying would change something"
    )


def run(arguments: argparse.Namespace) -> int:
    """Everything before apply; changes nothing but the journal and the rendered root."""
    view = View(arguments)
    if arguments.markdown:
        view.json = True  # stdout is for the report
    session = session_of(arguments, view)
    state = loaded(session, parameters_of(arguments))
    planned = make_plan(session, state, arguments.scope)
    proposal = propose(session, planned)
    if arguments.markdown:
        report = candidates.markdown(planned.chosen) + "\n" + changes.markdown(proposal.tfplan)
        if arguments.out:
            Path(arguments.out).write_text(report)
        else:
            print(report)
    elif arguments.json or arguments.out:
        data = {
            "schema": 1,
            "environment": state.environment.name,
            "deployment": proposal.deployment.id,
            "inputs": planned.chosen.selection.inputs,
            "plan": planned.chosen.plan.to_json(),
            "selection": planned.chosen.selection.to_json(),
            "terraform": {
                "version": proposal.tfplan.terraform_version,
                "root": str(session.layout.root(proposal.deployment)),
                "changes": proposal.tfplan.canonical_changes(),
            },
            "approval": proposal.approval.binding(),
        }
        if arguments.out:
            view.json = True
            Path(arguments.out).write_text(_json(data))
        else:
            view.result(data, "")
    if not (arguments.json or arguments.markdown):
        view.line(f"apply it with: akotf apply {arguments.environment}", "bold")
    return 2 if arguments.detailed_exitcode and proposal.tfplan.has_changes else 0


def _json(data: object) -> str:
    import json

    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
