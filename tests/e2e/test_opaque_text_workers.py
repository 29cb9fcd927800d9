"""Several processes: torchrun stands between the backend and the command, and changes no word of it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from akotf.backends.local import LocalBackend
from akotf.model.config import Limits
from akotf.model.run import RunRequest, RunState

pytestmark = pytest.mark.training

# `--` and what argparse would take for torchrun's own options, whole or shortened
WORDS = [
    "--", "-m", "-c", "--n", "--nnodes=9", "--nproc-per-node", "--help", "--no-python", "-h", "--standalone", "", " ", "é", "e\u0301",
    "\U0001f600", "a\nb\r\n", "$(touch canary)", "`touch canary`", "; touch canary", "{{ x }}", "${{ x }}", "%{x}", "'", '"', "\\", "x" * 100_000, "--",
]  # fmt: skip
WITNESS = """\
import json, os
from pathlib import Path
words = Path("/proc/self/cmdline").read_bytes().split(b"\\0")[:-1]
value = Path("/proc/self/environ").read_bytes().split(b"\\0H=")[1].split(b"\\0")[0]
Path(f"seen-{os.environ['RANK']}.json").write_text(json.dumps([[w.hex() for w in words], value.hex()]))
"""


def test_each_of_two_processes_gets_every_word(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("work", "run", "node")}
    for folder in folders.values():
        folder.mkdir()
    (folders["work"] / "witness.py").write_text(WITNESS)
    request = RunRequest(
        key="two-a1", run_id="two", attempt=1, environment_name="e", deployment="e/s/p", baseline_digest="sha256:0",
        command=("python", "-I", "witness.py", *WORDS), working_directory=str(folders["work"]),
        run_directory=str(folders["run"]), attempt_directory=str(folders["run"] / "attempt-1"),
        node_directory=str(folders["node"]), environment={"H": "".join(WORDS[:-2])}, processes=2,
        limits=Limits(memory=8 * 2**30, wall_time=120.0, cpus=2),
    )  # fmt: skip
    backend = LocalBackend()
    handle = backend.submit(request)
    end = time.monotonic() + 110
    while not (status := backend.status(request, handle)).state.final and time.monotonic() < end:
        time.sleep(0.1)
    log = (folders["run"] / "attempt-1" / "stderr.log").read_text()
    assert status.state is RunState.SUCCEEDED, f"{status.reason}\n{log}"
    for rank in range(2):
        words, value = json.loads((folders["work"] / f"seen-{rank}.json").read_bytes())
        told = [bytes.fromhex(word).decode() for word in words]
        assert told[1:] == ["-I", "witness.py", *WORDS]
        assert Path(sys.executable).parent == Path(told[0]).parent or told[0] == "python"
        assert bytes.fromhex(value).decode() == request.environment["H"]
    assert sorted(p.name for p in folders["work"].iterdir()) == ["seen-0.json", "seen-1.json", "witness.py"]
