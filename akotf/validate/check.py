"""Cross-checks of a desired state: what no single field can tell."""

from __future__ import annotations

from akotf.model.config import DesiredState
from akotf.model.finding import Finding, Severity
from akotf.validate import akoflow, conflicts, files, launchers, scopes, secrets, texts, workload
from akotf.validate.noting import Notes

CHECKS = (
    scopes.check_scopes,
    akoflow.check_akoflow,
    conflicts.check_conflicts,
    launchers.check_launchers,
    workload.check_environment,
    secrets.check_secrets,
    workload.check_limits,
    workload.check_workload,
    workload.check_checkpoints,
    workload.check_monitor,
    files.check_files,
    texts.check_opaque,
    texts.check_terraform_texts,
    texts.check_expressions,
    texts.check_folders,
)
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def check(state: DesiredState) -> list[Finding]:
    """All findings, errors first. Reads the environment folder (do files exist), changes nothing."""
    notes = Notes(state)
    for one in CHECKS:
        one(notes)
    _check_waivers(notes)
    return sorted(notes.findings, key=lambda finding: _ORDER[finding.severity])


def _check_waivers(notes: Notes) -> None:
    """A waiver names who, why and where it was granted; the same rule twice is a mistake."""
    seen: set[str] = set()
    for index, waiver in enumerate(notes.state.environment.waivers):
        path = f"waivers.{index}"
        for key in ("rule", "owner", "reason", "ticket"):
            if not getattr(waiver, key).strip():
                notes.error("waiver", f"{path}.{key}", f"{path}.{key} is empty", f"write the {key}")
        if waiver.rule in seen:
            notes.error("waiver", f"{path}.rule", f"rule {waiver.rule} is waived twice", "keep one waiver")
        seen.add(waiver.rule)
