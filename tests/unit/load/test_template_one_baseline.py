"""One environment, rendered for several clusters, is held to one baseline; what differs between two is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from akotf.load.comparison import Change, compare_states
from akotf.model.config import DesiredState
from akotf.model.tfplan import Deployment
from akotf.pipeline.planning import load
from akotf.render.tree import render
from akotf.render.values import FILE

#: Machines as different as they come: (scope, host, CPUs, bytes of memory).
CLUSTERS = (
    ("alpha", "desk", 2, 16 * 2**30),
    ("beta", "node-07", 64, 512 * 2**30),
    ("gamma", "kiste", 8, 32 * 2**30),
)


def rendered(
    world: Any, scope: str, host: str, cpus: int, memory: int, gpus: Mapping[str, int]
) -> dict[str, Any]:
    """The variables that Terraform is given for a scope, planned on a machine with these facts."""
    machine = {"hostname": host, "cpus": cpus, "memory": memory, "gpus": dict(gpus)}
    session = replace(world.session, machine=lambda: machine)
    state = load(session)
    candidate = world.plan(session, state, scope).chosen.winner()
    assert candidate.scope == scope
    offer = candidate.offer.model_copy(update={"gpus": sum(gpus.values())})
    tree = render(
        state, candidate.model_copy(update={"offer": offer}),
        Deployment(environment="trial", scope=scope, placement=host), node_directory=Path("/srv") / scope,
        state_path=Path("/srv/terraform.tfstate"), interpreter="/usr/bin/python3", selection_digest=f"sha256:{scope}",
        baseline_digest=state.baseline().digest(),
    )  # fmt: skip
    found: dict[str, Any] = json.loads(tree.files[FILE])
    return found


def differences(documents: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """`GROUP.NAME` of everything approved that is not the same in all of them, and `digest`."""
    names = {
        (group, name)
        for d in documents.values()
        for group, values in d["baseline"].items()
        for name in values
    }
    different = [
        f"{group}.{name}" for group, name in sorted(names)
        if len({d["baseline"][group].get(name) for d in documents.values()}) > 1
    ]  # fmt: skip
    digests = {d["digests"]["baseline"] for d in documents.values()}
    return different + (["digest"] if len(digests) > 1 else [])


@pytest.fixture
def clusters(world: Any) -> Any:
    world.edit(
        "  workstation: {kind: local}", "\n".join(f"  {scope}: {{kind: local}}" for scope, *_ in CLUSTERS)
    )
    world.edit("labels:", "labels:\n  team: vision")
    return world


def test_every_cluster_is_given_the_same_hyperparameters_limits_and_variables(clusters: Any) -> None:
    found = {scope: rendered(clusters, scope, *facts, {}) for scope, *facts in CLUSTERS}
    assert differences(found) == []
    groups = found["alpha"]["baseline"]
    assert json.loads(groups["hyperparameters"]["steps"]) == 300
    assert json.loads(groups["environment"]["OMP_NUM_THREADS"]) == "2"
    assert {"open_files", "cpus", "memory"} <= groups["limits"].keys()
    # What is of the place is of the place: nothing else may differ.
    own = {
        key for key in found["alpha"] if len({json.dumps(d[key], sort_keys=True) for d in found.values()}) > 1
    }
    assert own == {"deployment", "digests", "node_directory"}


def test_a_cluster_with_gpus_differs_in_nothing_but_the_limit_that_cuda_can_not_have(clusters: Any) -> None:
    found = {scope: rendered(clusters, scope, *facts, {}) for scope, *facts in CLUSTERS[:1]}
    found["beta"] = rendered(clusters, *CLUSTERS[1], {"A100-80GB": 8})
    assert differences(found) == ["limits.memory"]  # the address space that CUDA reserves is no use of memory


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("steps: 300", "steps: 301", "hyperparameters.steps"),
        ("learning_rate: 0.1", "learning_rate: 0.1000001", "hyperparameters.learning_rate"),
        ("  wall_time: 30m", "  wall_time: 30m\n  open_files: 4097", "limits.open_files"),
        ("  wall_time: 30m", "  wall_time: 30m\n  memory: 5 GiB", "limits.memory"),
    ],
)
def test_a_difference_between_two_clusters_is_found(clusters: Any, old: str, new: str, field: str) -> None:
    found = {"alpha": rendered(clusters, *CLUSTERS[0], {})}
    before: DesiredState = load(clusters.session)
    clusters.edit(old, new)  # what somebody keeps of their own for one cluster
    found["beta"] = rendered(clusters, *CLUSTERS[1], {})
    assert differences(found) == [field, "digest"]
    named = compare_states(before, load(clusters.session))["baseline"]
    assert [change.path for change in named] == [field]
    assert isinstance(named[0], Change)
    assert named[0].old != named[0].new


def test_a_variable_of_the_process_that_differs_is_found(
    clusters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {scope: rendered(clusters, scope, *facts, {}) for scope, *facts in CLUSTERS[:2]}
    found["beta"]["baseline"]["environment"]["OMP_NUM_THREADS"] = json.dumps("4")
    assert differences(found) == ["environment.OMP_NUM_THREADS"]
    del found["beta"]["baseline"]["environment"]["PYTHONUNBUFFERED"]
    assert differences(found) == ["environment.OMP_NUM_THREADS", "environment.PYTHONUNBUFFERED"]
