"""Values out of bytes: as they are, as programs spell them, in streams cut anywhere, and out of the journal."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akotf.secrets.recording import RedactingJournal
from akotf.secrets.redaction import Redactor
from akotf.testing.doubles import MemoryJournal, MemorySecrets

VALUE = 'p4ss/w\u00f6rd+"quoted"\\%20\nline 2'
RAW = VALUE.encode()
FORMS: dict[str, Callable[[], bytes]] = {
    "as it is": lambda: RAW,
    "JSON": lambda: json.dumps({"t": VALUE}).encode(),
    "JSON, UTF-8": lambda: json.dumps({"t": VALUE}, ensure_ascii=False).encode(),
    "repr of text": lambda: repr({"t": VALUE}).encode(),
    "repr of bytes": lambda: repr(RAW).encode(),
    "URL": lambda: f"https://x/?t={urllib.parse.quote(VALUE, safe='')}".encode(),
    "URL, lower case": lambda: (
        urllib.parse.quote(VALUE, safe="").replace("%2F", "%2f").replace("%22", "%22").lower().encode()
    ),
    "form": lambda: urllib.parse.urlencode({"t": VALUE}).encode(),
    "hexadecimal": lambda: RAW.hex().encode(),
    "base64": lambda: base64.b64encode(RAW),
    "base64 for URLs": lambda: base64.urlsafe_b64encode(RAW),
    "basic authentication": lambda: b"Authorization: Basic " + base64.b64encode(b"user:" + RAW),
    "base64 of a larger text": lambda: base64.b64encode(b"ab" + RAW + b"more"),
}


@pytest.mark.parametrize("name", [name for name in FORMS if name != "URL, lower case"])
def test_each_form_is_taken_out(name: str) -> None:
    redact = Redactor([RAW])
    clean = redact(b"before " + FORMS[name]() + b" after")
    assert b"[secret]" in clean
    assert not redact.found(clean)
    for part in (b"p4ss", b"quoted", RAW.hex()[:16].encode(), base64.b64encode(RAW)[4:24]):
        assert part not in clean


@given(st.binary(min_size=8, max_size=40), st.binary(max_size=5), st.binary(max_size=5))
def test_base64_at_any_alignment_leaves_no_byte_of_the_middle(
    value: bytes, before: bytes, after: bytes
) -> None:
    clean = Redactor([value])(base64.b64encode(before + value + after))
    assert b"[secret]" in clean
    # at most the two digits on each side that share bits with what stands around it
    assert len(clean) <= len(b"[secret]") + (len(before) + len(after) + 4) * 4 // 3 + 8


@given(
    st.lists(st.binary(min_size=4, max_size=12), min_size=1, max_size=3),
    st.lists(st.one_of(st.binary(max_size=9), st.integers(0, 2)), max_size=12),
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
)
def test_a_stream_is_as_clean_as_its_whole_wherever_it_is_cut(
    values: list[bytes], parts: list[bytes | int], sizes: list[int]
) -> None:
    whole = b"".join(values[part % len(values)] if isinstance(part, int) else part for part in parts)
    cut, place, turn = [], 0, 0
    while place < len(whole):
        size = sizes[turn % len(sizes)]
        cut.append(whole[place : place + size])
        place, turn = place + size, turn + 1
    redact = Redactor(values)
    streamed = b"".join(redact.chunks(cut))
    assert [value for value in values if value in streamed and value not in b"[secret]"] == [
        value for value in values if value in redact(whole) and value not in b"[secret]"
    ]


def test_a_log_is_not_held_back() -> None:
    redact = Redactor([b"s3cr3t-value"])
    stream = redact.chunks([b"step 1\n", b"step 2 s3c", b"r3t-value\n", b"step 3 s3", b"ven\n"])
    assert list(stream) == [b"step 1\n", b"step 2 ", b"[secret]\n", b"step 3 ", b"s3ven\n"]


def test_what_is_too_short_to_be_a_secret_stays() -> None:
    assert Redactor([b"abc"])(b"abc abc") == b"abc abc"
    assert Redactor([b"abcd"])(b"abcd abc") == b"[secret] abc"
    assert Redactor([])(b"anything") == b"anything"


def test_data_with_the_value_in_keys_and_texts() -> None:
    data = {"a": ["x s3cr3t-value y", 1, None, True], "s3cr3t-value": {"b": "s3cr3t-value"}}
    assert Redactor([b"s3cr3t-value"]).data(data) == {
        "a": ["x [secret] y", 1, None, True],
        "[secret]": {"b": "[secret]"},
    }


def test_the_journal_takes_no_value_in_that_was_given_out() -> None:
    secrets = MemorySecrets({"env:A": b"s3cr3t-value", "env:B": b"short"})
    journal = RedactingJournal(MemoryJournal(), secrets)
    journal.append("run.intent", {"said": "s3cr3t-value"}, environment="trial")
    secrets.resolve({"A": "env:A", "B": "env:B"})
    entry = journal.append(
        "run.ended", {"reason": "it said s3cr3t-value, in short"}, environment="trial", subject="r"
    )
    assert entry.body == {"reason": "it said [secret], in short"}
    assert [e.body for e in journal.entries(kind="run.ended", subject="r")] == [entry.body]
    assert entry.expected_hash() == entry.hash
