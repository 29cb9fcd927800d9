"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.errors import UsageError
from akotf.model.units import parse_duration
from akotf.wiring.surroundings import plain_output


def add_environment(parser: argparse.ArgumentParser) -> None:
    """The environment folder, `.` by default."""
    parser.add_argument(
        "environment", nargs="?", default=".", help="folder of the environment (default: this folder)"
    )


def project_folder(arguments: argparse.Namespace) -> Path:
    """The absolute folder of `--folder`. UsageError when there is none."""
    folder = Path(arguments.folder).absolute()
    if not folder.is_dir():
        raise UsageError(
            "there is no such folder", where=arguments.folder, remedy="name the project's folder"
        )
    return folder


def duration(text: str) -> float:
    """Seconds of an option's duration; a fault says what to write instead."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_lock_timeout(parser: argparse.ArgumentParser) -> None:
    """How long to wait for somebody else's lease."""
    parser.add_argument(
        "--lock-timeout",
        type=duration,
        default="0s",
        metavar="DURATION",
        help="wait for a lease, e.g. 2m (default: 0s)",
    )


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Parameters given on the command line."""
    parser.add_argument(
        "-p",
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a template parameter",
    )


def parameters_of(arguments: argparse.Namespace) -> dict[str, str]:
    """`NAME=VALUE` pairs; the template types the values."""
    pairs = {}
    for text in arguments.parameter:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text!r} is not NAME=VALUE", where="--parameter", remedy="-p steps=600")
        pairs[f"parameters.{name}"] = value
    return pairs


def add_approval(parser: argparse.ArgumentParser) -> None:
    """Flags of everything that changes something."""
    parser.add_argument("-y", "--auto-approve", action="store_true", help="do not ask")


def add_policy_approver(parser: argparse.ArgumentParser) -> None:
    """Who accepts what a soft-mandatory rule refuses."""
    parser.add_argument(
        "--policy-approver",
        default="",
        metavar="NAME",
        help="accept failures of soft-mandatory rules, on record as NAME",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Which run is meant."""
    parser.add_argument("--run", default="", metavar="ID", help="a run's id (default: the latest)")


def use_color(arguments: argparse.Namespace) -> bool:
    """Colours only where nobody said no."""
    return not arguments.no_color and not plain_output()
