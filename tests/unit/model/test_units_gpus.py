"""GPU names: every way a card is called leads to one name; what may be several is refused with the choices."""

from __future__ import annotations

import pytest

from akotf.model.gpus import GPUS, gpu_fits, has_fast_links, parse_gpu_name

GIB = 2**30


@pytest.mark.parametrize(("text", "name"), [
    # as NVML and nvidia-smi print the product
    ("NVIDIA A100-SXM4-40GB", "A100-40GB-SXM"), ("NVIDIA A100-SXM4-80GB", "A100-80GB-SXM"), ("NVIDIA A100-PCIE-40GB", "A100-40GB-PCIe"),
    ("NVIDIA A100 80GB PCIe", "A100-80GB-PCIe"), ("NVIDIA H100 80GB HBM3", "H100-80GB-SXM"), ("NVIDIA H100 PCIe", "H100-80GB-PCIe"),
    ("NVIDIA H100 NVL", "H100-94GB"), ("NVIDIA H200", "H200-141GB"), ("NVIDIA H200 NVL", "H200-141GB-NVL"), ("Tesla T4", "T4-16GB"),
    ("Tesla V100-SXM2-16GB", "V100-16GB-SXM"), ("Tesla V100-SXM2-32GB", "V100-32GB-SXM"), ("Tesla V100-PCIE-16GB", "V100-16GB-PCIe"),
    ("NVIDIA L40S", "L40S-48GB"), ("NVIDIA L4", "L4-24GB"), ("NVIDIA A10G", "A10G-24GB"), ("NVIDIA A10", "A10-24GB"), ("NVIDIA B200", "B200-180GB"),
    ("NVIDIA GH200 480GB", "GH200-96GB"), ("NVIDIA GeForce RTX 4090", "RTX4090-24GB"), ("NVIDIA RTX A6000", "RTXA6000-48GB"),
    ("NVIDIA RTX 6000 Ada Generation", "RTX6000Ada-48GB"), ("AMD Instinct MI300X", "MI300X-192GB"),
    # as Slurm's AutoDetect=nvml writes them
    ("nvidia_a100-sxm4-80gb", "A100-80GB-SXM"), ("nvidia_h100_80gb_hbm3", "H100-80GB-SXM"), ("tesla_t4", "T4-16GB"), ("nvidia_a100_80gb_pcie", "A100-80GB-PCIe"),
    # as clouds call them
    ("nvidia-tesla-t4", "T4-16GB"), ("nvidia-tesla-v100", "V100-16GB"), ("nvidia-tesla-a100", "A100-40GB-SXM"), ("nvidia-a100-80gb", "A100-80GB"),
    ("nvidia-h100-80gb", "H100-80GB"), ("nvidia-h100-mega-80gb", "H100-80GB-SXM"), ("nvidia-h200-141gb", "H200-141GB"), ("nvidia-l4", "L4-24GB"),
    ("A100-80GB", "A100-80GB"), ("a100 80gb", "A100-80GB"), ("H200", "H200-141GB"), ("h100-94gb-nvl", "H100-94GB"), ("L40S", "L40S-48GB"),
])  # fmt: skip
def test_a_card_has_one_name(text: str, name: str) -> None:
    assert parse_gpu_name(text) == name


@pytest.mark.parametrize(("text", "says"), [
    ("A100", "may be one of several; choose A100-40GB, A100-40GB-SXM, A100-40GB-PCIe, A100-80GB, A100-80GB-SXM or A100-80GB-PCIe"),
    ("A100 SXM4", "choose A100-40GB-SXM or A100-80GB-SXM"), ("nvidia-a100", "A100-40GB, "), ("V100", "V100-16GB, "),
    ("H100", "choose H100-80GB, H100-80GB-SXM, H100-80GB-PCIe or H100-94GB"), ("GH200", "choose GH200-96GB or GH200-144GB"),
    ("A100-64GB", "unknown; of this model there are A100-40GB"), ("H100:8", "with a count; write H100 here and 8"), ("gpu:a100:4", "write a100 here and 4"),
    ("B2000", "did you mean B200-180GB"), ("K80", "unknown; write model and memory, such as A100-80GB; known models are T4"),
    ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "unknown"), ("А100-80GB", "unknown"),
    ("", "not a GPU name"), (8, "not a GPU name"), (None, "not a GPU name"), ("x" * 5000, "unknown"),
])  # fmt: skip
def test_a_name_that_is_refused(text: object, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_gpu_name(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400


def test_every_name_and_alias_leads_to_its_own_card() -> None:
    for name, gpu in GPUS.items():
        assert parse_gpu_name(name) == name
        assert {parse_gpu_name(alias) for alias in gpu.aliases} <= {name}
        assert gpu.source
        assert gpu.family in GPUS


def test_a_card_fits_what_leaves_its_form_open_and_never_another_memory() -> None:
    assert gpu_fits("A100-80GB", "A100-80GB")
    assert gpu_fits("A100-80GB", "A100-80GB-SXM")
    assert gpu_fits("A100-80GB", "A100-80GB-PCIe")
    assert not gpu_fits("A100-80GB-SXM", "A100-80GB-PCIe")
    assert not gpu_fits("A100-80GB-SXM", "A100-80GB")  # nobody says that it is one
    assert not gpu_fits("H100-80GB", "cpu")
    for required, left in GPUS.items():
        for found, right in GPUS.items():
            if gpu_fits(required, found):
                assert left.memory == right.memory
                assert left.form in ("", right.form)


def test_memory_is_what_the_driver_reports() -> None:
    """nvidia-smi: 15360 MiB for a T4, 40960 and 81920 for A100, 81559 for H100, 143771 for H200."""
    names = ("T4-16GB", "A100-40GB", "A100-80GB-SXM", "H100-80GB", "H200-141GB")
    assert [GPUS[name].memory // 2**20 for name in names] == [15360, 40960, 81920, 81559, 143771]
    for name, gpu in GPUS.items():  # a name promises no more than there is, but for ECC and decimal gigabytes
        sold = int(name.split("-")[1].removesuffix("GB"))
        assert 0.93 * sold * 1e9 < gpu.memory <= sold * 1.08 * 1e9, name


def test_cards_on_pcie_alone_have_no_fast_links() -> None:
    assert {n for n in ("A100-80GB", "A100-80GB-SXM", "H100-94GB", "MI300X-192GB", "B200-180GB") if has_fast_links(n)} == {
        "A100-80GB", "A100-80GB-SXM", "H100-94GB", "MI300X-192GB", "B200-180GB",
    }  # fmt: skip
    assert not any(
        has_fast_links(n)
        for n in ("A100-80GB-PCIe", "T4-16GB", "L40S-48GB", "RTX4090-24GB", "cpu", "some-card")
    )
