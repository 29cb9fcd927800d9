"""Figures of declared transformers against the papers that define them."""

from __future__ import annotations

import pytest

from akotf.model.config import ModelSpec, WorkloadSpec
from akotf.profiling import formulas

GPT2 = ModelSpec(layers=12, hidden=768, heads=12, vocabulary=50257, sequence=1024)
GPT3 = ModelSpec(layers=96, hidden=12288, heads=96, vocabulary=50257, sequence=2048)


def llama(layers: int, hidden: int, heads: int, width: int) -> ModelSpec:
    return ModelSpec(
        layers=layers, hidden=hidden, heads=heads, kv_heads=8, feed_forward=width, vocabulary=128256, sequence=8192,
        tied_embeddings=False, architecture="llama",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "count"),
    [
        (GPT2, 124_439_808),  # openai-community/gpt2 as published
        (llama(32, 4096, 32, 14336), 8_030_261_248),  # Meta-Llama-3-8B as published
        (llama(80, 8192, 64, 28672), 70_553_706_496),  # Meta-Llama-3-70B as published
    ],
)
def test_parameter_counts_are_exact(model: ModelSpec, count: int) -> None:
    assert formulas.parameters(model) == count


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "billions"),
    [
        # Narayanan et al. 2021, table 1 (sequence 2048, vocabulary 51200)
        (24, 2304, 24, 1.7), (30, 3072, 32, 3.6), (36, 4096, 32, 7.5), (40, 6144, 48, 18.4), (48, 8192, 64, 39.1),
        (60, 10240, 80, 76.1), (80, 12288, 96, 145.6), (96, 16384, 128, 310.1), (105, 20480, 128, 529.6),
        (128, 25600, 160, 1008.0),
    ],
)  # fmt: skip
def test_parameters_of_the_megatron_table(layers: int, hidden: int, heads: int, billions: float) -> None:
    model = ModelSpec(layers=layers, hidden=hidden, heads=heads, vocabulary=51200, sequence=2048)
    assert formulas.parameters(model) / 1e9 == pytest.approx(billions, abs=0.051)


def test_gpt3_parameters_and_training_compute() -> None:
    """Brown et al. 2020: 174,600M parameters (table D.1); 3.14e23 FLOPs for 300B tokens, without attention."""
    assert formulas.parameters(GPT3) / 1e9 == pytest.approx(174.6, abs=0.05)
    attention = 12 * GPT3.layers * GPT3.hidden * GPT3.sequence
    without = (formulas.flops_per_token(GPT3) - attention) * 300e9
    assert without == pytest.approx(3.14e23, rel=0.005)


def test_flops_equal_equation_3_without_recomputation() -> None:
    """Narayanan et al. 2021, equation 3, with 72 for 96: forward 24, backward twice that, no second forward."""
    s, h, layers, v = GPT3.sequence, GPT3.hidden, GPT3.layers, GPT3.vocabulary
    equation = 72 * s * layers * h**2 * (1 + s / (6 * h) + v / (12 * layers * h))
    assert formulas.flops_per_token(GPT3) * s == pytest.approx(equation, rel=1e-12)


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "tokens", "gpus", "tflops", "days"),
    [(96, 12288, 96, 300e9, 1024, 140, 34), (128, 25600, 160, 450e9, 3072, 163, 84)],
)
def test_days_of_training_in_the_megatron_paper(
    layers: int, hidden: int, heads: int, tokens: float, gpus: int, tflops: float, days: float
) -> None:
    """Section 5.1: 34 days for GPT-3 on 1024 A100, 84 for 1T on 3072; their TFLOP/s count recomputation (4/3)."""
    model = ModelSpec(layers=layers, hidden=hidden, heads=heads, vocabulary=51200, sequence=2048)
    seconds = formulas.flops_per_token(model) * 4 / 3 * tokens / (gpus * tflops * 1e12)
    assert seconds / 86400 == pytest.approx(days, rel=0.03)


def test_flops_agree_with_llm_foundry() -> None:
    """llm-foundry's table, MPT-70b on H100: 1007 tokens/s a GPU are 408 model TFLOP/s."""
    model = ModelSpec(layers=80, hidden=8192, heads=64, vocabulary=50368, sequence=2048)
    assert 1007 * formulas.flops_per_token(model) / 1e12 == pytest.approx(408, rel=0.002)


def test_activations_of_korthikanti() -> None:
    """Equation 1 and section 4.3; 5 a s / h is 80 for GPT-3 and 64 for MT-NLG (section 4.2.1)."""
    s, h, heads, layers, v = 2048, 12288, 96, 96, 50257
    assert 5 * heads * s / h == 80
    expected = layers * s * h * (34 + 80) + 5 * s * h + 4 * s * v
    assert formulas.activation_bytes(GPT3, "fp16") == expected
    fused = GPT3.model_copy(update={"fused_attention": True})
    assert formulas.activation_bytes(fused, "fp16") == expected - layers * 80 * s * h


def test_fp32_activations_double_but_for_the_masks() -> None:
    s, h, a = GPT2.sequence, GPT2.hidden, GPT2.heads
    half, full = formulas.activation_bytes(GPT2, "fp16"), formulas.activation_bytes(GPT2, "fp32")
    masks = GPT2.layers * (2 * s * h + a * s * s) + s * h
    logits = 4 * s * GPT2.vocabulary  # fp32 in both
    assert full - masks - logits == 2 * (half - masks - logits)


def test_state_and_checkpoints() -> None:
    """ZeRO, section 3.1: 1.5B parameters need 24 GB. BLOOM-176B's checkpoints were 2.3 TiB."""
    assert formulas.state_bytes(1_500_000_000, "adam") == 24_000_000_000
    assert formulas.checkpoint_bytes(176_247_271_424, "adam", "bf16") / 2**40 == pytest.approx(2.3, rel=0.03)
    assert formulas.checkpoint_bytes(1000, "adam", "fp32") == 12_000
    assert formulas.checkpoint_bytes(1000, "sgd", "fp32") == 4_000


def test_a_declared_profile_is_of_the_whole_batch() -> None:
    workload = WorkloadSpec(model=GPT2, global_batch=480, steps=10, precision="bf16", dataset_bytes=7)
    profile = formulas.declared(workload)
    assert profile.tokens == 480 * 1024
    assert profile.flops == pytest.approx(480 * 1024 * formulas.flops_per_token(GPT2))
    assert profile.activation_bytes == formulas.activation_bytes(GPT2, "bf16")
    assert (profile.steps, profile.global_batch, profile.dataset_bytes, profile.width) == (10, 480, 7, 768)
    assert profile.source.startswith("declared: formula")
