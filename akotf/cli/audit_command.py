"""`akotf audit`."""

from __future__ import annotations

import argparse

from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.errors import IntegrityError
from akotf.store.journal import verify

EXAMPLES = (
    "akotf audit log environments/quickstart",
    "akotf audit verify environments/quickstart --head sha256:0123...",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("what", choices=("log", "verify"), help="show the entries, or check the chain")
    parser.add_argument(
        "environment", nargs="?", default=".", help="folder of the environment (default: this folder)"
    )
    parser.add_argument("--head", default="", help="hash of a known last entry, to find a cut-off end")
    parser.add_argument("--kind", default="", help="entries of this kind only")


def run(arguments: argparse.Namespace) -> int:
    """The journal and its hash chain."""
    view = View(arguments)
    session = session_of(arguments, view)
    if arguments.what == "log":
        entries = list(session.journal.entries(kind=arguments.kind))
        view.result(
            {"schema": 1, "entries": [e.to_json() for e in entries]},
            "\n".join(
                f"{e.sequence:>5}  {e.time}  {e.actor.user}@{e.actor.host}  {e.kind:<20} {e.subject}"
                for e in entries
            ),
        )
        return 0
    findings = verify(session.layout.journal, head=arguments.head or None)
    entries = list(session.journal.entries()) if not findings else []
    head = entries[-1].hash if entries else ""
    view.result(
        {
            "schema": 1,
            "intact": not findings,
            "entries": len(entries),
            "head": head,
            "findings": [f.to_json() for f in findings],
        },
        f"{len(entries)} entries, chain intact, head {head}"
        if not findings
        else "\n".join(map(str, findings)),
    )
    return IntegrityError.exit_code if findings else 0
