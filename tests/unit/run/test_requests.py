"""From what was chosen and leased to what the backend is asked."""

from __future__ import annotations

from pathlib import Path

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
)  # fmt: skip
from akotf.model.layout import Layout
from akotf.model.plan import Candidate, Offer
from akotf.model.profile import DeviceProfile
from akotf.model.run import RunState
from akotf.model.tfplan import Deployment
from akotf.model.units import Estimate
from akotf.run import attempts
from akotf.testing.doubles import FakeClock, MemoryBackend, MemoryJournal

ZERO = Estimate.exact(0, "s", "test")


def desired(folder: Path) -> DesiredState:
    model = ModelSpec(layers=1, hidden=8, heads=1, vocabulary=10, sequence=8)
    return DesiredState(
        environment=EnvironmentSpec(version=1, name="demo", owner="me", template="t@1.0.0"),
        template=TemplateRef(name="t", version="1.0.0", content="sha256:0"), parameters={},
        run=RunSpec(
            image=ImageSpec(reference="example/train@sha256:1"), command=("python", "train.py"),
            hyperparameters={"lr": 0.1}, environment={"A": "$x"}, limits=Limits(memory="2 GiB", wall_time="10m"),
            checkpoint=CheckpointSpec(interval_steps=10), workload=WorkloadSpec(model=model, global_batch=1, steps=1),
        ),
        folder=folder, template_folder=folder,
    )  # fmt: skip


def candidate() -> Candidate:
    device = DeviceProfile.model_construct(name="cpu")
    offer = Offer.model_construct(
        id="here/node", scope="here", kind=ScopeKind.LOCAL, backend="memory", placement="node", machine="node",
        device=device, gpus=2, cpus=4, memory=2**34, max_nodes=1, price=None, price_source="test",
        queue_wait=ZERO, provisioning=ZERO, source="test",
    )  # fmt: skip
    return Candidate.model_construct(id="c", scope="here", offer=offer, nodes=1, processes=2, feasible=True)


def test_start_asks_for_what_was_approved_on_what_was_leased(tmp_path: Path) -> None:
    state, deployment = desired(tmp_path), Deployment(environment="demo", scope="here", placement="node")
    layout, clock, backend = Layout(tmp_path), FakeClock(), MemoryBackend()
    baseline = state.baseline().digest()
    run = attempts.new_run(
        state=state, candidate=candidate(), deployment=deployment, layout=layout,
        created_at="2026-11-30T21:46:55.000Z", suffix="3f2a", inputs="sha256:9", baseline=baseline,
    )  # fmt: skip
    assert (run.id, run.state, run.backend) == ("demo-20261130-214655-3f2a", RunState.QUEUED, "memory")
    assert run.directory == str(tmp_path / ".akotf/runs/demo-20261130-214655-3f2a")
    assert run.revision == state.revision()

    run = attempts.start(
        run, state=state, candidate=candidate(), deployment=deployment, layout=layout,
        outputs={"gpu_indices": [1, 3], "cpu_slots": [0.0, 2.0]},  # Terraform's numbers may come as floats
        backend=backend, journal=MemoryJournal(clock), clock=clock,
    )  # fmt: skip
    request, handle = attempts.current(layout, run)
    assert handle.key == request.key == f"{run.id}-a1"
    assert (request.devices, request.cpu_slots, run.gpus) == ((1, 3), (0, 2), 2)
    assert (request.command, request.environment) == (("python", "train.py"), {"A": "$x"})
    assert (request.processes, request.nodes) == (2, 1)
    assert request.limits == state.run.limits
    assert request.baseline_digest == baseline
    assert request.working_directory == str(tmp_path)
    assert request.node_directory == str(layout.node(deployment))
    assert request.attempt_directory == f"{run.directory}/attempt-1"
    assert request.resume_from == ""


def test_a_cpu_run_has_no_devices(tmp_path: Path) -> None:
    state, deployment = desired(tmp_path), Deployment(environment="demo", scope="here", placement="node")
    layout, clock = Layout(tmp_path), FakeClock()
    run = attempts.new_run(
        state=state, candidate=candidate(), deployment=deployment, layout=layout,
        created_at="2026-11-30T21:46:55Z", suffix="x", inputs="sha256:9", baseline="sha256:0",
    )  # fmt: skip
    run = attempts.start(
        run, state=state, candidate=candidate(), deployment=deployment, layout=layout, outputs={},
        backend=MemoryBackend(), journal=MemoryJournal(clock), clock=clock,
    )  # fmt: skip
    assert attempts.current(layout, run)[0].devices == ()
    assert run.gpus == 0
