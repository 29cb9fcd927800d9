"""From the source to the backend: last of all, again for each attempt, in private files that do not stay."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from akotf.errors import BackendError, SecretError, TransientBackendError
from akotf.model.run import AttemptOutcome, RunRequest, RunState
from akotf.pipeline import healing
from akotf.pipeline.guarding import secret_values
from akotf.run.registry import load_run
from akotf.secrets.handover import HandingOver
from akotf.testing.doubles import MemoryBackend, MemorySecrets

FIRST, SECOND = b"the-first-value", b"the-second-value"


@pytest.fixture
def started(world: Any) -> Any:
    """A live run with a secret, and what akotf wrote on the way."""
    world.edit("labels:", "secrets: {TOKEN: 'vault:kv/train#token'}\nlabels:")
    world.secrets.values["vault:kv/train#token"] = FIRST
    world.live = world.start()
    return world


def files_with(folder: Path, value: bytes) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and value in p.read_bytes()]


def test_the_value_is_handed_over_and_lies_nowhere(started: Any) -> None:
    request = started.live.request
    assert started.backend.secrets[request.key] == {"TOKEN": FIRST}
    assert request.secrets == {"TOKEN": f"{request.attempt_directory}/secrets/TOKEN"}
    assert files_with(started.folder, FIRST) == []
    stored = [json.dumps(entry.to_json()) for entry in started.journal.entries()]
    stored += [data.decode() for data in started.objects.blobs.values()]
    assert len(stored) > 10
    assert [text for text in stored if FIRST.decode() in text] == []


def test_the_files_are_private_while_they_lie_there(tmp_path: Path, request_with: Any) -> None:
    modes: list[int] = []

    class Looks(MemoryBackend):
        def submit(self, request: RunRequest) -> Any:
            path = Path(request.secrets["TOKEN"])
            modes.extend(stat.S_IMODE(p.stat().st_mode) for p in (path, path.parent))
            return super().submit(request)

    backend = HandingOver(Looks(), {"TOKEN": "env:T"}, MemorySecrets({"env:T": FIRST}))
    (Path(request_with.attempt_directory) / "secrets").mkdir(parents=True, mode=0o777)
    backend.submit(request_with)
    assert modes == [0o600, 0o700]


@pytest.fixture
def request_with(started: Any, tmp_path: Path) -> RunRequest:
    folder = tmp_path / "attempt"
    request: RunRequest = started.live.request.model_copy(
        update={
            "key": "other",
            "attempt_directory": str(folder),
            "secrets": {"TOKEN": f"{folder}/secrets/TOKEN"},
        }
    )
    return request


@pytest.mark.parametrize(("error", "left"), [(BackendError("no"), False), (TransientBackendError("slow"), True),
                                             (KeyboardInterrupt(), False)])  # fmt: skip
def test_files_go_when_nothing_was_started_and_stay_for_a_start_that_may_come_late(
    request_with: RunRequest, error: BaseException, left: bool
) -> None:
    class Fails(MemoryBackend):
        def submit(self, request: RunRequest) -> Any:
            raise error

    backend = HandingOver(Fails(), {"TOKEN": "env:T"}, MemorySecrets({"env:T": FIRST}))
    with pytest.raises(type(error)):
        backend.submit(request_with)
    assert Path(request_with.secrets["TOKEN"]).exists() is left


def test_a_missing_secret_stops_the_pass_before_anything_is_planned(world: Any) -> None:
    world.edit("labels:", "secrets: {TOKEN: 'env:TOKEN'}\nlabels:")
    with pytest.raises(SecretError, match="TOKEN can't be had"):
        world.up()
    assert "plan.made" not in world.kinds()
    assert world.approvals == []
    assert world.terraform.calls == []


def test_a_restart_takes_the_value_of_then(started: Any) -> None:
    started.secrets.values["vault:kv/train#token"] = SECOND
    started.backend.end(started.live.request.key, AttemptOutcome.PREEMPTED)
    status = healing.status_of(started.session, started.live)
    again = healing.attempt_ended(started.session, started.live, status)
    assert again.request.attempt == 2
    assert again.request.secrets == {"TOKEN": f"{again.request.attempt_directory}/secrets/TOKEN"}
    assert started.backend.secrets[again.request.key] == {"TOKEN": SECOND}


def test_a_secret_that_is_gone_at_a_restart_ends_the_run_with_its_name(started: Any) -> None:
    del started.secrets.values["vault:kv/train#token"]
    started.backend.end(started.live.request.key, AttemptOutcome.PREEMPTED)
    status = healing.status_of(started.session, started.live)
    with pytest.raises(BackendError, match="TOKEN can't be had"):
        healing.attempt_ended(started.session, started.live, status)
    run = load_run(started.layout, started.live.run.id)
    assert run.state is RunState.FAILED
    assert "TOKEN can't be had" in run.attempts[-1].reason


def test_a_service_that_is_down_at_a_restart_leaves_the_run_to_go_on(started: Any) -> None:
    started.secrets.retryable = True
    kept = started.secrets.values.pop("vault:kv/train#token")
    started.backend.end(started.live.request.key, AttemptOutcome.PREEMPTED)
    status = healing.status_of(started.session, started.live)
    with pytest.raises(TransientBackendError):
        healing.attempt_ended(started.session, started.live, status)
    run = load_run(started.layout, started.live.run.id)
    assert run.state is RunState.STARTING
    started.secrets.values["vault:kv/train#token"] = kept
    settled = healing.settle(started.session)
    assert settled is not None
    assert (settled.state, len(settled.attempts)) == (RunState.RUNNING, 2)
    assert started.backend.secrets[f"{run.id}-a2"] == {"TOKEN": FIRST}


def test_a_changed_reference_is_another_revision_and_the_same_baseline(started: Any) -> None:
    state = started.live.state
    other = state.run.model_copy(update={"secrets": {"TOKEN": "env:TOKEN"}})
    changed = state.model_copy(update={"run": other})
    assert changed.revision() != state.revision()
    assert changed.baseline().digest() == state.baseline().digest()


def test_what_can_not_be_known_is_told(started: Any) -> None:
    values, unknown = secret_values(started.session, started.live)
    assert (values, unknown) == ((FIRST,), "")
    started.secrets.values.clear()
    values, unknown = secret_values(started.session, started.live)
    assert values == (FIRST,)  # what was given out before is still known
    assert unknown == "TOKEN can't be had"


def test_evidence_of_a_run_whose_training_told_the_value(started: Any) -> None:
    started.journal.append("drift.seen", {"observed": FIRST.decode()}, environment="trial", subject="x")
    started.backend.end(started.live.request.key, AttemptOutcome.SUCCEEDED)
    status = healing.status_of(started.session, started.live)
    live = healing.attempt_ended(started.session, started.live, status)
    folder = started.layout.run_evidence(live.run.id)
    assert (folder / "manifest.json").is_file()
    assert files_with(folder, FIRST) == []
    assert "a secret's value was taken out of the evidence's journal.jsonl" in started.named("note")
