"""`akotf doctor`."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

from akotf.cli.view import View
from akotf.errors import AkotfError, MissingDependency
from akotf.facts import gpu
from akotf.wiring.binding import terraform_for

EXAMPLES = ("akotf doctor", "akotf doctor --json")


@dataclass(frozen=True)
class Check:
    """One thing that a scope needs or likes."""

    scope: str  # all | local | hpc | cloud
    name: str
    found: str  # "" when missing
    needed: bool
    remedy: str


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("-f", "--folder", default=".", help="project folder (default: this folder)")


def run(arguments: argparse.Namespace) -> int:
    """What is there, what is missing for which scope, and how to get it. 1 when something needed is missing."""
    view = View(arguments)
    checks = examine(Path(arguments.folder).absolute())
    missing = [c for c in checks if c.needed and not c.found]
    lines = []
    for check in checks:
        mark = "ok     " if check.found else ("MISSING" if check.needed else "absent ")
        lines.append(f"{mark}  {check.scope:<6} {check.name:<22} {check.found or check.remedy}")
    view.result({"schema": 1, "ready": not missing, "checks": [vars(c) for c in checks]}, "\n".join(lines))
    return MissingDependency.exit_code if missing else 0


def examine(folder: Path) -> list[Check]:
    """All checks; starts `terraform version` and loads nothing heavy."""
    try:
        terraform, remedy = terraform_for(folder).version(), ""
    except AkotfError as error:
        terraform, remedy = "", error.remedy or error.message
    found = gpu.read()
    names = ", ".join(str(device.get("name")) for device in found.devices)
    return [
        Check("all", "terraform or tofu", terraform, True, remedy),
        Check("all", "git", shutil.which("git") or "", False, "apt-get install git (names the commit in the journal)"),
        Check("all", "GitPython", _package("git"), False, "pip install 'akotf[git]' (templates from git)"),
        Check("local", "torch", _package("torch"), False, "pip install 'akotf[train]' (measures devices, traces builders)"),
        Check("local", "GPU (NVML)", names, False, f"the CPU trains: {found.reason}"),
        Check("hpc", "sbatch", shutil.which("sbatch") or "", False, "not needed yet: HPC scopes are planned from their declared inventory"),
        Check("cloud", "boto3", _package("boto3"), False, "pip install 'akotf[aws]' (aws-sm: secrets); cloud scopes are planned without it"),
        Check("cloud", "google-cloud-compute", _package("google.cloud.compute"), False, "not needed yet: cloud scopes are planned from the price book"),
    ]  # fmt: skip


def _package(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return ""
    return str(spec.origin or name) if spec else ""
