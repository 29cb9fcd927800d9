"""One look at a node, on real processes."""

import json
import os
import subprocess
from typing import Any

import pytest

from akotf.facts import gpu, process
from akotf.facts.compare import compare
from akotf.facts.files import read_json, write_json_atomic
from akotf.facts.heal import HealError, choose_cpus, heal_in_place
from akotf.facts.observe import observe
from akotf.model.drift import Observation

CPUS = len(os.sched_getaffinity(0))


def approve(node: Any, **groups: Any) -> dict[str, Any]:
    return node.baseline(
        **{
            "hyperparameters": {"learning_rate": 0.001},
            "environment": {"A": "1"},
            "limits": {"open_files": 512, "cpus": CPUS},
            "libraries": {"torch": "2.13.0"},
            **groups,
        }
    )


def start(node: Any, **more: Any) -> None:
    node.start({"A": "1", "B": "2"}, more.pop("in_use", {"learning_rate": 1e-3}), **more)
    for pid in (node.leader, node.child):
        process.set_limit(pid, "open_files", 512)


def drifted(node: Any, baseline: dict[str, Any]) -> list[tuple[str, Any]]:
    seen = observe(node.folder)
    return [(d["field"], d["observed"]) for d in compare(baseline, seen["facts"], seen["unreadable"])]


def test_a_live_run_as_approved_has_no_difference(node: Any) -> None:
    baseline = approve(node)
    start(node)
    seen = Observation.model_validate(observe(node.folder))
    assert seen.live
    assert seen.facts["process.pid"] == node.leader
    assert seen.facts["process.count"] == 2
    assert seen.facts["limits.open_files"] == 512
    assert seen.facts["limits.cpus"] == CPUS
    assert seen.progress is not None and seen.progress["step"] == 7
    assert seen.metrics["loss"] == 2.5
    assert seen.metrics["memory_bytes"] > 0
    assert compare(baseline, seen.facts, seen.unreadable) == []


def test_an_empty_folder_is_no_live_run_and_no_fault(node: Any) -> None:
    seen = Observation.model_validate(observe(node.folder))
    assert not seen.live
    assert seen.progress is None
    assert seen.facts == {}


def test_an_edited_file_shows_without_a_run_and_process_values_do_not(node: Any) -> None:
    baseline = approve(node)
    write_json_atomic(node.folder / "hyperparameters.json", {"learning_rate": 0.5})
    assert drifted(node, baseline) == [("hyperparameters.file.learning_rate", 0.5)]


@pytest.mark.parametrize("text", ["", "{", "[1]", None])
def test_a_broken_or_missing_file_holds_none_of_the_values(node: Any, text: str | None) -> None:
    baseline = approve(node)
    path = node.folder / "hyperparameters.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    assert drifted(node, baseline) == [("hyperparameters.file.learning_rate", None)]


def test_the_value_really_in_use_is_seen(node: Any) -> None:
    baseline = approve(node)
    start(node, in_use={"learning_rate": 0.02})
    assert drifted(node, baseline) == [("hyperparameters.in_use.learning_rate", 0.02)]


def test_a_value_the_training_does_not_report_is_not_known(node: Any) -> None:
    baseline = approve(node)
    start(node, in_use={})
    assert drifted(node, baseline) == []


def test_a_changed_and_an_absent_variable_are_seen(node: Any) -> None:
    baseline = approve(node, environment={"A": "other", "GONE": "x"})
    start(node)
    assert drifted(node, baseline) == [("environment.A", "1"), ("environment.GONE", None)]


def test_a_limit_of_a_child_counts_too(node: Any) -> None:
    baseline = approve(node)
    start(node)
    process.set_limit(node.child, "open_files", 300)
    assert drifted(node, baseline) == [("limits.open_files", 300)]


