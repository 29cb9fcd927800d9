"""The same pass done twice, and done step by step: what a second run learns, and that both ways leave the same evidence.

The copy's training has a data loader that nobody modelled: 50 ms a step. The first prediction can't know it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from akotf.pipeline.activities import ACTIVITIES

pytestmark = [pytest.mark.training, pytest.mark.terraform, pytest.mark.timeout(600)]

SMALL = {
    "steps": 60, "checkpoint_interval": 30, "layers": 2, "hidden": 32, "heads": 2, "sequence": 32, "batch": 16,
}  # fmt: skip
LOADER = '        __import__("time").sleep(0.05)\n'


def quickstart(new_project: Any) -> Any:
    project = new_project(quickstart=True, **SMALL)
    script = project.environment / "train.py"
    loop = "        # Data order and dropout follow"
    assert script.read_text().count(loop) == 1
    script.write_text(script.read_text().replace(loop, LOADER + loop))
    return project


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_bytes())


@pytest.fixture(scope="module")
def twice(new_project: Any) -> Any:
    """A project that was applied, and then run once more."""
    project = quickstart(new_project)
    project.json("apply", str(project.environment), "-y")
    project.json("run", str(project.environment), "-y")
    return project


def test_the_second_run_is_predicted_better_than_the_first(twice: Any) -> None:
    first, second = twice.json("records", str(twice.environment))["runs"]
    assert (first["state"], second["state"]) == ("succeeded", "succeeded")
    assert first["step_time_error"] > 0.5  # the loader, which no formula knows
    assert abs(second["step_time_error"]) < abs(first["step_time_error"])
    # by the first run's pair: the prediction has moved towards what was observed
    assert first["predicted_step_time"] < second["predicted_step_time"]
    one, two = (read(Path(row["evidence"]), "inputs.json") for row in (first, second))
    assert one["calibration"]["entries"] == {}
    (learnt,) = two["calibration"]["entries"].values()
    assert learnt["samples"] == 1
    assert learnt["ratio"] == pytest.approx(
        first["observed_step_time"] / first["predicted_step_time"], rel=1e-6
    )


def test_activities_one_by_one_leave_the_same_evidence_as_apply(twice: Any, new_project: Any) -> None:
    project = quickstart(new_project)
    env, work = str(project.environment), project.folder / "work"
    ways = ("--in", str(work), "--out", str(work))

    early = project.akotf("activity", "compare-plans", env, *ways, code=1)
    assert "plan-local.json is not published yet" in early.stderr
    published = {name: project.json("activity", name, env, *ways)["outputs"] for name in ACTIVITIES[:-1]}
    assert {name: [Path(p).name for p in paths] for name, paths in published.items()} == {
        "profile-workload": ["profile.json"], "plan-local-gpu": ["plan-local.json"], "plan-hpc": ["plan-hpc.json"],
        "plan-cloud": ["plan-cloud.json"], "compare-plans": ["comparison.json", "comparison.md"],
        "select-scope": ["selection.json"],
    }  # fmt: skip
    assert project.runs() == []
    selection = (work / "selection.json").read_text()
    (work / "selection.json").write_text(selection.replace('"winner": "workstation', '"winner": "campus'))
    forged = project.akotf("activity", "train", env, *ways, "-y", code=1)
    assert "does not follow from the published inputs" in forged.stderr
    (work / "selection.json").write_text(selection)
    assert [Path(p).name for p in project.json("activity", "train", env, *ways, "-y")["outputs"]] == [
        "run.json", "evidence",
    ]  # fmt: skip

    step_by_step = work / "evidence"
    at_once = Path(twice.json("records", str(twice.environment))["runs"][0]["evidence"])
    assert project.json("verify", str(step_by_step))["intact"] is True
    assert {p.name for p in step_by_step.iterdir()} == {p.name for p in at_once.iterdir()}

    # The frozen inputs are the same but for the moment they were taken at, and so the digest that names them.
    one, two = (read(folder, "inputs.json") for folder in (step_by_step, at_once))
    for inputs in (one, two):
        del inputs["snapshot"]["taken_at"]
    assert one == two
    assert read(step_by_step, "baseline.json") == read(at_once, "baseline.json")
    for name in ("candidates.json", "selection.json"):
        one, two = (read(folder, name) for folder in (step_by_step, at_once))
        assert one.pop("inputs") == read(step_by_step, "run.json")["inputs"]
        assert two.pop("inputs") == read(at_once, "run.json")["inputs"]
        assert one == two
    # Same seed, same machine: the training gives the same bytes.
    one, two = (read(folder, "outputs.json") for folder in (step_by_step, at_once))
    assert one == two
    run = read(work, "run.json")
    assert (run["state"], len(run["attempts"])) == ("succeeded", 1)
    kinds = [
        [json.loads(line)["kind"] for line in (folder / "journal.jsonl").read_text().splitlines()]
        for folder in (step_by_step, at_once)
    ]
    assert (
        kinds[0][-len(kinds[1]) :] == kinds[1]
    )  # after what was refused before, the same entries in the same order
