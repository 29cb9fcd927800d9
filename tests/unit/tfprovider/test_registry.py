"""Leases on one machine."""

import multiprocessing
import time
from pathlib import Path

import pytest

from akotf.tfprovider.registry import Registry, RegistryError, default_folder, new_entry, take


def test_a_lease_is_kept_and_freed(tmp_path: Path) -> None:
    entry = new_entry("env/ws/here", [1, 0], [3], str(tmp_path))
    with Registry(tmp_path / "pools").locked() as registry:
        assert registry.read("env/ws/here") is None
        registry.write(entry)
        assert registry.read("env/ws/here") == entry
        assert registry.entries() == [entry]
        registry.remove("env/ws/here")
        assert registry.entries() == []
    assert entry.gpus == (0, 1)


def test_a_lease_whose_environment_folder_is_gone_holds_nothing(tmp_path: Path) -> None:
    with Registry(tmp_path / "pools").locked() as registry:
        registry.write(new_entry("here/ws/vm", [0], [0], str(tmp_path)))
        registry.write(new_entry("gone/ws/vm", [1], [1], str(tmp_path / "deleted-clone")))
        registry.write(new_entry("unknown/ws/vm", [2], [2], ""))
        assert sorted(entry.deployment for entry in registry.entries()) == ["here/ws/vm", "unknown/ws/vm"]


def test_two_deployments_never_share_a_file(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    names = ["a/b/c", "a_b_c", "a/b_c", "A/b/c", "é/b/c", "è/b/c", "x" * 300, "x" * 301]
    assert len({registry.path(name) for name in names}) == len(names)
    assert all(len(registry.path(name).name) < 255 for name in names)


def test_what_is_held_stays_and_the_lowest_free_follow() -> None:
    other = new_entry("o/ws/here", [0], [], "")
    assert take("GPU", 2, range(4), [], {0: other}) == (1, 2)
    assert take("GPU", 2, range(4), [3], {0: other}) == (1, 3)
    assert take("GPU", 1, range(4), [3, 2], {0: other}) == (2,)
    assert take("GPU", 0, [], [], {}) == ()


def test_too_few_names_the_holders() -> None:
    other = new_entry("o/ws/here", [0], [], "/env/o")._replace(user="ada", since="2026-11-30T10:00:00Z")
    with pytest.raises(RegistryError) as caught:
        take("GPU", 2, [0, 1], [], {0: other})
    assert caught.value.message == "2 GPUs asked for, 1 of 2 free on this machine"
    assert "GPU 0: o/ws/here (user ada, /env/o, since 2026-11-30T10:00:00Z)" in caught.value.remedy
    with pytest.raises(RegistryError, match="1 GPUs asked for, 0 of 0 free"):
        take("GPU", 1, [], [], {})


def test_a_device_that_vanished_is_not_given_again() -> None:
    assert take("GPU", 1, [1], [0], {}) == (1,)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": 2, "deployment": "a"}'])
def test_a_broken_lease_stops_every_new_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with (
        Registry(tmp_path).locked() as registry,
        pytest.raises(RegistryError, match=r"a\.json can't be read"),
    ):
        registry.entries()


def _claim(folder: str, number: int) -> tuple[int, ...]:
    deployment = f"env{number}/ws/here"
    with Registry(Path(folder)).locked() as registry:
        taken = {index: entry for entry in registry.entries() for index in entry.gpus}
        chosen = take("GPU", 2, range(8), [], taken)
        time.sleep(0.2)  # long enough for all others to have read the same, if they could
        registry.write(new_entry(deployment, chosen, [], ""))
        return chosen


def test_claims_at_the_same_time_never_overlap(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        chosen = pool.starmap(_claim, [(str(tmp_path), number) for number in range(4)])
    assert sorted(index for indices in chosen for index in indices) == list(range(8))


def test_where_the_registry_is(tmp_path: Path) -> None:
    assert default_folder({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == Path("/s/akotf/pools")
    home = str(tmp_path)
    assert (
        default_folder({"XDG_STATE_HOME": "relative", "HOME": home}) == tmp_path / ".local/state/akotf/pools"
    )
    assert str(default_folder({"HOME": "/nonexistent"})).startswith("/var/tmp/akotf-")
    assert str(default_folder({})).startswith("/var/tmp/akotf-")
