"""Who reads what: JSON alone on stdout, no escape codes where nobody wants them, readers that go away."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

ESCAPE = "\x1b"
STATUS_KEYS = {
    "schema", "run", "environment", "deployment", "backend", "state", "native", "attempt", "pid", "step",
    "total_steps", "loss", "step_time", "phase", "checkpoints", "node_directory", "root", "run_directory",
    "evidence", "drift",
}  # fmt: skip


def test_json_of_every_command_that_reads_parses_alone(applied: Any, tmp_path: Path) -> None:
    env = str(applied.environment)
    run = applied.runs()[0]
    found = {
        "validate": applied.json("validate", env),
        "profile": applied.json("profile", env),
        "status": applied.json("status", env),
        "records": applied.json("records", env),
        "logs": applied.json("logs", env),
        "drift": applied.json("drift", env),
        "monitor": applied.json("monitor", env),
        "cancel": applied.json("cancel", env),
        "audit log": applied.json("audit", "log", env),
        "audit verify": applied.json("audit", "verify", env),
        "replay": applied.json("replay", run["inputs"], "-f", env),
        "verify": applied.json("verify", str(applied.environment / ".akotf" / "evidence" / run["id"])),
        "completion": applied.json("completion", "bash"),
        "activity": applied.json("activity", "profile-workload", env, "--in", str(tmp_path), "--out", str(tmp_path)),
    }  # fmt: skip
    assert all(isinstance(value, dict) and value for value in found.values())
    assert set(found["status"]) == STATUS_KEYS
    assert found["status"]["state"] == "succeeded"
    assert found["status"]["checkpoints"] == [20, 40]
    assert found["status"]["drift"] == {"seen": [], "healed": [], "open": []}
    assert found["logs"]["text"].splitlines()[-1].startswith("step 40/40 ")
    assert found["drift"]["drift"] == []
    assert found["audit verify"]["intact"] is True
    kinds = [e["kind"] for e in found["audit log"]["entries"] if e["kind"] != "policy.judged"]
    assert kinds[:3] == ["plan.made", "approval.given", "apply.intent"]
    assert found["audit verify"]["head"] == found["audit log"]["entries"][-1]["hash"]
    assert found["verify"]["intact"] is True
    assert found["records"]["runs"][0]["run"] == found["cancel"]["id"] == found["monitor"]["id"] == run["id"]
    assert found["records"]["runs"][0]["observed_step_time"] > 0
    assert found["activity"]["outputs"] == [str(tmp_path / "profile.json")]
    assert found["replay"]["selection"]["winner"] == run["candidate"]


def test_replay_gives_the_same_bytes(applied: Any) -> None:
    run = applied.runs()[0]
    command = ("replay", run["inputs"], "-f", str(applied.environment), "--json")
    assert applied.akotf(*command).stdout == applied.akotf(*command).stdout
    evidence = applied.environment / ".akotf" / "evidence" / run["id"]
    replayed = json.loads(applied.akotf(*command).stdout)
    assert replayed["plan"] == json.loads((evidence / "candidates.json").read_bytes())
    assert replayed["selection"] == json.loads((evidence / "selection.json").read_bytes())


@pytest.mark.terraform
def test_plan_writes_json_and_markdown_to_stdout_or_a_file(applied: Any) -> None:
    env = str(applied.environment)
    shown = applied.json("plan", env)
    assert shown["selection"]["winner"].startswith("workstation/")
    file = applied.folder / "plan.json"
    assert applied.akotf("plan", env, "--json", "--out", str(file)).stdout == ""
    assert json.loads(file.read_text())["selection"]["inputs"] == shown["selection"]["inputs"]
    done = applied.akotf("plan", env, "--tfplan", str(file), "--scope", "workstation", "-p", "seed=7")
    assert f"akotf apply {env} --scope workstation -p seed=7" in done.stderr  # what it was planned with
    tfplan = json.loads(file.read_text())
    assert tfplan["format_version"].startswith("1.")
    assert "module.local_gpu.akotf_baseline.this" in {row["address"] for row in tfplan["resource_changes"]}
    comment = applied.akotf("plan", env, "--markdown").stdout
    assert comment.lstrip().startswith(("#", "|", "**"))
    assert "| " in comment


def test_results_go_to_stdout_and_talk_to_stderr(applied: Any) -> None:
    done = applied.akotf("status", str(applied.environment))
    assert done.stdout.startswith("run         trial-")
    assert done.stderr == ""
    done = applied.akotf("validate", str(applied.environment))
    assert "is valid" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "command", [("status",), ("records",), ("validate",), ("audit", "log"), ("logs",), ("apply", "-y")]
)
def test_no_escape_codes_where_there_is_no_terminal(applied: Any, command: tuple[str, ...]) -> None:
    done = applied.akotf(*command, str(applied.environment), TERM="xterm-256color")
    assert ESCAPE not in done.stdout + done.stderr


def test_no_color_is_no_colour_on_a_terminal_too(applied: Any) -> None:
    """Colours are SGR codes (ECMA-48, 8.3.117): none with NO_COLOR, some without."""
    colour = re.compile(r"\x1b\[[0-9;]*m")
    command = ("validate", str(applied.environment))
    assert colour.search(on_terminal(applied, *command))
    assert not colour.search(on_terminal(applied, *command, NO_COLOR="1"))
    assert not colour.search(on_terminal(applied, *command, "--no-color"))
    replay = ("replay", applied.runs()[0]["inputs"], "-f", str(applied.environment))
    assert not colour.search(on_terminal(applied, *replay, NO_COLOR="1"))
    assert not colour.search(on_terminal(applied, "records", str(applied.environment), NO_COLOR="1"))


def on_terminal(project: Any, *arguments: str, **variables: str) -> str:
    """All that a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "akotf", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=project.folder,
        env={**project.variables, "TERM": "xterm-256color", **variables}, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    with suppress(OSError):  # Linux's way to say that the other side is closed
        while chunk := os.read(ours, 65536):
            said += chunk
    os.close(ours)
    assert process.wait(60) == 0, said
    return said.decode()


