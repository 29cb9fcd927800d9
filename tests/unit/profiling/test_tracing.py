"""The training script's own builder on meta tensors agrees with the formulas, and its faults are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from akotf.errors import ConfigError, IsolationError
from akotf.model.config import ModelSpec, WorkloadSpec
from akotf.profiling import formulas
from akotf.profiling.tracing import cached_trace, traced

pytest.importorskip("torch")

SCRIPT = """
import os
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, h, a):
        super().__init__()
        self.a = a
        self.n1, self.n2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.qkv, self.out = nn.Linear(h, 3 * h), nn.Linear(h, h)
        self.up, self.down = nn.Linear(h, 4 * h), nn.Linear(4 * h, h)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, s, 3, self.a, h // self.a).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, h))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))

class GPT(nn.Module):
    def __init__(self, v, h, a, s, l):
        super().__init__()
        self.token, self.position = nn.Embedding(v, h), nn.Embedding(s, h)
        self.blocks = nn.Sequential(*(Block(h, a) for _ in range(l)))
        self.norm, self.head = nn.LayerNorm(h), nn.Linear(h, v, bias=False)
        self.head.weight = self.token.weight

    def forward(self, t):
        x = self.token(t) + self.position(torch.arange(t.shape[1]))
        return self.head(self.norm(self.blocks(x)))

def build(p):
    return GPT(70, p["hidden"], 4, 128, p["layers"]), (torch.zeros(8, 128, dtype=torch.long),)

def secret(p):
    raise KeyError(os.environ.get("AKOTF_TEST_SECRET", "no secret"))

def forever(p):
    while True:
        pass
"""
SHAPE = {"hidden": 128, "layers": 4}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def workload(batch: int = 32) -> WorkloadSpec:
    model = ModelSpec(layers=4, hidden=128, heads=4, vocabulary=70, sequence=128, fused_attention=True)
    return WorkloadSpec(
        model=model, global_batch=batch, steps=300, precision="fp32", builder="train.py:build"
    )


def test_a_trace_agrees_with_the_formulas(folder: Path) -> None:
    """The same GPT counted by PyTorch and by Narayanan et al.: FLOPs within 1 %, parameters exactly."""
    counted = traced(folder, "train.py:build", workload(), SHAPE)
    declared = formulas.declared(workload())
    assert counted.parameters == declared.parameters
    assert counted.flops == pytest.approx(declared.flops, rel=0.01)
    assert counted.tokens == declared.tokens
    assert counted.width == declared.width
    assert counted.kernels == pytest.approx(declared.kernels, rel=0.15)
    # Korthikanti counts dropout masks, which are not here; SDPA's copies, which are, he does not.
    assert counted.activation_bytes == pytest.approx(declared.activation_bytes, rel=0.25)
    assert counted.source == "traced: torch meta tensors"


def test_the_sample_is_scaled_to_the_global_batch(folder: Path) -> None:
    small, large = (traced(folder, "train.py:build", workload(batch), SHAPE) for batch in (8, 64))
    assert large.flops == pytest.approx(8 * small.flops)
    assert large.activation_bytes == small.activation_bytes  # of one sequence
    assert large.state_bytes == small.state_bytes


def test_a_builder_does_not_see_the_callers_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AKOTF_TEST_SECRET", "hunter2")
    with pytest.raises(ConfigError, match="KeyError: 'no secret'"):
        traced(folder, "train.py:secret", workload(), {})


def test_a_builder_that_never_ends_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("akotf.profiling.tracing._SECONDS", 15.0)
    with pytest.raises(IsolationError, match="time limit"):
        traced(folder, "train.py:forever", workload(), {})


@pytest.mark.parametrize("builder", ["train.py", "gone.py:build", "../train.py:build", "train.py:nothing"])
def test_a_builder_that_is_not_there(folder: Path, builder: str) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "train.py").write_text("")
    with pytest.raises(ConfigError) as caught:
        traced(inner, builder, workload(), {})
    assert caught.value.where == "workload.builder"


def test_a_trace_is_kept_until_the_script_changes(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first, note = cached_trace(cache, folder, workload(), SHAPE)
    assert note == ""
    kept = list(cache.iterdir())
    assert cached_trace(cache, folder, workload(), SHAPE) == (first, "")
    assert list(cache.iterdir()) == kept
    (folder / "train.py").write_text(SCRIPT.replace("4 * h", "8 * h"))
    second, _ = cached_trace(cache, folder, workload(), SHAPE)
    assert first is not None
    assert second is not None
    assert second.flops > first.flops


def test_a_failing_builder_leaves_the_declared_figures_and_a_note(folder: Path, tmp_path: Path) -> None:
    broken = workload().model_copy(update={"builder": "train.py:secret"})
    profile, note = cached_trace(tmp_path / "cache", folder, broken, {})
    assert profile is None
    assert "declared figures are used" in note
    assert "KeyError" in note
