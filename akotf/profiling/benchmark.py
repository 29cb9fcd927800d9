"""A short matmul and copy benchmark of this machine's devices; prints one JSON document.

Runs in a process of its own (`python -m akotf.profiling.benchmark THREADS`), so that PyTorch never loads into akotf, and takes
two to three seconds a device.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

_SECONDS = 0.45  # a figure, spread over the rounds
_ROUNDS = 3
_WARM_UP = 3
_LARGE = {"cpu": 1024, "cuda": 8192}
_SMALL_ROWS, _SMALL = 4096, 128
_COPY_BYTES = {"cpu": 64 * 2**20, "cuda": 1 << 30}


def main(threads: int) -> int:
    """Measure the CPU with so many threads and one GPU of each model; returns 0."""
    import torch

    torch.set_grad_enabled(False)
    torch.set_num_threads(threads)
    devices = [_cpu(torch)]
    seen: set[str] = set()
    for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        name = torch.cuda.get_device_name(index)
        if name not in seen:
            seen.add(name)
            devices.append(_gpu(torch, index, name))
    json.dump({"schema": 1, "torch": torch.__version__, "devices": devices}, sys.stdout)
    return 0


def _cpu(torch: Any) -> dict[str, Any]:
    device = torch.device("cpu")
    threads = torch.get_num_threads()
    return {"name": "cpu", "threads": threads, **_figures(torch, device, ("fp32", "bf16"), "fp32")}


def _gpu(torch: Any, index: int, name: str) -> dict[str, Any]:
    device = torch.device("cuda", index)
    precisions = ("fp32", "tf32", "fp16", "bf16") if torch.cuda.is_bf16_supported() else ("fp32", "fp16")
    memory = int(torch.cuda.get_device_properties(index).total_memory)
    return {"name": name, "memory": memory, **_figures(torch, device, precisions, "fp16")}


#: What is measured: an action, and how much it does (FLOPs, bytes or operations).
_Figure = tuple[Callable[[], Any], float]


def _figures(torch: Any, device: Any, precisions: Sequence[str], small: str) -> dict[str, Any]:
    """All figures of one device, each as [sustained, slow, fast]."""
    actions: dict[str, _Figure] = {precision: _large(torch, device, precision) for precision in precisions}
    actions |= {
        "small": _small(torch, device, small),
        "copy": _copy(torch, device),
        "start": _start(torch, device),
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    for name, (action, _) in actions.items():
        for _ in range(_WARM_UP):
            _timed(torch, device, action)
        times[name].clear()
    for _ in range(_ROUNDS):  # in turns: another process's burst then touches all figures, not one
        for name, (action, _) in actions.items():
            end = time.perf_counter() + _SECONDS / _ROUNDS
            while not times[name] or time.perf_counter() < end:
                times[name].append(_timed(torch, device, action))
    rates = {name: _rates(times[name], amount) for name, (_, amount) in actions.items()}
    return {
        "flops": {precision: rates[precision] for precision in precisions},
        "small_flops": rates["small"],
        "bandwidth": rates["copy"],
        "overhead": [1 / rate for rate in rates["start"]],
    }


def _large(torch: Any, device: Any, precision: str) -> _Figure:
    """A large square product."""
    size = _LARGE[device.type]
    left = torch.randn(size, size, device=device).to(_dtype(torch, precision))
    right = left.t().contiguous()

    def product() -> None:
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.mm(left, right)

    return product, 2.0 * size**3


def _small(torch: Any, device: Any, precision: str) -> _Figure:
    """What a linear layer 128 wide does: forward, gradient of the input, gradient of the weights."""
    dtype = _dtype(torch, precision)
    rows = torch.randn(_SMALL_ROWS, _SMALL, device=device).to(dtype)
    weight = torch.randn(_SMALL, 4 * _SMALL, device=device).to(dtype)

    def layer() -> None:
        out = rows @ weight
        _ = out @ weight.t()
        _ = rows.t() @ out

    return layer, 3 * 2.0 * _SMALL_ROWS * _SMALL * 4 * _SMALL


def _copy(torch: Any, device: Any) -> _Figure:
    """Bytes read and written by a copy that no cache holds."""
    size = _COPY_BYTES[device.type]
    source = torch.zeros(size // 4, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source), 2.0 * size


def _start(torch: Any, device: Any) -> _Figure:
    """Operations with next to nothing to do, as a training starts them: through autograd, forward and backward."""
    depth = 20
    with torch.enable_grad():
        weight = torch.randn(8, 8, device=device, requires_grad=True)
    row = torch.randn(8, 8, device=device)

    def many() -> None:
        weight.grad = None
        with torch.enable_grad():
            out = row
            for _ in range(depth):
                out = torch.tanh(out @ weight)
            out.sum().backward()

    # Forward two a layer; backward two products, the tanh's gradient and the sum of weight gradients.
    return many, 6.0 * depth


def _timed(torch: Any, device: Any, action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    _wait(torch, device)
    return time.perf_counter() - start


def _rates(times: list[float], amount: float) -> list[float]:
    """What was sustained over all timings, and the slow and fast tenth of them.

    On a busy machine timings fall in two heaps; a training feels their mean, so the mean and not the median counts.
    """
    times.sort()
    edge = len(times) // 10
    return [amount * len(times) / sum(times), amount / times[-1 - edge], amount / times[edge]]


def _wait(torch: Any, device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _dtype(torch: Any, precision: str) -> Any:
    return {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[
        precision
    ]


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
