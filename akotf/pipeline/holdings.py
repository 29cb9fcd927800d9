"""What the live runs of a project hold, over all its environments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from akotf.errors import AkotfError
from akotf.model.config import Limits
from akotf.model.layout import Layout
from akotf.model.plan import Offer
from akotf.model.run import Run
from akotf.policy.documents import gpus_of
from akotf.run.registry import list_runs
from akotf.store.objects import FolderObjects


def gpus_elsewhere(environment: Path, owner: str) -> int | None:
    """GPUs that live runs of this owner hold in the environments beside this one.

    They are counted as approved: GPUs a node x nodes of the candidate that runs. None when a run can't be read: its
    owner may be this one.
    """
    try:
        return sum(
            gpus
            for layout in _beside(environment)
            for run in list_runs(layout)
            if not run.state.final
            for held_by, gpus in (_held(layout, run),)
            if held_by == owner
        )
    except (AkotfError, OSError, ValueError, KeyError, TypeError):
        return None  # not known; which is a rule's to judge, not ours


def _beside(environment: Path) -> Iterator[Layout]:
    for folder in environment.parent.iterdir():
        layout = Layout(folder)
        if folder.name != environment.name and layout.runs.is_dir():
            yield layout


def _held(layout: Layout, run: Run) -> tuple[str, int]:
    """Owner and GPUs of a run, by the revision and the choice that were approved for it."""
    objects = FolderObjects(layout.objects)
    state = json.loads(objects.get(run.revision))
    rows = json.loads(objects.get(run.chosen))["plan"]["candidates"]
    (candidate,) = (row for row in rows if row["id"] == run.candidate)
    limits, offer = Limits.model_validate(state["run"]["limits"]), Offer.model_validate(candidate["offer"])
    return state["environment"]["owner"], candidate["nodes"] * gpus_of(limits, offer)
