"""`akotf replay`."""

from __future__ import annotations

import argparse
import json

from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.model.base import canonical_json
from akotf.pipeline.planning import replay
from akotf.report import candidates

EXAMPLES = ("akotf replay sha256:0123... -f environments/quickstart",)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument(
        "digest", help="digest of the planning inputs, as `akotf plan` and `akotf records` print it"
    )
    parser.add_argument(
        "-f", "--environment", default=".", help="folder of the environment (default: this folder)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compute a past plan and selection again, offline, from the frozen inputs: the same bytes."""
    view = View(arguments)
    chosen = replay(session_of(arguments, view), arguments.digest)
    if arguments.json:
        print(canonical_json(chosen.to_json()).decode())
        return 0
    view.out.print(candidates.table(chosen, color=view.color))
    print(json.dumps({"digest": chosen.digest(), "winner": chosen.selection.winner}))
    return 0
