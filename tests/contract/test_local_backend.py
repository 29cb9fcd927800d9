"""The contract on the local backend, and proof that the contract catches faults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from akotf.backends.local import LocalBackend
from akotf.model.run import Handle, RunRequest
from akotf.testing.contract import BackendContract


class TestLocalBackend(BackendContract):
    factory = "akotf.backends.local:LocalBackend"


class Doubling(LocalBackend):
    """Starts a training at every call and hands out one handle: a look at handles alone would find it right."""

    def submit(self, request: RunRequest) -> Handle:
        folder = Path(request.attempt_directory)
        again = len(list(folder.parent.glob(f"{folder.name}*")))
        elsewhere = f"{folder}-again-{again}" if again else str(folder)
        super().submit(request.model_copy(update={"attempt_directory": elsewhere}))
        return Handle(backend=self.name, native_id="1", key=request.key)

    def find(self, request: RunRequest) -> Handle | None:
        found = super().find(request)
        return found and Handle(backend=self.name, native_id="1", key=request.key)


class Leaking(LocalBackend):
    """Adds the caller's environment."""

    def submit(self, request: RunRequest) -> Handle:
        return super().submit(
            request.model_copy(update={"environment": {**os.environ, **request.environment}})
        )


class Trimming(LocalBackend):
    """Strips values, as many tools do."""

    def submit(self, request: RunRequest) -> Handle:
        trimmed = {name: value.strip() for name, value in request.environment.items()}
        return super().submit(request.model_copy(update={"environment": trimmed}))


def test_the_contract_catches_a_second_start(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"how often it ran"):
        BackendContract().test_submit_twice_runs_once(Doubling(), tmp_path)


@pytest.mark.parametrize("broken", [Leaking, Trimming])
def test_the_contract_catches_a_changed_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: type[LocalBackend]
) -> None:
    with pytest.raises(AssertionError, match=r"nobody approved|byte for byte"):
        BackendContract().test_environment_is_exactly_the_approved_one(broken(), tmp_path, monkeypatch)
