"""The training script's own model, traced on meta tensors: FLOPs, parameters and stored activations of one step.

The builder is code of the environment, so it runs in a child with limits of time and memory and without the caller's
environment. On the `meta` device nothing is computed and nothing is allocated; PyTorch counts shapes.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from akotf.errors import AkotfError, ConfigError
from akotf.facts.files import write_atomic
from akotf.isolation import run_limited
from akotf.model.base import digest
from akotf.model.config import WorkloadSpec
from akotf.model.profile import ELEMENT_BYTES, WorkloadProfile
from akotf.profiling import formulas
from akotf.profiling.machine import torch_version

_SECONDS = 60.0  # loading PyTorch from a cold disk takes most of it
_MEMORY = 6 * 2**30  # of data: PyTorch's libraries and thread stacks; a GPU build reserves several GiB


def traced(
    folder: Path, builder: str, workload: WorkloadSpec, hyperparameters: Mapping[str, Any]
) -> WorkloadProfile:
    """The profile of what `FILE:FUNCTION` in `folder` builds.

    The function takes the hyperparameters and returns (module, tuple of sample inputs); it is called with `meta` as
    PyTorch's default device. The first dimension of the first input counts sequences, the second tokens of each; the
    figures are scaled to the global batch. ConfigError when there is no such function, IsolationError when it takes
    too long or dies.
    """
    file, _, function = builder.partition(":")
    path = (folder / file).resolve()
    if not function or not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise ConfigError(
            f"there is no builder {builder!r} in {folder}",
            where="workload.builder",
            remedy="write it as FILE:FUNCTION, with FILE inside the environment folder",
        )
    order = (str(path), function, dict(hyperparameters), workload.precision)
    try:
        counts = run_limited(_trace, order, seconds=_SECONDS, memory=_MEMORY, scrub_environment=True)
    except AkotfError:
        raise
    except Exception as error:  # the builder is foreign code and may raise anything
        raise ConfigError(
            f"the builder {builder} failed: {type(error).__name__}: {error}",
            where=str(path),
            remedy="it is called as FUNCTION(hyperparameters) under torch.device('meta')",
        ) from error
    return _profile(workload, counts)


def cached_trace(
    cache: Path, folder: Path, workload: WorkloadSpec, hyperparameters: Mapping[str, Any]
) -> tuple[WorkloadProfile | None, str]:
    """A trace kept by the digest of script, workload, hyperparameters and PyTorch; or None, and a note that says why.

    Without PyTorch, and when the builder fails, planning goes on with the declared formulas.
    """
    if not torch_version():
        return None, "the model is not traced, its declared figures are used: PyTorch is not installed"
    try:
        key = digest(
            {
                "scripts": {
                    str(path.relative_to(folder)): digest(path.read_bytes()) for path in _scripts(folder)
                },
                "workload": workload.to_json(),
                "hyperparameters": dict(hyperparameters),
                "torch": torch_version(),
                "schema": 1,
            }
        )
        file = cache / f"{key.removeprefix('sha256:')[:32]}.json"
        if file.is_file():
            return WorkloadProfile.model_validate_json(file.read_bytes()), ""
        profile = traced(folder, workload.builder, workload, hyperparameters)
    except (AkotfError, OSError, ValueError) as error:
        return None, f"the model is not traced, its declared figures are used: {error}"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, (json.dumps(profile.to_json(), indent=2) + "\n").encode(), durable=False)
    return profile, ""


def _scripts(folder: Path) -> list[Path]:
    """The environment's Python files: what a builder may import. Hidden folders are ours or a tool's."""
    found = (path for path in folder.rglob("*.py") if path.is_file())
    return sorted(
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _profile(workload: WorkloadSpec, counts: Mapping[str, int]) -> WorkloadProfile:
    """Counts of the sample batch as a profile of the global batch."""
    scale = workload.global_batch / counts["sequences"]
    parameters, precision = counts["parameters"], workload.precision
    state = formulas.state_bytes(parameters, workload.optimizer)
    activations = round(counts["activation_bytes"] / counts["sequences"])
    total = activations * workload.global_batch
    return WorkloadProfile(
        flops=counts["flops"] * scale,
        bytes_moved=float(formulas.traffic(parameters, state, total, precision)),
        parameters=parameters,
        tokens=round(counts["tokens"] * scale),
        steps=workload.steps,
        precision=precision,
        state_bytes=state,
        activation_bytes=activations,
        global_batch=workload.global_batch,
        checkpoint_bytes=formulas.checkpoint_bytes(parameters, workload.optimizer, precision),
        dataset_bytes=workload.dataset_bytes,
        width=counts["width"],
        kernels=counts["operations"],
        optimizer_kernels=counts["tensors"] * formulas.OPTIMIZER_KERNELS[workload.optimizer],
        micro_batch=workload.micro_batch,
        source="traced: torch meta tensors",
    )


def _trace(path: str, function: str, hyperparameters: dict[str, Any], precision: str) -> dict[str, int]:
    """In the child: build, run forward and backward, count."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    class Operations(TorchDispatchMode):  # type: ignore[misc]
        """Counts the operations that PyTorch dispatches, views apart."""

        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not func.is_view:
                self.count += 1
            return func(*args, **(kwargs or {}))

    build = getattr(_module(path), function, None)
    if not callable(build):
        raise ConfigError(
            f"{path} has no function {function}", where="workload.builder", remedy="name one that it has"
        )
    with torch.device("meta"):
        module, inputs = build(hyperparameters)
        module.train()
        saved = _Saved(torch, module, ELEMENT_BYTES[precision])
        with FlopCounterMode(display=False) as flops, Operations() as operations:
            with torch.autograd.graph.saved_tensors_hooks(saved.keep, lambda tensor: tensor):
                loss = _scalar(module(*inputs))
            loss.backward()
    tensors = list(module.parameters())
    return {
        "flops": int(flops.get_total_flops()),
        "operations": operations.count,
        "parameters": sum(tensor.numel() for tensor in tensors),
        "tensors": len(tensors),
        "activation_bytes": saved.total,
        "sequences": int(inputs[0].shape[0]),
        "tokens": int(inputs[0].shape[0] * (inputs[0].shape[1] if inputs[0].dim() > 1 else 1)),
        "width": _width(tensors),
    }