@pytest.mark.parametrize(
    "command", [("--help",), ("audit", "log", "ENV", "--json"), ("schema", "akotf.yaml")]
)
def test_a_reader_that_went_away_is_no_traceback(applied: Any, command: tuple[str, ...]) -> None:
    words = [str(applied.environment) if word == "ENV" else word for word in command]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "akotf", *words], stdout=writer, stderr=subprocess.PIPE, text=True,
            env=applied.variables,
        )  # fmt: skip
    finally:
        os.close(writer)
    said = process.communicate(timeout=60)[1]
    assert said == ""
    assert process.returncode == 1


def test_errors_are_json_on_stdout_when_asked_for(applied: Any) -> None:
    error = applied.json("status", str(applied.folder / "nowhere"), code=1)["error"]
    assert set(error) == {"code", "message", "where", "remedy", "retryable", "exit_code"}
    done = applied.akotf("verify", "nowhere", "--json", code=1)
    assert json.loads(done.stdout)["error"]["code"] == "usage"
    assert done.stderr == ""


def test_a_changed_entry_of_the_journal_is_found(applied: Any, tmp_path: Path) -> None:
    """On a copy, past the triggers that refuse it: who can write to the file can do that, and is found."""
    shutil.copytree(applied.environment, tmp_path / "trial", ignore=shutil.ignore_patterns("*.sock"))
    with closing(sqlite3.connect(tmp_path / "trial" / ".akotf" / "journal.db")) as database, database:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            database.execute("UPDATE entries SET time = '2020-01-01T00:00:00Z' WHERE sequence = 2")
        database.execute("DROP TRIGGER entries_never_change")
        database.execute("UPDATE entries SET time = '2020-01-01T00:00:00Z' WHERE sequence = 2")
    found = applied.json("audit", "verify", str(tmp_path / "trial"), code=1)
    assert found["intact"] is False
    assert "entry 2" in found["findings"][0]["message"]


def through_shell(project: Any, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A line of sh, in which `akotf` is this program."""
    run = f'akotf() {{ "{sys.executable}" -m akotf "$@"; }}; {line}'
    return subprocess.run(
        ["sh", "-c", run], cwd=project.folder, env={**project.variables, **variables}, text=True, capture_output=True
    )  # fmt: skip


def test_closed_streams_are_nowhere(applied: Any) -> None:
    env = applied.environment
    for line in (
        "config show {} >&-",
        "validate {} >&-",
        "validate {} 2>&-",
        "validate {} --json <&- >&- 2>&-",
    ):
        done = through_shell(applied, "akotf " + line.format(env))
        assert done.returncode == 0, done
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", ["config show {} --json", "validate {} --json", "validate {} --report text"]
)
def test_a_full_disk_behind_stdout_is_told(applied: Any, command: str) -> None:
    done = through_shell(applied, f"akotf {command.format(applied.environment)} >/dev/full")
    assert done.returncode == 1
    assert re.search(r"akotf: stdout: .*can't be written: No space left on device", done.stderr)
    assert "remedy: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_what_an_encoding_has_not_is_an_escape(applied: Any) -> None:
    done = through_shell(applied, f"akotf config show {applied.environment}", PYTHONIOENCODING="ascii")
    assert (done.returncode, "\\u2026" in done.stdout) == (0, True), done


def test_a_folder_that_is_gone_is_told(applied: Any, tmp_path: Path) -> None:
    done = through_shell(
        applied, f"mkdir {tmp_path}/x; cd {tmp_path}/x; rmdir {tmp_path}/x; akotf template list"
    )
    assert done.returncode == 1
    assert "the folder that you stand in is gone" in done.stderr


@pytest.mark.parametrize(
    "command", [("template", "verify"), ("template", "list"), ("policy", "list"), ("policy", "test")]
)
def test_a_project_folder_that_is_not_there_is_no_good_project(
    applied: Any, command: tuple[str, str]
) -> None:
    done = applied.akotf(*command, "-f", "nowhere", code=1)
    assert "nowhere: there is no such folder" in done.stderr


def test_a_plan_that_is_no_json_is_told(applied: Any) -> None:
    env = str(applied.environment)
    done = applied.akotf(
        "policy", "explain", "no-world-ingress", env, "--tfplan", f"{env}/akotf.yaml", code=1
    )
    assert "akotf.yaml is not JSON" in done.stderr
    assert "remedy: akotf plan" in done.stderr
