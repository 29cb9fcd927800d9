"""What stands in an evidence folder."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import IntegrityError, StoreError
from akotf.record.signing import generate_key, load_signer
from akotf.record.verify import verify

FILES = [
    "approval.json", "artifact-manifest.json", "baseline.json", "candidates.json", "drift.json", "execution-trace.json",
    "inputs.json", "journal.jsonl", "manifest.json", "outputs.json", "prediction.json", "provenance.intoto.json",
    "run.json", "selection.json", "state.json", "terraform.json",
]  # fmt: skip


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def test_the_folder_is_complete_and_verifies(ended: Any, tmp_path: Path) -> None:
    folder = ended.write(tmp_path / "evidence" / "run")
    assert sorted(p.name for p in folder.iterdir()) == FILES
    report = verify(folder, outputs=ended.outputs)
    assert report.findings == ()
    assert (report.signed, report.level) == (False, "integrity only")
    assert [p.name for p in folder.parent.iterdir()] == ["run"]  # nothing half-made beside it


def test_the_same_inputs_give_the_same_bytes(ended: Any, tmp_path: Path) -> None:
    key = tmp_path / "key"
    generate_key(key)
    first = ended.write(tmp_path / "a", signer=load_signer(key))
    second = ended.write(tmp_path / "b", signer=load_signer(key))
    for path in first.iterdir():
        assert (second / path.name).read_bytes() == path.read_bytes(), path.name


def test_writing_again_replaces_the_folder(ended: Any, tmp_path: Path) -> None:
    folder = ended.write(tmp_path / "e" / "run")
    (folder / "stray.txt").write_text("x")
    (ended.outputs / "model.pt").write_bytes(b"retrained")
    assert ended.write(folder) == folder
    assert verify(folder).findings == ()
    assert read(folder, "outputs.json")["files"][2]["size"] == 9


def test_outputs_are_named_with_size_and_digest(ended: Any, tmp_path: Path) -> None:
    (ended.outputs / "latest").symlink_to("model.pt")
    (ended.outputs / "escape").symlink_to("/etc")
    files = read(ended.write(tmp_path / "e"), "outputs.json")["files"]
    assert [f["path"] for f in files] == ["deep/größe.txt", "escape", "latest", "metrics.json", "model.pt"]
    assert files[4]["size"] == 256
    # sha256 of bytes(range(256)), as `python -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | sha256sum` says
    assert files[4]["sha256"] == "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"
    assert (files[1]["link"], files[2]["link"]) == ("/etc", "model.pt")


def test_a_run_without_outputs_has_evidence_too(ended: Any, tmp_path: Path) -> None:
    folder = ended.write(tmp_path / "e", outputs_directory=tmp_path / "none")
    assert read(folder, "outputs.json")["files"] == []
    assert [s["name"] for s in read(folder, "provenance.intoto.json")["subject"]] == ["outputs.json"]
    assert verify(folder).findings == ()


def test_outputs_that_can_not_be_read_are_told(ended: Any, tmp_path: Path) -> None:
    os.mkfifo(ended.outputs / "pipe")
    with pytest.raises(IntegrityError, match="no regular file") as caught:
        ended.write(tmp_path / "e")
    assert caught.value.where.endswith("outputs/pipe")


def test_the_statement_has_the_published_fields(ended: Any, tmp_path: Path) -> None:
    """in-toto Statement v1 and SLSA provenance v1: names, types and required fields as the specifications list them."""
    folder = ended.write(tmp_path / "e")
    said = read(folder, "provenance.intoto.json")
    assert set(said) == {"_type", "subject", "predicateType", "predicate"}
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    assert {s["name"]: s["digest"]["sha256"] for s in said["subject"]} == {
        p.relative_to(ended.outputs).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in ended.outputs.rglob("*")
        if p.is_file()
    }
    build, details = said["predicate"]["buildDefinition"], said["predicate"]["runDetails"]
    assert set(build) == {"buildType", "externalParameters", "internalParameters", "resolvedDependencies"}
    assert build["externalParameters"]["parameters"] == {"learning_rate": 0.001, "steps": 100}
    assert set(details) == {"builder", "metadata", "byproducts"}
    assert details["builder"]["version"]["terraform"] == "1.11.4"
    assert details["metadata"] == {
        "invocationId": ended.run.id, "startedOn": "2026-11-30T21:50:00Z", "finishedOn": "2026-11-30T21:51:20Z",
    }  # fmt: skip
    digests = {d["name"]: d["digest"] for d in build["resolvedDependencies"]}
    assert digests["image"] == {"sha256": "5" * 64}
    assert digests["commit"] == {"gitCommit": "c" * 40}
    assert digests["inputs"] == {"sha256": ended.inputs.digest()[7:]}
    assert {b["name"] for b in details["byproducts"]} == set(FILES) - {
        "manifest.json",
        "provenance.intoto.json",
    }


def test_akoflow_reads_the_artifact_manifest(ended: Any, tmp_path: Path) -> None:
    """The fields and JSON names of AkôFlow's ArtifactManifest (v1.0.8), without those it may omit."""
    said = read(ended.write(tmp_path / "e"), "artifact-manifest.json")
    assert set(said) == {
        "schemaVersion", "runId", "activityId", "attempt", "runtime", "root", "startedAt", "finishedAt", "exitCode",
        "files", "phases", "summary",
    }  # fmt: skip
    assert (said["schemaVersion"], said["activityId"], said["attempt"], said["exitCode"]) == (
        1,
        "train",
        2,
        0,
    )
    assert said["finishedAt"] - said["startedAt"] == 80.0
    assert said["files"][2] == {
        "path": "model.pt", "change": "created", "sizeBytes": 256,
        "checksum": "sha256:40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880",
    }  # fmt: skip
    assert [(p["phase"], p["status"], p["durationSeconds"]) for p in said["phases"]] == [
        ("attempt-1", "restarted", 25.0), ("attempt-2", "succeeded", 48.0),
    ]  # fmt: skip
    metrics = (ended.outputs / "metrics.json").stat().st_size
    assert said["summary"] == {
        "initialFiles": 0, "finalFiles": 3, "createdFiles": 3, "modifiedFiles": 0, "deletedFiles": 0,
        "outputBytes": 256 + 1 + metrics,
    }  # fmt: skip


