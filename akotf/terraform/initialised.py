"""When `terraform init` may be skipped: nothing that init reads has changed since it last succeeded here."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

MARKER = "akotf-init.json"
_LOCK = ".terraform.lock.hcl"
_HCL = (".tf", ".tf.json", ".tofu", ".tofu.json")


def is_initialised(root: Path, version: str) -> bool:
    """True when `.terraform` was made from what the root holds now, at this place, by this Terraform."""
    try:
        recorded = json.loads((root / ".terraform" / MARKER).read_bytes())
    except (OSError, ValueError):
        return False
    return bool(recorded == {"schema": 1, "digest": _digest(root, version)})


def mark(root: Path, version: str) -> None:
    """Remember that init succeeded for what the root holds now."""
    folder = root / ".terraform"
    folder.mkdir(exist_ok=True)
    (folder / MARKER).write_text(json.dumps({"schema": 1, "digest": _digest(root, version)}))


def _digest(root: Path, version: str) -> str:
    # The place counts too: `.terraform` holds absolute links to the providers.
    found = hashlib.sha256(f"{root.resolve()}\0{version}\0".encode(errors="surrogateescape"))
    for path in sorted(_read_by_init(root)):
        data = path.read_bytes()
        found.update(f"{path.relative_to(root)}\0{len(data)}\0".encode(errors="surrogateescape"))
        found.update(data)
    return found.hexdigest()


def _read_by_init(root: Path) -> list[Path]:
    named = [p for p in root.iterdir() if p.is_file() and (p.name.endswith(_HCL) or p.name == _LOCK)]
    for folder in (root / "modules", root / "terraform.d"):
        named += [p for p in folder.rglob("*") if p.is_file()]
    return named
