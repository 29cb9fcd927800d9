"""In-memory doubles of the ports that `apply` meets: a Terraform with a tiny world, and a journal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import TerraformError
from akotf.model.journal import GENESIS, Actor, Entry
from akotf.model.tfplan import Deployment, ResourceChange, TfPlan
from akotf.model.tree import FileTree

BASELINE = "module.local_gpu.akotf_baseline.this"
POOL = "module.local_gpu.akotf_local_pool.this"
RECORD = "terraform_data.akotf"


class MemoryTerraform:
    """Plans the difference between a root's values and `world`; resources in foreign HCL files count too."""

    def __init__(self) -> None:
        self.world: dict[str, dict[str, Any]] = {}
        self.open: dict[str, TfPlan] = {}
        self.applied: list[TfPlan] = []
        self.planned_in: list[Path] = []
        self.fails = False
        self.replaces = False
        self._made = 0

    def version(self) -> str:
        return "1.11.4"

    def init(self, root: Path, on_event: Any = None) -> None:
        if on_event:
            on_event({"type": "init_output"})

    def validate(self, root: Path) -> list[dict[str, Any]]:
        return []

    def plan(
        self, root: Path, *, targets: Sequence[str] = (), destroy: bool = False, refresh_only: bool = False,
        refresh: bool = True, on_event: Any = None,
    ) -> TfPlan:  # fmt: skip
        self.planned_in.append(root)
        wanted = {} if destroy else self._wanted(root)
        changes = []
        for address in sorted(set(wanted) | set(self.world)):
            if targets and address not in targets:
                continue
            before, after = self.world.get(address), wanted.get(address)
            changes.append(self._change(address, before, after))
        self._made += 1
        path = f"/plans/{self._made}"
        plan = TfPlan(
            root=str(root), changes=tuple(changes), destroy=destroy, targets=tuple(targets), path=path
        )
        self.open[path] = plan
        return plan

    def apply(self, plan: TfPlan, on_event: Any = None) -> None:
        assert plan.path in self.open, "only a saved plan can be applied"
        if self.fails:
            raise TerraformError("the disk is full")
        self.applied.append(plan)
        for change in self.open[plan.path].changes:
            if change.after is None:
                self.world.pop(change.address, None)
            else:
                self.world[change.address] = change.after

    def discard(self, plan: TfPlan) -> None:
        self.open.pop(plan.path, None)

    def outputs(self, root: Path) -> dict[str, Any]:
        return {}

    def state(self, root: Path) -> dict[str, Any]:
        return dict(self.world)

    def _wanted(self, root: Path) -> dict[str, dict[str, Any]]:
        values = json.loads((root / "akotf.auto.tfvars.json").read_text())
        found = {
            RECORD: {"input": values["digests"], "output": values["digests"]},
            BASELINE: {"hyperparameters": values["baseline"]},
            POOL: {"gpus": values["gpus"]},
        }
        for path in root.glob("*.tf"):
            for name in re.findall(r'resource "terraform_data" "(\w+)"', path.read_text()):
                found.setdefault(f"terraform_data.{name}", {"input": None})
        return found

    def _change(self, address: str, before: Any, after: Any) -> ResourceChange:
        if before == after:
            actions: tuple[str, ...] = ("no-op",)
        elif before is None:
            actions = ("create",)
        elif after is None:
            actions = ("delete",)
        else:
            actions = ("delete", "create") if self.replaces else ("update",)
        kind = address.split(".")[-2]
        return ResourceChange(address=address, type=kind, actions=actions, before=before, after=after)


class MemoryJournal:
    """Entries in a list."""

    def __init__(self) -> None:
        self.rows: list[Entry] = []

    def append(self, kind: str, body: Mapping[str, Any], *, environment: str, subject: str = "") -> Entry:
        entry = Entry(
            sequence=len(self.rows) + 1, time="2026-01-01T00:00:00Z", kind=kind, environment=environment,
            subject=subject, actor=Actor(user="u", host="h"), body=dict(body), previous=GENESIS, hash="",
        )  # fmt: skip
        self.rows.append(entry)
        return entry

    def entries(self, *, subject: str = "", kind: str = "", after: int = 0) -> Iterator[Entry]:
        return iter(e for e in self.rows if e.sequence > after)

    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.rows]


def make_tree(
    rate: str = "0.001", *, gpus: int = 0, selection: str = "sha256:s", approval: str = ""
) -> FileTree:
    values = {
        "digests": {"baseline": "sha256:b", "selection": selection, "approval": approval},
        "baseline": {"learning_rate": rate},
        "gpus": gpus,
    }
    data = (json.dumps(values, indent=2, sort_keys=True) + "\n").encode()
    return FileTree(
        {"main.tf": b'resource "terraform_data" "akotf" {}\n', "akotf.auto.tfvars.json": data, "terraform.d/run": b"#!/bin/sh\n"},
        frozenset({"terraform.d/run"}),
    )  # fmt: skip


@pytest.fixture
def terraform() -> Iterator[MemoryTerraform]:
    double = MemoryTerraform()
    yield double
    assert double.open == {}, "a saved plan was left behind"


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def tree_of() -> Any:
    return make_tree


@pytest.fixture
def where() -> dict[str, Any]:
    """Arguments that every operation takes."""
    return {
        "environment": "demo",
        "deployment": Deployment(environment="demo", scope="workstation", placement="here"),
    }
