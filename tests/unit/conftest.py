"""A session bound to in-memory doubles, on a real environment folder: for the pipeline and the controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from akotf.controller import Controller, controller_for
from akotf.errors import TelemetryUnavailable
from akotf.load.init import init
from akotf.model.config import DesiredState
from akotf.model.drift import Observation
from akotf.model.layout import Layout
from akotf.model.profile import unmeasured_cpu
from akotf.model.run import Run
from akotf.model.tfplan import Deployment, ResourceChange
from akotf.pipeline.live import BASELINE_ADDRESS, Live, live_of
from akotf.pipeline.planning import Planned, Profiled, decide, plan_inputs, take_snapshot
from akotf.pipeline.provisioning import Proposal, up
from akotf.pipeline.session import Session
from akotf.profiling.formulas import declared
from akotf.testing.doubles import (
    FakeClock,
    MemoryBackend,
    MemoryJournal,
    MemoryLeases,
    MemoryObjects,
    MemorySecrets,
    MemoryTerraform,
    StaticTelemetry,
)
from akotf.wiring.surroundings import PACKAGED, rules

POOL_ADDRESS = "module.local_gpu.akotf_local_pool.this"
DEPLOYMENT = Deployment(environment="trial", scope="workstation", placement="desk")


def change(address: str, *actions: str, before: Any = None, after: Any = None) -> ResourceChange:
    kind = address.split(".")[-2]
    return ResourceChange(address=address, type=kind, actions=actions, before=before, after=after)


class World:
    """An environment on a machine called `desk`, where nothing but the environment folder is real."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        init(folder, "trial", (PACKAGED / "iac",))
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock)
        self.leases = MemoryLeases(self.clock)
        self.objects = MemoryObjects()
        self.terraform = MemoryTerraform()
        self.backend = MemoryBackend()
        self.secrets = MemorySecrets()
        self.telemetry = StaticTelemetry()
        self.events: list[tuple[str, Any]] = []
        self.approvals: list[Proposal] = []
        self.approver = "ada"
        self.leaves_outputs = True
        self.layout = Layout(folder)
        self.root = self.layout.root(DEPLOYMENT)
        self.machine = {"hostname": "desk", "cpus": 2, "memory": 16 * 2**30, "gpus": {}}
        self.terraform.planned[str(self.root)] = tuple(
            change(address, "create", after={"deployment": DEPLOYMENT.id})
            for address in (BASELINE_ADDRESS, POOL_ADDRESS)
        )
        self.terraform.values[str(self.root)] = {"gpu_indices": [], "cpu_slots": [0, 1]}
        suffixes = iter(f"{n:04x}" for n in range(1, 1000))
        self.session = Session(
            layout=self.layout, clock=self.clock, journal=self.journal, objects=self.objects, leases=self.leases,
            telemetry=self.telemetry, catalogues=(PACKAGED / "iac",), cache=folder / "cache", interpreter="/usr/bin/python3",
            terraform=lambda: self.terraform, backend=lambda _: self.backend, rules=lambda: rules(folder),
            machine=lambda: self.machine, signer=lambda: None, secrets=self.secrets, suffix=lambda: next(suffixes),
            emit=lambda name, value: self.events.append((name, value)),
        )  # fmt: skip

    def up(self, **more: Any) -> Run | None:
        """The pass to submission, with a machine that needs no measuring."""
        run = up(self.session, approve=self.approve, planner=self.plan, **more)
        if run is not None and self.leaves_outputs:
            for name in live_of(self.session, run).state.run.outputs:
                path = Path(run.directory) / "outputs" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("what the training left")
        return run

    def kinds(self) -> list[str]:
        """The journal without the verdicts, which stand beside every step."""
        return [kind for kind in self.journal.kinds() if kind != "policy.judged"]

    def start(self) -> Live:
        """A live run."""
        run = self.up()
        assert run is not None
        return live_of(self.session, run)

    def plan(self, s: Session, state: DesiredState, scope: str) -> Planned:
        """Plan by formulas and on a CPU that nobody measured."""
        devices = (unmeasured_cpu(2, 16 * 2**30, "test"),)
        profiled = Profiled(declared(state.run.workload), devices)
        return decide(s, state, plan_inputs(s, state, profiled, take_snapshot(s, state, devices), scope))

    def approve(self, proposal: Proposal) -> str:
        self.approvals.append(proposal)
        return self.approver

    def edit(self, old: str, new: str) -> None:
        """Change akotf.yaml."""
        file = self.folder / "akotf.yaml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def named(self, name: str) -> list[Any]:
        """The values of all events of a name."""
        return [value for event, value in self.events if event == name]

    def sees(self, *observations: Observation | TelemetryUnavailable) -> None:
        """What the agent tells from now on."""
        self.telemetry.observations = list(observations)

    def healthy(self, live: Live, **facts: Any) -> Observation:
        """A node on its baseline, but for the facts given (dots in names are written as `__`)."""
        approved = live.declared
        found: dict[str, Any] = {
            f"hyperparameters.file.{k}": v for k, v in approved["hyperparameters"].items()
        }
        found |= {f"hyperparameters.in_use.{k}": v for k, v in approved["hyperparameters"].items()}
        found |= {f"environment.{k}": v for k, v in approved["environment"].items()}
        found |= {f"limits.{k}": v for k, v in approved["limits"].items()}
        found |= {name.replace("__", "."): value for name, value in facts.items()}
        progress = {"step": 5, "total_steps": 300, "phase": "train", "step_time": 0.01, "loss": 1.0}
        return Observation(node="desk", time=self.clock.now(), live=True, facts=found, progress=progress)

    def controller(self, live: Live, **more: Any) -> Controller:
        return controller_for(self.session, live, **more)

    def as_another(self) -> Session:
        """The session of a second akotf process on the same folder."""
        return replace(self.session)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "trial")


@pytest.fixture
def make_change() -> Callable[..., ResourceChange]:
    return change


@pytest.fixture
def fresh_world(tmp_path: Path) -> Callable[[], World]:
    """As many worlds as a test wants, each in a folder of its own."""
    numbers = iter(range(10_000))
    return lambda: World(tmp_path / f"world-{next(numbers)}" / "trial")
