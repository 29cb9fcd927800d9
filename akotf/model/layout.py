"""Where akotf keeps things in an environment folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from akotf.model.tfplan import Deployment


@dataclass(frozen=True)
class Layout:
    """All paths under one environment folder; nothing else in akotf spells them."""

    environment: Path  # absolute folder of the environment

    @property
    def base(self) -> Path:
        """`.akotf`: everything akotf writes; safe to delete when nothing is deployed."""
        return self.environment / ".akotf"

    @property
    def journal(self) -> Path:
        """The SQLite journal."""
        return self.base / "journal.db"

    @property
    def objects(self) -> Path:
        """Frozen inputs, snapshots, selections and approved trees, by digest."""
        return self.base / "objects"

    @property
    def locks(self) -> Path:
        """Leases."""
        return self.base / "locks"

    @property
    def runs(self) -> Path:
        """One folder a run."""
        return self.base / "runs"

    @property
    def evidence(self) -> Path:
        """One folder a run, verifiable offline."""
        return self.base / "evidence"

    def root(self, deployment: Deployment) -> Path:
        """The Terraform root of a deployment."""
        return self.base / deployment.scope / deployment.placement

    def node(self, deployment: Deployment) -> Path:
        """Baseline files and the pointer to the live run of a local node; beside the root, never inside it."""
        return self.base / "state" / deployment.scope / deployment.placement / "node"

    def state(self, deployment: Deployment) -> Path:
        """The state file of the `local` state backend."""
        return self.base / "state" / deployment.scope / deployment.placement / "terraform.tfstate"

    def run(self, run_id: str) -> Path:
        """A run's folder: run.json, checkpoints/, outputs/, attempt-N/."""
        return self.runs / run_id

    def run_evidence(self, run_id: str) -> Path:
        """A run's evidence folder."""
        return self.evidence / run_id
