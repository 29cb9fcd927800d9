"""From the folder to the submission: what happens, in which order, and what stops it before anything is changed."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from akotf.errors import (
    AkotfError,
    ApprovalError,
    BackendError,
    ConfigError,
    Locked,
    NoFeasibleCandidate,
    PolicyDenied,
    TerraformError,
)
from akotf.model.run import AttemptOutcome, RunState
from akotf.model.tfplan import ResourceChange
from akotf.pipeline import provisioning
from akotf.pipeline.healing import settle
from akotf.pipeline.live import live_of
from akotf.run import attempts
from akotf.wiring.surroundings import PACKAGED


def test_up_validates_plans_proposes_provisions_and_submits_in_this_order(world: Any) -> None:
    run = world.up()
    assert [name for name, _ in world.events if name != "terraform"] == [
        "validated", "planned", "judged", "proposed", "started",
    ]  # fmt: skip
    # The journal: intent before every change, its end after; policy stands in `plan.made`'s pass before it.
    assert world.kinds() == [
        "plan.made", "approval.given", "apply.intent", "apply.done", "run.intent", "run.submitted", "attempt.started",
    ]  # fmt: skip
    assert [name for name, root in world.terraform.calls if root == str(world.root)] == [
        "init", "plan",  # shown and approved
        "init", "plan", "apply",  # planned again and applied
    ]  # fmt: skip
    assert run.state is RunState.RUNNING
    assert list(world.backend.started.values()) == [1]
    assert world.telemetry.agents == [(world.layout.node(live_of(world.session, run).deployment), 5.0)]
    assert world.leases.taken == [("trial", "apply")]
    assert world.leases.held == {}


def test_no_saved_plan_outlives_the_pass(world: Any) -> None:
    """Saved plans hold secrets in clear: one was made to show, one to apply, and both are gone."""
    world.up()
    assert len(world.terraform.discarded) == 2


def test_the_run_gets_what_was_approved_and_leased(world: Any) -> None:
    run = world.up()
    live = live_of(world.session, run)
    assert live.request.cpu_slots == (0, 1)
    assert live.request.devices == ()
    assert live.request.baseline_digest == live.state.baseline().digest()
    assert live.request.environment == live.state.run.environment
    assert live.approval.approver == "ada"
    assert live.approval.selection == live.chosen.selection.digest()
    assert live.inputs.digest() == run.inputs
    # and stays so when the folder changes afterwards
    world.edit("learning_rate: 0.1", "learning_rate: 0.5")
    assert live_of(world.session, run).declared["hyperparameters"]["learning_rate"] == 0.1


def test_policy_denial_of_the_configuration_stops_before_terraform(world: Any) -> None:
    world.edit("budget: 10 USD", "budget: 0 USD")
    with pytest.raises(PolicyDenied, match="budget-present"):
        world.up()
    assert world.terraform.calls == []
    assert world.kinds() == []
    assert world.leases.held == {}


def test_policy_denial_of_the_selection_stops_before_terraform(world: Any) -> None:
    """8 GPUs (1 node x 8) are more than the 4 of the project's own rule, which wins over the packaged one."""
    rule = (PACKAGED / "policies" / "total-gpus" / "rule.yaml").read_text()
    own = world.folder / "policies" / "total-gpus" / "rule.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(rule.replace("max: 64", "max: 4"))
    world.edit("  wall_time: 30m", "  wall_time: 30m\n  gpus: 8\n  gpus_optional: false")
    world.edit(
        "  workstation: {kind: local}",
        "  campus: {kind: hpc, backend: slurm, partition: gpu, price: 0.01 USD/gpu/h, nodes: "
        "{count: 2, gpu: A100-80GB, gpus: 8, cpus: 64, memory: 512 GiB}}",
    )
    with pytest.raises(PolicyDenied, match="total-gpus"):
        world.up()
    assert world.terraform.calls == []
    assert world.kinds() == ["plan.made"]


