"""Statements and envelopes against the published specifications."""

from __future__ import annotations

import base64

import pytest
from pydantic import ValidationError

from akotf.model.statement import PAYLOAD, Envelope, ResourceDescriptor, Signature, Statement, pae, unbase64

MINIMAL = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "a", "digest": {"sha256": "0" * 64}}],
    "predicateType": "https://slsa.dev/provenance/v1",
    "predicate": {
        "buildDefinition": {"buildType": "urn:x:y", "externalParameters": {}},
        "runDetails": {"builder": {"id": "urn:x:z"}},
    },
}


def test_pae_of_the_specifications_own_example() -> None:
    """DSSE protocol.md, "Test Vectors"."""
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_pae_counts_bytes_and_not_characters() -> None:
    assert pae("ô", "ô".encode()) == b"DSSEv1 2 \xc3\xb4 2 \xc3\xb4"


def test_the_envelope_of_the_specifications_own_example() -> None:
    """The payload and payloadType of the same example, as JSON."""
    envelope = Envelope.of(b"hello world", "http://example.com/HelloWorld", (Signature(sig="A3JqsQ=="),))
    assert envelope.to_json() == {
        "payload": "aGVsbG8gd29ybGQ=",
        "payloadType": "http://example.com/HelloWorld",
        "signatures": [{"sig": "A3JqsQ=="}],
    }
    assert Envelope.model_validate(envelope.to_json()).body() == b"hello world"


def test_both_alphabets_of_base64_are_read() -> None:
    data = bytes([251, 255, 254])
    assert (
        unbase64(base64.b64encode(data).decode()) == unbase64(base64.urlsafe_b64encode(data).decode()) == data
    )
    with pytest.raises(ValueError, match=r".+"):
        unbase64("a b?")


def test_a_minimal_statement_is_read_and_written_the_same() -> None:
    said = Statement.model_validate(MINIMAL)
    assert said.to_json() == {
        **MINIMAL,
        "predicate": {**MINIMAL["predicate"], "runDetails": {"builder": {"id": "urn:x:z"}}},
    }  # type: ignore[dict-item]
    assert Statement.model_validate_json(said.payload()) == said


def test_unknown_fields_are_ignored_as_the_parsing_rules_ask() -> None:
    assert Statement.model_validate({**MINIMAL, "vendor_note": 1}) == Statement.model_validate(MINIMAL)


@pytest.mark.parametrize(
    "change", [{"_type": "https://in-toto.io/Statement/v0.1"}, {"predicateType": "x"}, {"subject": None}]
)
def test_another_type_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Statement.model_validate({**MINIMAL, **change})


def test_empty_optional_fields_are_left_out_but_user_values_stay() -> None:
    item = ResourceDescriptor(uri="urn:x", annotations={"empty": "", "none": None})
    assert item.to_json() == {"uri": "urn:x", "annotations": {"empty": "", "none": None}}
    assert PAYLOAD == "application/vnd.in-toto+json"
