"""GPU names: one canonical name a card with its memory and, where it is sold in several, its form factor.

`A100-80GB-SXM` is one card. `A100-80GB` says the memory and leaves the form open: as a requirement it takes any card of
that memory, as an inventory it says no more than it says. `A100` says neither, and is refused with the choices.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, NamedTuple

from akotf.model.written import shown

_MIB = 2**20


class Gpu(NamedTuple):
    """A card, or the cards of one model and memory whose form is left open (`form` is "")."""

    memory: int  # bytes that the driver reports, ECC on
    form: str  # SXM | PCIe | NVL | OAM; "" = open
    family: str  # name without the form
    aliases: tuple[str, ...]  # folded: lower case, `-` for spaces and underscores, no maker's name
    source: str  # of memory and aliases


def _family(
    family: str, mib: float, source: str, *forms: tuple[str, str], aliases: str = ""
) -> dict[str, Gpu]:
    """A model that is sold in several forms: `forms` are (form, aliases)."""
    memory = int(mib * _MIB)
    whole = Gpu(memory, "", family, tuple(aliases.split()), source)
    cards = {
        f"{family}-{form}": Gpu(memory, form, family, tuple(names.split()), source) for form, names in forms
    }
    return {family: whole, **cards}


def _card(name: str, mib: float, form: str, source: str, aliases: str = "") -> dict[str, Gpu]:
    """A model of one memory and one form: its name needs no form."""
    known = (*aliases.split(), f"{name}-{form}".lower())
    return {name: Gpu(int(mib * _MIB), form, name, known, source)}


#: Memory in MiB as `nvidia-smi` prints it for the card; AMD's as `rocm-smi` reports it; where only a data sheet is at
#: hand, the sheet's gigabytes as powers of 1000, so never more than there is. Aliases: the product's string of NVML, the
#: accelerator names of GKE (cloud.google.com/compute/docs/gpus), EC2 and SkyPilot, and short forms that are unambiguous.
#: Slurm's AutoDetect=nvml writes the product's string in lower case with underscores (gres.conf(5)).
GPUS: dict[str, Gpu] = {
    **_card("T4-16GB", 15360, "PCIe", "nvidia-smi; NVML: Tesla T4", "t4 tesla-t4"),
    **_family("V100-16GB", 16384, "nvidia-smi; NVML: Tesla V100-SXM2-16GB, -PCIE-16GB; GKE: nvidia-tesla-v100",
              ("SXM", "v100-sxm2-16gb tesla-v100-sxm2-16gb"), ("PCIe", "v100-pcie-16gb tesla-v100-pcie-16gb"),
              aliases="tesla-v100"),
    **_family("V100-32GB", 32768, "nvidia-smi; NVML: Tesla V100-SXM2-32GB, -PCIE-32GB",
              ("SXM", "v100-sxm2-32gb tesla-v100-sxm2-32gb"), ("PCIe", "v100-pcie-32gb tesla-v100-pcie-32gb")),
    **_card("A10-24GB", 23028, "PCIe", "nvidia-smi; NVML: NVIDIA A10", "a10"),
    **_card("A10G-24GB", 23028, "PCIe", "nvidia-smi; NVML: NVIDIA A10G", "a10g"),
    **_card("A30-24GB", 24576, "PCIe", "nvidia-smi; NVML: NVIDIA A30", "a30"),
    **_card("A40-48GB", 46068, "PCIe", "nvidia-smi; NVML: NVIDIA A40", "a40"),
    **_card("L4-24GB", 23034, "PCIe", "nvidia-smi; NVML: NVIDIA L4", "l4"),
    **_card("L40-48GB", 46068, "PCIe", "nvidia-smi; NVML: NVIDIA L40", "l40"),
    **_card("L40S-48GB", 46068, "PCIe", "nvidia-smi; NVML: NVIDIA L40S", "l40s"),
    **_family("A100-40GB", 40960, "nvidia-smi; NVML: NVIDIA A100-SXM4-40GB, A100-PCIE-40GB; GKE: nvidia-tesla-a100",
              ("SXM", "a100-sxm4-40gb tesla-a100"), ("PCIe", "a100-pcie-40gb")),
    **_family("A100-80GB", 81920, "nvidia-smi; NVML: NVIDIA A100-SXM4-80GB, A100 80GB PCIe; GKE: nvidia-a100-80gb",
              ("SXM", "a100-sxm4-80gb"), ("PCIe", "a100-pcie-80gb")),
    **_family("H100-80GB", 81559, "nvidia-smi; NVML: NVIDIA H100 80GB HBM3, H100 PCIe; GKE: nvidia-h100-mega-80gb",
              ("SXM", "h100-80gb-hbm3 h100-sxm h100-sxm5 h100-sxm5-80gb h100-mega-80gb"), ("PCIe", "h100-pcie h100-pcie-80gb")),
    **_card("H100-94GB", 95830, "NVL", "nvidia-smi; NVML: NVIDIA H100 NVL", "h100-nvl"),
    **_family("H200-141GB", 143771, "nvidia-smi; NVML: NVIDIA H200, NVIDIA H200 NVL; GKE: nvidia-h200-141gb",
              ("SXM", "h200-sxm h200-sxm5 h200-sxm-141gb"), ("NVL", "h200-nvl"), aliases="h200"),
    **_card("GH200-96GB", 97871, "SXM", "nvidia-smi; NVML: NVIDIA GH200 480GB (480 GB is the CPU's)", "gh200-480gb"),
    **_card("GH200-144GB", 144e9 / _MIB, "SXM", "NVIDIA GH200 data sheet; NVML: NVIDIA GH200 144G HBM3e", "gh200-144g-hbm3e"),
    **_card("B200-180GB", 183359, "SXM", "nvidia-smi; NVML: NVIDIA B200; GKE: nvidia-b200", "b200"),
    **_card("GB200-186GB", 186e9 / _MIB, "SXM", "NVIDIA GB200 NVL72 data sheet; GKE: nvidia-gb200", "gb200"),
    **_card("B300-288GB", 288e9 / _MIB, "SXM", "NVIDIA B300 data sheet; NVML: NVIDIA B300 SXM6 AC", "b300 b300-sxm6-ac"),
    **_card("GB300-288GB", 288e9 / _MIB, "SXM", "NVIDIA GB300 NVL72 data sheet", "gb300"),
    **_card("RTX3090-24GB", 24576, "PCIe", "nvidia-smi; NVML: NVIDIA GeForce RTX 3090", "rtx3090 rtx-3090 geforce-rtx-3090"),
    **_card("RTX4090-24GB", 24564, "PCIe", "nvidia-smi; NVML: NVIDIA GeForce RTX 4090", "rtx4090 rtx-4090 geforce-rtx-4090"),
    **_card("RTX5090-32GB", 32607, "PCIe", "nvidia-smi; NVML: NVIDIA GeForce RTX 5090", "rtx5090 rtx-5090 geforce-rtx-5090"),
    **_card("RTXA6000-48GB", 49140, "PCIe", "nvidia-smi; NVML: NVIDIA RTX A6000", "rtxa6000 rtx-a6000"),
    **_card("RTX6000Ada-48GB", 49140, "PCIe", "nvidia-smi; NVML: NVIDIA RTX 6000 Ada Generation",
            "rtx6000-ada rtx-6000-ada rtx-6000-ada-generation"),
    **_card("MI300X-192GB", 192 * 1024, "OAM", "rocm-smi; AMD Instinct MI300X data sheet", "mi300x instinct-mi300x instinct-mi300x-oam"),
    **_card("MI325X-256GB", 256e9 / _MIB, "OAM", "AMD Instinct MI325X data sheet", "mi325x instinct-mi325x"),
    **_card("MI355X-288GB", 288e9 / _MIB, "OAM", "AMD Instinct MI355X data sheet", "mi355x instinct-mi355x"),
}  # fmt: skip
_BY_ALIAS = {alias: name for name, gpu in GPUS.items() for alias in (name.lower(), *gpu.aliases)}
_MAKER = r"(?:nvidia|amd)-"
_FORM = re.compile(r"-(sxm|pcie|nvl|oam)[0-9]?(?=-|$)")


def parse_gpu_name(value: Any) -> str:
    """The canonical name of a card by any of its names. ValueError names the choices where several cards fit."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a GPU name; write one such as A100-80GB")
    said = shown(value)
    key = (
        re.sub(_MAKER, "", re.sub(r"[ _-]+", "-", value.strip(" ")).lower(), count=1)
        if value.isascii()
        else value
    )
    if name := _BY_ALIAS.get(key):
        return name
    if counted := re.fullmatch(r"(?:gpu:)?([^:]+):([0-9]+)", value.strip()):
        name, count = counted.groups()
        raise ValueError(
            f"{said} is a GPU with a count; write {name} here and {count} for the GPUs of a node"
        )
    cards = _cards_like(key)
    if cards and re.fullmatch(r"[a-z0-9]+", _FORM.sub("", key)):
        raise ValueError(f"GPU {said} may be one of several; choose {_listed(cards)}")
    if cards:
        raise ValueError(f"GPU {said} is unknown; of this model there are {_listed(cards)}")
    near = [_BY_ALIAS[alias] for alias in difflib.get_close_matches(key, _BY_ALIAS, n=3, cutoff=0.7)]
    models = ", ".join(dict.fromkeys(name.split("-")[0] for name in GPUS))
    hint = (
        f"did you mean {_listed(list(dict.fromkeys(near)))}?"
        if near
        else f"write model and memory, such as A100-80GB; known models are {models}"
    )
    raise ValueError(f"GPU {said} is unknown; {hint}")


