"""A declared transformer by published formulas: FLOPs, parameters, traffic and memory of one optimisation step.

Letters as in the papers: L layers, h hidden, a heads, s sequence, V vocabulary, f feed-forward width, B sequences a step.

FLOPs: Narayanan et al. 2021 (arXiv:2104.04473), equation 3 without the recomputation of activations, so 72 in place of
96: ``72 B s L h^2 (1 + s/(6h) + V/(12 L h))``. It counts full (not causal) attention and the logits, and equals
PaLM's appendix B, ``6N + 12 L h s`` a token, with N counted over matrices only.
"""

from __future__ import annotations

from dataclasses import dataclass

from akotf.model.config import ModelSpec, WorkloadSpec
from akotf.model.profile import ELEMENT_BYTES, WorkloadProfile

#: Operations that PyTorch 2.13 dispatches for a GPT in forward and backward, a layer and outside of the layers; and
#: those of its Adam and SGD for one parameter tensor, of which a GPT-2 layer has 12.
_KERNELS_A_LAYER, _KERNELS_OUTSIDE = 59, 22
OPTIMIZER_KERNELS = {"adam": 13, "sgd": 2}
_TENSORS_A_LAYER, _TENSORS_OUTSIDE = 12, 4


@dataclass(frozen=True)
class _Shape:
    """Sizes that follow from a model: width of keys and values, of the feed-forward part, and its matrices."""

    kv: int
    feed_forward: int
    matrices: int  # in the feed-forward part: 2, or 3 when gated

    @classmethod
    def of(cls, model: ModelSpec) -> _Shape:
        llama = model.architecture == "llama"
        head = model.hidden // model.heads
        return cls(
            kv=head * (model.kv_heads or model.heads),
            feed_forward=model.feed_forward or 4 * model.hidden,
            matrices=3 if llama else 2,
        )


def parameters(model: ModelSpec) -> int:
    """Exact parameter count.

    `gpt2` (Radford et al. 2019): learned positions, biases, LayerNorm with bias; with f = 4h this is
    ``Vh + sh + L(12 h^2 + 13 h) + 2h``. `llama` (Touvron et al. 2023): rotary positions, no biases, RMSNorm, gated
    feed-forward, grouped keys and values.
    """
    h, shape = model.hidden, _Shape.of(model)
    matrices = 2 * h * h + 2 * h * shape.kv + shape.matrices * h * shape.feed_forward
    if model.architecture == "llama":
        layer, outside = matrices + 2 * h, model.vocabulary * h + h
    else:
        layer = matrices + (2 * h + 2 * shape.kv) + (shape.feed_forward + h) + 4 * h
        outside = (model.vocabulary + model.sequence) * h + 2 * h
    return outside + model.layers * layer + (0 if model.tied_embeddings else model.vocabulary * h)


def flops_per_token(model: ModelSpec) -> float:
    """Forward and backward FLOPs of one token, attention and logits included (Narayanan et al. 2021)."""
    h, shape = model.hidden, _Shape.of(model)
    matrices = 2 * h * h + 2 * h * shape.kv + shape.matrices * h * shape.feed_forward
    forward = model.layers * (2 * matrices + 4 * model.sequence * h) + 2 * h * model.vocabulary
    return 3.0 * forward


def state_bytes(count: int, optimizer: str) -> int:
    """Weights, gradients and optimiser state (ZeRO, Rajbhandari et al. 2020, section 3.1).

    Adam: 16 bytes a parameter, in mixed precision (2 + 2 + 12) as in fp32 (4 + 4 + 8). Plain SGD: 8.
    """
    return count * (16 if optimizer == "adam" else 8)


def checkpoint_bytes(count: int, optimizer: str, precision: str) -> int:
    """What a checkpoint holds: fp32 weights and moments (12 bytes with Adam), and the working copy in mixed precision."""
    full = 12 if optimizer == "adam" else 4
    return count * (full if ELEMENT_BYTES[precision] == 4 else full + 2)


def activation_bytes(model: ModelSpec, precision: str) -> int:
    """Stored activations of one sequence without recomputation (Korthikanti et al. 2022, arXiv:2205.05198).

    Equation 1, ``s h (34 + 5 a s / h)`` bytes a layer in 16 bits, and section 4.3's input and output layers,
    ``s h + 4 s h (1 + V/h)``. Of the 34, two are dropout masks of one byte; of the 5, one is. They keep their size in
    fp32, all else doubles. Fused attention (FlashAttention, Dao et al. 2022) stores no ``5 a s^2``. A feed-forward width other than 4h, or a gated one, scales its share.
    """
    h, s, shape = model.hidden, model.sequence, _Shape.of(model)
    size = ELEMENT_BYTES[precision]
    width = 2 * shape.feed_forward * (2 if model.architecture == "llama" else 1)
    layer = s * h * (8 * size + 2) + s * size * width
    if not model.fused_attention:
        layer += model.heads * s * s * (2 * size + 1)
    return model.layers * layer + s * h * (1 + 2 * size) + 4 * s * model.vocabulary


def declared(workload: WorkloadSpec) -> WorkloadProfile:
    """The profile of a declared transformer. All figures are of one step over the whole global batch."""
    model, precision = workload.model, workload.precision
    count = parameters(model)
    tokens = workload.global_batch * model.sequence
    state = state_bytes(count, workload.optimizer)
    activations = activation_bytes(model, precision)
    return WorkloadProfile(
        flops=tokens * flops_per_token(model),
        bytes_moved=float(traffic(count, state, activations * workload.global_batch, precision)),
        parameters=count,
        tokens=tokens,
        steps=workload.steps,
        precision=precision,
        state_bytes=state,
        activation_bytes=activations,
        global_batch=workload.global_batch,
        checkpoint_bytes=checkpoint_bytes(count, workload.optimizer, precision),
        dataset_bytes=workload.dataset_bytes,
        width=model.hidden,
        kernels=_KERNELS_OUTSIDE + _KERNELS_A_LAYER * model.layers,
        optimizer_kernels=(_TENSORS_OUTSIDE + _TENSORS_A_LAYER * model.layers)
        * OPTIMIZER_KERNELS[workload.optimizer],
        micro_batch=workload.micro_batch,
        source="declared: formula of Narayanan et al. 2021, memory of Korthikanti et al. 2022",
    )


def traffic(count: int, state: int, activations: int, precision: str) -> int:
    """Bytes to and from device memory in one step.

    The optimiser reads and writes the whole state once; forward and backward each read the weights; an activation is
    written once and read twice, by the next kernel and by the backward pass.
    """
    return 2 * state + 2 * count * ELEMENT_BYTES[precision] + 3 * activations
