"""The agent as a process of its own, on a node with and without a live run."""

from __future__ import annotations

import ast
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import akotf.agent
from akotf.agent.metrics import prometheus
from akotf.backends.local import LocalBackend
from akotf.errors import TelemetryUnavailable
from akotf.facts.files import read_json, write_json_atomic
from akotf.telemetry.agent_client import AgentSource
from akotf.testing.contract import BackendContract, gone, ready, until

SOURCE = AgentSource()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Path]:
    """A node directory deeper than a socket's path may be; its agent is ended afterwards."""
    folder = tmp_path / ("deep" * 40) / "node"
    folder.mkdir(parents=True)
    yield folder
    if (folder / "agent.json").exists():
        pid = read_json(folder / "agent.json")["pid"]
        os.kill(pid, signal.SIGTERM)
        until(lambda: gone(pid), "the agent's end")


def samples(node: Path) -> dict[str, float]:
    families = text_string_to_metric_families(SOURCE.get(node, "/metrics").decode())
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_serves_on_a_private_socket(node: Path) -> None:
    assert len(str(node / "agent.sock")) > 107
    SOURCE.start_agent(node, interval=1, linger=30)
    mode = (node / "agent.sock").stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert SOURCE.get(node, "/healthz") == b"ok\n"
    observation = SOURCE.read(node)
    assert observation.live is False
    assert observation.node == socket.gethostname()
    with pytest.raises(TelemetryUnavailable, match="404"):
        SOURCE.get(node, "/secrets")


def test_one_agent_a_node(node: Path) -> None:
    SOURCE.start_agent(node, linger=30)
    first = read_json(node / "agent.json")
    SOURCE.start_agent(node, linger=30)
    assert read_json(node / "agent.json") == first
    assert SOURCE.read(node).live is False


def test_tells_what_a_live_run_has(node: Path, tmp_path: Path) -> None:
    write_json_atomic(node / "baseline.json", {
        "schema": 1, "deployment": "d", "hyperparameters": {"learning_rate": 0.1}, "environment": {"A": "ô"},
        "limits": {"open_files": 1000}, "libraries": {}, "gpu_settings": {},
    })  # fmt: skip
    write_json_atomic(node / "hyperparameters.json", {"learning_rate": 0.1})
    backend = LocalBackend()
    request = BackendContract().request_for(
        tmp_path,
        "wait",
        node_directory=str(node),
        environment={"A": "ô"},
        cpu_slots=(min(os.sched_getaffinity(0)),),
    )
    handle = ready(backend, request, tmp_path)
    pid = int((tmp_path / "run/ready").read_text())
    beat = {
        "schema": 1,
        "step": 7,
        "loss": 1.5,
        "hyperparameters": {"learning_rate": 0.2},
        "time": 1.0,
        "pid": pid,
    }
    write_json_atomic(Path(request.attempt_directory) / "heartbeat.json", beat)
    SOURCE.start_agent(node, linger=30)

    seen = SOURCE.read(node)
    assert seen.live
    assert seen.facts["hyperparameters.file.learning_rate"] == 0.1
    assert seen.facts["hyperparameters.in_use.learning_rate"] == 0.2
    assert seen.facts["environment.A"] == "ô"
    assert (seen.facts["limits.open_files"], seen.facts["limits.cpus"]) == (1000, 1)
    assert seen.progress is not None and seen.progress["step"] == 7
    told = samples(node)
    assert (told["akotf_live"], told["akotf_step"], told["akotf_loss"]) == (1, 7, 1.5)
    assert told["akotf_memory_bytes"] > 0

    write_json_atomic(node / "hyperparameters.json", {"learning_rate": 9})
    assert SOURCE.read(node).facts["hyperparameters.file.learning_rate"] == 9, "looked at afresh"
    backend.cancel(request, handle, 5)
    assert SOURCE.read(node).live is False


def test_leaves_by_itself_when_no_run_lives(node: Path) -> None:
    SOURCE.start_agent(node, interval=0.05, linger=0.2)
    pid = read_json(node / "agent.json")["pid"]
    until(lambda: gone(pid), "the agent's own end")
    assert not (node / "agent.sock").exists() and not (node / "agent.json").exists()
    with pytest.raises(TelemetryUnavailable, match="can't be asked"):
        SOURCE.read(node)


def test_takes_the_place_of_a_killed_one(node: Path) -> None:
    SOURCE.start_agent(node, linger=30)
    pid = read_json(node / "agent.json")["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(pid), "the agent's death")
    assert (node / "agent.sock").exists(), "a dead agent leaves its socket"
    with pytest.raises(TelemetryUnavailable):
        SOURCE.read(node)
    SOURCE.start_agent(node, linger=30)
    assert SOURCE.get(node, "/healthz") == b"ok\n"


def test_client_that_goes_away_does_not_stop_it(node: Path) -> None:
    SOURCE.start_agent(node, linger=30)
    for words in (b"GET /observation HTTP/1.0\r\n\r\n", b"\xff\xfe nonsense\r\n\r\n", b""):
        folder = os.open(node, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"/proc/self/fd/{folder}/agent.sock")
            client.sendall(words)
        os.close(folder)
    assert SOURCE.read(node).live is False


def test_agent_and_facts_are_standard_library_only() -> None:
    package = Path(akotf.agent.__file__).parent
    for path in package.glob("*.py"):
        for item in ast.walk(ast.parse(path.read_text(), feature_version=(3, 9))):
            names = [a.name for a in item.names] if isinstance(item, ast.Import) else []
            if isinstance(item, ast.ImportFrom):
                names = [item.module or ""]
            for name in names:
                own = name.startswith(("akotf.agent", "akotf.facts"))
                assert own or name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_runs_in_the_foreground_as_a_module(node: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(akotf.agent.__file__).parents[2])}
    command = [
        sys.executable,
        "-P",
        "-m",
        "akotf.agent",
        "--node",
        str(node),
        "--interval",
        "0.05",
        "--linger",
        "0.1",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_metrics_of_gpus_are_labelled_and_names_escaped() -> None:
    text = prometheus({
        "node": 'odd "name"\\\n', "live": True, "unreadable": {},
        "metrics": {"gpu_0_utilization": 50.0, "gpu_1_utilization": 75.0, "odd name": 1.0},
    })  # fmt: skip
    families = {family.name: family for family in text_string_to_metric_families(text)}
    found = {sample.labels["gpu"]: sample.value for sample in families["akotf_gpu_utilization"].samples}
    assert found == {"0": 50.0, "1": 75.0}
    assert families["akotf_live"].samples[0].labels["node"] == 'odd "name"\\\n'
    assert "akotf_odd_name" in families
