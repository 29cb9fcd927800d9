"""Every trap of the field cases: one clear fault with its place, or the value that was meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from akotf.errors import ConfigError
from akotf.reading import composer, yaml
from akotf.reading.bind import plain
from akotf.reading.nodes import Mark


def faults(data: bytes) -> list[tuple[str, int, int]]:
    """Rule, line and column of each fault."""
    with pytest.raises(ConfigError) as caught:
        yaml.parse(data, "f.yaml")
    assert all(f.message and f.position.file == "f.yaml" for f in caught.value.findings)
    return [
        (f.rule.removeprefix("config/"), f.position.line, f.position.column) for f in caught.value.findings
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\nb: 2\na: 3\n", ("duplicate-key", 3, 1)),
        (b"a:\n\tb: 1\n", ("tab", 2, 1)),
        (b"a: !ENV x\n", ("tag", 1, 4)),
        (b"a: !!python/object/apply:os.system ['x']\n", ("tag", 1, 4)),
        (b"a: !!int '5'\n", ("tag", 1, 4)),
        (b"a: 1\n---\nb: 2\n", ("several-documents", 2, 1)),
        (b"a: 1\n---\n# only a comment\n", ("several-documents", 2, 1)),
        (b"", ("empty", 1, 1)),
        (b"# nothing\n", ("empty", 1, 1)),
        (b"owner: Andr\xe9\n", ("encoding", 1, 12)),
        (b"\xff\xfen\x00a\x00", ("encoding", 1, 1)),
        (b"a: x\x00y\n", ("control-character", 1, 5)),
        (b"a: 1\nb: x\xe2\x80\xa8y\n", ("control-character", 2, 5)),
        (b"gpus:\xc2\xa0 8\nb: 1\n", ("invisible-character", 1, 1)),
        (b"a: 1\ngpus:\xc2\xa08: [\n", ("invisible-character", 2, 1)),
        (b"name: job\ngpus:\xc2\xa0 8\nregion: x\n", ("invisible-character", 2, 6)),
        (b"gpus: \xc2\xa08\n", ("invisible-character", 1, 7)),
        (b"re\xe2\x80\x8bgion: x\n", ("invisible-character", 1, 1)),
        (b"gpus: 8\n\xef\xbd\x87pus: 64\n", ("duplicate-key", 2, 1)),
        (b"caf\xc3\xa9: 1\ncafe\xcc\x81: 2\n", ("duplicate-key", 2, 1)),
        (b"a: *b\n", ("alias", 1, 4)),
        (b"a: &a [*a]\n", ("alias", 1, 8)),
        (b"a: &a 1\nb: &a 2\n", ("anchor", 2, 4)),
        (b"<<: 3\n", ("merge", 1, 1)),
        (b"[a]: 1\n", ("key", 1, 1)),
        (b"name: {{ name }}\n", ("not-yaml", 1, 7)),
        (b"a: 'x\n", ("syntax", 1, 4)),
        (b"a: b: c\n", ("syntax", 1, 5)),
        (b"{{- if .Values.x }}\na: 1\n", ("not-yaml", 1, 1)),
        (b"%YAML 9.0\n---\na: 1\n", ("directive", 1, 1)),
    ],
)
def test_a_fault_has_a_rule_and_a_place(data: bytes, expected: tuple[str, int, int]) -> None:
    assert faults(data) == [expected]


def test_faults_that_do_not_stop_reading_are_told_together() -> None:
    assert faults(b"a: 1\na: 2\nb: !x 1\nc: \xc2\xad1\n") == [
        ("duplicate-key", 2, 1), ("tag", 3, 4), ("invisible-character", 4, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
         + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(9)),
         "too-many-values"),
        (b"a0: &a0 {k0: 1}\n" + b"".join(b"a%d: &a%d {<<: *a%d, k%d: 1}\n" % (i, i, i - 1, i) for i in range(1, 400)),
         "too-many-values"),
        (b"[" * 100_000, "too-deep"),
        (b"- " * 5_000, "too-deep"),
        (b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (i, i, i - 1) for i in range(1, 100)), "too-deep"),
        (b"x: y\n" * 300_000, "too-large"),
        (b"".join(b"k%d: 1\n" % i for i in range(110_000))[: 2**20].rsplit(b"\n", 1)[0], "too-many-values"),
    ],
    ids=["alias bomb", "merge bomb", "deep flow", "deep block", "deep by aliases", "large", "many"],
)  # fmt: skip
def test_bombs_end_with_one_fault(data: bytes, rule: str) -> None:
    assert [found[0] for found in faults(data)] == [rule]


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_both_parsers_of_pyyaml_read_the_same(loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composer, "LOADER", getattr(composer.pyyaml, loader))
    node = yaml.parse(b"a: &x {k: 1}\nb: [*x, 'two', 3.5]\nc: |\n  echo\n", "f")
    assert plain(node) == {"a": {"k": 1}, "b": [{"k": 1}, "two", 3.5], "c": "echo\n"}
    assert node.entries["b"].value.items[1].mark == Mark("f", 2, 9)
    for text in (b"a:\n\tb: 1\n", b"[" * 5_000):
        with pytest.raises(ConfigError):
            yaml.parse(text, "f")


def test_a_byte_order_mark_and_crlf_leave_no_trace() -> None:
    node = yaml.parse(b"\xef\xbb\xbfname: job\r\nrun: |\r\n  torchrun \\\r\n    train.py\r\n", "f")
    assert plain(node) == {"name": "job", "run": "torchrun \\\n  train.py\n"}


def test_merge_keys_follow_the_specification() -> None:
    node = yaml.parse(
        b"base: &b {gpus: 8, lr: 0.1}\n"
        b"before: {<<: *b, gpus: 16}\n"
        b"after: {gpus: 16, <<: *b}\n"
        b"list: {<<: [*b, {gpus: 4, extra: 1}]}\n"
        b"'<<': plain text in quotes\n",
        "f",
    )
    data = plain(node)
    assert data["before"] == {"gpus": 16, "lr": 0.1}  # the mapping's own key wins, wherever it stands
    assert data["after"] == {"gpus": 16, "lr": 0.1}
    assert data["list"] == {"gpus": 8, "lr": 0.1, "extra": 1}  # the earlier mapping of a list wins
    assert data["<<"] == "plain text in quotes"


def test_a_merged_value_keeps_the_place_where_it_was_written() -> None:
    node = yaml.parse(b"base: &b\n  lr: 0.1\nrun:\n  <<: *b\n", "f")
    assert node.get("run").get("lr").mark == Mark("f", 2, 7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4), ("3.e-4", 3e-4), (".5", 0.5), ("-2", -2), ("+3", 3), ("0", 0), ("1.0e+3", 1000.0),
        ("true", True), ("false", False), ("null", None), ("~", None), ("NULL", None), ("", None),
        ("True", "True"), ("yes", "yes"), ("no", "no"), ("off", "off"), ("0755", "0755"), ("0o17", "0o17"),
        ("08", "08"), ("0x1F", "0x1F"), ("1_000", "1_000"), ("1:30:00", "1:30:00"), ("2026-10-01", "2026-10-01"),
        (".inf", ".inf"), (".nan", ".nan"), ("nan", "nan"), ("None", "None"), ("1.2.3", "1.2.3"), ("=", "="),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: object) -> None:
    result = plain(yaml.parse(f"a: {text}\n".encode(), "f"))["a"]
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1e-999", "9223372036854775808", "1" * 5000])
def test_numbers_that_can_not_be_held_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"too large|too small|64 bits"):
        plain(yaml.parse(f"a: {text}\n".encode(), "f"))


def test_quotes_and_str_tag_mean_text() -> None:
    assert plain(yaml.parse(b"a: '1'\nb: \"true\"\nc: !!str 5\nd: |-\n  7\n", "f")) == {
        "a": "1", "b": "true", "c": "5", "d": "7",
    }  # fmt: skip


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "absent", "."):
        with pytest.raises(ConfigError, match="is not a file"):
            yaml.read(tmp_path / name)


def test_a_path_is_shown_from_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "a.yaml").write_text("a: 1\na: 2\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        yaml.read(tmp_path / "e" / "a.yaml")
    assert str(caught.value.findings[0].position) == "e/a.yaml:2:1"