def test_faults_are_all_told_at_once_and_stop_the_pass(world: Any) -> None:
    world.edit("  steps: 300", "  steps: none\n  nothing_of_the_kind: 1")
    with pytest.raises(ConfigError) as caught:
        world.up()
    assert len(caught.value.findings) == 2
    assert all(f.position and f.position.line for f in caught.value.findings)
    assert world.kinds() == []


def test_a_deadline_that_nothing_meets_says_the_cheapest_relaxation(world: Any) -> None:
    world.edit("deadline: 2h", "deadline: 1s")
    with pytest.raises(NoFeasibleCandidate, match="deadline") as caught:
        world.up()
    assert caught.value.remedy == caught.value.selection.relaxation.message
    assert caught.value.remedy.startswith("raise objective.deadline to ")


def test_nothing_feasible_stops_before_terraform_and_is_on_record(world: Any) -> None:
    world.machine["memory"] = 2 * 2**30  # the environment wants 4 GiB
    with pytest.raises(NoFeasibleCandidate, match="memory") as caught:
        world.up()
    assert caught.value.exit_code == 4
    assert "add a scope" in caught.value.remedy  # nothing that one could set makes this machine larger
    assert caught.value.selection.winner is None
    assert world.terraform.calls == []
    assert world.kinds() == ["plan.made"]  # the plan is on record: `akotf replay` shows it again


def test_what_is_not_approved_is_not_applied(world: Any) -> None:
    world.approver = ""
    with pytest.raises(ApprovalError, match="nothing was applied"):
        world.up()
    assert len(world.approvals) == 1  # it was shown
    assert world.terraform.applied == []
    assert world.backend.started == {}
    assert world.kinds() == ["plan.made"]
    assert len(world.terraform.discarded) == 1


def test_what_changed_since_the_approval_is_not_applied(world: Any, make_change: Any) -> None:
    def approve(proposal: Any) -> str:
        more = make_change("module.local_gpu.akotf_other.this", "create", after={})
        world.terraform.planned[str(world.root)] += (more,)
        return "ada"

    world.approve = approve
    with pytest.raises(ApprovalError, match=r"akotf_other\.this"):
        world.up()
    assert world.terraform.applied == []
    assert world.backend.started == {}


def test_a_live_run_of_the_same_revision_is_returned(world: Any) -> None:
    first = world.up()
    assert world.up() == first
    assert world.up(new_run=True) == first  # one live run an environment
    assert list(world.backend.started.values()) == [1]
    assert len(world.named("already-live")) == 2


def test_a_live_run_of_an_older_revision_is_in_the_way(world: Any) -> None:
    first = world.up()
    world.edit("learning_rate: 0.1", "learning_rate: 0.2")
    with pytest.raises(AkotfError, match="older revision") as caught:
        world.up()
    assert first.id in str(caught.value)
    assert "akotf cancel" in caught.value.remedy


def test_after_success_there_is_nothing_to_do_and_new_run_starts_another(world: Any) -> None:
    first = world.up()
    world.backend.end(f"{first.id}-a1", AttemptOutcome.SUCCEEDED, 0)
    settle(world.session)
    assert world.up() is None
    assert [run.id for run in world.named("nothing-to-do")] == [first.id]
    world.clock.advance(60)
    second = world.up(new_run=True)
    assert second.id != first.id
    assert second.revision == first.revision
    assert len(world.backend.started) == 2


def test_after_a_failure_apply_tries_again(world: Any) -> None:
    first = world.up()
    world.backend.end(f"{first.id}-a1", AttemptOutcome.FAILED, 1)
    settle(world.session)
    world.clock.advance(60)
    second = world.up()
    assert second.id != first.id


def test_a_held_lease_stops_it_with_who_and_what(world: Any) -> None:
    with world.leases.acquire("trial", "destroy"), pytest.raises(Locked, match="tester for destroy"):
        world.up()
    assert world.events == []