def test_akoflow_reads_the_execution_trace(ended: Any, tmp_path: Path) -> None:
    said = read(ended.write(tmp_path / "e"), "execution-trace.json")
    assert set(said) == {"runId", "planId", "mode", "predicted", "executed", "tasks", "transfers"}
    assert said["mode"] == "real"
    assert said["predicted"] == {"makespanSeconds": 54.0, "cost": 0.0054, "feasible": True}
    assert said["executed"] == {
        "makespanSeconds": 80.0, "cost": 0.008, "computeSeconds": 73.0, "transferSeconds": 0.0, "queueSeconds": 5.0,
        "interferenceSeconds": 0.0, "overheadSeconds": 2.0, "feasible": True,
    }  # fmt: skip
    first, second = said["tasks"]
    assert (first["status"], first["startedAt"], first["finishedAt"], first["queueSeconds"]) == (
        "cancelled",
        5.0,
        30.0,
        5.0,
    )
    assert (second["status"], second["startedAt"], second["runtimeSeconds"]) == ("completed", 32.0, 48.0)
    assert first["cost"] + second["cost"] == pytest.approx(0.008)
    assert first["failureReason"] == "drift"
    assert "failureReason" not in second


def test_the_drifts_of_this_run_only_and_what_became_of_them(ended: Any, tmp_path: Path) -> None:
    said = read(ended.write(tmp_path / "e"), "drift.json")
    assert [(d["field"], d["action"], bool(d["cleared"])) for d in said["drifts"]] == [
        ("hyperparameters.file.learning_rate", "heal-in-place", True),
        ("hyperparameters.in_use.learning_rate", "restart-from-checkpoint", False),
    ]
    assert said["healed"] == 2
    assert [e["sequence"] for e in said["entries"]] == [4, 5, 6, 7, 8, 9]


def test_a_drift_that_comes_back_is_healed_only_by_a_later_heal(ended: Any, tmp_path: Path) -> None:
    again = ended.entries[3].body
    ended.log("drift.seen", again)
    said = read(ended.write(tmp_path / "e"), "drift.json")
    assert [bool(d["healed"]) for d in said["drifts"]] == [True, True, False]
    assert said["healed"] == 2


def test_a_broken_journal_gives_no_evidence(ended: Any, tmp_path: Path) -> None:
    ended.entries[4] = ended.entries[4].model_copy(update={"body": {}})
    with pytest.raises(IntegrityError, match="entry 5 was changed"):
        ended.write(tmp_path / "e")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("secret", ["hunter2hunter2", 'quo"te\\d-12', "schlüssel-1234", "line\nbreak-1234"])
def test_a_secret_never_gets_into_a_file_and_the_run_keeps_its_evidence(
    ended: Any, tmp_path: Path, secret: str
) -> None:
    ended.log("run.submitted", {"environment": {"TOKEN": f"prefix {secret} suffix"}})
    redacted: list[str] = []
    folder = ended.write(tmp_path / "e", secrets=[secret.encode()], on_redacted=redacted.append)
    assert redacted == ["journal.jsonl"]
    forms = [
        secret.encode(),
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
    ]
    assert [p.name for p in folder.iterdir() if any(form in p.read_bytes() for form in forms)] == []
    last = json.loads((folder / "journal.jsonl").read_text().splitlines()[-1])
    assert last["body"] == {"environment": {"TOKEN": "prefix [secret] suffix"}}
    # what was taken out is told by the verification, and nothing else is wrong with the folder
    (finding,) = verify(folder).findings
    assert finding.message == f"entry {last['sequence']} was changed after it was written"


def test_a_secret_shorter_than_eight_bytes_breaks_no_digest(ended: Any, tmp_path: Path) -> None:
    """`trial` is the environment's name as well."""
    folder = ended.write(tmp_path / "e", secrets=[b"trial", b"succeed"])
    assert verify(folder).findings == ()


def test_a_place_that_can_not_be_written(ended: Any) -> None:
    with pytest.raises(StoreError) as caught:
        ended.write(Path("/proc/akotf/e"))
    assert "writable" in caught.value.remedy
