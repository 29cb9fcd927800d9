"""The root that the local scope renders to, compared file by file over the union of both sides."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from akotf.model.config import DesiredState
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.model.tree import FileTree
from akotf.render.tree import render

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
CASE = HERE / "render_local"
UPDATE = "AKOTF_UPDATE_GOLDEN=1 python -m pytest tests/golden/test_render_local.py"


def rendered(template: Path) -> FileTree:
    state = json.loads((CASE / "in" / "state.json").read_text())
    arguments = json.loads((CASE / "in" / "arguments.json").read_text())
    return render(
        DesiredState.model_validate({**state, "folder": Path("/srv/demo"), "template_folder": template}),
        Candidate.model_validate_json((CASE / "in" / "candidate.json").read_text()),
        Deployment(**arguments.pop("deployment")),
        node_directory=Path(arguments.pop("node_directory")),
        state_path=Path(arguments.pop("state_path")),
        **arguments,
    )


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The template as it is published: its roots, with its modules vendored."""
    source = REPOSITORY / "iac" / "gpu-training" / "1.0.0"
    folder = tmp_path / "gpu-training" / "1.0.0"
    shutil.copytree(source / "terraform", folder / "terraform")
    shutil.copytree(REPOSITORY / "modules" / "local-gpu", folder / "modules" / "local-gpu")
    return folder


def test_local_root_is_the_golden_one(template: Path) -> None:
    tree = rendered(template)
    out = CASE / "out"
    if os.environ.get("AKOTF_UPDATE_GOLDEN"):
        shutil.rmtree(out, ignore_errors=True)
        for name, data in tree.files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(data)
            (out / name).chmod(0o755 if name in tree.executable else 0o644)
    golden = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    differing = sorted(n for n in set(golden) | set(tree.files) if golden.get(n) != tree.files.get(n))
    assert not differing, f"{differing} differ from {out}; if that is meant: {UPDATE}"
    runnable = {n for n in golden if os.access(out / n, os.X_OK)}
    assert runnable == tree.executable, f"modes differ; if that is meant: {UPDATE}"


def test_rendering_again_gives_the_same_bytes(template: Path) -> None:
    assert rendered(template).digest() == rendered(template).digest()