def _cards_like(key: str) -> list[str]:
    """The names of the same model and, where the key says it, of the same form."""
    form = _FORM.search(key)
    names = [name for name in GPUS if name.lower().startswith(key.split("-")[0] + "-")]
    return [n for n in names if GPUS[n].form.lower() == form[1]] if form else names


def _listed(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def gpu_fits(required: str, found: str) -> bool:
    """True when the card `found` is what `required` asks for: the same, or one whose form `required` leaves open."""
    return required == found or (found in GPUS and GPUS[found].family == required)


def has_fast_links(name: str) -> bool:
    """Whether the cards of one node are wired to each other (NVLink, Infinity Fabric) and not by PCIe alone."""
    return name in GPUS and GPUS[name].form != "PCIe"


def accepted_pattern() -> str:
    """A regular expression of all texts that `parse_gpu_name` takes, for JSON Schema."""
    names = "|".join("".join(_any_case(c) for c in alias) for alias in sorted(_BY_ALIAS))
    maker = "|".join("".join(_any_case(c) for c in maker) for maker in ("nvidia", "amd"))
    return f"^ *(({maker})[ _-]+)?({names}) *$"


def _any_case(character: str) -> str:
    if character == "-":
        return "[ _-]+"
    return f"[{character}{character.upper()}]" if character.isalpha() else character