@pytest.mark.skipif(CPUS < 2, reason="one CPU only: no smaller affinity")
def test_affinity_is_seen_and_healed_to_the_leased_cpus(node: Any) -> None:
    slots = sorted(os.sched_getaffinity(0))
    baseline = approve(node)
    start(node, cpu_slots=slots)
    process.set_affinity(node.leader, {slots[0]})
    assert drifted(node, baseline) == [("limits.cpus", 1)]
    assert f"limits.cpus of process {node.leader}: 1 -> {CPUS}" in heal_in_place(node.folder, baseline)
    assert process.affinity(node.leader) == set(slots)


def test_a_heartbeat_of_another_process_is_not_ours(node: Any) -> None:
    baseline = approve(node)
    start(node)
    beat = {"step": 1, "time": 1, "pid": os.getpid(), "hyperparameters": {"learning_rate": 9}}
    (node.folder / "heartbeat.json").write_text(json.dumps(beat))
    seen = observe(node.folder)
    assert "not of this attempt" in seen["unreadable"]["heartbeat"]
    assert seen["progress"] is None
    assert compare(baseline, seen["facts"], seen["unreadable"]) == []


def test_no_heartbeat_yet_is_told(node: Any) -> None:
    approve(node)
    node.start({"A": "1"}, None)
    assert "not written one yet" in observe(node.folder)["unreadable"]["heartbeat"]


def test_a_run_that_ended_has_no_facts_of_a_process(node: Any) -> None:
    baseline = approve(node, environment={"A": "other"})
    start(node)
    node.stop()
    seen = observe(node.folder)
    assert not seen["live"]
    assert not [name for name in seen["facts"] if name.startswith(("process.", "environment.", "limits."))]
    assert compare(baseline, seen["facts"], seen["unreadable"]) == []


def test_a_reused_pid_is_not_our_run(node: Any) -> None:
    approve(node)
    start(node, pid_start="1")
    assert not observe(node.folder)["live"]


@pytest.mark.parametrize(
    "text", ["{", '{"schema": 1}', '{"schema": 9}', '{"schema": 1, "run": "r", "pid": "x"}']
)
def test_a_broken_pointer_is_told_and_nothing_is_invented(node: Any, text: str) -> None:
    baseline = approve(node)
    (node.folder / "live.json").write_text(text)
    seen = observe(node.folder)
    assert not seen["live"]
    assert "live" in seen["unreadable"]["process"]
    assert compare(baseline, seen["facts"], seen["unreadable"]) == []


def test_a_secret_or_undeclared_variable_leaves_as_a_digest(node: Any) -> None:
    """A token handed to the run is among the names it was given; akotf's own variables are plain."""
    baseline = approve(node, environment={"A": "1", "DECLARED": "env:DECLARED"}, limits={})
    given = {"A": "1", "TOKEN": "hunter2", "AKOTF_RUN_ID": "r1", "DECLARED": "hunter3"}
    node.start(given, {}, secret_names=["DECLARED"])
    seen = observe(node.folder)
    assert "hunter" not in json.dumps(seen)
    assert seen["facts"]["environment.TOKEN"].startswith("hmac-sha256:")
    assert seen["facts"]["environment.TOKEN"] == observe(node.folder)["facts"]["environment.TOKEN"]
    assert seen["facts"]["environment.AKOTF_RUN_ID"] == "r1"
    assert seen["facts"]["environment.A"] == "1"
    assert compare(baseline, seen["facts"]) == []


def test_a_process_that_is_not_yet_the_training_has_no_facts_to_hold_against_it(node: Any) -> None:
    """A backend writes the process down before it executes the training: until then it has its parent's values."""
    baseline = approve(node)
    start(node, environment_keys=["A", "AKOTF_RUN_ID"])
    process.set_limit(node.leader, "open_files", 100)
    assert compare(baseline, observe(node.folder)["facts"]) == []
    assert "just being started" in observe(node.folder)["unreadable"]["environment"]


def test_gpu_settings_are_facts_of_the_gpus_a_live_run_was_given(
    node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = [{"index": index, "mig": "disabled", "utilization": 5} for index in range(3)]
    monkeypatch.setattr(gpu, "read", lambda: gpu.Gpus(devices, "", counted=True))
    approve(node)
    idle = observe(node.folder)
    assert idle["metrics"]["gpu_2_utilization"] == 5.0
    assert not [name for name in idle["facts"] if name.startswith("gpu.")]
    node.start({"AKOTF_DEVICES": "0,2"}, {})
    assert [name for name in observe(node.folder)["facts"] if name.startswith("gpu.")] == [
        "gpu.0.mig",
        "gpu.2.mig",
    ]
    node.stop()
    node.start({"AKOTF_DEVICES": ""}, {})
    assert not [name for name in observe(node.folder)["facts"] if name.startswith("gpu.")]


def test_a_secret_leaves_only_as_a_keyed_digest(node: Any) -> None:
    approve(node, secret_names=["A"], secret_key="k")
    start(node)
    value = observe(node.folder)["facts"]["environment.A"]
    # printf 1 | openssl dgst -sha256 -hmac k
    expected = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", "k"], input=b"1", capture_output=True, check=True
    ).stdout.split()[-1].decode()  # fmt: skip
    assert value == f"hmac-sha256:{expected}"


def test_cpu_percent_is_the_mean_since_the_previous_look(node: Any) -> None:
    approve(node)
    start(node)
    first = observe(node.folder)
    earlier = {**first, "time": first["time"] - 10, "metrics": {**first["metrics"], "cpu_seconds": 0.0}}
    second = observe(node.folder, previous=earlier)
    seconds = second["time"] - earlier["time"]
    assert second["metrics"]["cpu_percent"] == pytest.approx(100 * second["metrics"]["cpu_seconds"] / seconds)
    assert first["metrics"]["cpu_percent"] >= 0


def test_heal_puts_back_file_and_limits_and_leaves_the_rest(node: Any) -> None:
    baseline = approve(node, environment={"A": "other"})
    start(node, in_use={"learning_rate": 0.02})
    write_json_atomic(node.folder / "hyperparameters.json", {"learning_rate": 0.5, "stray": 1})
    process.set_limit(node.leader, "open_files", 100)
    process.set_limit(node.child, "open_files", 101)
    done = heal_in_place(node.folder, baseline)
    assert done == [
        "hyperparameters.file.learning_rate: set to 0.001", "hyperparameters.file.stray: set to 'absent'",
        f"limits.open_files of process {node.leader}: 100 -> 512",
        f"limits.open_files of process {node.child}: 101 -> 512",
    ]  # fmt: skip
    assert read_json(node.folder / "hyperparameters.json") == {"learning_rate": 0.001}
    assert [process.limits(pid)["open_files"] for pid in (node.leader, node.child)] == [512, 512]
    assert [field for field, _ in drifted(node, baseline)] == [
        "hyperparameters.in_use.learning_rate",
        "environment.A",
    ]
    assert heal_in_place(node.folder, baseline) == []


def test_heal_without_a_run_writes_the_file_only(node: Any) -> None:
    baseline = approve(node)
    (node.folder / "hyperparameters.json").unlink()
    assert heal_in_place(node.folder, baseline) == ["hyperparameters.file: written"]


def test_heal_says_what_it_could_not_do_and_does_the_rest(node: Any) -> None:
    baseline = approve(node)
    (node.folder / "live.json").write_text("{")
    write_json_atomic(node.folder / "hyperparameters.json", {})
    with pytest.raises(HealError, match=r"live\.json is not JSON"):
        heal_in_place(node.folder, baseline)
    assert read_json(node.folder / "hyperparameters.json") == {"learning_rate": 0.001}


def test_the_cpus_given_back_are_the_leased_ones_first() -> None:
    online = set(range(8))
    assert choose_cpus(2, {0}, {4, 5}, online) == {4, 5}
    assert choose_cpus(3, {0, 1}, {4, 99}, online) == {4, 0, 1}  # 99 does not run
    assert choose_cpus(2, {6}, set(), online) == {6, 0}
    assert choose_cpus(2, {3, 4, 5}, set(), online) == {3, 4}
