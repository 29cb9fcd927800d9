"""An environment and its template as text, with marks: `§` where a finding is expected, `¤` at the other of two values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from akotf.load.environment import load
from akotf.model.config import DesiredState

MARKS = "§¤"

AKOTF = """\
version: 1
name: rich
owner: me
labels: {stage: dev}
template: rich@1.0.0
parameters:
  steps: 100
  cpus: 4
  wall: 1h
objective:
  budget: 100 USD
  deadline: 2h
scopes:
  here:
    kind: local
  campus:
    kind: hpc
    partition: gpu
    nodes:
      count: 2
      gpu: A100-80GB
      gpus: 4
      cpus: 64
      memory: 512 GiB
    queue_wait: 45m
    price: 0.60 USD/gpu/h
  aws:
    kind: cloud
    provider: aws
    regions: [us-east-1]
    market: [spot]
lifecycle:
  ttl: 12h
monitor:
  telemetry: 5s
  refresh: 5m
"""
TEMPLATE = """\
version: 1
name: rich
release: 1.0.0
parameters:
  steps: {type: integer, default: 10}
  cpus: {type: integer, default: 2}
  gpus: {type: integer, default: 1}
  wall: {type: duration, default: 30m}
  batch: {type: integer, default: 8}
  memory: {type: bytes, default: 4 GiB}
roots: {local: terraform/local}
"""
RUN = """\
image:
  reference: "repo@sha256:00"
command:
  - python
  - train.py
processes: 1
hyperparameters:
  steps: "{{ steps }}"
  learning_rate: 1e-3
environment:
  OMP_NUM_THREADS: "2"
limits:
  nodes: 1
  gpus: "{{ gpus }}"
  cpus: "{{ cpus }}"
  memory: "{{ memory }}"
  wall_time: "{{ wall }}"
checkpoint:
  interval_steps: 5
workload:
  model:
    layers: 1
    hidden: 8
    heads: 2
    vocabulary: 9
    sequence: 4
  global_batch: "{{ batch }}"
  steps: "{{ steps }}"
"""
ENVIRONMENT = """\
environment: {id: rich, name: Rich}
version: {id: v1, version: 1, status: published}
runtimes:
  - id: slurm
    name: Slurm
    driver: slurm
    mode: execution
resources:
  - id: campus
    type: hpc_partition
    name: Campus
    providerId: gpu
    cpuCores: 64
    memoryBytes: 549755813888
    pricePerSecond: 0.000666667
    schedulable: true
    computeSpeedup: 1.0
    metadata:
      akotf.nodes: 2
      akotf.gpu: A100-80GB
      akotf.gpus: 4
  - id: here
    type: local_machine
    name: Here
    schedulable: true
    computeSpeedup: 1.0
"""
WORKFLOW = """\
name: rich
spec:
  namespace: n
  activities:
    - name: train
      command:
        entrypoint: akotf
        arguments: [activity, train, "."]
      cpuLimit: "4"
      memoryLimit: 4Gi
"""


@dataclass
class Written:
    """What was written and read: the state, and the places of the marks as `rich/akotf.yaml:7:10`, if there were any."""

    state: DesiredState
    marked: str
    other: str


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Written]:
    """Writes the environment with replacements `(file, old, new)` made, marks taken out, and loads it.

    Files are akotf.yaml, template.yaml, run.yaml, and, when a replacement or `akoflow` asks for them, AkôFlow's.
    """
    catalogue = tmp_path / "iac" / "rich" / "1.0.0"
    folder = tmp_path / "rich"
    (catalogue / "terraform" / "local").mkdir(parents=True)
    folder.mkdir()
    (folder / "akotf.lock").write_text("")
    monkeypatch.chdir(tmp_path)

    def write(*changes: tuple[str, str, str], akoflow: bool = False, **files: str) -> Written:
        texts = {
            "akotf.yaml": AKOTF,
            "template.yaml": TEMPLATE,
            "run.yaml": RUN,
            "train.py": "def build(h): ...\n",
        }
        if akoflow:
            texts |= {"environment.yaml": ENVIRONMENT, "workflow.yaml": WORKFLOW}
        texts |= files
        for file, old, new in changes:
            assert texts[file].count(old) == 1, f"{old!r} is in {file} {texts[file].count(old)} times"
            texts[file] = texts[file].replace(old, new)
        places = dict.fromkeys(MARKS, "")
        for file, text in texts.items():
            home = catalogue if file in ("template.yaml", "run.yaml") else folder
            for mark in MARKS:
                if mark in text:
                    before = text.split(mark)[0].translate(dict.fromkeys(map(ord, MARKS)))
                    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
                    places[mark] = f"{home.relative_to(tmp_path) / file}:{line}:{column}"
            (home / file).write_text(text.translate(dict.fromkeys(map(ord, MARKS))))
        (folder / "akotf.lock").unlink(missing_ok=True)
        return Written(load(folder, catalogues=[tmp_path / "iac"]), places["§"], places["¤"])

    return write
