"""`akotf init`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.view import View
from akotf.load.init import init
from akotf.wiring.surroundings import catalogues

EXAMPLES = ("akotf init my-training", "akotf init trainings/summer --name summer-run")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("folder", help="a new or empty folder")
    parser.add_argument("--name", default="", help="name of the environment (default: the folder's name)")


def run(arguments: argparse.Namespace) -> int:
    """Write a new environment; nothing that is there is overwritten."""
    view = View(arguments)
    folder = Path(arguments.folder).absolute()
    written = init(folder, arguments.name or folder.name, catalogues(folder))
    view.result({"schema": 1, "files": [str(p) for p in written]}, "\n".join(str(p) for p in written))
    view.line(f"next: akotf validate {arguments.folder}; akotf plan {arguments.folder}", "bold")
    return 0
