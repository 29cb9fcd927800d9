"""Terraform's diagnostics as akotf's errors."""

from __future__ import annotations

from akotf.errors import Locked, TerraformError
from akotf.terraform.diagnostics import failure

# As Terraform 1.11.4 prints it when another apply holds a local state.
LOCK = {
    "severity": "error",
    "summary": "Error acquiring the state lock",
    "detail": "Error message: resource temporarily unavailable\nLock Info:\n  ID:        8a51625e-251e-def5-0ada-552b305ec695\n"
    "  Path:      terraform.tfstate\n  Operation: OperationTypeApply\n  Who:       ana@gpu-7\n  Version:   1.11.4\n"
    "  Created:   2026-11-30 22:03:58.808589284 +0000 UTC\n  Info:      \n",
}


def test_a_lock_names_its_holder() -> None:
    error = failure("plan", [LOCK], code=1, output="", root="/r")
    assert isinstance(error, Locked)
    assert error.message == (
        "the Terraform state is locked by ana@gpu-7 since 2026-11-30 22:03:58.808589284 +0000 UTC, doing apply "
        "(lock 8a51625e-251e-def5-0ada-552b305ec695)"
    )


def test_a_state_that_can_not_be_opened_is_nobodys_lock() -> None:
    # As Terraform 1.11.4 prints it for a state file without write permission: the same summary.
    refused = {
        **LOCK,
        "detail": "Error message: open /s/terraform.tfstate: permission denied\n\nTerraform acquires a state lock",
    }
    error = failure("plan", [refused], code=1, output="", root="/r")
    assert isinstance(error, TerraformError)
    assert "/s/terraform.tfstate: permission denied" in error.message


def test_all_errors_are_told_and_warnings_are_not() -> None:
    span = {"filename": "main.tf", "start": {"line": 3, "column": 5}}
    found = [
        {"severity": "warning", "summary": "old"},
        {"severity": "error", "summary": "first", "detail": "why", "range": span, "address": "x.y"},
        {"severity": "error", "summary": "second", "detail": ""},
    ]
    error = failure("plan", found, code=1, output="ignored", root="/r")
    assert error.message == "terraform plan failed: main.tf:3:5, x.y: first: why\nsecond"
    assert isinstance(error, TerraformError) and len(error.diagnostics) == 2
    assert error.remedy


def test_a_crash_is_told_by_what_it_said() -> None:
    assert "killed by signal 9" in failure("apply", [], code=-9, output="", root="/r").message
    said = failure("apply", [], code=2, output="panic: oh no\n", root="/r").message
    assert said == "terraform apply ended with status 2 and no diagnostic: panic: oh no"


def test_a_provider_that_says_nothing_is_explained() -> None:
    # As Terraform 1.11.4 prints it when the provider's Python can't import akotf.
    silent = {
        "severity": "error",
        "summary": "Failed to load plugin schemas",
        "detail": "Could not load the schema for provider terraform.local/akotf/akotf: Unrecognized remote plugin message: "
        "\nFailed to read any lines from plugin's stdout\nThis usually means ...",
    }
    assert "akotf must be installed" in failure("plan", [silent], code=1, output="", root="/r").remedy
