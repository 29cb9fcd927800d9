"""Planning: frozen inputs, the same digests for the same offers, and replay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from akotf.errors import AkotfError, StoreError
from akotf.model.finding import Severity
from akotf.model.run import AttemptOutcome
from akotf.pipeline import healing
from akotf.pipeline.planning import load, replay, replay_evidence


def planned(world: Any, scope: str = "") -> Any:
    return world.plan(world.session, load(world.session), scope)


def test_planning_again_gives_the_same_digests_while_nothing_else_is_offered(world: Any) -> None:
    first = planned(world)
    world.clock.advance(3600)
    again = planned(world)
    assert again.inputs.digest() == first.inputs.digest()
    assert again.chosen.digest() == first.chosen.digest()
    world.machine["memory"] = 32 * 2**30
    other = planned(world)
    assert other.inputs.digest() != first.inputs.digest()
    assert other.inputs.snapshot.taken_at != first.inputs.snapshot.taken_at


def test_a_store_that_was_cleaned_out_costs_a_new_snapshot_only(world: Any) -> None:
    first = planned(world)
    world.objects.blobs.clear()
    world.clock.advance(3600)
    assert planned(world).inputs.snapshot.taken_at != first.inputs.snapshot.taken_at


def test_replay_computes_the_same_bytes_offline(world: Any) -> None:
    first = planned(world)
    world.machine.clear()  # nothing is asked
    world.edit("steps: 300", "steps: 900")
    assert replay(world.session, first.inputs.digest()) == first.chosen
    assert replay(world.session, first.inputs.digest()).digest() == first.chosen.digest()


def test_replay_refuses_inputs_of_another_planner_and_unknown_ones(world: Any) -> None:
    older = planned(world).inputs.model_copy(update={"planner": "0"})
    world.objects.put(older.to_json())
    with pytest.raises(AkotfError, match="planned by planner 0"):
        replay(world.session, older.digest())
    with pytest.raises(StoreError):
        replay(world.session, "sha256:" + "0" * 64)


def test_a_scope_that_is_not_there_is_named_with_those_that_are(world: Any) -> None:
    with pytest.raises(AkotfError, match="no scope 'moon'") as caught:
        planned(world, "moon")
    assert caught.value.remedy == "one of workstation"


def test_every_planning_is_on_record_with_what_it_was_made_from(world: Any) -> None:
    found = planned(world)
    (entry,) = world.journal.entries(kind="plan.made")
    body = entry.body
    assert body["inputs"] == found.inputs.digest()
    assert body["chosen"] == found.chosen.digest()
    assert body["winner"] == "workstation/desk/cpu/n1"
    for name in ("inputs", "chosen", "revision"):
        assert world.objects.get(body[name])


def test_evidence_whose_choice_does_not_follow_from_its_inputs_is_found(world: Any) -> None:
    live = world.start()
    world.backend.end(live.request.key, AttemptOutcome.SUCCEEDED, 0)
    healing.settle(world.session)
    folder = world.layout.run_evidence(live.run.id)
    assert replay_evidence(folder) == []

    path = folder / "selection.json"
    forged = json.loads(path.read_text())
    forged["winner"] = "workstation/desk/cpu/n2"
    path.write_text(json.dumps(forged))
    (finding,) = replay_evidence(folder)
    assert (finding.rule, finding.severity) == ("evidence/replay", Severity.ERROR)
    assert "selection.json" in finding.message

    path = folder / "inputs.json"
    path.write_text(path.read_text().replace('"planner": "1"', '"planner": "0"'))
    (note,) = replay_evidence(folder)
    assert (note.rule, note.severity) == ("evidence/not-replayed", Severity.NOTE)
