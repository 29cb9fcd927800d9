"""What GPUs achieve, for scopes that can't be measured from here.

Peak figures are the vendors' (dense, without sparsity). `achieved` is the maximum matmul throughput that
stas00/ml-engineering measured (MAMF finder, 2024 to 2026); where nobody published one, three quarters of the peak,
which is what those measurements come to. The interval reaches from half of the peak to the achieved figure and over.
"""

from __future__ import annotations

from dataclasses import dataclass

from akotf.model.profile import DeviceProfile
from akotf.model.units import GPUS, Estimate

_T = 1e12
_UNMEASURED = 0.75  # of the peak: median of achieved over peak of the measured rows below
#: Time from one kernel to the next as PyTorch starts them; eager mode, x86 host.
_GPU_OVERHEAD = Estimate(
    value=6e-6, low=4e-6, high=15e-6, unit="s", source="default: CUDA launch from PyTorch"
)


@dataclass(frozen=True)
class _Fact:
    """Peaks in TFLOP/s, bandwidth in TB/s, measured bf16 and fp8 throughput (0: nobody published one)."""

    fp32: float
    tf32: float
    half: float  # bf16 and fp16
    fp8: float
    bandwidth: float
    bf16: bool  # the tensor cores take bf16
    achieved: float
    achieved_fp8: float
    source: str


#: By canonical name; a card in the form SXM has its family's figures where it has none of its own.
_FACTS = {
    "T4-16GB": _Fact(8.1, 0, 65, 0, 0.32, False, 0, 0, "NVIDIA T4 data sheet"),
    "V100-16GB": _Fact(15.7, 0, 125, 0, 0.90, False, 0, 0, "NVIDIA V100 data sheet"),
    "V100-32GB": _Fact(15.7, 0, 125, 0, 0.90, False, 0, 0, "NVIDIA V100 data sheet"),
    "A10G-24GB": _Fact(31.2, 35, 70, 0, 0.60, True, 0, 0, "NVIDIA A10G data sheet"),
    "L4-24GB": _Fact(30.3, 60, 121, 242, 0.30, True, 0, 0, "NVIDIA L4 data sheet"),
    "L40S-48GB": _Fact(91.6, 183, 362, 733, 0.864, True, 0, 0, "NVIDIA L40S data sheet"),
    "A100-40GB": _Fact(19.5, 156, 312, 0, 1.555, True, 271.2, 0, "NVIDIA A100 data sheet, stas00 MAMF"),
    "A100-80GB": _Fact(19.5, 156, 312, 0, 2.04, True, 271.2, 0, "NVIDIA A100 data sheet, stas00 MAMF"),
    "H100-80GB": _Fact(
        67, 494.5, 989, 1979, 3.35, True, 794.5, 1402.6, "NVIDIA H100 data sheet, stas00 MAMF"
    ),
    "H200-141GB": _Fact(
        67, 494.5, 989, 1979, 4.8, True, 794.5, 1453.4, "NVIDIA H200 data sheet, stas00 MAMF"
    ),
    "B200-180GB": _Fact(80, 1125, 2250, 4500, 8.0, True, 1745, 3432.5, "NVIDIA B200 data sheet, stas00 MAMF"),
    "B300-288GB": _Fact(80, 1125, 2250, 4500, 8.0, True, 1769, 3353.3, "NVIDIA B300 data sheet, stas00 MAMF"),
    "MI300X-192GB": _Fact(
        163.4, 653.7, 1300, 2610, 5.3, True, 668.4, 0, "AMD MI300X data sheet, stas00 MAMF"
    ),
    "V100-16GB-PCIe": _Fact(14, 0, 112, 0, 0.90, False, 0, 0, "NVIDIA V100 data sheet"),
    "V100-32GB-PCIe": _Fact(14, 0, 112, 0, 0.90, False, 0, 0, "NVIDIA V100 data sheet"),
    "A10-24GB": _Fact(31.2, 62.5, 125, 0, 0.60, True, 0, 0, "NVIDIA A10 data sheet"),
    "A30-24GB": _Fact(10.3, 82, 165, 0, 0.933, True, 0, 0, "NVIDIA A30 data sheet"),
    "A40-48GB": _Fact(37.4, 74.8, 149.7, 0, 0.696, True, 0, 0, "NVIDIA A40 data sheet"),
    "L40-48GB": _Fact(90.5, 90.5, 181, 362, 0.864, True, 0, 0, "NVIDIA L40 data sheet"),
    "A100-40GB-PCIe": _Fact(19.5, 156, 312, 0, 1.555, True, 252.9, 0, "NVIDIA A100 data sheet, stas00 MAMF"),
    "A100-80GB-PCIe": _Fact(19.5, 156, 312, 0, 1.935, True, 252.9, 0, "NVIDIA A100 data sheet, stas00 MAMF"),
    "H100-80GB-PCIe": _Fact(51, 378, 756, 1513, 2.0, True, 0, 0, "NVIDIA H100 data sheet"),
    "H100-94GB": _Fact(60, 417.5, 835, 1670, 3.9, True, 0, 0, "NVIDIA H100 NVL data sheet"),
    "H200-141GB-NVL": _Fact(60, 417.5, 835, 1670, 4.8, True, 0, 0, "NVIDIA H200 data sheet"),
    "GH200-96GB": _Fact(67, 494.5, 989, 1979, 4.0, True, 828.6, 1535, "NVIDIA GH200 data sheet, stas00 MAMF"),
    "GH200-144GB": _Fact(
        67, 494.5, 989, 1979, 4.9, True, 828.6, 1535, "NVIDIA GH200 data sheet, stas00 MAMF"
    ),
    "GB200-186GB": _Fact(
        80, 1250, 2500, 5000, 8.0, True, 1822, 3615.6, "NVIDIA GB200 data sheet, stas00 MAMF"
    ),
    "GB300-288GB": _Fact(80, 1250, 2500, 5000, 8.0, True, 0, 0, "NVIDIA GB300 data sheet"),
    "RTX3090-24GB": _Fact(35.6, 35.6, 71, 0, 0.936, True, 0, 0, "NVIDIA GA102 white paper"),
    "RTX4090-24GB": _Fact(82.6, 82.6, 165.2, 330.3, 1.008, True, 0, 0, "NVIDIA Ada white paper"),
    "RTX5090-32GB": _Fact(104.8, 104.8, 209.5, 419, 1.792, True, 0, 0, "NVIDIA RTX Blackwell white paper"),
    "RTXA6000-48GB": _Fact(38.7, 77.4, 154.8, 0, 0.768, True, 0, 0, "NVIDIA GA102 white paper"),
    "RTX6000Ada-48GB": _Fact(91.1, 182.1, 364.2, 728.5, 0.96, True, 0, 0, "NVIDIA RTX 6000 Ada data sheet"),
    "MI325X-256GB": _Fact(
        163.4, 653.7, 1300, 2610, 6.0, True, 784.9, 0, "AMD MI325X data sheet, stas00 MAMF"
    ),
    "MI355X-288GB": _Fact(157.3, 0, 2500, 5000, 8.0, True, 1565, 0, "AMD MI355X data sheet, stas00 MAMF"),
}


