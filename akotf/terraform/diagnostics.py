"""Terraform's diagnostics as akotf's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from akotf.errors import AkotfError, Locked, TerraformError

Diagnostic = Mapping[str, Any]

_LOCK_SUMMARY = "Error acquiring the state lock"
_LOCK_FIELD = re.compile(r"^\s*(ID|Path|Operation|Who|Created):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_PROVIDER_REMEDY = (
    "akotf must be installed for the Python that .akotf-python in the root names; this tells what it says: "
    '"$(cat .akotf-python)" -E -P -m akotf.tfprovider'
)
_LOCK_WORDS = {"OperationTypePlan": "plan", "OperationTypeApply": "apply", "OperationTypeRefresh": "refresh"}


def errors_of(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Those that are errors."""
    return [dict(d) for d in diagnostics if d.get("severity") == "error"]


def place(diagnostic: Diagnostic) -> str:
    """`main.tf:3:5, terraform_data.a`: where a diagnostic points, as far as it says."""
    parts = []
    if span := diagnostic.get("range"):
        start = span.get("start", {})
        parts.append(f"{span.get('filename', '')}:{start.get('line', 0)}:{start.get('column', 0)}")
    if address := diagnostic.get("address"):
        parts.append(str(address))
    return ", ".join(parts)


def text(diagnostic: Diagnostic) -> str:
    """Place, summary and detail in one paragraph."""
    where = place(diagnostic)
    head = f"{where}: {diagnostic.get('summary', '')}" if where else str(diagnostic.get("summary", ""))
    detail = str(diagnostic.get("detail") or "").strip()
    return f"{head}: {detail}" if detail else head


def failure(
    command: str, diagnostics: Sequence[Diagnostic], *, code: int, output: str, root: str
) -> AkotfError:
    """The error of a command that did not do what it was asked.

    `output` is what the program said outside its JSON: a crash or an unknown flag speaks there.
    """
    errors = errors_of(diagnostics)
    for error in errors:
        if error.get("summary") == _LOCK_SUMMARY and _is_held(error):
            return _locked(error, root)
    if errors:
        return TerraformError(
            f"terraform {command} failed: " + "\n".join(text(e) for e in errors),
            errors, where=root, remedy=_PROVIDER_REMEDY if _is_silent_provider(errors) else _remedy(command),
        )  # fmt: skip
    how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code} and no diagnostic"
    said = f": {output.strip()[-2000:]}" if output.strip() else ""
    return TerraformError(f"terraform {command} {how}{said}", where=root, remedy=_remedy(command))


def _is_held(error: Diagnostic) -> bool:
    """Whether somebody has the lock; the same summary stands over a state that can't be opened or written."""
    detail = str(error.get("detail", ""))
    return bool(_LOCK_FIELD.search(detail)) or "temporarily unavailable" in detail


def _is_silent_provider(errors: Sequence[Diagnostic]) -> bool:
    said = "".join(text(error) for error in errors)
    return "terraform.local/akotf" in said and "Failed to read any lines" in said


def _remedy(command: str) -> str:
    if command == "apply":
        return "mend what the diagnostics name, then plan again: what was created before the fault is in the state"
    if command == "init":
        return "mend what the diagnostics name; `akotf doctor` says whether a provider or a registry is out of reach"
    return "mend what the diagnostics name and plan again"


def _locked(error: Diagnostic, root: str) -> Locked:
    fields = dict(_LOCK_FIELD.findall(str(error.get("detail", ""))))
    operation = _LOCK_WORDS.get(fields.get("Operation", ""), fields.get("Operation", ""))
    doing = f", doing {operation}" if operation else ""
    since = f" since {fields['Created']}" if fields.get("Created") else ""
    who = fields.get("Who") or "somebody else"
    return Locked(
        f"the Terraform state is locked by {who}{since}{doing} (lock {fields.get('ID') or 'unknown'})",
        where=root,
        remedy="wait until it ends, or use --lock-timeout; a lock whose holder is dead: terraform force-unlock",
    )
