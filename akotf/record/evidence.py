"""The evidence folder of a run: complete, checked offline by `record.verify`, the same bytes for the same inputs."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from akotf.errors import IntegrityError
from akotf.facts.files import sync_folder
from akotf.model.base import canonical_json
from akotf.model.chain import check_chain
from akotf.model.config import Baseline, DesiredState
from akotf.model.journal import Entry
from akotf.model.plan import Chosen, PlanInputs
from akotf.model.run import Run
from akotf.model.tfplan import Approval
from akotf.record.akoflow import artifact_manifest, execution_trace
from akotf.record.drifts import drift_history
from akotf.record.outputs import hash_outputs
from akotf.record.provenance import statement
from akotf.record.signing import Signer
from akotf.store.files import make_folder, store_error, write_atomic

MANIFEST = "manifest.json"
STATEMENT = "provenance.intoto.json"
ENVELOPE = "provenance.dsse.json"


def write_evidence(
    folder: Path, *, run: Run, state: DesiredState, chosen: Chosen, inputs: PlanInputs, approval: Approval | None,
    baseline: Baseline, entries: Sequence[Entry], prediction: Mapping[str, Any], terraform: Mapping[str, Any],
    outputs_directory: Path, signer: Signer | None = None, secrets: Iterable[str] = (),
) -> Path:  # fmt: skip
    """Write the folder, whole or not at all, replacing one of before; returns it.

    `entries` is the journal from its first entry on, `prediction` the body of `prediction.recorded`, `terraform` the
    version, the root tree's digest and the state's serial and lineage. IntegrityError when the journal's chain is
    broken or one of the `secrets` (values of secret parameters) would get into a file; StoreError when the folder
    can't be written.
    """
    faults = check_chain(entry.model_dump(mode="json") for entry in entries)
    if faults:
        raise IntegrityError(
            f"the journal is broken: {faults[0].message}", where=str(folder),
            remedy="`akotf audit verify` names every faulty entry; no evidence is written from it",
        )  # fmt: skip
    outputs = hash_outputs(outputs_directory)
    files = {
        "run.json": pretty(run.to_json()),
        "state.json": pretty(state.to_json()),
        "inputs.json": pretty(inputs.to_json()),
        "candidates.json": pretty(chosen.plan.to_json()),
        "selection.json": pretty(chosen.selection.to_json()),
        "baseline.json": pretty(baseline.to_json()),
        "approval.json": pretty(approval.to_json() if approval else None),
        "drift.json": pretty(drift_history(entries, run)),
        "prediction.json": pretty(dict(prediction)),
        "terraform.json": pretty(dict(terraform)),
        "outputs.json": pretty(outputs.to_json()),
        "artifact-manifest.json": pretty(artifact_manifest(run, outputs)),
        "execution-trace.json": pretty(
            execution_trace(run, chosen.candidate(run.candidate), prediction, chosen.digest())
        ),
        "journal.jsonl": b"".join(canonical_json(entry) + b"\n" for entry in entries),
    }
    said = statement(
        run=run, state=state, inputs=inputs, approval=approval, outputs=outputs, terraform=terraform,
        entries=entries, files={name: sha256(data) for name, data in files.items()},
    )  # fmt: skip
    files[STATEMENT] = said.payload()
    if signer:
        files[ENVELOPE] = pretty(signer.envelope(said.payload()).to_json())
    files[MANIFEST] = manifest(run.id, files)
    _refuse_secrets(folder, files, secrets)
    _write(folder, files)
    return folder


def manifest(run_id: str, files: Mapping[str, bytes]) -> bytes:
    """`manifest.json`: size and SHA-256 of every other file. Its bytes follow from its content, so each one counts."""
    rows = {
        name: {"size": len(data), "sha256": sha256(data)} for name, data in files.items() if name != MANIFEST
    }
    return pretty({"schema": 1, "run": run_id, "files": rows})


def pretty(value: Any) -> bytes:
    """JSON for people, in one form only: sorted keys, two spaces, UTF-8, finite numbers."""
    plain = json.loads(canonical_json(value))
    return (json.dumps(plain, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def sha256(data: bytes) -> str:
    """The SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _refuse_secrets(folder: Path, files: Mapping[str, bytes], secrets: Iterable[str]) -> None:
    for secret in secrets:
        # as it is, and as JSON writes it inside a text, with and without ASCII escapes
        forms = {secret.encode()} | {json.dumps(secret, ensure_ascii=a)[1:-1].encode() for a in (True, False)}
        for name, data in files.items():
            if any(form and form in data for form in forms):
                raise IntegrityError(
                    f"the value of a secret would be written into {name}", where=str(folder),
                    remedy="give secrets as references (env:NAME or file:PATH), never as values; nothing was written",
                )  # fmt: skip


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Beside the folder first, then renamed into its place: nobody ever reads half of it."""
    make_folder(folder.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
            fresh, old = Path(aside) / "new", Path(aside) / "old"
            fresh.mkdir()
            for name in sorted(files, key=lambda name: (name == MANIFEST, name)):
                write_atomic(fresh / name, files[name])
            if folder.exists():
                folder.rename(old)
            fresh.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise store_error(folder, error) from error
