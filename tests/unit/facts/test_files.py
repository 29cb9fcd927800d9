"""JSON files are whole or not at all."""

import os
import resource
from pathlib import Path

import pytest

from akotf.facts.files import read_json, remove, write_json_atomic


def test_what_is_written_is_read_and_private(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json_atomic(path, {"b": [1, 0.1, "é", None, True]})
    assert read_json(path) == {"b": [1, 0.1, "é", None, True]}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().isascii()


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json_atomic(path, {"old": 1})
    with pytest.raises(ValueError, match="Out of range"):
        write_json_atomic(path, {"new": float("nan")})
    with pytest.raises(TypeError):
        write_json_atomic(path, {"new": object()})
    assert read_json(path) == {"old": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json_atomic(path, {"n": 0})
    with path.open() as before:
        write_json_atomic(path, {"n": 1, "long": "x" * 100_000})
        assert '"n": 0' in before.read()  # the old file is whole for whoever has it open
    assert read_json(path)["n"] == 1


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": 1', b"\xff\xfe", b"[" * 200_000])
def test_half_written_and_foreign_files_are_value_errors(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"a\.json"):
        read_json(path)


def test_a_pipe_does_not_hang_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        read_json(path)


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('"' + "x" * 100 + '"')
    with pytest.raises(ValueError, match="larger than 50 bytes"):
        read_json(path, largest=50)


def test_remove_says_whether_it_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("1")
    assert remove(path)
    assert not remove(path)


def test_a_full_disk_is_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    # a limit on a file's size stands for the full disk; Python ignores its signal
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            write_json_atomic(path, "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == []
