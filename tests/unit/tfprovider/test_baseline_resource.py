"""`akotf_baseline` without Terraform: what each call does to the node and says of it."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tf.types import Unknown
from tf.utils import Diagnostics

from akotf.facts import process
from akotf.facts.files import read_json, write_json_atomic
from akotf.facts.machine import hostname
from akotf.tfprovider.baseline import BaselineResource


def context() -> Any:
    return SimpleNamespace(diagnostics=Diagnostics())


def planned(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "id": Unknown, "deployment": "env/ws/here", "node_directory": str(folder / "node"),
        "hyperparameters": {"learning_rate": "1e-3", "name": '"caf\\u00e9"'}, "environment": {},
        "limits": {"open_files": "512"}, "libraries": {}, "gpu_settings": {}, "differences": Unknown, **changes,
    }  # fmt: skip


def created(folder: Path, **changes: Any) -> dict[str, Any]:
    ctx = context()
    state = BaselineResource(None).create(ctx, planned(folder, **changes))
    assert state is not None and not ctx.diagnostics.has_errors()
    return state


def this_process_lives_on(folder: Path) -> None:
    """This very process stands in for the live run."""
    live = {
        "schema": 1, "run": "r1", "attempt": 1, "pid": os.getpid(), "pid_start": process.process_start(os.getpid()),
        "boot_id": process.boot_id(), "heartbeat": str(folder / "h.json"), "environment_keys": [], "baseline": "",
    }  # fmt: skip
    write_json_atomic(folder / "node" / "live.json", live)


def test_create_writes_real_values(tmp_path: Path) -> None:
    state = created(tmp_path)
    assert state["id"] == "env/ws/here"
    assert state["differences"] == []
    assert read_json(tmp_path / "node" / "hyperparameters.json") == {"learning_rate": 0.001, "name": "café"}
    baseline = read_json(tmp_path / "node" / "baseline.json")
    assert baseline["limits"] == {"open_files": 512}
    assert baseline["deployment"] == "env/ws/here"


def test_create_takes_over_its_own_files_and_refuses_anothers(tmp_path: Path) -> None:
    created(tmp_path)
    created(tmp_path)
    ctx = context()
    assert BaselineResource(None).create(ctx, planned(tmp_path, deployment="other/ws/here")) is None
    assert "holds the baseline of env/ws/here" in str(ctx.diagnostics)
    assert read_json(tmp_path / "node" / "baseline.json")["deployment"] == "env/ws/here"


def test_read_of_an_unchanged_node_is_the_prior_state_to_the_letter(tmp_path: Path) -> None:
    state = created(tmp_path)
    assert BaselineResource(None).read(context(), state) == state


def test_read_shows_the_first_difference_and_lists_all(tmp_path: Path) -> None:
    state = created(tmp_path)
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {"learning_rate": 0.5})
    seen = BaselineResource(None).read(context(), state)
    assert seen is not None
    assert seen["hyperparameters"] == {"learning_rate": "0.5"}
    host = hostname()
    assert seen["differences"] == [
        f"node {host}: hyperparameters.file.learning_rate: approved 0.001, observed 0.5",
        f'node {host}: hyperparameters.file.name: approved "caf\\u00e9", observed absent',
    ]


def test_read_after_a_refresh_that_was_saved_still_shows_the_drift(tmp_path: Path) -> None:
    """`terraform apply -refresh-only` writes the drifted value into the state; the approval stays on the node."""
    state = created(tmp_path)
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {"learning_rate": 0.5, "name": "café"})
    saved = BaselineResource(None).read(context(), state)
    assert saved is not None
    again = BaselineResource(None).read(context(), saved)
    assert again == saved and len(again["differences"]) == 1


def test_read_of_a_baseline_that_is_gone_is_none(tmp_path: Path) -> None:
    state = created(tmp_path)
    (tmp_path / "node" / "baseline.json").unlink()
    assert BaselineResource(None).read(context(), state) is None


def test_a_broken_or_foreign_baseline_file_is_a_difference(tmp_path: Path) -> None:
    state = created(tmp_path)
    (tmp_path / "node" / "baseline.json").write_text("{")
    seen = BaselineResource(None).read(context(), state)
    assert seen is not None and "baseline.json" in seen["differences"][0]
    assert seen["hyperparameters"] == state["hyperparameters"]
    created(tmp_path)
    data = read_json(tmp_path / "node" / "baseline.json")
    write_json_atomic(tmp_path / "node" / "baseline.json", {**data, "deployment": "x/y/z"})
    seen = BaselineResource(None).read(context(), state)
    assert seen is not None and 'observed "x/y/z"' in seen["differences"][0]


def test_a_node_that_can_not_be_read_keeps_the_prior_state(tmp_path: Path) -> None:
    state = created(tmp_path)
    path = tmp_path / "node" / "baseline.json"
    path.unlink()
    path.symlink_to(path)  # ELOOP: neither there nor gone, also for root
    ctx = context()
    assert BaselineResource(None).read(ctx, state) == state
    assert ctx.diagnostics.has_warnings() and not ctx.diagnostics.has_errors()


def test_of_two_places_that_differ_the_first_is_shown_and_both_are_listed(tmp_path: Path) -> None:
    state = created(tmp_path, limits={})
    this_process_lives_on(tmp_path)
    write_json_atomic(tmp_path / "h.json", {"step": 1, "time": 1, "hyperparameters": {"learning_rate": 0.02}})
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {"learning_rate": 0.5, "name": "café"})
    seen = BaselineResource(None).read(context(), state)
    assert seen is not None and seen["hyperparameters"]["learning_rate"] == "0.5"
    assert [text.split(": ")[1] for text in seen["differences"]] == [
        "hyperparameters.file.learning_rate", "hyperparameters.in_use.learning_rate",
    ]  # fmt: skip


def test_what_can_not_be_read_for_a_moment_stays_as_it_was_last_seen(tmp_path: Path) -> None:
    state = created(tmp_path, limits={})
    this_process_lives_on(tmp_path)
    beat = tmp_path / "h.json"
    write_json_atomic(beat, {"step": 1, "time": 1, "hyperparameters": {"learning_rate": 0.02}})
    seen = BaselineResource(None).read(context(), state)
    assert seen is not None and seen["hyperparameters"]["learning_rate"] == "0.02"
    beat.write_text('{"step": 2, "ti')  # half-written
    ctx = context()
    assert BaselineResource(None).read(ctx, seen) == seen
    assert "heartbeat can't be read" in str(ctx.diagnostics) and not ctx.diagnostics.has_errors()
    # an approved value stays approved, and the file on disk is still looked at
    assert BaselineResource(None).read(context(), state) == state
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {"learning_rate": 0.5, "name": "café"})
    both = BaselineResource(None).read(context(), seen)
    assert both is not None and both["hyperparameters"]["learning_rate"] == "0.5"
    assert len(both["differences"]) == 2


def test_plan_keeps_a_value_that_is_only_spelled_differently(tmp_path: Path) -> None:
    state = created(tmp_path)
    proposed = {**state, "hyperparameters": {"learning_rate": "0.001", "name": '"café"'}}
    assert BaselineResource(None).plan(context(), state, proposed) == state


def test_plan_after_drift_promises_none(tmp_path: Path) -> None:
    state = {**created(tmp_path), "differences": ["x"]}
    assert BaselineResource(None).plan(context(), state, dict(state))["differences"] == []


def test_update_heals_file_and_limits(tmp_path: Path) -> None:
    state = created(tmp_path)
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {"learning_rate": 0.5})
    wanted = planned(tmp_path, id="env/ws/here", differences=[])
    ctx = context()
    assert BaselineResource(None).update(ctx, state, wanted) == wanted
    assert not ctx.diagnostics.diagnostics
    assert read_json(tmp_path / "node" / "hyperparameters.json")["learning_rate"] == 0.001


def test_update_of_what_only_a_restart_heals_is_an_error_that_says_so(tmp_path: Path) -> None:
    state = created(tmp_path, limits={})
    this_process_lives_on(tmp_path)
    write_json_atomic(tmp_path / "h.json", {"step": 1, "time": 1, "hyperparameters": {"learning_rate": 0.02}})
    write_json_atomic(tmp_path / "node" / "hyperparameters.json", {})
    ctx = context()
    after = BaselineResource(None).update(ctx, state, planned(tmp_path, limits={}, differences=[]))
    told = str(ctx.diagnostics)
    assert "Only a restart from a checkpoint" in told
    assert "hyperparameters.in_use.learning_rate: approved 0.001, observed 0.02" in told
    assert "akotf drift env" in told and "akotf monitor env" in told
    assert read_json(tmp_path / "node" / "hyperparameters.json")["learning_rate"] == 0.001
    assert after is not None and after["hyperparameters"]["learning_rate"] == "0.02"


def test_create_over_a_live_run_that_differs_warns_and_succeeds(tmp_path: Path) -> None:
    created(tmp_path, limits={})
    this_process_lives_on(tmp_path)
    write_json_atomic(tmp_path / "h.json", {"step": 1, "time": 1, "hyperparameters": {"learning_rate": 0.02}})
    ctx = context()
    state = BaselineResource(None).create(ctx, planned(tmp_path, limits={}))
    assert state is not None and len(state["differences"]) == 1
    assert ctx.diagnostics.has_warnings() and not ctx.diagnostics.has_errors()


def test_delete_is_refused_while_a_run_lives(tmp_path: Path) -> None:
    state = created(tmp_path, limits={})
    this_process_lives_on(tmp_path)
    ctx = context()
    BaselineResource(None).delete(ctx, state)
    assert "Run r1 is alive" in str(ctx.diagnostics)
    assert (tmp_path / "node" / "baseline.json").exists()
    (tmp_path / "node" / "live.json").unlink()
    ctx = context()
    BaselineResource(None).delete(ctx, state)
    assert not ctx.diagnostics.diagnostics
    assert os.listdir(tmp_path / "node") == []


@pytest.mark.parametrize(
    "import_id", ["", "env/ws/here", "env/ws/here|relative", "|/n", "env/ws/here|/nonexistent"]
)
def test_an_import_id_that_is_wrong_says_how_to_write_it(import_id: str) -> None:
    ctx = context()
    assert BaselineResource(None).import_(ctx, import_id) is None
    assert ctx.diagnostics.has_errors()


def test_import_reads_the_node(tmp_path: Path) -> None:
    created(tmp_path)
    state = BaselineResource(None).import_(context(), f"env/ws/here|{tmp_path / 'node'}")
    assert state is not None
    assert state["hyperparameters"] == {"learning_rate": "0.001", "name": '"caf\\u00e9"'}
    ctx = context()
    assert BaselineResource(None).import_(ctx, f"other/ws/here|{tmp_path / 'node'}") is None
    assert "holds the baseline of env/ws/here" in str(ctx.diagnostics)
