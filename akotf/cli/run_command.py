"""`akotf run`."""

from __future__ import annotations

import argparse

from akotf.cli import apply_command

EXAMPLES = ("akotf run environments/quickstart -y", "akotf run . -y -p seed=2")


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of apply."""
    apply_command.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """As apply, but a revision that has succeeded before runs again."""
    return apply_command.run(arguments, new_run=True)
