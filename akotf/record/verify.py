"""Check an evidence folder offline: every byte, the journal's chain, and that its parts belong together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from akotf.errors import IntegrityError, StoreError
from akotf.model.base import Frozen, digest
from akotf.model.chain import check_chain
from akotf.model.finding import Finding
from akotf.model.statement import PAYLOAD, Envelope, OutputManifest, Statement
from akotf.record.evidence import ENVELOPE, MANIFEST, STATEMENT, manifest, sha256
from akotf.record.outputs import compare
from akotf.record.provenance import subjects
from akotf.record.signing import signed_by

M = TypeVar("M", bound=Frozen)
_REMEDY = "take the evidence from a copy you trust; what it says can't be relied on"


@dataclass(frozen=True)
class VerifyReport:
    """What is wrong (empty: nothing), and how far that can be trusted.

    Without a key pinned from outside the folder, whoever changed it could have made all digests anew: the level is
    then "integrity only", signed or not.
    """

    findings: tuple[Finding, ...]
    signed: bool  # by the pinned key
    level: str  # "signed by pinned key" | "integrity only"


def verify(folder: Path, *, public_key: Path | None = None, outputs: Path | None = None) -> VerifyReport:
    """Check the folder; with `outputs`, also that these files are the ones the run left.

    StoreError when there is no such folder, or the key can't be read.
    """
    if not folder.is_dir():
        raise StoreError(
            "there is no evidence folder", where=str(folder), remedy="`akotf records` lists them"
        )
    files = _read(folder)
    findings = _check_files(files)
    signed = False
    if public_key is not None:
        signed, faults = _check_signature(files, public_key)
        findings += faults
    for check in (_check_journal, _check_digests, _check_statement):
        findings += _guarded(check, files)
    if outputs is not None:
        findings += _guarded(lambda f: compare(_model(OutputManifest, f, "outputs.json"), outputs), files)
    named = {f.path for f in findings if f.rule in {"evidence/changed", "evidence/added", "evidence/missing"}}
    # a file that was changed need not be named again for each thing it no longer fits to
    findings = [f for f in findings if f.rule != "evidence/mismatch" or f.path not in named]
    return VerifyReport(tuple(findings), signed, "signed by pinned key" if signed else "integrity only")


def _read(folder: Path) -> dict[str, bytes]:
    try:
        return {
            p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
        }
    except OSError as error:
        raise StoreError(
            f"the evidence can't be read: {error.strerror}", where=str(error.filename or folder),
            remedy="check its permissions",
        ) from error  # fmt: skip


def _finding(rule: str, message: str, path: str = "") -> Finding:
    return Finding(rule=f"evidence/{rule}", message=message, path=path, remedy=_REMEDY)


def _guarded(
    check: Callable[[Mapping[str, bytes]], list[Finding]], files: Mapping[str, bytes]
) -> list[Finding]:
    """The check's findings; what it can't even read is a finding too."""
    try:
        return check(files)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        text = str(error).splitlines()[0]
        return [_finding("unreadable", f"a file is missing or is not what it should be: {text}")]


def _json(files: Mapping[str, bytes], name: str) -> Any:
    try:
        return json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no JSON: {error}") from error


def _model(kind: type[M], files: Mapping[str, bytes], name: str) -> M:
    try:
        return kind.model_validate(_json(files, name))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ValueError(f"{name}: {where}: {fault['msg']}") from error


def _check_files(files: Mapping[str, bytes]) -> list[Finding]:
    if MANIFEST not in files:
        return [
            _finding(
                "missing", f"{MANIFEST} is missing: the folder was not finished, or it was removed", MANIFEST
            )
        ]
    try:
        said = _json(files, MANIFEST)
        rows: dict[str, Any] = dict(said["files"])
        run = said["run"]
    except (ValueError, KeyError, TypeError) as error:
        return [_finding("changed", f"{MANIFEST} was changed: it can't be read ({error})", MANIFEST)]
    findings = []
    for name, row in sorted(rows.items()):
        if name not in files:
            findings.append(_finding("missing", f"{name} is missing", name))
        elif row != {"size": len(files[name]), "sha256": sha256(files[name])}:
            findings.append(_finding("changed", f"{name} was changed", name))
    for name in sorted(files.keys() - rows.keys() - {MANIFEST}):
        findings.append(_finding("added", f"{name} was added", name))
    if not findings and files[MANIFEST] != manifest(run, files):
        findings.append(_finding("changed", f"{MANIFEST} was changed", MANIFEST))
    return findings


def _check_journal(files: Mapping[str, bytes]) -> list[Finding]:
    lines = files["journal.jsonl"].split(b"\n")  # not splitlines: JSON may hold other line separators
    try:
        rows = [json.loads(line) for line in lines if line]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"journal.jsonl is no JSON: {error}") from error
    return check_chain(rows)


def _check_digests(files: Mapping[str, bytes]) -> list[Finding]:
    """Every part is the one that the run names."""
    run, selection, approval = (_json(files, f"{name}.json") for name in ("run", "selection", "approval"))
    inputs, candidates = _json(files, "inputs.json"), _json(files, "candidates.json")
    pairs = [
        ("state.json", run["revision"], digest(_json(files, "state.json"))),
        ("baseline.json", run["baseline"], digest(_json(files, "baseline.json"))),
        ("inputs.json", run["inputs"], digest(inputs)),
        ("candidates.json", digest(inputs), candidates["inputs"]),
        ("selection.json", digest(inputs), selection["inputs"]),
        (MANIFEST, run["id"], _json(files, MANIFEST)["run"]),
        ("prediction.json", run["id"], _json(files, "prediction.json").get("run", run["id"])),
    ]
    if run["chosen"]:
        chosen = digest({"plan": candidates, "selection": selection})
        pairs.append(("candidates.json and selection.json", run["chosen"], chosen))
    if run["approval"]:
        pairs.append(("approval.json", run["approval"], digest(approval)))
    if approval:
        pairs.append(("approval.json", digest(selection), approval["selection"]))
    return [
        _finding(
            "mismatch", f"{name} is not the one of this run: {expected} was expected, {found} is there", name
        )
        for name, expected, found in pairs
        if expected != found
    ]


def _check_statement(files: Mapping[str, bytes]) -> list[Finding]:
    """The statement is about these outputs and covers every other file."""
    said = _model(Statement, files, STATEMENT)
    findings = []
    if said.payload() != files[STATEMENT]:
        findings.append(_finding("changed", f"{STATEMENT} is not in its one form", STATEMENT))
    outputs = _model(OutputManifest, files, "outputs.json")
    if said.subject != subjects(outputs, sha256(files["outputs.json"])):
        findings.append(
            _finding("mismatch", f"the subjects of {STATEMENT} are not the files of outputs.json", STATEMENT)
        )
    covered = {item.name: item.digest_set.get("sha256") for item in said.predicate.run_details.byproducts}
    rest = {name: sha256(data) for name, data in files.items() if name not in {MANIFEST, STATEMENT, ENVELOPE}}
    for name in sorted(covered.keys() | rest.keys()):
        if covered.get(name) != rest.get(name):
            findings.append(_finding("mismatch", f"{name} is not the file that {STATEMENT} names", name))
    if ENVELOPE in files and _model(Envelope, files, ENVELOPE).body() != files[STATEMENT]:
        findings.append(
            _finding("mismatch", f"{ENVELOPE} holds another statement than {STATEMENT}", ENVELOPE)
        )
    return findings


def _check_signature(files: Mapping[str, bytes], public_key: Path) -> tuple[bool, list[Finding]]:
    if ENVELOPE not in files:
        return False, [_finding("unsigned", f"{ENVELOPE} is missing: the evidence is not signed", ENVELOPE)]
    try:
        envelope = _model(Envelope, files, ENVELOPE)
        right = envelope.payload_type == PAYLOAD and signed_by(envelope, public_key)
    except (ValueError, IntegrityError) as error:
        text = str(error).splitlines()[0]
        return False, [_finding("signature", f"{ENVELOPE} can't be read: {text}", ENVELOPE)]
    if not right:
        return False, [
            _finding("signature", f"{ENVELOPE} is not signed by the pinned key {public_key}", ENVELOPE)
        ]
    return True, []
