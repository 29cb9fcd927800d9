"""What the local backend tells its supervisor: pure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from akotf.backends.local_launch import WORKER, argv, environment, launch
from akotf.testing.contract import BackendContract


def request_for(folder: Path, **changes: object):  # type: ignore[no-untyped-def]
    return BackendContract().request_for(folder, "exit", "0", **changes)


def test_one_process_is_the_command_itself(tmp_path: Path) -> None:
    request = request_for(tmp_path)
    assert argv(request) == list(request.command)


def test_several_processes_start_under_torchrun_which_never_sees_the_command(tmp_path: Path) -> None:
    words = ("python", "-u", "train.py", "--", "--n", "")
    request = request_for(tmp_path, processes=4).model_copy(update={"command": words})
    file = f"{request.attempt_directory}/launch.json"
    assert argv(request) == [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", WORKER, file,
    ]  # fmt: skip
    assert launch(request, 1)["command"] == list(words)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_a_worker_becomes_the_command(tmp_path: Path, locale: str) -> None:
    words = ["printf", "%s|", "--", "--n", "", "é e\u0301 \U0001f600", "a\nb\r", "$(touch x)", "\udcff"]
    (tmp_path / "launch.json").write_text(json.dumps({"command": words}))
    done = subprocess.run(
        [sys.executable, WORKER, str(tmp_path / "launch.json")], env={"PATH": "/usr/bin:/bin", "LC_ALL": locale},
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == "".join(f"{word}|" for word in words[2:]).encode("utf-8", "surrogateescape")
    assert [p.name for p in tmp_path.iterdir()] == ["launch.json"]


def test_devices_are_told_and_data_is_not_limited_on_a_gpu(tmp_path: Path) -> None:
    request = request_for(tmp_path, devices=(2, 3))
    variables = environment(request)
    assert (variables["AKOTF_DEVICES"], variables["CUDA_VISIBLE_DEVICES"]) == ("2,3", "2,3")
    assert "memory" not in launch(request, 1)["limits"]


def test_without_devices_no_gpu_is_seen(tmp_path: Path) -> None:
    request = request_for(tmp_path)
    variables = environment(request)
    assert variables["CUDA_VISIBLE_DEVICES"] == variables["AKOTF_DEVICES"] == ""
    assert launch(request, 1)["limits"] == {"open_files": 1000, "memory": 2**30}


def test_python_is_found_first_where_akotf_runs(tmp_path: Path) -> None:
    assert environment(request_for(tmp_path))["PATH"].split(":")[0] == str(Path(sys.executable).parent)


def test_names_are_told_and_secret_values_are_not(tmp_path: Path) -> None:
    request = request_for(tmp_path, environment={"A": "1"}, secrets={"TOKEN": "/secrets/token"})
    told = launch(request, 1)
    assert {"A", "TOKEN", "AKOTF_RUN_ID", "PATH"} <= set(told["live"]["environment_keys"])
    assert "TOKEN" not in told["environment"]
