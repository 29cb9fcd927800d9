"""`akotf completion`."""

from __future__ import annotations

import argparse

import shtab

from akotf.cli import COMMANDS
from akotf.cli.dispatch import module_of
from akotf.cli.view import View

EXAMPLES = (
    "akotf completion bash > ~/.local/share/bash-completion/completions/akotf",
    "akotf completion zsh",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script; the only command that imports every other."""
    whole = argparse.ArgumentParser(prog="akotf")
    whole.add_argument("--version", action="store_true", help="print the version")
    commands = whole.add_subparsers()
    for name, (summary, _) in COMMANDS.items():
        sub = commands.add_parser(name, help=summary)
        sub.add_argument("--json", action="store_true", help="machine output on stdout")
        sub.add_argument("--no-color", action="store_true", help="no colours")
        module_of(name).configure(sub)
        for action in sub._actions:
            if action.dest in {"environment", "folder"}:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script = shtab.complete(whole, arguments.shell)
    View(arguments).result({"schema": 1, "shell": arguments.shell, "script": script}, script)
    return 0
