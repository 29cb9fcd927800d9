"""The evidence folder of a run: complete, checked offline by `record.verify`, the same bytes for the same inputs."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from akotf.secrets.redaction import SHORTEST_ON_RECORD, Redactor
from akotf.store.files import make_folder, store_error, write_atomic

MANIFEST = "manifest.json"
STATEMENT = "provenance.intoto.json"
ENVELOPE = "provenance.dsse.json"


def write_evidence(
    folder: Path, *, run: Run, state: DesiredState, chosen: Chosen, inputs: PlanInputs, approval: Approval | None,
    baseline: Baseline, entries: Sequence[Entry], prediction: Mapping[str, Any], terraform: Mapping[str, Any],
    outputs_directory: Path, signer: Signer | None = None, secrets: Iterable[bytes] = (),
    on_redacted: Callable[[str], None] | None = None,
) -> Path:  # fmt: skip
    """Write the folder, whole or not at all, replacing one of before; returns it.

    `entries` is the journal from its first entry on, `prediction` the body of `prediction.recorded`, `terraform` the
    version, the root tree's digest and the state's serial and lineage. A value of `secrets` that would get into a file
    is replaced by a marker, and `on_redacted` is told which file: the run keeps its evidence, and the verification of
    that file says that it is not as it was. IntegrityError when the journal's chain is broken; StoreError when the
    folder can't be written.
    """
    faults = check_chain(entry.model_dump(mode="json") for entry in entries)
    if faults:
        raise IntegrityError(
            f"the journal is broken: {faults[0].message}", where=str(folder),
            remedy="`akotf audit verify` names every faulty entry; no evidence is written from it",
        )  # fmt: skip
    outputs = hash_outputs(outputs_directory)
    redact = Redactor(secrets, SHORTEST_ON_RECORD)
    said: dict[str, Any] = {
        "run.json": run.to_json(),
        "state.json": state.to_json(),
        "inputs.json": inputs.to_json(),
        "candidates.json": chosen.plan.to_json(),
        "selection.json": chosen.selection.to_json(),
        "baseline.json": baseline.to_json(),
        "approval.json": approval.to_json() if approval else None,
        "drift.json": drift_history(entries, run),
        "prediction.json": dict(prediction),
        "terraform.json": dict(terraform),
        "outputs.json": outputs.to_json(),
        "artifact-manifest.json": artifact_manifest(run, outputs),
        "execution-trace.json": execution_trace(
            run, chosen.candidate(run.candidate), prediction, chosen.digest()
        ),
    }
    files = {name: pretty(_clean(name, value, redact, on_redacted)) for name, value in said.items()}
    rows = [_clean("journal.jsonl", entry.to_json(), redact, on_redacted) for entry in entries]
    files["journal.jsonl"] = b"".join(canonical_json(row) + b"\n" for row in rows)
    provenance = statement(
        run=run, state=state, inputs=inputs, approval=approval, outputs=outputs, terraform=terraform,
        entries=entries, files={name: sha256(data) for name, data in files.items()},
    )  # fmt: skip
    payload = canonical_json(_clean(STATEMENT, provenance.to_json(), redact, on_redacted))
    files[STATEMENT] = payload
    if signer:
        files[ENVELOPE] = pretty(signer.envelope(payload).to_json())
    files[MANIFEST] = manifest(run.id, files)
    _write(folder, files)
    return folder


def _clean(name: str, value: Any, redact: Redactor, on_redacted: Callable[[str], None] | None) -> Any:
    """The JSON data of a file without the values of secrets."""
    plain = json.loads(canonical_json(value))
    clean = redact.data(plain)
    if clean != plain and on_redacted:
        on_redacted(name)
    return clean


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
