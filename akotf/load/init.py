"""A new environment: the fewest files that validate at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from akotf.errors import UsageError
from akotf.facts.files import write_atomic
from akotf.load.catalogue import write_lock
from akotf.load.template import open_template
from akotf.model.config import NAME
from akotf.reading.scalars import NULLS, doubt

SKELETON = Path(__file__).parent / "skeleton"
TEMPLATE = "gpu-training@1.0.0"
AKOTF = "akotf.yaml"
FILES = (AKOTF, "train.py", "README.md")


def init(folder: Path, name: str, catalogues: Sequence[Path]) -> list[Path]:
    """Write akotf.yaml, train.py and README.md into `folder`, and pin the template; returns what was written.

    UsageError when `name` can't be an environment's name, or when one of the files is there already.
    """
    if not re.fullmatch(NAME, name):
        better = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].rstrip("-")
        better = better if re.fullmatch(NAME, better) else "my-training"
        raise UsageError(
            f"{name!r} can't be an environment's name: lower-case letters, digits and '-', a letter first",
            remedy=f"akotf init {folder} --name {better}",
        )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", remedy="name a new folder")
    if taken := [file for file in (*FILES, "akotf.lock") if (folder / file).exists()]:
        raise UsageError(
            f"{folder} has {', '.join(taken)} already", remedy="choose a new folder; nothing was written"
        )
    template = open_template(TEMPLATE, catalogues)  # before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        # `null` and `yes` are names too: quoted, they are text for every YAML reader
        written = f'"{name}"' if file == AKOTF and (name in NULLS or doubt(name)) else name
        text = (SKELETON / f"{file}.in").read_text(encoding="utf-8").replace("@NAME@", written)
        write_atomic(folder / file, text.encode(), 0o644)
    write_lock(folder, template.ref)
    return [folder / file for file in (*FILES, "akotf.lock")]
