"""Help, suggestions, versions and shell completion."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from typing import Any

import pytest

from akotf import __version__
from akotf.cli import COMMANDS
from akotf.cli.dispatch import parser_of

NAMES = sorted(COMMANDS)


@pytest.fixture(scope="module")
def project(new_project: Any) -> Any:
    return new_project()


@pytest.mark.parametrize("name", NAMES)
def test_every_commands_help_has_examples_that_parse(name: str, capsys: Any) -> None:
    parser = parser_of(name)
    text = parser.format_help()
    assert "examples:" in text
    assert "--json" in text
    examples = [line.strip() for line in text.split("examples:")[1].splitlines() if line.strip()]
    assert examples
    for example in examples:
        words = shlex.split(example.split(">")[0])
        assert words[:2] == ["akotf", name]
        parser.parse_args(words[2:])


@pytest.mark.parametrize("name", ["apply", "logs", "template"])
def test_help_is_shown_by_the_program_itself(project: Any, name: str) -> None:
    done = project.akotf(name, "--help")
    assert done.stdout.startswith(f"usage: akotf {name}")
    assert done.stderr == ""


def test_the_overview_names_every_command_and_the_exit_codes(project: Any) -> None:
    for flag in ("--help", "-h", "help"):
        out = project.akotf(flag).stdout
        assert all(f"\n  {name} " in out for name in NAMES)
        assert "5 locked by someone else" in out
    assert project.akotf(code=1).stdout == out  # nothing asked for is a usage error


def test_the_version_is_that_of_the_package(project: Any) -> None:
    assert project.akotf("--version").stdout == f"akotf {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "meant"), [("aply", "akotf apply"), ("statsu", "akotf status"), ("xyzzy", "akotf --help")]
)
def test_an_unknown_command_suggests_the_near_one(project: Any, typed: str, meant: str) -> None:
    done = project.akotf(typed, code=1)
    assert done.stdout == ""
    assert f"there is no command '{typed}'" in done.stderr
    assert f"remedy: {meant}\n" in done.stderr


def test_a_wrong_flag_is_a_usage_error_with_exit_code_1(project: Any) -> None:
    done = project.akotf("plan", "--no-such-flag", code=1)
    assert "--no-such-flag" in done.stderr
    assert "akotf plan --help" in done.stderr
    error = project.json("plan", "--no-such-flag", code=1)["error"]
    assert (error["code"], error["exit_code"]) == ("usage", 1)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_scripts_parse_and_know_every_command(project: Any, shell: str) -> None:
    script = project.akotf("completion", shell).stdout
    assert all(name in script for name in NAMES)
    assert "--auto-approve" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here")
    done = subprocess.run([program, "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_really_completes(project: Any) -> None:
    script = project.akotf("completion", "bash").stdout
    ask = "COMP_WORDS=(akotf mon); COMP_CWORD=1; _shtab_akotf; echo ${COMPREPLY[@]}"
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", f"{script}\n{ask}"], text=True, capture_output=True, check=False
    )  # fmt: skip
    assert done.stdout.split() == ["monitor"], done.stderr