class _Saved:
    """Adds up what autograd stores for the backward pass: each storage once, parameters and their views apart."""

    def __init__(self, torch: Any, module: Any, element: int) -> None:
        self.floating = torch.is_floating_point
        self.element = element
        self.total = 0
        # Kept alive on purpose: an address may serve again once a tensor is freed.
        self.seen = {_storage(tensor): tensor for tensor in module.parameters()}

    def keep(self, tensor: Any) -> Any:
        key = _storage(tensor)
        if key not in self.seen:
            self.seen[key] = tensor
            size = self.element if self.floating(tensor) else tensor.element_size()
            self.total += tensor.numel() * size
        return tensor


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _scalar(output: Any) -> Any:
    """One number from what a model returns: a tensor, an object with `loss`, a mapping, or a sequence of these."""
    if hasattr(output, "sum"):
        return output.sum()
    if getattr(output, "loss", None) is not None:
        return output.loss.sum()
    parts = list(output.values()) if isinstance(output, Mapping) else list(output)
    return sum(_scalar(part) for part in parts if part is not None and getattr(part, "requires_grad", True))


def _width(tensors: list[Any]) -> int:
    """The inner size of most matrix work: the weighted median of the smaller sides of all matrices."""
    sides = sorted((min(t.shape), t.numel()) for t in tensors if t.dim() == 2)
    half, seen = sum(weight for _, weight in sides) / 2, 0
    for side, weight in sides:
        seen += weight
        if seen >= half:
            return int(side)
    return 0


def _module(path: str) -> Any:
    """The script as a module under a name of its own, with its folder importable."""
    sys.path.insert(0, str(Path(path).parent))
    spec = importlib.util.spec_from_file_location("akotf_traced_builder", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is not a Python file", where="workload.builder", remedy="name a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
