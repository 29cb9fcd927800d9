"""Which Terraform or OpenTofu this machine has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from akotf.errors import MissingDependency

MINIMUM = (1, 10)
_NAMES = ("terraform", "tofu")


def find_binary(tools: Path | None = None, *, environment: Mapping[str, str] | None = None) -> Path:
    """The first terraform or tofu >= 1.10: from `tools` (a project's `.tools`), then from PATH.

    MissingDependency names those that are too old. `environment` is where PATH is read; None takes the process's own.
    One that has no rival is not started to ask for its version: the runner sees it in the first line of what it does.
    """
    search = None if environment is None else environment.get("PATH", "")
    found = [tools / name for name in _NAMES if tools is not None and (tools / name).is_file()]
    found += [Path(where).absolute() for name in _NAMES if (where := shutil.which(name, path=search))]
    found = list(dict.fromkeys(found))
    if len(found) == 1:
        return found[0]
    refused = []
    for candidate in found:
        version = version_of(candidate)
        if is_supported(version):
            return candidate
        refused.append(f"{candidate} is {version or 'not Terraform'}")
    raise unsupported("; ".join(refused))


def unsupported(found: str) -> MissingDependency:
    """The error for a machine without a Terraform that will do; `found` says what it has."""
    return MissingDependency(
        "no Terraform or OpenTofu >= 1.10 was found" + (f" ({found})" if found else ""),
        remedy="install terraform or tofu 1.10 or later on PATH, or let `./dev tools` fetch a pinned one into .tools/",
    )


def version_of(binary: Path) -> str:
    """`1.11.4`, or an empty string when the file does not answer as Terraform does."""
    try:
        answer = subprocess.run(
            [str(binary), "version", "-json"], capture_output=True, check=False, timeout=60,
            env={"CHECKPOINT_DISABLE": "1", "PATH": "/usr/bin:/bin"}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return str(json.loads(answer.stdout)["terraform_version"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return ""


def is_supported(version: str) -> bool:
    """True from 1.10 on."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= MINIMUM
