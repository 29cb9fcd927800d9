"""The loop over one live run: what is seen is decided, what is decided is done, and nothing more."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from akotf.apply.heal import copy_of
from akotf.errors import TelemetryUnavailable, TerraformError, TransientBackendError
from akotf.model.drift import Action
from akotf.model.run import AttemptOutcome, RunState
from akotf.pipeline.live import BASELINE_ADDRESS
from akotf.pipeline.recording import drift_counts
from akotf.run import attempts

POOL_ADDRESS = "module.local_gpu.akotf_local_pool.this"
HANDS_OFF = """\
version: 1
id: hands-off
title: Nothing is healed this week
level: hard-mandatory
stage: drift
match: object.kind == "resource"
reads: [actions]
expr: '!("update" in object.actions)'
message: the heal would change {address}
why: Somebody measures this machine.
remedy: wait until next week
"""
DEAF = TelemetryUnavailable("the agent can't be asked", where="node", remedy="start it")


def looks(world: Any, controller: Any, live: Any, *observations: Any) -> tuple[Any, list[Any]]:
    """Look and act once for each observation, one interval apart."""
    seen = []
    for observation in observations:
        world.sees(observation)
        look = controller.look(live)
        live = controller.act(look)
        seen.append(look)
        world.clock.advance(controller.telemetry_interval)
    return live, seen


def counts(world: Any) -> dict[str, list[str]]:
    run = attempts.latest(world.layout)
    return drift_counts(list(world.journal.entries()), run)


def actions(look: Any) -> list[Action]:
    return [d.action for d in look.decisions]


@pytest.fixture
def live(world: Any, make_change: Any) -> Any:
    """A live run; Terraform sees that the baseline has to be updated, in the folder that heals work in."""
    started = world.start()
    world.terraform.planned[str(copy_of(world.root))] = (
        make_change(BASELINE_ADDRESS, "update", before={"x": 1}, after={"x": 2}),
    )
    return started


# -- no drift ---------------------------------------------------------------------------------------------------------


def test_a_node_on_its_baseline_is_left_alone(world: Any, live: Any) -> None:
    before = world.kinds()
    _, seen = looks(world, world.controller(live), live, *[world.healthy(live)] * 5)
    assert [look.drifts for look in seen] == [()] * 5
    assert world.kinds() == before
    assert world.backend.started == {live.request.key: 1}


def test_what_the_baseline_does_not_declare_can_not_drift(world: Any, live: Any) -> None:
    more = world.healthy(live, environment__SECRET_SAUCE="x", limits__processes=3, gpu__0__power_limit=250)
    _, seen = looks(world, world.controller(live), live, more)
    assert seen[0].drifts == ()


def test_a_deaf_agent_is_told_once_started_again_and_is_neither_drift_nor_failure(
    world: Any, live: Any
) -> None:
    agents = len(world.telemetry.agents)
    _, seen = looks(world, world.controller(live), live, DEAF, DEAF, DEAF)
    assert [(look.drifts, look.observation) for look in seen] == [((), None)] * 3
    assert [look.status.state for look in seen] == [RunState.RUNNING] * 3
    assert len(world.named("note")) == 1
    assert len(world.telemetry.agents) == agents + 3
    assert "drift.seen" not in world.kinds()


def test_a_backend_that_can_not_be_asked_is_no_failure(world: Any, live: Any) -> None:
    def status(*_: Any) -> Any:
        raise TransientBackendError("the controller is busy")

    world.backend.status = status
    _, seen = looks(world, world.controller(live), live, world.healthy(live))
    assert seen[0].status.state is RunState.UNKNOWN
    assert seen[0].drifts == ()
    assert "run.ended" not in world.kinds()


# -- healing in place -------------------------------------------------------------------------------------------------


def test_a_drifted_file_is_healed_at_the_second_sighting_and_only_where_it_is(world: Any, live: Any) -> None:
    drifted = world.healthy(live, hyperparameters__file__learning_rate=0.3)
    _, seen = looks(world, world.controller(live), live, drifted, drifted)
    assert [actions(look) for look in seen] == [[Action.IGNORE], [Action.HEAL_IN_PLACE]]
    assert len(world.terraform.applied) == 2  # the deployment, then the heal
    healed = world.terraform.applied[-1]
    assert healed.root == str(copy_of(world.root))
    assert healed.targets == (BASELINE_ADDRESS,)
    assert [c.address for c in healed.changes] == [BASELINE_ADDRESS]
    assert world.kinds()[-3:] == ["drift.seen", "heal.intent", "heal.done"]
    assert ("trial", "heal") in world.leases.taken
    _, _ = looks(world, world.controller(live), live, world.healthy(live))


def test_what_was_seen_and_cleared_is_on_record(world: Any, live: Any) -> None:
    controller = world.controller(live)
    drifted = world.healthy(live, limits__open_files=512)
    looks(world, controller, live, drifted, drifted)
    assert counts(world) == {"seen": ["limits.open_files"], "healed": [], "open": ["limits.open_files"]}
    looks(world, controller, live, world.healthy(live), world.healthy(live))
    assert counts(world) == {"seen": ["limits.open_files"], "healed": ["limits.open_files"], "open": []}
    assert world.kinds()[-1] == "drift.cleared"
    drift = next(world.journal.entries(kind="drift.seen")).body
    assert (drift["approved"], drift["observed"], drift["address"]) == (4096, 512, BASELINE_ADDRESS)


def test_a_heal_that_would_change_more_than_it_names_is_deferred(
    world: Any, live: Any, make_change: Any
) -> None:
    """A heal that targets one resource can bring what it depends on: that was not decided."""
    root = str(copy_of(world.root))
    other = make_change(f"{BASELINE_ADDRESS}.sub", "update", before={}, after={})
    world.terraform.planned[root] = (*world.terraform.planned[root], other)
    drifted = world.healthy(live, limits__open_files=512)
    looks(world, world.controller(live), live, drifted, drifted)
    assert len(world.terraform.applied) == 1
    assert "does not name" in world.named("heal-deferred")[0][1]
    assert world.named("healed") == []


def test_a_heal_that_policy_denies_is_deferred_and_told(world: Any, live: Any) -> None:
    rule = world.folder / "policies" / "hands-off" / "rule.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text(HANDS_OFF)
    drifted = world.healthy(live, limits__open_files=512)
    looks(world, world.controller(live), live, drifted, drifted)
    assert len(world.terraform.applied) == 1
    assert "hands-off" in world.named("heal-deferred")[0][1]
    assert world.kinds()[-1] == "drift.seen"


def test_a_lease_of_somebody_else_defers_the_heal_and_it_is_tried_again(world: Any, live: Any) -> None:
    controller = world.controller(live)
    drifted = world.healthy(live, limits__open_files=512)
    with world.leases.acquire("trial", "apply"):
        looks(world, controller, live, drifted, drifted)
    assert len(world.terraform.applied) == 1
    assert "held by tester for apply" in world.named("heal-deferred")[0][1]
    looks(world, controller, live, drifted)
    assert len(world.terraform.applied) == 2


def test_a_heal_that_fails_is_on_record_and_the_watch_goes_on(world: Any, live: Any) -> None:
    apply = world.terraform.apply

    def fail(*_: Any) -> None:
        raise TerraformError("the disk is full")

    world.terraform.apply = fail
    controller = world.controller(live)
    drifted = world.healthy(live, limits__open_files=512)
    looks(world, controller, live, drifted, drifted)
    assert world.kinds()[-1] == "heal.failed"
    assert "the disk is full" in world.journal.rows[-1].body["error"]
    assert world.leases.held == {}
    world.terraform.apply = apply
    looks(world, controller, live, drifted)
    assert world.kinds()[-1] == "heal.done"


# -- restart ----------------------------------------------------------------------------------------------------------


def checkpoint(live: Any, step: int) -> Path:
    folder = Path(live.request.run_directory) / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True)
    (folder / "model.pt").write_bytes(b"weights")
    files = {"model.pt": {"size": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}}
    manifest = {"schema": 1, "step": step, "baseline": live.run.baseline, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_value_in_use_is_healed_by_a_restart_from_the_newest_complete_checkpoint(
    world: Any, live: Any
) -> None:
    checkpoint(live, 50)
    newest = checkpoint(live, 100)
    (checkpoint(live, 150) / "model.pt").unlink()
    controller = world.controller(live)
    drifted = world.healthy(live, hyperparameters__in_use__learning_rate=1.0)
    following, _ = looks(world, controller, live, drifted, drifted)
    assert following.request.attempt == 2
    assert following.request.resume_from == str(newest)
    assert following.request.baseline_digest == live.request.baseline_digest
    assert [a.outcome for a in following.run.attempts] == [AttemptOutcome.RESTARTED, None]
    assert world.backend.status(live.request, live.handle).state is RunState.CANCELLED
    kinds = world.kinds()
    assert kinds[-7:] == [
        "drift.seen", "heal.intent", "attempt.ended", "run.intent", "run.submitted", "attempt.started", "heal.done",
    ]  # fmt: skip
    looks(world, controller, following, world.healthy(following))
    assert counts(world)["healed"] == ["hyperparameters.in_use.learning_rate"]


def test_while_the_new_process_starts_nothing_counts_as_healed(world: Any, live: Any) -> None:
    """Its heartbeat is not there yet: whether the drift is gone is not known."""
    controller = world.controller(live)
    drifted = world.healthy(live, hyperparameters__in_use__learning_rate=1.0)
    following, _ = looks(world, controller, live, drifted, drifted)
    starting = world.healthy(following)
    facts = {k: v for k, v in starting.facts.items() if ".in_use." not in k}
    starting = starting.model_copy(update={"facts": facts, "progress": None})
    following, _ = looks(world, controller, following, starting, DEAF, starting)
    assert counts(world)["open"] == ["hyperparameters.in_use.learning_rate"]
    assert following.request.attempt == 2
    looks(world, controller, following, world.healthy(following))
    assert counts(world)["open"] == []


def test_a_restart_that_somebody_else_did_is_not_done_again(world: Any, live: Any) -> None:
    drifted = world.healthy(live, hyperparameters__in_use__learning_rate=1.0)
    one, two = world.controller(live), world.controller(live)
    world.sees(drifted)
    for controller in (one, two):
        controller.look(live)
        world.clock.advance(1)
    both = one.look(live), two.look(live)
    assert [actions(look) for look in both] == [[Action.RESTART]] * 2
    first, second = one.act(both[0]), two.act(both[1])
    assert first.request.key == second.request.key == f"{live.run.id}-a2"
    assert len(world.backend.started) == 2


def test_checkpoints_of_which_none_is_complete_end_the_run_and_never_start_from_scratch(
    world: Any, live: Any
) -> None:
    (checkpoint(live, 50) / "model.pt").unlink()
    controller = world.controller(live)
    drifted = world.healthy(live, hyperparameters__in_use__learning_rate=1.0)
    looks(world, controller, live, drifted, drifted)
    assert "heal.failed" in world.kinds()
    assert (
        "none of the checkpoints is complete"
        in next(iter(world.journal.entries(kind="heal.failed"))).body["error"]
    )
    ended = controller.follow(live)
    assert ended.run.state is RunState.FAILED
    assert len(world.backend.started) == 1
    assert world.layout.run_evidence(live.run.id).is_dir()


def test_a_training_that_succeeded_before_its_restart_is_left_succeeded(world: Any, live: Any) -> None:
    controller = world.controller(live)
    drifted = world.healthy(live, hyperparameters__in_use__learning_rate=1.0)
    looks(world, controller, live, drifted)
    world.sees(drifted)
    look = controller.look(live)
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    after = controller.act(look)
    assert after.run.state is RunState.SUCCEEDED
    assert "heal.done" not in world.kinds()
    assert controller.follow(after).run.state is RunState.SUCCEEDED
    assert world.layout.run_evidence(live.run.id).is_dir()


# -- telling ----------------------------------------------------------------------------------------------------------


def test_an_alert_is_told_once(world: Any, live: Any) -> None:
    slow = world.healthy(live)
    slow = slow.model_copy(update={"progress": {**slow.progress, "step": 50, "step_time": 1e6}})
    looks(world, world.controller(live), live, slow, slow, slow, slow)
    assert [d.drifts[0].field for d in world.named("alert")] == ["performance.step_time"]
    assert len(world.named("drift")) == 1
    assert counts(world)["seen"] == ["performance.step_time"]
    assert len(world.terraform.applied) == 1


def test_a_slow_training_that_evaluates_meanwhile_is_not_fast_again(world: Any, live: Any) -> None:
    slow = world.healthy(live)
    slow = slow.model_copy(update={"progress": {**slow.progress, "step": 50, "step_time": 1e6}})
    evaluates = slow.model_copy(update={"progress": {**slow.progress, "phase": "evaluate"}})
    looks(world, world.controller(live), live, slow, evaluates, slow, evaluates, slow)
    assert counts(world) == {
        "seen": ["performance.step_time"], "healed": [], "open": ["performance.step_time"],
    }  # fmt: skip


def test_a_slow_spell_that_ends_by_itself_is_not_healed_and_not_open(world: Any, live: Any) -> None:
    slow = world.healthy(live)
    slow = slow.model_copy(update={"progress": {**slow.progress, "step": 50, "step_time": 1e6}})
    fast = slow.model_copy(update={"progress": {**slow.progress, "step": 60, "step_time": 1e-6}})
    looks(world, world.controller(live), live, slow, fast)
    assert counts(world) == {"seen": ["performance.step_time"], "healed": [], "open": []}


def test_with_heal_alert_nothing_is_touched(world: Any, live: Any) -> None:
    drifted = world.healthy(live, limits__open_files=512, hyperparameters__in_use__learning_rate=1.0)
    looks(world, world.controller(live, heal=False), live, drifted, drifted, drifted)
    assert len(world.terraform.applied) == 1
    assert world.backend.started == {live.request.key: 1}
    assert len(world.named("alert")) == 2


def test_the_environment_says_whether_to_heal_and_how_often_to_look(world: Any) -> None:
    world.edit("{telemetry: 5s, refresh: 5m, heal: auto}", "{telemetry: 7s, refresh: 11m, heal: alert}")
    live = world.start()
    controller = world.controller(live)
    assert (controller.telemetry_interval, controller.refresh_interval) == (7.0, 660.0)
    assert controller.policy.heal is False
    assert world.controller(live, heal=True).policy.heal is True


def test_two_who_watch_put_one_drift_on_record_once(world: Any, live: Any) -> None:
    one, two = world.controller(live, heal=False), world.controller(live, heal=False)
    drifted = world.healthy(live, limits__open_files=512)
    looks(world, one, live, drifted)
    looks(world, two, live, drifted)
    assert len(world.named("drift")) == 2  # each shows it to its own people
    looks(world, one, live, world.healthy(live))
    looks(world, two, live, world.healthy(live))
    assert counts(world) == {"seen": ["limits.open_files"], "healed": [], "open": []}  # gone, and not by us
    assert len(world.named("cleared")) == 2


def test_who_comes_later_clears_what_the_one_before_saw(world: Any, live: Any) -> None:
    """The first one ended, or died; the memory of drift is the journal."""
    looks(world, world.controller(live, heal=False), live, world.healthy(live, limits__open_files=512))
    later = world.controller(live, heal=False)
    looks(world, later, live, DEAF, world.healthy(live, limits__open_files=512), DEAF)
    assert len(world.named("drift")) == 2  # the second one's people hear of it too
    assert counts(world)["open"] == ["limits.open_files"]
    looks(world, later, live, world.healthy(live))
    assert counts(world) == {"seen": ["limits.open_files"], "healed": [], "open": []}  # gone, and not by us


def test_what_was_put_right_while_nobody_watched_is_cleared_by_who_comes_next(world: Any, live: Any) -> None:
    looks(world, world.controller(live, heal=False), live, world.healthy(live, limits__open_files=512))
    looks(world, world.controller(live, heal=False), live, world.healthy(live))
    assert counts(world)["open"] == []


# -- Terraform --------------------------------------------------------------------------------------------------------


def test_terraform_is_asked_every_refresh_and_not_at_every_look(world: Any, live: Any) -> None:
    asked = len(world.terraform.calls)
    controller = world.controller(live)
    looks(world, controller, live, *[world.healthy(live)] * 30)
    assert len(world.terraform.calls) == asked  # 30 looks x 5 s = 150 s < 300 s
    looks(world, controller, live, *[world.healthy(live)] * 40)
    assert len(world.terraform.calls) == asked + 1  # at 300 s


def test_infrastructure_that_is_gone_is_confirmed_healed_and_seen_to_hold(
    world: Any, live: Any, make_change: Any
) -> None:
    """Judged by the plan JSON: a missing lease shows as a resource to create. One look confirms the one before."""
    gone = make_change(POOL_ADDRESS, "create", after={"deployment": "x"})
    noise = make_change("module.local_gpu.data.thing", "read", after={})
    world.terraform.planned[str(world.root)] = (noise, gone)
    world.terraform.planned[str(copy_of(world.root))] = (gone,)
    controller = world.controller(live)
    world.clock.advance(300)
    _, seen = looks(world, controller, live, world.healthy(live))
    assert [(d.kind.value, d.field, d.approved, d.observed) for d in seen[0].drifts] == [
        ("infrastructure", POOL_ADDRESS, "present", None)
    ]
    looks(world, controller, live, world.healthy(live))
    assert world.terraform.applied[-1].targets == (POOL_ADDRESS,)
    world.terraform.planned[str(world.root)] = (noise,)
    looks(world, controller, live, world.healthy(live))
    assert counts(world) == {"seen": [POOL_ADDRESS], "healed": [POOL_ADDRESS], "open": []}


def test_terraform_drift_stays_open_until_terraform_is_asked_again(
    world: Any, live: Any, make_change: Any
) -> None:
    gone = make_change(POOL_ADDRESS, "create", after={"deployment": "x"})
    world.terraform.planned[str(world.root)] = (gone,)
    controller = world.controller(live, heal=False)
    world.clock.advance(300)
    looks(world, controller, live, *[world.healthy(live)] * 10)
    assert counts(world)["open"] == [POOL_ADDRESS]
    assert len(world.named("alert")) == 1


def test_a_changed_baseline_is_told_field_by_field_and_not_by_terraform_too(
    world: Any, live: Any, make_change: Any
) -> None:
    update = make_change(BASELINE_ADDRESS, "update", before={"a": 1}, after={"a": 2})
    world.terraform.planned[str(world.root)] = (update,)
    world.sees(world.healthy(live))
    assert world.controller(live).look(live, refresh=True).drifts == ()


def test_a_terraform_that_fails_is_neither_drift_nor_its_end(world: Any, live: Any, make_change: Any) -> None:
    gone = make_change(POOL_ADDRESS, "create", after={"deployment": "x"})
    world.terraform.planned[str(world.root)] = (gone,)
    controller = world.controller(live, heal=False)
    world.sees(world.healthy(live))
    controller.look(live, refresh=True)

    def fail(*_: Any, **__: Any) -> None:
        raise TerraformError("the state is locked")

    world.terraform.plan = fail
    look = controller.look(live, refresh=True)
    assert look.drifts == ()
    assert counts(world)["open"] == [POOL_ADDRESS]
    assert "the state is locked" in world.named("note")[0]


def test_every_plan_that_looks_for_drift_is_discarded(world: Any, live: Any) -> None:
    discarded = len(world.terraform.discarded)
    world.sees(world.healthy(live))
    world.controller(live).look(live, refresh=True)
    assert len(world.terraform.discarded) == discarded + 1


# -- to the end -------------------------------------------------------------------------------------------------------


def test_follow_ends_with_the_run_and_its_record(world: Any, live: Any) -> None:
    world.sees(world.healthy(live))
    sleep = world.clock.sleep

    def sleep_until_done(seconds: float) -> None:
        sleep(seconds)
        if len(world.clock.slept) == 3:
            world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)

    world.clock.sleep = sleep_until_done
    ended = world.controller(live).follow(live)
    assert ended.run.state is RunState.SUCCEEDED
    assert world.clock.slept == [5.0, 5.0, 5.0]
    assert len(world.named("look")) == 4
    assert len(world.named("ended")) == len(world.named("recorded")) == 1


def test_follow_goes_on_with_the_next_attempt_after_a_preemption(world: Any, live: Any) -> None:
    world.sees(world.healthy(live))
    sleep = world.clock.sleep

    def sleep_and_end(seconds: float) -> None:
        sleep(seconds)
        ends = {2: (1, AttemptOutcome.PREEMPTED), 4: (2, AttemptOutcome.SUCCEEDED)}
        if (now := len(world.clock.slept)) in ends:
            number, outcome = ends[now]
            world.backend.end(f"{live.run.id}-a{number}", outcome)

    world.clock.sleep = sleep_and_end
    ended = world.controller(live).follow(live)
    assert ended.run.state is RunState.SUCCEEDED
    assert [a.outcome for a in ended.run.attempts] == [AttemptOutcome.PREEMPTED, AttemptOutcome.SUCCEEDED]


def test_follow_ends_when_attempts_are_used_up(world: Any, live: Any) -> None:
    world.sees(world.healthy(live))
    world.clock.sleep = lambda _: [
        world.backend.end(key, AttemptOutcome.NODE_FAILED) for key in list(world.backend.started)
    ]
    ended = world.controller(live).follow(live)
    assert ended.run.state is RunState.FAILED
    assert len(ended.run.attempts) == 10


def test_a_run_older_than_its_ttl_is_cancelled_and_recorded(world: Any) -> None:
    world.edit("lifecycle: {teardown: on-success}", "lifecycle: {teardown: never, ttl: 1h}")
    live = world.start()
    world.sees(world.healthy(live))
    world.clock.advance(3599 - 5)
    world.clock.slept.clear()
    ended = world.controller(live).follow(live)
    assert ended.run.state is RunState.CANCELLED
    assert world.clock.slept == [5.0, 5.0]  # looks at 3594, 3599 and 3604 s: the last is past the hour
    assert any("lifecycle.ttl of 1h" in note for note in world.named("note"))
    assert world.layout.run_evidence(live.run.id).is_dir()
