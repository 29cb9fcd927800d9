"""A small catalogue and environment that tests change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

TEMPLATE = """\
version: 1
name: tiny
release: 1.0.0
parameters:
  steps: {type: integer, default: 10, min: 1, max: 1000}
  rate: {type: number, default: 0.1, max: 1}
  region: {type: string, default: eu, choices: [eu, no]}
  amp: {type: boolean, default: false}
  wall: {type: duration, default: 1h, min: 60}
  memory: {type: bytes, default: 1 GiB}
  note: {type: string, pattern: '[a-z]+'}
roots: {local: terraform/local}
modules: [pool]
"""
RUN = """\
image: {reference: "repo@sha256:00"}
command: [python, train.py, "{{ not rendered }}"]
hyperparameters: {steps: "{{ steps }}", rate: "{{ rate }}", amp: "{{ amp }}", name: "run-{{ region }}-{{ steps }}"}
environment: {LR: 1e-4, KEEP: "${{ run.args }}"}
limits: {cpus: 1, memory: "{{ memory }}", wall_time: "{{ wall }}", gpu: "{{ note }}"}
checkpoint: {interval_steps: 5}
workload: {model: {layers: 1, hidden: 8, heads: 2, vocabulary: 9, sequence: 4}, global_batch: 2, steps: "{{ steps }}"}
"""
ENVIRONMENT = """\
version: 1
name: demo
owner: me
template: tiny@1.0.0
scopes: {here: {kind: local}}
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """`iac/` with tiny@1.0.0."""
    folder = tmp_path / "iac" / "tiny" / "1.0.0"
    (folder / "terraform" / "local").mkdir(parents=True)
    (folder / "terraform" / "local" / "main.tf").write_text("# root\n")
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "run.yaml").write_text(RUN)
    return tmp_path / "iac"


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Writes `demo/akotf.yaml` (with more text at its end) and other files by name."""

    def write(more: str = "", akotf: str = ENVIRONMENT, **files: str) -> Path:
        folder = tmp_path / "demo"
        folder.mkdir(exist_ok=True)
        (folder / "akotf.yaml").write_text(akotf + more)
        (folder / "train.py").write_text("print('training')\n")
        for name, text in files.items():
            (folder / name.replace("_yaml", ".yaml")).write_text(text)
        return folder

    return write
