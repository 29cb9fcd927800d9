"""`akotf profile`."""

from __future__ import annotations

import argparse

from akotf.cli.arguments import add_environment, add_parameters, parameters_of
from akotf.cli.common import session_of
from akotf.cli.view import View
from akotf.pipeline.planning import load, profile

EXAMPLES = ("akotf profile environments/quickstart", "akotf profile . --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    add_environment(parser)
    add_parameters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Trace the workload and measure this machine's devices, one experiment at a time."""
    view = View(arguments)
    session = session_of(arguments, view)
    found = profile(session, load(session, parameters_of(arguments)))
    work = found.workload
    lines = [
        f"workload   {work.flops / 1e9:.3f} GFLOP a step, {work.parameters / 1e6:.3f} M parameters, "
        f"{work.tokens} tokens a step, {work.steps} steps ({work.source})"
    ]
    for device in found.devices:
        rates = ", ".join(f"{k} {v.value / 1e9:.1f} GFLOP/s" for k, v in sorted(device.flops.items()))
        lines.append(
            f"device     {device.name}: {rates}; {device.bandwidth.value / 1e9:.1f} GB/s ({device.bandwidth.source})"
        )
    view.result(
        {"schema": 1, "workload": work.to_json(), "devices": [d.to_json() for d in found.devices]},
        "\n".join(lines),
    )
    return 0
