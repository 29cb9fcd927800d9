"""Reading a 1 MB environment beside PyYAML's own C loader: `python benchmarks/reading.py` prints JSON.

The file is an environment of the usual shape, block style, with thousands of scopes, labels and parameters. PyYAML's
`yaml.load(..., Loader=CSafeLoader)` gives plain values without places, and keeps the last of two equal keys; ours
gives nodes with their places (`parse`), then plain values (`values`) or the bound model (`bind`).
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable
from typing import Any

import yaml as pyyaml
from common import report, summary

from akotf.model.config import EnvironmentSpec
from akotf.reading import yaml
from akotf.reading.bind import bind, plain

SIZE = 1_000_000  # bytes
ROUNDS = 7
HEAD = """\
version: 1
name: wide                       # as many scopes as a large organisation would never have
owner: ml-platform
template: gpu-training@1.0.0
labels: {cost-center: demo, stage: dev}
objective: {budget: 25 USD, deadline: 2h, prefer: cost}
"""
SCOPE = """\
  cluster-{0:04d}:
    kind: hpc
    backend: slurm
    partition: gpu-{1}
    price: 0.{2} USD/gpu/h
    nodes:
      count: {1}
      gpu: H100-80GB
      gpus: 8                    # of one board
      cpus: 64
      memory: 512 GiB
"""
PARAMETER = """\
  learning_rate_{0:04d}: {1}e-4
  steps_{0:04d}: {2}00
  run_name_{0:04d}: "sweep {0}, warm-up 0.{2}"
  mixed_precision_{0:04d}: true
"""


def document(size: int) -> bytes:
    """An environment of about `size` bytes."""
    scopes, parameters, number, length = ["scopes:\n"], ["parameters:\n"], 0, len(HEAD)
    while length < size:
        values = (number, 1 + number % 9, 10 + number % 90)
        scopes.append(SCOPE.format(*values))
        parameters.append(PARAMETER.format(*values))
        length += len(scopes[-1]) + len(parameters[-1])
        number += 1
    return "".join([HEAD, *scopes, *parameters]).encode()


def measured(work: Callable[[], Any]) -> float:
    """CPU seconds of one call, on a heap without garbage of the last one."""
    gc.collect()
    begin = time.process_time()
    result = work()
    elapsed = time.process_time() - begin
    del result
    return elapsed


def main() -> None:
    """Measure each in turn, so that what disturbs the machine disturbs all."""
    data = document(SIZE)
    node = yaml.parse(data, "akotf.yaml")
    bound = bind(node, EnvironmentSpec)
    assert not bound.findings, bound.findings[:3]
    works: dict[str, Callable[[], Any]] = {
        "pyyaml_c": lambda: pyyaml.load(data, Loader=pyyaml.CSafeLoader),
        "parse": lambda: yaml.parse(data, "akotf.yaml"),
        "values": lambda: plain(yaml.parse(data, "akotf.yaml")),
        "bind": lambda: bind(yaml.parse(data, "akotf.yaml"), EnvironmentSpec),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(ROUNDS + 1):
        for name, work in works.items():
            elapsed = measured(work)
            if number:
                times[name].append(elapsed)
    rows = {name: summary(found) for name, found in times.items()}
    ratio = {name: rows[name]["median"] / rows["pyyaml_c"]["median"] for name in ("parse", "values", "bind")}
    report(
        "reading",
        {
            "pyyaml": pyyaml.__version__,
            "bytes": len(data),
            "positions": len(bound.positions),
            "cpu_seconds": rows,
            "ratio": {name: round(found, 3) for name, found in ratio.items()},
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        },
        {"parse_to_pyyaml_c": (ratio["parse"], 3.0), "values_to_pyyaml_c": (ratio["values"], 3.0),
         "bind_to_pyyaml_c": (ratio["bind"], 3.0)},
    )  # fmt: skip


if __name__ == "__main__":
    main()
