"""From a request to what the supervisor of the local backend does: pure, all text stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.backends.local_files import LAUNCH
from akotf.facts.node import HYPERPARAMETERS, LIVE
from akotf.model.run import RunRequest

SCHEMA = 1
WORKER = str(Path(__file__).with_name("local_worker.py"))
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def marks(request: RunRequest) -> dict[str, str]:
    """Variables that only processes of this attempt carry: they find what left its group and session."""
    return {"AKOTF_RUN_DIRECTORY": request.run_directory, "AKOTF_ATTEMPT": str(request.attempt)}


def argv(request: RunRequest) -> list[str]:
    """The command as approved; several processes start under torchrun (gloo or NCCL on one machine)."""
    if request.processes == 1:
        return list(request.command)
    return [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={request.processes}", WORKER, f"{request.attempt_directory}/{LAUNCH}",
    ]  # fmt: skip


def environment(request: RunRequest) -> dict[str, str]:
    """All variables of the training but its secrets: the approved ones, `AKOTF_*`, and a floor that they override."""
    devices = ",".join(map(str, request.devices))
    floor = {
        "PATH": f"{Path(sys.executable).parent}:{SYSTEM_PATH}",
        "HOME": request.run_directory,
        "LANG": "C.UTF-8",
        # Also when nothing was leased: a training on the CPU must not take a GPU that somebody else leased
        "CUDA_VISIBLE_DEVICES": devices,
    }
    ours = {
        "AKOTF_RUN_ID": request.run_id,
        **marks(request),
        "AKOTF_CHECKPOINTS": f"{request.run_directory}/checkpoints",
        "AKOTF_CHECKPOINT_KEEP": str(request.checkpoint_keep),
        "AKOTF_OUTPUTS": f"{request.run_directory}/outputs",
        "AKOTF_HEARTBEAT": request.heartbeat,
        "AKOTF_HYPERPARAMETERS": f"{request.node_directory}/{HYPERPARAMETERS}",
        "AKOTF_BASELINE": request.baseline_digest,
        "AKOTF_DEVICES": devices,
    }
    if request.resume_from:
        ours["AKOTF_RESUME_FROM"] = request.resume_from
    floor = {name: value for name, value in floor.items() if name not in request.secrets}
    return {**floor, **request.environment, **ours}


def launch(request: RunRequest, grace: float) -> dict[str, Any]:
    """The launch file of an attempt. `grace`: seconds between TERM and KILL when the wall time is over."""
    variables = environment(request)
    limits: Mapping[str, int | None] = {
        "open_files": request.limits.open_files,
        # CUDA maps far more than it uses, so a data limit would end a healthy training
        "memory": None if request.devices else request.limits.memory,
        "processes": request.limits.processes,
    }
    return {
        "schema": SCHEMA,
        "key": request.key,
        "argv": argv(request),
        "command": list(request.command) if request.processes > 1 else [],  # for torchrun's workers
        "environment": variables,
        "secrets": request.secrets,
        "marks": marks(request),
        "working_directory": request.working_directory,
        "folders": [variables["AKOTF_CHECKPOINTS"], variables["AKOTF_OUTPUTS"]],
        "limits": {name: value for name, value in limits.items() if value is not None},
        "cpus": sorted(request.cpu_slots),
        "wall_time": request.limits.wall_time,
        "grace": grace,
        "live_file": f"{request.node_directory}/{LIVE}",
        "live": {
            "schema": SCHEMA,
            "run": request.run_id,
            "attempt": request.attempt,
            "heartbeat": variables["AKOTF_HEARTBEAT"],
            "environment_keys": sorted({*variables, *request.secrets}),
            "secret_names": sorted(request.secrets),
            "baseline": request.baseline_digest,
            "cpu_slots": sorted(request.cpu_slots),
        },
    }
