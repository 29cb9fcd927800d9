"""Attempts on in-memory doubles: order of the journal, crashes in between, restarts, outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import BackendError, CheckpointError, StoreError, TransientBackendError
from akotf.model.config import Limits
from akotf.model.layout import Layout
from akotf.model.run import AttemptOutcome, AttemptStatus, Handle, Run, RunRequest, RunState
from akotf.run import attempts
from akotf.run.registry import load_request, save_run
from akotf.run.requests import run_id
from akotf.run.states import advance
from akotf.runtime import Training
from akotf.testing.doubles import FakeClock, MemoryBackend, MemoryJournal


@dataclass
class Case:
    """A run about to start."""

    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)
    backend: MemoryBackend = field(default_factory=MemoryBackend)

    def __post_init__(self) -> None:
        self.layout = Layout(self.folder)
        self.journal = MemoryJournal(self.clock)
        directory = self.layout.run("demo-1")
        self.run = Run(
            id="demo-1", environment="demo", deployment="demo/here/node", scope="here", backend="memory",
            revision="sha256:1", baseline="sha256:2", candidate="c", inputs="sha256:3", state=RunState.QUEUED,
            created_at=self.clock.iso(), directory=str(directory),
        )  # fmt: skip
        self.request = RunRequest(
            key="demo-1-a1", run_id="demo-1", attempt=1, environment_name="demo", deployment="demo/here/node",
            baseline_digest="sha256:2", command=("python", "train.py"), working_directory=str(self.folder),
            run_directory=str(directory), attempt_directory=str(directory / "attempt-1"),
            node_directory=str(self.folder / "node"), environment={"A": "1"},
            limits=Limits(memory="1 GiB", wall_time="1h"), devices=(1,), cpu_slots=(0,),
        )  # fmt: skip

    @property
    def world(self) -> dict[str, Any]:
        return {"layout": self.layout, "backend": self.backend, "journal": self.journal, "clock": self.clock}

    @property
    def records(self) -> dict[str, Any]:
        return {"layout": self.layout, "journal": self.journal, "clock": self.clock}

    def start(self) -> Run:
        self.run = attempts._submit(self.run, self.request, **self.world)
        return self.run

    def restart(self, outcome: AttemptOutcome = AttemptOutcome.RESTARTED) -> Run:
        request, handle = attempts.current(self.layout, self.run)
        self.run = attempts.restart(
            self.run, request, handle, outcome=outcome, reason="learning_rate drifted", grace=5, **self.world
        )
        return self.run

    def save(self, step: int) -> Path:
        training = Training(directory=self.run.directory)
        return training.save(step, lambda folder: (folder / "model.pt").write_bytes(b"weights"))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_intent_before_submission_before_start(case: Case) -> None:
    run = case.start()
    assert case.journal.kinds() == ["run.intent", "run.submitted", "attempt.started"]
    assert case.backend.started == {"demo-1-a1": 1}
    assert run.state is RunState.RUNNING
    assert attempts.load_run(case.layout, "demo-1") == run
    assert attempts.current(case.layout, run) == (case.request, run.attempts[0].handle)
    assert {entry.subject for entry in case.journal.rows} == {"demo-1"}


class DyingBackend(MemoryBackend):
    """The client dies with the submission sent (`after`) or not."""

    def __init__(self, after: bool) -> None:
        super().__init__()
        self.after = after

    def submit(self, request: RunRequest) -> Handle:
        if self.after:
            super().submit(request)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_crash_during_submission_is_settled_and_runs_once(case: Case, after: bool) -> None:
    dying = DyingBackend(after)
    case.backend = dying
    with pytest.raises(KeyboardInterrupt):
        case.start()
    left = attempts.load_run(case.layout, "demo-1")
    assert not left.state.final
    with pytest.raises(StoreError, match="no submitted attempt"):
        attempts.current(case.layout, left)

    case.backend = MemoryBackend()
    case.backend.started, case.backend.states = dying.started, dying.states
    recovered = attempts.recover(left, **case.world)
    assert case.backend.started == {"demo-1-a1": 1}
    assert recovered.state is RunState.RUNNING
    assert attempts.recover(recovered, **case.world) == recovered


class Refusing(MemoryBackend):
    """Says no."""

    def __init__(self, error: BackendError) -> None:
        super().__init__()
        self.error = error

    def submit(self, request: RunRequest) -> Handle:
        raise self.error


def test_refused_submission_ends_the_run_with_the_reason(case: Case) -> None:
    case.backend = Refusing(BackendError("no such partition"))
    with pytest.raises(BackendError):
        case.start()
    run = attempts.load_run(case.layout, "demo-1")
    assert run.state is RunState.FAILED
    assert "no such partition" in run.attempts[0].reason
    assert case.journal.kinds() == ["run.intent", "attempt.ended", "run.ended"]


def test_transient_refusal_leaves_the_run_to_be_recovered(case: Case) -> None:
    case.backend = Refusing(TransientBackendError("controller busy"))
    with pytest.raises(TransientBackendError):
        case.start()
    run = attempts.load_run(case.layout, "demo-1")
    assert run.state is RunState.STARTING
    case.backend = MemoryBackend()
    assert attempts.recover(run, **case.world).state is RunState.RUNNING


def test_restart_goes_on_from_the_newest_complete_checkpoint(case: Case) -> None:
    case.start()
    case.save(100)
    newest = case.save(200)
    case.clock.advance(600)
    run = case.restart()
    request, _ = attempts.current(case.layout, run)
    assert [a.outcome for a in run.attempts] == [AttemptOutcome.RESTARTED, None]
    assert run.attempts[0].reason == "learning_rate drifted"
    assert (request.key, request.attempt, request.resume_from) == ("demo-1-a2", 2, str(newest))
    assert request.attempt_directory.endswith("/attempt-2")
    assert request.limits.wall_time == 3000, "one hour of the whole run, ten minutes are used"
    assert request.environment == case.request.environment and request.devices == (1,)
    assert case.backend.states["demo-1-a1"].state is RunState.CANCELLED
    assert case.backend.started == {"demo-1-a1": 1, "demo-1-a2": 1}
    assert attempts.current(case.layout, run, attempt=1)[0] == case.request


def test_wall_time_counts_over_all_attempts(case: Case) -> None:
    case.start()
    for _ in range(2):
        case.clock.advance(1200)
        case.restart()
    assert load_request(case.layout, "demo-1", 3).limits.wall_time == 1200
    case.clock.advance(1200)
    assert case.restart().state is RunState.FAILED
    assert case.journal.rows[-1].body["reason"].startswith("time_limit")


@pytest.mark.parametrize("outcome", [AttemptOutcome.PREEMPTED, AttemptOutcome.NODE_FAILED])
def test_attempt_lost_to_the_site_goes_on(case: Case, outcome: AttemptOutcome) -> None:
    case.start()
    case.backend.end("demo-1-a1", outcome, reason="gone")
    run = case.restart(outcome)
    assert [a.outcome for a in run.attempts] == [outcome, None]
    assert run.state is RunState.RUNNING


def test_restart_of_what_had_just_succeeded_leaves_it_succeeded(case: Case) -> None:
    case.start()
    case.backend.end("demo-1-a1", AttemptOutcome.SUCCEEDED, 0)
    run = case.restart()
    assert run.state is RunState.SUCCEEDED
    assert case.backend.started == {"demo-1-a1": 1}


def test_restart_without_a_complete_checkpoint_fails_aloud(case: Case) -> None:
    case.start()
    (case.save(100) / "model.pt").write_bytes(b"other")
    with pytest.raises(CheckpointError):
        case.restart()
    run = attempts.load_run(case.layout, "demo-1")
    assert run.state is RunState.FAILED
    assert case.journal.kinds()[-2:] == ["attempt.ended", "run.ended"]
    assert case.backend.started == {"demo-1-a1": 1}


def test_finish_is_recorded_once(case: Case) -> None:
    case.start()
    case.backend.end("demo-1-a1", AttemptOutcome.FAILED, 17, "exit code 17")
    seen, status = attempts.observe(case.run, layout=case.layout, backend=case.backend, clock=case.clock)
    assert seen.state is RunState.FAILED
    ended = attempts.finish(case.run, status, **case.records)
    assert ended.attempts[0].exit_code == 17
    assert attempts.finish(ended, status, **case.records) == ended
    assert case.journal.kinds().count("run.ended") == 1
    assert attempts.latest(case.layout) == ended


STATUSES = [
    (AttemptStatus(state=RunState.UNKNOWN), RunState.RUNNING),
    (AttemptStatus(state=RunState.STARTING), RunState.STARTING),
    (AttemptStatus(state=RunState.SUCCEEDED), RunState.SUCCEEDED),
    (AttemptStatus(state=RunState.CANCELLED), RunState.CANCELLED),
    (AttemptStatus(state=RunState.FAILED), RunState.FAILED),
    (AttemptStatus(state=RunState.FAILED, outcome=AttemptOutcome.PREEMPTED), RunState.QUEUED),
    (AttemptStatus(state=RunState.QUEUED, outcome=AttemptOutcome.NODE_FAILED), RunState.QUEUED),
    (AttemptStatus(state=RunState.CANCELLED, outcome=AttemptOutcome.RESTARTED), RunState.QUEUED),
]


@pytest.mark.parametrize(("status", "state"), STATUSES)
def test_meaning_of_a_status_for_the_run(case: Case, status: AttemptStatus, state: RunState) -> None:
    run = case.start()
    after = advance(run, status, "2026-11-30T22:00:00Z")
    assert after.state is state
    assert bool(after.ended_at) == state.final
    over = state.final or state is RunState.QUEUED
    assert (after.attempts[-1].outcome is not None) == over
    assert advance(after, status, "later") == after, "told twice, nothing changes"


def test_train_totals_are_those_of_the_last_heartbeat(case: Case) -> None:
    run = case.start()
    assert attempts.train_totals(case.layout, run, 1) == (0.0, 0)
    path = Path(case.request.attempt_directory) / "heartbeat.json"
    path.write_text('{"schema": 1, "step": 9, "time": 1.0, "train_seconds": 4.5, "train_steps": 8}')
    assert attempts.train_totals(case.layout, run, 1) == (4.5, 8)
    path.write_text("half")
    assert attempts.train_totals(case.layout, run, 1) == (0.0, 0)


def test_run_id_sorts_by_time() -> None:
    assert run_id("quickstart", "2026-11-30T21:46:55.123Z", "3f2a") == "quickstart-20261130-214655-3f2a"


def test_list_and_latest(case: Case) -> None:
    assert attempts.latest(case.layout) is None
    for name, created in (("demo-2", "2026-11-30T10:00:00Z"), ("demo-3", "2026-11-29T10:00:00Z")):
        save_run(case.layout, case.run.model_copy(update={"id": name, "created_at": created}))
    assert [run.id for run in attempts.list_runs(case.layout)] == ["demo-3", "demo-2"]
    latest = attempts.latest(case.layout)
    assert latest is not None and latest.id == "demo-2"


@pytest.mark.parametrize("name", ["nothing", "../runs/demo-2", ""])
def test_unknown_run_names_those_that_are_there(case: Case, name: str) -> None:
    save_run(case.layout, case.run.model_copy(update={"id": "demo-2"}))
    with pytest.raises(StoreError, match="demo-2"):
        attempts.load_run(case.layout, name)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 9}', '{"schema": 1, "id": "demo-1"}'])
def test_broken_run_file_is_an_error(case: Case, text: str) -> None:
    case.start()
    (case.layout.run("demo-1") / "run.json").write_text(text)
    with pytest.raises(StoreError):
        attempts.list_runs(case.layout)


def test_a_run_that_can_not_be_looked_at_is_not_left_out(case: Case) -> None:
    """It may live: who starts another beside it would have two."""
    case.start()
    (case.layout.runs / "demo-9").symlink_to("demo-9")  # refuses every look, also root's
    (case.layout.runs / "a-note").write_text("no run")
    with pytest.raises(StoreError, match="can't be read") as told:
        attempts.list_runs(case.layout)
    assert "demo-9" in told.value.where
