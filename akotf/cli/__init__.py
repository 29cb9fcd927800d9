"""The command line. One file a command; a command's file is imported when it is called.

A command module has `configure(parser)` and `run(arguments) -> int`, and its docstring's first line is not needed
here: the table below carries the summaries, so that `akotf --help` imports nothing else.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

from akotf import __version__

#: name -> (summary, group)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("write a new environment that validates at once", "Write"),
    "validate": ("check an environment and judge it by the config rules", "Write"),
    "config": ("show every setting: its value and where it comes from", "Write"),
    "template": ("list, show, compare, publish, lock and verify templates", "Write"),
    "upgrade": ("move an environment to another template, shown first", "Write"),
    "policy": ("list, explain and test the policy rules", "Write"),
    "profile": ("measure the workload and this machine", "Plan"),
    "plan": ("compare all scopes, choose one and show Terraform's plan", "Plan"),
    "replay": ("compute a past plan again from its frozen inputs", "Plan"),
    "activity": ("do one step of the pass on its own, for a workflow engine", "Plan"),
    "apply": ("plan, provision, train, watch, heal and record", "Run"),
    "run": ("start another run of an environment", "Run"),
    "status": ("show the run, its progress and its drift", "Run"),
    "logs": ("print what the training wrote", "Run"),
    "cancel": ("stop the run: ask, then force", "Run"),
    "drift": ("compare a live run with its baseline once", "Keep"),
    "monitor": ("watch and heal for as long as runs live", "Keep"),
    "destroy": ("destroy what Terraform made for an environment", "Keep"),
    "recover": ("settle what a crash left, and say what it was", "Keep"),
    "records": ("list runs: predicted and observed, drift and heals", "Prove"),
    "audit": ("show and verify the journal", "Prove"),
    "verify": ("verify an evidence folder offline", "Prove"),
    "doctor": ("say what is missing for which scope, and how to get it", "Help"),
    "schema": ("print the JSON schema of a file", "Help"),
    "completion": ("print the completion script of a shell", "Help"),
}


def overview() -> str:
    """The text of `akotf --help`."""
    lines = [
        "usage: akotf COMMAND [ENVIRONMENT] [options]",
        "",
        "Plan, provision, run and keep AI training on its approved baseline: one folder in git says what to train.",
    ]
    group = ""
    for name, (summary, where) in COMMANDS.items():
        if where != group:
            group = where
            lines += ["", f"{group}:"]
        lines.append(f"  {name:<11} {summary}")
    lines += [
        "",
        "Start:",
        "  akotf init my-training        a new environment",
        "  akotf plan my-training        what it would cost and take, where",
        "  akotf apply my-training       do it",
        "",
        "Exit codes: 0 done, 1 error, 2 changes or drift (with --detailed-exitcode), 3 denied by policy,",
        "4 no feasible candidate, 5 locked by someone else, 6 the run failed, 130 interrupted.",
        "`akotf COMMAND --help` shows options and examples.",
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `akotf` program; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _give_up_stdout()  # the reader went away: `akotf logs | head`
        return 1
    except OSError as error:  # every other place is told by `dispatch`: this is stdout itself, on a full disk
        _give_up_stdout()
        try:
            print(f"akotf: stdout: can't be written: {error.strerror or error}\n"
                  "  remedy: send it to a place with free space", file=sys.stderr)  # fmt: skip
        except OSError:
            return 1  # nor can stderr
        return 1


def _prepare_streams() -> None:
    """What a caller closed is nowhere: no file that is opened later may get its number, and our text with it.

    What a stream's encoding has not is written as an escape (PYTHONIOENCODING=ascii; a path that is no UTF-8).
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _give_up_stdout() -> None:
    """Keep the interpreter from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview())
        return 0 if arguments else 1
    if arguments[0] in {"--version", "-V", "version"}:
        print(f"akotf {__version__}")
        return 0
    # A command makes many models that live to its end: looking for garbage among them costs a tenth of `akotf plan`.
    gc.set_threshold(50_000, 50, 50)
    from akotf.cli.dispatch import dispatch

    return dispatch(arguments)
