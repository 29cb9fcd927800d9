"""`akotf plan`."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from akotf.cli.arguments import add_environment, add_parameters, add_policy_approver, parameters_of
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.errors import ConfigError, PolicyDenied
from akotf.model.policy import Outcome
from akotf.pipeline.planning import Planned, loaded, make_plan
from akotf.pipeline.provisioning import Proposal, propose
from akotf.pipeline.session import Session
from akotf.report import candidates, changes
from akotf.report.verdicts import verdict_text

EXAMPLES = (
    "akotf plan environments/quickstart",
    "akotf plan . --scope workstation -p steps=600",
    "akotf plan . --markdown --out comment.md",
    "akotf plan . --detailed-exitcode",
    "akotf plan . --tfplan tfplan.json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_parameters(parser)
    add_policy_approver(parser)
    parser.add_argument("--scope", default="", help="choose among this scope's candidates only")
    parser.add_argument("--markdown", action="store_true", help="a report fit for a pull-request comment")
    parser.add_argument(
        "--out", default="", metavar="FILE", help="write the report (JSON or Markdown) to a file"
    )
    parser.add_argument(
        "--tfplan",
        default="",
        metavar="FILE",
        help="write Terraform's plan as JSON, sensitive values masked, for other checkers",
    )
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="2 when applying would change something"
    )


def run(arguments: argparse.Namespace) -> int:
    """Everything before apply; changes nothing but the journal and the rendered root."""
    view = View(arguments)
    if arguments.markdown or arguments.out:
        view.json = True  # stdout is for the report
    try:
        return _plan(arguments, view)
    finally:
        view.close()


def _plan(arguments: argparse.Namespace, view: View) -> int:
    session = session_of(arguments, view)
    state = loaded(session, parameters_of(arguments))
    planned = make_plan(session, state, arguments.scope)
    try:
        proposal = propose(session, planned)
    except (ConfigError, PolicyDenied):
        # What was compared and chosen is worth its report even where it can't be rendered or is not allowed.
        _report(arguments, session, planned, None)
        raise
    _report(arguments, session, planned, proposal)
    if arguments.tfplan:
        document = json.dumps(proposal.tfplan.document, indent=2, ensure_ascii=False) + "\n"
        Path(arguments.tfplan).write_text(document, encoding="utf-8")
    if not (arguments.json or arguments.markdown):
        view.line(f"apply it with: {_apply_command(arguments)}", "bold")
    return 2 if arguments.detailed_exitcode and proposal.tfplan.has_changes else 0


def _apply_command(arguments: argparse.Namespace) -> str:
    """The command that applies this very plan: what was planned with goes with it."""
    words = ["akotf", "apply", arguments.environment]
    words += ["--scope", arguments.scope] if arguments.scope else []
    words += [word for pair in arguments.parameter for word in ("-p", pair)]
    words += ["--policy-approver", arguments.policy_approver] if arguments.policy_approver else []
    return shlex.join(words)


def _report(
    arguments: argparse.Namespace, session: Session, planned: Planned, proposal: Proposal | None
) -> None:
    if arguments.markdown:
        report = _markdown(planned, proposal)
    elif arguments.json or arguments.out:
        report = json.dumps(_data(session, planned, proposal), indent=2, ensure_ascii=False) + "\n"
    else:
        return
    if arguments.out:
        Path(arguments.out).write_text(report, encoding="utf-8")
    elif arguments.markdown or proposal is not None:  # with --json an error is the one document on stdout
        print(report, end="")


def _data(session: Session, planned: Planned, proposal: Proposal | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "schema": 1,
        "environment": planned.state.environment.name,
        "inputs": planned.chosen.selection.inputs,
        "plan": planned.chosen.plan.to_json(),
        "selection": planned.chosen.selection.to_json(),
        "deployment": None,
        "terraform": None,
        "approval": None,
    }
    if proposal is not None:
        data |= {
            "deployment": proposal.deployment.id,
            "terraform": {
                "version": proposal.tfplan.terraform_version,
                "root": str(session.layout.root(proposal.deployment)),
                "changes": proposal.tfplan.canonical_changes(),
            },
            "approval": proposal.approval.binding(),
        }
    return data


def _markdown(planned: Planned, proposal: Proposal | None) -> str:
    parts = [candidates.markdown(planned.chosen)]
    judgements = [planned.judgement]
    if proposal is not None:
        parts.append(changes.markdown(proposal.tfplan))
        judgements.append(proposal.judgement)
    others = [v for j in judgements for v in j.verdicts if v.outcome is not Outcome.PASS]
    rules = sum(j.rules for j in judgements)
    parts.append(
        f"**Policy**: {rules} rules judged selection and plan; verdicts that are no pass: {len(others)}.\n"
    )
    parts += [f"- {verdict_text(v)}\n" for v in others]
    if proposal is not None:
        parts.append(f"\n<sub>The approval binds `{proposal.approval.binding()}`</sub>\n")
    return "\n".join(parts)
