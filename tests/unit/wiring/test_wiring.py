"""What akotf takes from the machine and from who calls it, where that is missing or of no use."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from akotf.cli import dispatch
from akotf.errors import AkotfError
from akotf.wiring.binding import actor
from akotf.wiring.surroundings import cache_folder


@pytest.mark.parametrize(
    ("cache", "home", "expected"),
    [
        ("{tmp}/cache", "{tmp}/home", "{tmp}/cache/akotf"),
        ("relative", "{tmp}/home", "{tmp}/home/.cache/akotf"),  # the XDG rules: to be ignored
        ("/dev/null/x", "{tmp}/home", "{tmp}/home/.cache/akotf"),
        ("", "/dev/null/x", "/var/tmp/akotf-"),
    ],
)
def test_measurements_go_where_they_can_be_kept(
    cache: str, home: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", cache.format(tmp=tmp_path))
    monkeypatch.setenv("HOME", home.format(tmp=tmp_path))
    # /dev/null is a file that everybody may write: no folder can be made below it
    assert str(cache_folder()).startswith(expected.format(tmp=tmp_path))


def test_the_actor_is_known_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert actor(tmp_path, "cli").commit == ""


def test_what_the_machine_refuses_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/data/x")

    monkeypatch.setattr("akotf.cli.doctor_command.run", full)
    assert dispatch.dispatch(["doctor"]) == 1
    assert "/data/x: the machine says: No space left on device" in capsys.readouterr().err
    assert dispatch.dispatch(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["where"] == "/data/x"


def test_an_error_can_drive_neither_a_terminal_nor_a_build_server() -> None:
    text = dispatch.error_text(AkotfError("no folder a\n::error::b \x1b[2J", where="##[error]c", remedy="d"))
    mark = "\N{REPLACEMENT CHARACTER}"
    assert text == f"akotf: {mark}#[error]c: no folder a\n{mark}:error::b {mark}[2J\n  remedy: d"