def known_gpu(name: str) -> DeviceProfile:
    """The published figures of a GPU by its canonical name; KeyError when unknown."""
    gpu = GPUS[name]
    fact = _FACTS.get(name) or _FACTS[gpu.family]
    half = _achieved(fact.half, fact.achieved, fact.source)
    flops = {"fp32": _achieved(fact.fp32, 0, fact.source), "fp16": half}
    if fact.bf16:
        flops["bf16"] = half
    if fact.tf32:
        flops["tf32"] = _achieved(fact.tf32, 0, fact.source)
    if fact.fp8:
        flops["fp8"] = _achieved(fact.fp8, fact.achieved_fp8, fact.source)
    peak = fact.bandwidth * _T
    bandwidth = Estimate(
        value=0.85 * peak, low=0.7 * peak, high=0.95 * peak, unit="bytes/s", source=fact.source
    )
    return DeviceProfile(
        name=name, flops=flops, bandwidth=bandwidth, memory=gpu.memory, overhead=_GPU_OVERHEAD
    )


def _achieved(peak: float, measured: float, source: str) -> Estimate:
    value = (measured or _UNMEASURED * peak) * _T
    high = max(value, 0.9 * peak * _T)
    return Estimate(value=value, low=0.5 * peak * _T, high=high, unit="FLOP/s", source=source)
