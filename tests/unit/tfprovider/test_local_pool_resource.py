"""`akotf_local_pool` without Terraform."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tf.types import Unknown
from tf.utils import Diagnostics

from akotf.facts import gpu
from akotf.facts.files import read_json, write_json_atomic
from akotf.tfprovider.local_pool import LocalPoolResource
from akotf.tfprovider.registry import RegistryError

CPUS = sorted(os.sched_getaffinity(0))


def context() -> Any:
    return SimpleNamespace(diagnostics=Diagnostics())


def planned(folder: Path, deployment: str = "env/ws/here", gpus: int = 0, cpus: int = 1) -> dict[str, Any]:
    return {
        "id": Unknown, "deployment": deployment, "gpus": gpus, "cpus": cpus, "registry": str(folder),
        "gpu_indices": Unknown, "cpu_slots": Unknown,
    }  # fmt: skip


def create(folder: Path, **arguments: Any) -> dict[str, Any]:
    state = LocalPoolResource(None).create(context(), planned(folder, **arguments))
    assert state is not None
    return state


def entry_file(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


@pytest.fixture
def three_gpus(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A node with GPUs 0 to 2; the list can be changed."""
    devices: list[dict[str, Any]] = [{"index": index} for index in range(3)]
    monkeypatch.setattr(gpu, "read", lambda: gpu.Gpus(devices, "", counted=True))
    return devices


def test_a_lease_names_its_owner(tmp_path: Path) -> None:
    state = create(tmp_path)
    assert state["cpu_slots"] == CPUS[:1]
    assert state["id"] == "env/ws/here"
    entry = read_json(entry_file(tmp_path))
    assert entry["uid"] == os.getuid()
    assert entry["environment"] == os.getcwd()
    assert entry["since"].endswith("Z")


def test_two_deployments_never_get_the_same(tmp_path: Path, three_gpus: list[dict[str, Any]]) -> None:
    first = create(tmp_path, gpus=2)
    assert first["gpu_indices"] == [0, 1]
    if len(CPUS) > 1:
        second = create(tmp_path, deployment="b/ws/here", gpus=1)
        assert second["gpu_indices"] == [2]
        assert second["cpu_slots"] == [CPUS[1]]
    with pytest.raises(RegistryError, match="asked for") as caught:
        create(tmp_path, deployment="c/ws/here", gpus=2)
    assert "env/ws/here (user" in caught.value.remedy
    assert not list(tmp_path.glob("c_*"))


def test_read_is_steady_and_a_freed_lease_is_gone(tmp_path: Path) -> None:
    state = create(tmp_path)
    resource = LocalPoolResource(None)
    assert resource.read(context(), state) == state
    entry_file(tmp_path).unlink()
    assert resource.read(context(), state) is None


def test_a_gpu_that_vanished_is_drift_and_update_takes_another(
    tmp_path: Path, three_gpus: list[dict[str, Any]]
) -> None:
    state = create(tmp_path, gpus=2)
    three_gpus[1]["lost"] = "GPU is lost"
    resource = LocalPoolResource(None)
    seen = resource.read(context(), state)
    assert seen is not None and seen["gpus"] == 1 and seen["gpu_indices"] == [0]
    proposed = resource.plan(context(), seen, {**seen, "gpus": 2})
    assert proposed["gpu_indices"] is Unknown and proposed["cpu_slots"] == seen["cpu_slots"]
    healed = resource.update(context(), seen, proposed)
    assert healed is not None and healed["gpu_indices"] == [0, 2]


def test_gpus_that_can_not_be_read_keep_the_lease(
    tmp_path: Path, three_gpus: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = create(tmp_path, gpus=1)
    monkeypatch.setattr(gpu, "read", lambda: gpu.Gpus([], "driver not loaded"))
    ctx = context()
    assert LocalPoolResource(None).read(ctx, state) == state
    assert "driver not loaded" in str(ctx.diagnostics)


def test_a_broken_registry_keeps_the_state_and_gives_nothing_out(tmp_path: Path) -> None:
    state = create(tmp_path)
    entry_file(tmp_path).write_text("{")
    ctx = context()
    assert LocalPoolResource(None).read(ctx, state) == state
    assert ctx.diagnostics.has_warnings()
    with pytest.raises(RegistryError, match="can't be read"):
        create(tmp_path, deployment="b/ws/here")


def test_delete_frees_for_others(tmp_path: Path) -> None:
    state = create(tmp_path, cpus=len(CPUS))
    with pytest.raises(RegistryError, match="0 of"):
        create(tmp_path, deployment="b/ws/here")
    LocalPoolResource(None).delete(context(), state)
    assert create(tmp_path, deployment="b/ws/here")["cpu_slots"] == CPUS[:1]


def test_a_lease_cut_off_by_a_crash_is_taken_over_and_anothers_is_not(tmp_path: Path) -> None:
    registry = tmp_path / "pools"
    create(registry)
    assert create(registry)["cpu_slots"] == CPUS[:1]  # same folder: adopted, not doubled
    entry = read_json(entry_file(registry))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_json_atomic(entry_file(registry), {**entry, "environment": str(elsewhere)})
    ctx = context()
    assert LocalPoolResource(None).create(ctx, planned(registry)) is None
    assert str(elsewhere) in str(ctx.diagnostics)
    elsewhere.rmdir()  # that folder is gone: nobody there can free it
    assert create(registry)["cpu_slots"] == CPUS[:1]


def test_import_takes_a_lease_over(tmp_path: Path) -> None:
    state = create(tmp_path)
    resource = LocalPoolResource(None)
    assert resource.import_(context(), f"env/ws/here|{tmp_path}") == state
    ctx = context()
    assert resource.import_(ctx, f"none/ws/here|{tmp_path}") is None
    assert "has no lease" in str(ctx.diagnostics)
