"""One ended run of a small environment, with its journal and outputs, for the tests of the record."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from akotf.model.chain import seal
from akotf.model.config import (
    CheckpointSpec,
    DesiredState,
    EnvironmentSpec,
    ImageSpec,
    Limits,
    ModelSpec,
    RunSpec,
    ScopeKind,
    TemplateRef,
    WorkloadSpec,
)
from akotf.model.journal import Actor, Entry
from akotf.model.plan import Candidate, Chosen, Loser, Offer, PlanInputs, PlanResult, Selection, Snapshot
from akotf.model.profile import DeviceProfile, WorkloadProfile
from akotf.model.run import Attempt, AttemptOutcome, Run, RunState
from akotf.model.tfplan import Approval
from akotf.model.units import Estimate
from akotf.record.calibration import Observed, prediction_body
from akotf.record.evidence import write_evidence
from akotf.record.signing import Signer

RUN = "quickstart-20261130-215000-ab12"


def seconds(value: float, spread: float = 0.25) -> Estimate:
    return Estimate(value=value, low=value * (1 - spread), high=value * (1 + spread), unit="s", source="test")


def desired(**parameters: Any) -> DesiredState:
    """A valid desired state."""
    return DesiredState(
        environment=EnvironmentSpec(version=1, name="quickstart", owner="ml", template="gpu-training@1.0.0"),
        template=TemplateRef(name="gpu-training", version="1.0.0", content="sha256:" + "7" * 64),
        parameters={"steps": 100, "learning_rate": 0.001, **parameters},
        run=RunSpec(
            image=ImageSpec(reference="example/train@sha256:" + "5" * 64, process=True),
            command=("python", "train.py"),
            hyperparameters={"learning_rate": 0.001, "steps": 100},
            environment={"SEED": "1"},
            limits=Limits(memory=2 * 2**30, wall_time=600.0),
            checkpoint=CheckpointSpec(interval_steps=50),
            workload=WorkloadSpec(
                model=ModelSpec(layers=2, hidden=64, heads=2, vocabulary=65, sequence=64),
                global_batch=8,
                steps=100,
            ),
            outputs=("metrics.json",),
        ),
        folder=Path("/nowhere"),
        template_folder=Path("/nowhere"),
    )


def offer(**changes: Any) -> Offer:
    """One CPU node at 0.36 USD an hour: 0.0001 USD a second."""
    values: dict[str, Any] = {
        "id": "workstation/local/node/on-demand", "scope": "workstation", "kind": ScopeKind.LOCAL, "backend": "local",
        "placement": "local", "machine": "node", "gpus": 0, "cpus": 2, "memory": 8 * 2**30, "max_nodes": 1,
        "device": DeviceProfile(name="cpu", flops={"fp32": seconds(1e11)}, bandwidth=seconds(1e10), memory=8 * 2**30),
        "price": Decimal("0.36"), "price_source": "test", "queue_wait": Estimate.exact(0, "s", "test"),
        "provisioning": Estimate.exact(2, "s", "test"), "source": "test",
    }  # fmt: skip
    return Offer(**{**values, **changes})


def candidate(step_time: float = 0.5, **changes: Any) -> Candidate:
    """100 steps, two seconds before and after."""
    values: dict[str, Any] = {
        "id": "workstation", "scope": "workstation", "offer": offer(), "nodes": 1, "processes": 1, "feasible": True,
        "step_time": seconds(step_time), "time": seconds(100 * step_time + 4),
        "phases": {"queue": Estimate.exact(0, "s", "t"), "startup": seconds(4), "training": seconds(100 * step_time)},
        "cost": Estimate(value=0.0054, low=0.004, high=0.007, unit="USD", source="t"),
    }  # fmt: skip
    return Candidate(**{**values, **changes})


@dataclass
class Ended:
    """Everything that `write_evidence` wants of a run that ended well after one restart."""

    state: DesiredState
    inputs: PlanInputs
    chosen: Chosen
    approval: Approval
    run: Run
    outputs: Path
    entries: list[Entry] = field(default_factory=list)
    prediction: dict[str, Any] = field(default_factory=dict)

    def log(self, kind: str, body: dict[str, Any], subject: str = RUN) -> None:
        number = len(self.entries)
        self.entries.append(
            seal(
                self.entries[-1] if self.entries else None, time=f"2026-11-30T21:{50 + number // 60:02d}:{number % 60:02d}Z",
                kind=kind, environment="quickstart", subject=subject,
                actor=Actor(user="ana", host="node1", commit="c" * 40), body=body,
            )
        )  # fmt: skip

    def write(self, folder: Path, signer: Signer | None = None, **changes: Any) -> Path:
        values: dict[str, Any] = {
            "run": self.run, "state": self.state, "chosen": self.chosen, "inputs": self.inputs,
            "approval": self.approval, "baseline": self.state.baseline(), "entries": self.entries,
            "prediction": self.prediction, "outputs_directory": self.outputs, "signer": signer,
            "terraform": {"version": "1.11.4", "tree": "sha256:" + "9" * 64, "state": {"serial": 3, "lineage": "l"}},
        }  # fmt: skip
        return write_evidence(folder, **{**values, **changes})


def drift(field: str, approved: Any, observed: Any) -> dict[str, Any]:
    return {
        "kind": "configuration", "node": "local", "field": field, "approved": approved, "observed": observed,
        "source": "agent", "address": "", "since": 1.0,
    }  # fmt: skip


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    state, chosen_candidate = desired(), candidate()
    inputs = PlanInputs(
        planner="1",
        environment="quickstart",
        baseline=state.baseline(),
        workload=WorkloadProfile(
            flops=1e9, bytes_moved=1e8, parameters=10**5, tokens=512, steps=100, precision="fp32", state_bytes=10**6,
            activation_bytes=10**6, global_batch=8, checkpoint_bytes=10**6, source="declared",
        ),
        limits=state.run.limits,
        checkpoint=state.run.checkpoint,
        template="gpu-training@1.0.0",
        objective=state.environment.objective,
        snapshot=Snapshot(taken_at="2026-11-30T21:49:00Z", offers=(chosen_candidate.offer,)),
    )  # fmt: skip
    slow = chosen_candidate.model_copy(update={"id": "campus", "scope": "campus"})
    selection = Selection(
        inputs=inputs.digest(), order=("workstation", "campus"), winner="workstation",
        losers=(Loser(candidate="campus", reason="waits 45m in the queue"),),
    )  # fmt: skip
    chosen = Chosen(
        plan=PlanResult(planner="1", inputs=inputs.digest(), candidates=(chosen_candidate, slow)),
        selection=selection,
    )
    approval = Approval(
        changes="sha256:" + "1" * 64, tree="sha256:" + "9" * 64, selection=selection.digest(), approver="ana"
    )
    folder = tmp_path / "run"
    outputs = folder / "outputs"
    (outputs / "deep").mkdir(parents=True)
    (outputs / "metrics.json").write_text('{"validation_loss": 2.0, "unigram_entropy": 3.0, "steps": 100}\n')
    (outputs / "model.pt").write_bytes(bytes(range(256)))
    (outputs / "deep" / "größe.txt").write_text("x")
    run = Run(
        id=RUN, environment="quickstart", deployment="quickstart/workstation/local", scope="workstation", backend="local",
        revision=state.revision(), baseline=state.baseline().digest(), candidate="workstation", inputs=inputs.digest(),
        chosen=chosen.digest(), tree="sha256:" + "9" * 64, approval=approval.digest(), state=RunState.SUCCEEDED,
        created_at="2026-11-30T21:50:00Z", ended_at="2026-11-30T21:51:20Z", directory=str(folder),
        attempts=(
            Attempt(number=1, started_at="2026-11-30T21:50:05Z", ended_at="2026-11-30T21:50:30Z",
                    outcome=AttemptOutcome.RESTARTED, exit_code=0, reason="drift"),
            Attempt(number=2, started_at="2026-11-30T21:50:32Z", ended_at="2026-11-30T21:51:20Z",
                    outcome=AttemptOutcome.SUCCEEDED, exit_code=0, resumed_from="/x/step-00000050"),
        ),
    )  # fmt: skip
    made = Ended(state, inputs, chosen, approval, run, outputs)
    on_disk = drift("hyperparameters.file.learning_rate", 0.001, 0.1)
    in_use = drift("hyperparameters.in_use.learning_rate", 0.001, 0.1)
    made.log("plan.made", {"inputs": inputs.digest()}, subject="")
    made.log("heal.done", {"drifts": [on_disk]}, subject=run.deployment)  # of a run before
    made.log("run.intent", {})
    made.log("drift.seen", on_disk)
    made.log(
        "heal.done",
        {"reason": "r", "addresses": ["a"], "drifts": [on_disk]},
        subject="quickstart/workstation/local",
    )
    made.log("drift.cleared", on_disk)
    made.log("drift.seen", in_use)
    made.log("heal.intent", {"action": "restart-from-checkpoint", "drifts": [in_use]})
    made.log("heal.done", {"action": "restart-from-checkpoint", "drifts": [in_use]})
    made.log("run.ended", {"state": "succeeded"})
    made.prediction = prediction_body(
        chosen_candidate,
        inputs,
        Observed(time=80.0, step_time=0.6, cost=0.008, phases={"queue": 5.0, "training": 60.0}),
        run,
    )
    made.log("prediction.recorded", made.prediction)
    return made
