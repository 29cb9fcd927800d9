"""Ends and beginnings of attempts: settled once, by whoever comes first, after whatever crash."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import BackendError, StoreError, TerraformError, TransientBackendError
from akotf.model.layout import Layout
from akotf.model.run import AttemptOutcome, AttemptStatus, RunState
from akotf.pipeline import healing
from akotf.pipeline.live import live_of
from akotf.pipeline.recording import records
from akotf.pipeline.standing import standing
from akotf.run import attempts


def checkpoint(live: Any, step: int) -> Path:
    """A complete checkpoint of the run."""
    folder = Path(live.request.run_directory) / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True)
    (folder / "model.pt").write_bytes(b"weights")
    files = {"model.pt": {"size": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}}
    manifest = {"schema": 1, "step": step, "baseline": live.run.baseline, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def ended(world: Any, live: Any) -> AttemptStatus:
    return world.backend.status(live.request, live.handle)


def test_success_ends_the_run_and_leaves_one_evidence(world: Any) -> None:
    live = world.start()
    world.clock.advance(100)
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    assert healing.settle(world.session).state is RunState.SUCCEEDED
    kinds = world.kinds()
    assert kinds[-4:] == ["attempt.ended", "run.ended", "prediction.recorded", "evidence.written"]
    assert (world.layout.run_evidence(live.run.id) / "manifest.json").is_file()
    healing.settle(world.session)
    assert world.kinds() == kinds
    row = records(world.session)[0]
    assert (row["state"], row["attempts"], row["observed_time"]) == ("succeeded", 1, 100.0)


def test_a_failed_run_leaves_evidence_and_teaches_the_planner_nothing(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.FAILED, 1, "exit code 1")
    assert healing.settle(world.session).state is RunState.FAILED
    assert "prediction.recorded" not in world.kinds()
    assert "evidence.written" in world.kinds()


def test_machines_that_a_crash_kept_from_going_go_with_the_next_command(world: Any, make_change: Any) -> None:
    """The crash came between the evidence and the end of the machines, which the lifecycle wants gone."""
    live = world.start()
    state = world.layout.state(live.deployment)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text('{"resources": [{"type": "akotf_local_pool"}]}')
    apply = world.terraform.apply
    world.terraform.planned[str(world.root)] = (
        make_change("module.local_gpu.akotf_local_pool.this", "delete", before={"deployment": "x"}),
    )

    def dies(*_: Any) -> None:
        raise SystemExit

    def applies(plan: Any, on_event: Any = None) -> None:
        apply(plan, on_event)
        state.write_text('{"resources": []}')

    world.terraform.apply = dies
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    with pytest.raises(SystemExit):
        healing.settle(world.session)
    assert world.layout.run_evidence(live.run.id).is_dir()
    world.terraform.apply = applies
    with world.leases.acquire("trial", "apply"):  # somebody is at work: not now
        healing.settle(world.session)
    assert "destroy.done" not in world.kinds()
    healing.settle(world.session)
    assert world.kinds()[-1] == "destroy.done"
    healing.settle(world.session)
    assert world.kinds().count("destroy.done") == 1


def test_two_processes_that_settle_one_end_leave_one_record(world: Any) -> None:
    """Both have seen the same end; each comes with its own knowledge of the run."""
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    first = healing.attempt_ended(world.session, live, ended(world, live))
    second = healing.attempt_ended(world.as_another(), live, ended(world, live))
    assert first.run == second.run
    for kind in ("attempt.ended", "run.ended", "prediction.recorded", "evidence.written"):
        assert world.kinds().count(kind) == 1, kind


def test_two_processes_that_see_one_preemption_start_one_attempt(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
    first = healing.attempt_ended(world.session, live, ended(world, live))
    second = healing.attempt_ended(world.as_another(), live, ended(world, live))
    assert first.request.key == second.request.key == f"{live.run.id}-a2"
    assert len(world.backend.started) == 2


@pytest.mark.parametrize("outcome", [AttemptOutcome.PREEMPTED, AttemptOutcome.NODE_FAILED])
def test_a_lost_attempt_goes_on_from_the_newest_complete_checkpoint(world: Any, outcome: Any) -> None:
    live = world.start()
    checkpoint(live, 50)
    newest = checkpoint(live, 100)
    (checkpoint(live, 150) / "model.pt").write_bytes(b"half")  # cut off: not complete
    world.backend.end(live.request.key, outcome, reason="the node went away")
    following = healing.attempt_ended(world.session, live, ended(world, live))
    assert following.request.attempt == 2
    assert following.request.resume_from == str(newest)
    assert following.run.state is RunState.RUNNING
    assert [a.outcome for a in following.run.attempts] == [outcome, None]
    assert not world.layout.run_evidence(live.run.id).exists()


def test_attempts_are_bounded_and_the_run_then_fails(world: Any) -> None:
    live = world.start()
    for number in range(1, healing.MAX_ATTEMPTS + 1):
        assert live.request.attempt == number
        world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
        live = healing.attempt_ended(world.session, live, ended(world, live))
    assert live.run.state is RunState.FAILED
    assert len(world.backend.started) == healing.MAX_ATTEMPTS
    assert world.journal.rows[-2].kind == "run.ended"
    assert "10 attempts at most" in world.journal.rows[-2].body["reason"]
    assert healing.settle(world.session).state is RunState.FAILED


def test_a_crash_between_intent_and_submission_is_settled_by_submitting(world: Any) -> None:
    submit = world.backend.submit
    world.backend.submit = _dies
    with pytest.raises(SystemExit):
        world.up()
    world.backend.submit = submit
    run = attempts.latest(world.layout)
    assert run.attempts[-1].handle is None
    run = healing.settle(world.session)
    assert run.attempts[-1].handle.key == f"{run.id}-a1"
    assert world.backend.started == {f"{run.id}-a1": 1}
    assert world.kinds().count("run.submitted") == 1


def test_a_crash_between_submission_and_record_is_settled_by_adopting(world: Any) -> None:
    submit = world.backend.submit

    def submit_and_die(request: Any) -> Any:
        submit(request)
        raise SystemExit

    world.backend.submit = submit_and_die
    with pytest.raises(SystemExit):
        world.up()
    world.backend.submit = _never
    run = healing.settle(world.session)
    assert run.attempts[-1].handle.key == f"{run.id}-a1"
    assert list(world.backend.started.values()) == [1]
    assert healing.settle(world.session) == run


def test_a_run_whose_submission_was_cut_off_can_be_cancelled(world: Any) -> None:
    """Adopted first: what the crash had set going must not go on behind a run that is on record as cancelled."""
    submit = world.backend.submit

    def submit_and_die(request: Any) -> Any:
        submit(request)
        raise SystemExit

    world.backend.submit = submit_and_die
    with pytest.raises(SystemExit):
        world.up()
    run = healing.submitted(world.session, attempts.latest(world.layout))
    ended = healing.cancel(world.session, live_of(world.session, run), grace=1.0)
    assert ended.run.state is RunState.CANCELLED
    assert list(world.backend.started.values()) == [1]
    assert healing.submitted(world.session, ended.run) == ended.run


def test_a_folder_moved_under_a_live_run_says_where_it_belongs(world: Any) -> None:
    """Its training goes on writing to the old place: whoever looked here would wait for ever."""
    live = world.start()
    moved = replace(world.session, layout=Layout(world.folder.with_name("moved")))
    shutil.copytree(world.folder, moved.layout.environment)
    run = attempts.latest(moved.layout)
    for call in (lambda: live_of(moved, run), lambda: healing.settle(moved)):
        with pytest.raises(StoreError, match="was moved away from") as told:
            call()
        assert str(world.folder) in told.value.remedy
    shutil.rmtree(world.folder)
    world.folder.symlink_to(moved.layout.environment)  # the remedy
    assert live_of(moved, run).run == live.run


def test_a_submission_that_came_through_while_we_waited_is_not_submitted_again(world: Any) -> None:
    """Who held the lease did it: the record is read again under the lease."""
    live = world.start()
    cut_off = live.run.model_copy(
        update={"attempts": (live.run.attempts[0].model_copy(update={"handle": None}),)}
    )
    whole = (world.layout.run(live.run.id) / "run.json").read_text()
    attempts.load_run(world.layout, live.run.id)
    (world.layout.run(live.run.id) / "run.json").write_text(json.dumps({"schema": 1, **cut_off.to_json()}))
    acquire = world.leases.acquire

    def acquire_late(*arguments: Any, **more: Any) -> Any:
        (world.layout.run(live.run.id) / "run.json").write_text(whole)
        return acquire(*arguments, **more)

    world.leases.acquire = acquire_late
    assert healing.settle(world.session) == live.run
    assert world.kinds().count("run.submitted") == 1


def test_a_crash_between_two_attempts_goes_on_with_the_next(world: Any) -> None:
    """The attempt was stopped for a restart, the process died before the next one: the backend says `cancelled`."""
    live = world.start()
    world.backend.cancel(live.request, live.handle, 1.0)
    status = ended(world, live).model_copy(
        update={"outcome": AttemptOutcome.RESTARTED, "state": RunState.FAILED}
    )
    between = attempts.finish(live.run, status, layout=world.layout, journal=world.journal, clock=world.clock)
    assert between.state is RunState.QUEUED
    run = healing.settle(world.session)
    assert run.state is RunState.RUNNING
    assert [a.outcome for a in run.attempts] == [AttemptOutcome.RESTARTED, None]


def test_a_crash_between_the_end_and_its_evidence_is_made_good(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    status = ended(world, live)
    attempts.finish(live.run, status, layout=world.layout, journal=world.journal, clock=world.clock)
    assert not world.layout.run_evidence(live.run.id).exists()
    assert healing.settle(world.session).state is RunState.SUCCEEDED
    assert world.layout.run_evidence(live.run.id).is_dir()
    assert world.kinds().count("prediction.recorded") == 1


def test_a_crash_within_the_record_teaches_the_planner_once(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    healing.settle(world.session)
    # as if it had died after the prediction was recorded, before the evidence was in its place
    shutil.rmtree(world.layout.run_evidence(live.run.id))
    healing.settle(world.session)
    assert world.layout.run_evidence(live.run.id).is_dir()
    assert world.journal.kinds().count("prediction.recorded") == 1


def test_evidence_that_can_not_be_written_late_stops_nobody(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    attempts.finish(
        live.run, ended(world, live), layout=world.layout, journal=world.journal, clock=world.clock
    )
    world.objects.blobs.clear()
    assert healing.settle(world.session).state is RunState.SUCCEEDED
    assert "evidence" in world.named("note")[0]


def test_no_run_settles_to_none(world: Any) -> None:
    assert healing.settle(world.session) is None


def test_what_a_run_was_approved_with_is_read_back_by_digest(world: Any) -> None:
    live = world.start()
    del world.objects.blobs[live.run.chosen]
    with pytest.raises(StoreError):
        live_of(world.session, live.run)


def test_cancel_ends_the_run_and_records_it(world: Any) -> None:
    live = world.start()
    done = healing.cancel(world.session, live, grace=3.0)
    assert done.run.state is RunState.CANCELLED
    assert done.run.attempts[-1].reason == "cancelled with 3 s of grace"
    assert world.layout.run_evidence(live.run.id).is_dir()
    assert healing.cancel(world.session, done, grace=3.0) == done


def test_cancel_of_a_preempted_attempt_does_not_start_another(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
    done = healing.cancel(world.session, live, grace=1.0)
    assert done.run.state is RunState.CANCELLED
    assert [a.outcome for a in done.run.attempts] == [AttemptOutcome.PREEMPTED]
    assert len(world.backend.started) == 1


def test_cancel_also_ends_the_attempt_that_somebody_started_meanwhile(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
    moved_on = healing.attempt_ended(world.session, live, ended(world, live))
    assert moved_on.request.attempt == 2
    done = healing.cancel(world.session, live, grace=1.0)
    assert done.run.state is RunState.CANCELLED
    assert world.backend.status(moved_on.request, moved_on.handle).state is RunState.CANCELLED


def test_a_run_that_does_not_stop_is_no_cancelled_run(world: Any) -> None:
    live = world.start()
    world.backend.cancel = lambda *_: AttemptStatus(state=RunState.RUNNING, native="R")
    with pytest.raises(BackendError, match="after it was told to stop"):
        healing.cancel(world.session, live, grace=1.0)
    assert attempts.latest(world.layout).state is RunState.RUNNING


def test_a_next_attempt_that_can_not_be_submitted_ends_the_run_with_evidence(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
    world.backend.submit = _refuses
    with pytest.raises(BackendError):
        healing.attempt_ended(world.session, live, ended(world, live))
    assert attempts.latest(world.layout).state is RunState.FAILED
    done = healing.attempt_ended(world.session, live, ended(world, live))
    assert done.run.state is RunState.FAILED
    assert world.layout.run_evidence(live.run.id).is_dir()


def test_a_backend_that_is_busy_leaves_the_attempt_to_be_recovered(world: Any) -> None:
    live = world.start()
    submit = world.backend.submit
    world.backend.end(live.request.key, AttemptOutcome.PREEMPTED)
    world.backend.submit = _busy
    with pytest.raises(TransientBackendError):
        healing.attempt_ended(world.session, live, ended(world, live))
    world.backend.submit = submit
    following = healing.attempt_ended(world.session, live, ended(world, live))
    assert following.request.attempt == 2
    assert following.run.state is RunState.RUNNING
    assert len(world.backend.started) == 2


def test_teardown_on_success_destroys_after_success_only(world: Any, make_change: Any) -> None:
    live = world.start()
    gone = make_change("module.local_gpu.akotf_local_pool.this", "delete", before={"deployment": "x"})
    world.terraform.planned[str(world.root)] = (gone,)
    world.backend.end(live.request.key, AttemptOutcome.FAILED, 1)
    healing.settle(world.session)
    assert "destroy.done" not in world.kinds()
    world.terraform.planned[str(world.root)] = ()
    world.clock.advance(5)
    second = world.start()
    world.terraform.planned[str(world.root)] = (gone,)
    world.backend.end(second.request.key, AttemptOutcome.SUCCEEDED, 0)
    healing.settle(world.session)
    assert world.kinds()[-1] == "destroy.done"


def test_a_teardown_that_fails_is_told_and_the_run_stays_succeeded(world: Any, make_change: Any) -> None:
    live = world.start()

    def fail(*_: Any, **__: Any) -> None:
        raise TerraformError("the state is locked")

    world.terraform.plan = fail
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    assert healing.settle(world.session).state is RunState.SUCCEEDED
    assert world.kinds()[-1] == "destroy.failed"
    assert "akotf destroy" in world.named("note")[-1]


def test_standing_has_stable_keys_with_and_without_an_agent(world: Any) -> None:
    live = world.start()
    checkpoint(live, 50)
    deaf = standing(world.session, live.run)
    world.sees(world.healthy(live))
    seen = standing(world.session, live.run)
    assert set(deaf) == set(seen) == {
        "schema", "run", "environment", "deployment", "backend", "state", "native", "attempt", "pid", "step",
        "total_steps", "loss", "step_time", "phase", "checkpoints", "node_directory", "root", "run_directory",
        "evidence", "drift",
    }  # fmt: skip
    assert (deaf["step"], seen["step"], seen["total_steps"]) == (None, 5, 300)
    assert deaf["state"] == seen["state"] == "running"
    assert seen["checkpoints"] == [50]
    assert "telemetry is not available" in world.named("note")[0]


def _dies(request: Any) -> Any:
    raise SystemExit


def _never(request: Any) -> Any:
    raise AssertionError("started a second time")


def _refuses(request: Any) -> Any:
    raise BackendError("no such partition")


def _busy(request: Any) -> Any:
    raise TransientBackendError("the controller is busy")


def test_a_run_without_its_declared_outputs_has_failed(world: Any) -> None:
    world.leaves_outputs = False
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    run = healing.settle(world.session)
    assert run is not None
    assert run.state is RunState.FAILED
    assert "left no" in run.attempts[-1].reason
    assert "prediction.recorded" not in world.kinds()


def test_a_run_whose_approved_objects_are_lost_can_still_be_stopped(world: Any) -> None:
    live = world.start()
    world.objects.blobs.clear()
    with pytest.raises(StoreError):
        live_of(world.session, live.run)
    run = healing.cancel_alone(world.session, live.run, grace=1.0)
    assert run.state is RunState.CANCELLED
    assert world.backend.status(live.request, live.handle).outcome is AttemptOutcome.CANCELLED
    assert world.kinds()[-2:] == ["attempt.ended", "run.ended"]
