"""`akotf validate`."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from akotf import __version__
from akotf.cli.arguments import add_parameters, parameters_of, use_color
from akotf.errors import AkotfError, UsageError
from akotf.facts.files import write_atomic
from akotf.gitsource.address import is_git
from akotf.isolation import spread
from akotf.load.environment import AKOTF
from akotf.load.specification import Template
from akotf.load.template import open_template
from akotf.model.finding import Severity
from akotf.model.policy import Rule
from akotf.model.report import Tool, ValidationReport, counts
from akotf.pipeline.validating import Means, validate_environment
from akotf.policy.rules import load_rules
from akotf.report import text
from akotf.report.formats import FORMATS, render
from akotf.report.sources import Sources, git_root
from akotf.wiring.surroundings import cache_folder, catalogues, project_folders

EXAMPLES = (
    "akotf validate environments/quickstart",
    "akotf validate environments --json",
    "akotf validate environments --report sarif=akotf.sarif --report github",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument(
        "environments", nargs="*", default=["."], metavar="environment",
        help="folder of an environment, or a folder of such folders (default: this folder)",
    )  # fmt: skip
    parser.add_argument(
        "--report", action="append", default=[], metavar="FORMAT[=FILE]",
        help=f"also write a report: {', '.join(FORMATS)}; without a file, or to `-`, on stdout",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", choices=("error", "warning"), default="error",
        help="exit with 1 when there is a finding of this severity or worse (default: error)",
    )  # fmt: skip
    add_parameters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Load, check and judge every environment by the config rules, then write all reports that are asked for."""
    targets = _targets([*arguments.report, *(["json"] if arguments.json else [])])
    report = _report(arguments, _folders(arguments.environments))
    sources = Sources(finding for one in report.environments for finding in one.findings)
    failed = _write(report, sources, targets)
    if not arguments.json:
        print(
            text.report(report, sources, color=use_color(arguments) and sys.stderr.isatty()), file=sys.stderr
        )
    for fault in failed:
        print(f"akotf: {fault}", file=sys.stderr)
    return AkotfError.exit_code if failed else report.exit_code


def _report(arguments: argparse.Namespace, folders: Sequence[Path]) -> ValidationReport:
    """The first environment here, which reads what all share; then the others, on all cores."""
    means = Means(
        catalogues=catalogues,
        rules=_rules_for,
        opener=_opened,
        cache=cache_folder(),
        today=dt.datetime.now(dt.UTC).date(),
        overrides=parameters_of(arguments),
        fail_on=frozenset({Severity.ERROR} | ({Severity.WARNING} if arguments.fail_on == "warning" else set())),
    )  # fmt: skip
    one = partial(validate_environment, means=means)
    environments = (one(folders[0]), *spread(one, folders[1:]))
    codes = {environment.exit_code for environment in environments}
    return ValidationReport(
        tool=Tool(version=__version__),
        valid=all(environment.valid for environment in environments),
        exit_code=codes.pop() if len(folders) == 1 else AkotfError.exit_code if any(codes) else 0,
        counts=counts(environments),
        environments=environments,
    )


def _rules_for(folder: Path) -> tuple[Rule, ...]:
    return _rules(project_folders("policies", folder))


@cache
def _rules(folders: tuple[Path, ...]) -> tuple[Rule, ...]:
    return load_rules(folders)


def _opened(reference: str, catalogues: Sequence[Path], **more: Path | None) -> Template:
    """A template; one of the same catalogues is read and checked once a call of akotf."""
    return (
        open_template(reference, catalogues, **more)
        if is_git(reference)
        else _open(reference, tuple(catalogues))
    )


@cache
def _open(reference: str, catalogues: tuple[Path, ...]) -> Template:
    return open_template(reference, catalogues)


def _folders(arguments: Sequence[str]) -> list[Path]:
    """The environments that are meant, each once: a folder with an akotf.yaml, else those right below it."""
    found: dict[Path, Path] = {}
    for argument in arguments:
        for folder in _below(Path(argument)):
            found.setdefault(folder.resolve(), folder)
    return list(found.values())


def _below(folder: Path) -> list[Path]:
    if _is_environment(folder) or not folder.is_dir():
        return [folder]
    below = sorted(child for child in folder.iterdir() if _is_environment(child) and child.name[0] != ".")
    return below or [folder]


def _is_environment(folder: Path) -> bool:
    """One that can't be looked into counts: its report says so, and the others are reported too."""
    try:
        return (folder / AKOTF).exists()
    except OSError:
        return True


def _targets(asked: Sequence[str]) -> list[tuple[str, str]]:
    """Format and file of each report; "-" is stdout. UsageError for an unknown format or the same file twice."""
    targets: list[tuple[str, str]] = []
    for item in asked:
        name, _, file = item.partition("=")
        if name not in FORMATS:
            raise UsageError(
                f"there is no report format {name!r}", where="--report", remedy=f"one of {', '.join(FORMATS)}"
            )
        target = (name, file or "-")
        if _same(target[1]) in {_same(file) for _, file in targets}:
            raise UsageError(
                f"two reports would go to {'stdout' if target[1] == '-' else target[1]}", where="--report",
                remedy="give each a file of its own: --report sarif=akotf.sarif",
            )  # fmt: skip
        targets.append(target)
    return targets


def _same(file: str) -> str:
    """What two spellings of one file share; a link is the file that it names."""
    stdout = "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"
    return "-" if file in ("-", *stdout) else os.path.realpath(file)


def _write(
    report: ValidationReport, sources: Sources, targets: Sequence[tuple[str, str]]
) -> list[AkotfError]:
    """Write all reports; those that can't be written are told, and keep no other from being written."""
    failed = []
    root = git_root(Path(report.environments[0].folder))
    for name, file in sorted(
        targets, key=lambda target: target[1] == "-"
    ):  # a reader may go away: stdout last
        content = render(name, report, sources, root).encode("utf-8", "backslashreplace")
        try:
            if file == "-":
                sys.stdout.write(content.decode())
                sys.stdout.flush()
            else:
                _put(Path(file), content)
        except BrokenPipeError:
            raise  # the reader went away: no fault
        except OSError as error:
            failed.append(
                AkotfError(f"the {name} report can't be written: {error.strerror or error}", where="stdout" if file == "-" else file,
                           remedy="name a file in a folder that is there and is yours")
            )  # fmt: skip
    return failed


def _put(path: Path, content: bytes) -> None:
    """The whole file or nothing; a device or pipe, such as /dev/stderr, is written to."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            stream.write(content)
        return
    write_atomic(path, content, 0o644)