def test_tearing_down_is_for_what_a_state_lists(world: Any, make_change: Any) -> None:
    assert provisioning.deployments(world.session) == []
    live = world.start()
    state = world.layout.state(live.deployment)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text('{"resources": [{"type": "akotf_local_pool"}]}')
    assert provisioning.deployments(world.session) == [live.deployment]
    with pytest.raises(
        AkotfError, match="which stays"
    ):  # under the lease: the run may have begun a moment ago
        provisioning.tear_down_all(world.session)
    world.backend.end(live.request.key, AttemptOutcome.FAILED, 1)
    settle(world.session)
    world.terraform.planned[str(world.root)] = (
        make_change("module.local_gpu.akotf_local_pool.this", "delete", before={"deployment": "x"}),
    )
    empties(world, state)
    assert provisioning.tear_down_all(world.session) == [live.deployment]
    assert world.kinds()[-2:] == ["destroy.intent", "destroy.done"]
    assert ("trial", "destroy") in world.leases.taken
    assert provisioning.deployments(world.session) == []


def test_a_broken_state_counts_as_deployed(world: Any) -> None:
    live = world.start()
    state = world.layout.state(live.deployment)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("{half of i")
    assert provisioning.deployments(world.session) == [live.deployment]


def test_a_submission_that_fails_for_good_ends_the_run(world: Any) -> None:
    def refuse(request: Any) -> Any:
        raise BackendError("no such partition")

    world.backend.submit = refuse
    with pytest.raises(BackendError, match="no such partition"):
        world.up()
    run = attempts.latest(world.layout)
    assert run.state is RunState.FAILED
    assert world.kinds()[-2:] == ["attempt.ended", "run.ended"]
    assert settle(world.session) == run  # nothing to ask, nothing to adopt


def deployed_state(world: Any, live: Any) -> Any:
    """A state file as Terraform leaves it, with a resource in it."""
    state = world.layout.state(live.deployment)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text('{"version": 4, "resources": [{"type": "akotf_local_pool"}]}')
    return state


def ended_with_a_state(world: Any) -> tuple[Any, Any]:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.FAILED, 1)
    settle(world.session)
    world.terraform.planned[str(world.root)] = (
        ResourceChange(address="module.local_gpu.akotf_local_pool.this", type="akotf_local_pool", actions=("delete",)),
    )  # fmt: skip
    return live, deployed_state(world, live)


def empties(world: Any, state: Any) -> None:
    """Terraform's apply, which takes the resources out of the state that the root names."""
    apply = world.terraform.apply

    def applied(plan: Any, on_event: Any = None) -> None:
        apply(plan, on_event)
        if str(state) in (world.root / "backend.tf").read_text():
            state.write_text('{"version": 4, "resources": []}')

    world.terraform.apply = applied


def test_a_root_that_is_gone_is_written_again_to_destroy_what_its_state_lists(world: Any) -> None:
    live, state = ended_with_a_state(world)
    empties(world, state)
    shutil.rmtree(world.root)
    assert provisioning.deployments(world.session) == [live.deployment]
    assert provisioning.tear_down_all(world.session) == [live.deployment]
    assert (world.root / "main.tf").is_file()
    assert provisioning.deployments(world.session) == []


def test_a_root_of_a_moved_folder_looks_at_the_state_that_moved_with_it(world: Any) -> None:
    """Else Terraform finds nothing at the old place, and a lease would stay that was told to be destroyed."""
    _, state = ended_with_a_state(world)
    empties(world, state)
    backend = world.root / "backend.tf"
    backend.write_text(backend.read_text().replace(str(state), "/elsewhere/terraform.tfstate"))
    provisioning.tear_down_all(world.session)
    assert str(state) in backend.read_text()
    assert provisioning.deployments(world.session) == []


def test_a_state_that_still_lists_resources_is_no_success(world: Any) -> None:
    ended_with_a_state(world)
    world.terraform.planned[str(world.root)] = ()
    with pytest.raises(TerraformError, match="still lists resources"):
        provisioning.tear_down_all(world.session)


def test_a_root_that_is_gone_without_any_run_says_how_to_write_it_again(world: Any) -> None:
    ended_with_a_state(world)
    shutil.rmtree(world.root)
    shutil.rmtree(world.layout.runs)
    with pytest.raises(AkotfError, match="no run says") as told:
        provisioning.tear_down_all(world.session)
    assert "akotf plan" in told.value.remedy
