"""A desired state, a candidate and the template they render with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from akotf.model.config import DesiredState
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.model.tree import FileTree
from akotf.render.tree import render

REPOSITORY = Path(__file__).parents[3]
INPUT = REPOSITORY / "tests" / "golden" / "render_local" / "in"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The template as it is published: its roots, with its modules vendored."""
    folder = tmp_path / "template"
    shutil.copytree(REPOSITORY / "iac" / "gpu-training" / "1.0.0" / "terraform", folder / "terraform")
    shutil.copytree(REPOSITORY / "modules" / "local-gpu", folder / "modules" / "local-gpu")
    return folder


@pytest.fixture
def rendered(template: Path) -> Callable[..., FileTree]:
    """Renders the golden input; `run`, `environment` and `offer` override fields of it, the rest is render's own."""

    def make(
        *, run: dict[str, Any] | None = None, environment: dict[str, Any] | None = None,
        offer: dict[str, Any] | None = None, **options: Any,
    ) -> FileTree:  # fmt: skip
        state = json.loads((INPUT / "state.json").read_text())
        state["run"].update(run or {})
        state["environment"].update(environment or {})
        candidate = json.loads((INPUT / "candidate.json").read_text())
        candidate["offer"].update(offer or {})
        candidate["scope"] = candidate["offer"]["scope"]
        arguments: dict[str, Any] = {
            "node_directory": Path("/srv/node"), "state_path": Path("/srv/terraform.tfstate"),
            "interpreter": "/opt/bin/python", "selection_digest": "sha256:s", "baseline_digest": "sha256:b", **options,
        }  # fmt: skip
        return render(
            DesiredState.model_validate({**state, "folder": Path("/srv"), "template_folder": template}),
            Candidate.model_validate(candidate),
            Deployment(environment="demo", scope=candidate["scope"], placement="here"),
            **arguments,
        )

    return make
