"""Parse, call, report: what all commands share."""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from akotf.cli import COMMANDS
from akotf.errors import (
    AkotfError,
    ConfigError,
    Interrupted,
    NoFeasibleCandidate,
    PolicyDenied,
    RunFailed,
    TerraformError,
    UsageError,
)


class _Parser(argparse.ArgumentParser):
    """argparse with the design's exit code for usage errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, where=self.prog, remedy=f"{self.prog} --help")


def module_of(name: str) -> ModuleType:
    """The module of a command. `init` lives in `init_`-free names: every command is a module of its own name."""
    return importlib.import_module(f"akotf.cli.{name}_command")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    module = module_of(name)
    parser = _Parser(
        prog=f"akotf {name}",
        description=COMMANDS[name][0][0].upper() + COMMANDS[name][0][1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="machine output on stdout")
    parser.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")
    module.configure(parser)
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Run one command; deliberate errors become messages and exit codes."""
    name = arguments[0]
    as_json = "--json" in arguments
    # A service manager's TERM ends a command as gracefully as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            raise UsageError(
                f"there is no command {name!r}", remedy=f"akotf {near[0]}" if near else "akotf --help"
            )
        # Options may stand anywhere among the positional arguments, as people write them.
        parsed = parser_of(name).parse_intermixed_args(arguments[1:])
        code: int = module_of(name).run(parsed)
        return code
    except AkotfError as error:
        report_error(error, as_json=as_json)
        return error.exit_code
    except BrokenPipeError:
        raise  # the reader went away: no fault
    except OSError as error:
        sys.stdout.flush()  # where stdout itself is full, this fails too, and `main` says so
        report_error(_of_the_machine(error), as_json=as_json)
        return AkotfError.exit_code
    except KeyboardInterrupt:
        report_error(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code


def _of_the_machine(error: OSError) -> AkotfError:
    """What the machine refuses, in one place for all that is not told better where it happens: a full disk, rights."""
    try:
        Path.cwd()
    except OSError:
        return AkotfError("the folder that you stand in is gone", where=".",
                          remedy="cd to a folder that is there")  # fmt: skip
    return AkotfError(
        f"the machine says: {error.strerror or error}",
        where=str(error.filename or ""),
        remedy="check that the place is there, is yours and has free space; `akotf doctor` says what else is missing",
    )


def report_error(error: AkotfError, *, as_json: bool) -> None:
    """An error on stderr for people, or as JSON on stdout."""
    if as_json:
        print(json.dumps({"error": error_json(error)}, indent=2))
        return
    print(error_text(error), file=sys.stderr)


def error_json(error: AkotfError) -> dict[str, Any]:
    """JSON data of an error."""
    data: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "where": error.where,
        "remedy": error.remedy,
        "retryable": error.retryable,
        "exit_code": error.exit_code,
    }
    if isinstance(error, (ConfigError, PolicyDenied)):
        data["findings"] = [f.to_json() for f in error.findings]
    if isinstance(error, TerraformError):
        data["diagnostics"] = list(error.diagnostics)
    if isinstance(error, NoFeasibleCandidate) and error.selection is not None:
        data["selection"] = error.selection.to_json()
    if isinstance(error, RunFailed) and error.run is not None:
        data["run"] = error.run.to_json()
    return data


def error_text(error: AkotfError) -> str:
    """Text of an error, with its findings."""
    from akotf.report.ansi import inert

    lines = []
    if isinstance(error, ConfigError) and error.findings:
        from akotf.report.text import text

        lines.append(text(error.findings))
    elif isinstance(error, PolicyDenied) and error.findings:
        from akotf.report.verdicts import verdict_text

        lines += [verdict_text(v) for v in error.findings]
    if isinstance(error, TerraformError):
        for d in error.diagnostics:
            if d.get("summary") and d["summary"] in error.message:
                continue  # the message itself says it
            lines.append(f"  terraform {d.get('severity', 'error')}: {d.get('summary', '')}")
            if d.get("detail"):
                lines += [f"    {line}" for line in str(d["detail"]).strip().splitlines()]
    lines.append(f"akotf: {error}")
    return inert("\n".join(lines))
