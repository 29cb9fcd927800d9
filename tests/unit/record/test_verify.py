"""Every kind of tampering with an evidence folder is found and named."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import StoreError
from akotf.model.base import canonical_json
from akotf.model.finding import Finding
from akotf.model.statement import Envelope
from akotf.record.evidence import manifest, pretty, sha256
from akotf.record.signing import export_public_key, generate_key, load_signer
from akotf.record.verify import verify

NAMES = [
    "approval.json", "artifact-manifest.json", "baseline.json", "candidates.json", "drift.json", "execution-trace.json",
    "inputs.json", "journal.jsonl", "manifest.json", "outputs.json", "prediction.json", "provenance.dsse.json",
    "provenance.intoto.json", "run.json", "selection.json", "state.json", "terraform.json",
]  # fmt: skip


@pytest.fixture
def folder(ended: Any, tmp_path: Path) -> Path:
    generate_key(tmp_path / "key")
    written: Path = ended.write(tmp_path / "evidence", signer=load_signer(tmp_path / "key"))
    assert sorted(p.name for p in written.iterdir()) == NAMES
    return written


@pytest.fixture
def pinned(folder: Path) -> Path:
    return folder.parent / "key.pub"


def rules(findings: tuple[Finding, ...]) -> set[str]:
    return {f.rule for f in findings}


def remake_manifest(folder: Path) -> None:
    """What a careful forger does."""
    files = {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "manifest.json"}
    run = json.loads((folder / "manifest.json").read_text())["run"]
    (folder / "manifest.json").write_bytes(manifest(run, files))


def test_levels_of_trust(folder: Path, pinned: Path, tmp_path: Path) -> None:
    report = verify(folder, public_key=pinned)
    assert (report.findings, report.signed, report.level) == ((), True, "signed by pinned key")
    report = verify(folder)
    assert (report.findings, report.signed, report.level) == ((), False, "integrity only")
    other = generate_key(tmp_path / "other")
    report = verify(folder, public_key=other)
    assert (rules(report.findings), report.signed) == ({"evidence/signature"}, False)


@pytest.mark.parametrize("name", NAMES)
def test_one_changed_byte_anywhere(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    for place in sorted({0, 1, len(data) // 3, len(data) // 2, len(data) - 2, len(data) - 1}):
        changed = bytearray(data)
        changed[place] ^= 0x01
        (folder / name).write_bytes(bytes(changed))
        found = verify(folder).findings
        assert any(name in f.message or f.path == name or name == "manifest.json" for f in found), (
            place,
            found,
        )
        assert found


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_white_space_counts(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as stream:
        stream.write(b"\n")
    assert name in {f.path for f in verify(folder).findings}


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert name in {f.path for f in verify(folder).findings}


def test_an_added_file(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "note.txt").write_text("trust me")
    assert [(f.rule, f.path) for f in verify(folder).findings] == [("evidence/added", "deep/note.txt")]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {"manifest.json", "provenance.dsse.json"}])
def test_a_forger_who_makes_the_manifest_anew_is_found_by_the_rest(
    folder: Path, pinned: Path, name: str
) -> None:
    text = (folder / name).read_text()
    places = [n for n, character in enumerate(text) if character in "123456789"]
    if places:  # one digit in the middle becomes another
        place = places[len(places) // 2]
        text = text[:place] + ("8" if text[place] == "9" else "9") + text[place + 1 :]
    else:
        text = text.replace("a", "b")
    assert (folder / name).read_text() != text
    (folder / name).write_text(text)
    remake_manifest(folder)
    found = verify(folder, public_key=pinned).findings
    assert any(name in f.message or f.path == name or f.rule.startswith("journal/") for f in found), found


def test_a_forger_who_makes_everything_anew_is_found_by_the_signature_only(
    ended: Any, folder: Path, pinned: Path
) -> None:
    shutil.rmtree(folder)
    (ended.outputs / "metrics.json").write_text('{"validation_loss": 0.1}')
    ended.write(folder)
    assert verify(folder).findings == ()
    assert rules(verify(folder, public_key=pinned).findings) == {"evidence/unsigned"}
    generate_key(folder.parent / "mallory")
    ended.write(folder, signer=load_signer(folder.parent / "mallory"))
    assert rules(verify(folder, public_key=pinned).findings) == {"evidence/signature"}


def test_a_signature_over_another_statement_or_type(folder: Path, pinned: Path) -> None:
    signer = load_signer(folder.parent / "key")
    path = folder / "provenance.dsse.json"
    body = (folder / "provenance.intoto.json").read_bytes()
    path.write_bytes(pretty(signer.envelope(body + b" ").to_json()))
    remake_manifest(folder)
    assert rules(verify(folder, public_key=pinned).findings) == {"evidence/mismatch"}
    path.write_bytes(pretty(signer.envelope(body, "application/json").to_json()))
    remake_manifest(folder)
    assert rules(verify(folder, public_key=pinned).findings) == {"evidence/signature"}


def test_url_safe_base64_is_read_as_the_specification_asks(folder: Path, pinned: Path) -> None:
    path = folder / "provenance.dsse.json"
    envelope = Envelope.model_validate_json(path.read_bytes())
    safe = envelope.to_json()
    safe["payload"] = base64.urlsafe_b64encode(envelope.body()).decode()
    safe["signatures"][0]["sig"] = safe["signatures"][0]["sig"].replace("+", "-").replace("/", "_")
    path.write_bytes(pretty(safe))
    remake_manifest(folder)
    assert verify(folder, public_key=pinned).level == "signed by pinned key"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "out of order"),
        (lambda lines: [*lines[:3], *lines[4:]], "entry 4 is missing"),
        (lambda lines: lines[1:], "entry 1 is missing"),
        (lambda lines: [*lines, lines[-1]], "out of order"),
        (
            lambda lines: [*lines[:2], lines[2].replace("run.intent", "run.extent"), *lines[3:]],
            "entry 3 was changed",
        ),
    ],
)
def test_the_journal_inside_is_checked_entry_by_entry(folder: Path, damage: Any, said: str) -> None:
    path = folder / "journal.jsonl"
    path.write_text("\n".join(damage(path.read_text().splitlines())) + "\n")
    assert any(said in f.message and f.rule.startswith("journal/") for f in verify(folder).findings)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("inputs.json", {"planner": "2"}),
        ("baseline.json", {"environment": {"SEED": "2"}}),
        ("selection.json", {"binding": "budget"}),
        ("candidates.json", {"planner": "2"}),
        ("approval.json", {"approver": "mallory"}),
        ("state.json", {"parameters": {"steps": 1}}),
        ("prediction.json", {"run": "another"}),
    ],
)
def test_parts_of_another_run_do_not_fit(folder: Path, name: str, change: dict[str, Any]) -> None:
    """Also when the manifest and the statement were made anew around the foreign part."""
    (folder / name).write_bytes(pretty({**json.loads((folder / name).read_text()), **change}))
    said = json.loads((folder / "provenance.intoto.json").read_text())
    for item in said["predicate"]["runDetails"]["byproducts"]:
        if item["name"] == name:
            item["digest"]["sha256"] = sha256((folder / name).read_bytes())
    (folder / "provenance.intoto.json").write_bytes(canonical_json(said))
    (folder / "provenance.dsse.json").unlink()
    remake_manifest(folder)
    found = verify(folder).findings
    assert found
    assert {f.rule for f in found} == {"evidence/mismatch"}
    assert any("is not the one of this run" in f.message for f in found)


def test_the_outputs_themselves(ended: Any, folder: Path) -> None:
    assert verify(folder, outputs=ended.outputs).findings == ()
    (ended.outputs / "model.pt").write_bytes(b"better")
    (ended.outputs / "metrics.json").unlink()
    (ended.outputs / "more.txt").write_text("x")
    assert {(f.rule, f.path) for f in verify(folder, outputs=ended.outputs).findings} == {
        ("outputs/changed", "model.pt"), ("outputs/missing", "metrics.json"), ("outputs/added", "more.txt"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"files": 3}', '{"files": {"a": 1}, "run": "x"}']
)
def test_a_manifest_that_is_none(folder: Path, content: str) -> None:
    (folder / "manifest.json").write_text(content)
    assert verify(folder).findings


@pytest.mark.parametrize("name", [n for n in NAMES if n != "manifest.json"])
@pytest.mark.parametrize("content", ["null", "[]", "[1]", "{}", "\xff", "\x00", "[" * 100_000])
def test_hostile_content_is_a_finding_and_never_a_crash(
    folder: Path, pinned: Path, name: str, content: str
) -> None:
    (folder / name).write_bytes(content.encode("latin-1"))
    remake_manifest(folder)
    assert verify(folder, public_key=pinned).findings


def test_line_separators_inside_a_text_are_no_lines(ended: Any, tmp_path: Path) -> None:
    ended.log("drift.seen", {"field": "environment.X", "observed": "a\u2028b\x85c\u2029d\x0b\x1e"})
    assert verify(ended.write(tmp_path / "e")).findings == ()


def test_what_can_not_be_read_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:  # root may read everything, so the kernel's answer is given here
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(StoreError, match="Permission denied"):
        verify(folder)


def test_no_folder_and_no_key(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no evidence folder"):
        verify(tmp_path / "none")
    with pytest.raises(StoreError, match="key can't be read"):
        verify(folder, public_key=tmp_path / "none.pub")
    (tmp_path / "bad.pub").write_text("hello")
    with pytest.raises(StoreError, match="no public Ed25519 key"):
        verify(folder, public_key=tmp_path / "bad.pub")


def test_keys(tmp_path: Path) -> None:
    public = generate_key(tmp_path / "key")
    assert public == tmp_path / "key.pub"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert export_public_key(tmp_path / "key", tmp_path / "copy.pub").read_bytes() == public.read_bytes()
    with pytest.raises(StoreError, match="can't be written"):
        generate_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(StoreError, match="open to others") as caught:
        load_signer(tmp_path / "key")
    assert "chmod 600" in caught.value.remedy
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "key").write_text("x")
    with pytest.raises(StoreError, match="no private Ed25519 key"):
        load_signer(tmp_path / "key")


def test_the_key_id_is_the_digest_of_the_public_key(tmp_path: Path) -> None:
    public = generate_key(tmp_path / "key")
    der = base64.b64decode("".join(public.read_text().splitlines()[1:-1]))
    assert load_signer(tmp_path / "key").keyid == sha256(der)
