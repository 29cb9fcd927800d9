"""Train a small GPT on the characters of one book.

Standard PyTorch: one process on a CPU or a GPU, or several under torchrun. What akotf needs from a
training stands in `akotf.runtime.Training`: the approved hyperparameters, a heartbeat a step, complete
checkpoints, a request to stop. Any framework can do the same; it is a plain file protocol.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

# Threads that wait for each other then sleep instead of spinning: where others use the CPUs too, a step is several
# times faster. Read when PyTorch loads OpenMP.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from akotf.runtime import Training

TEXT = Path(__file__).resolve().parent / "data" / "alice.txt"
DEFAULTS = {  # for a run by hand, without akotf: `python train.py`
    "layers": 4, "hidden": 128, "heads": 4, "sequence": 64, "dropout": 0.0, "precision": "fp32", "steps": 300,
    "batch": 64, "learning_rate": 1e-3, "weight_decay": 0.01, "seed": 1337, "checkpoint_interval": 50,
}  # fmt: skip
VALIDATION_SHARE = 0.1  # the end of the book is never trained on
EVALUATION_WINDOWS = 64  # windows scored at once: bounds the memory, not the result


class Block(nn.Module):
    """One pre-norm transformer block (GPT-2; Radford et al. 2019, section 2.3)."""

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm_attention, self.norm_mlp = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.project = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x: Tensor) -> Tensor:
        """Batch x sequence x hidden -> the same shape."""
        batch, length, hidden = x.shape
        shape = (batch, length, 3, self.heads, hidden // self.heads)
        q, k, v = self.qkv(self.norm_attention(x)).view(shape).permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        mixed = self.project(mixed.transpose(1, 2).reshape(batch, length, hidden))
        x = x + functional.dropout(mixed, dropout)
        return x + functional.dropout(self.mlp(self.norm_mlp(x)), dropout)


class GPT(nn.Module):
    """Characters in, scores of the next character out."""

    def __init__(
        self, *, vocabulary: int, layers: int, hidden: int, heads: int, sequence: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary, hidden)
        self.position = nn.Parameter(torch.zeros(sequence, hidden))
        self.blocks = nn.Sequential(*(Block(hidden, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.head.weight = self.token.weight  # tied embeddings (Press and Wolf 2017)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                # Output layers of the residual branches start smaller, so that depth does not blow up the sum.
                deep = name.endswith(("project.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if deep else 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Batch x length integers (length <= sequence) -> batch x length x vocabulary scores."""
        x = self.token(tokens) + self.position[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Book:
    """The text as integers: a training part, a validation part and its own unigram entropy."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.characters = sorted(set(text))
        index = {character: number for number, character in enumerate(self.characters)}
        data = torch.tensor([index[character] for character in text], dtype=torch.long)
        cut = round(len(data) * (1 - VALIDATION_SHARE))
        self.train, self.validation = data[:cut], data[cut:]
        shares = [count / len(text) for count in Counter(text).values()]
        self.unigram_entropy = -sum(share * math.log(share) for share in shares)  # nats a character

    def batch(self, seed: int, step: int, size: int, sequence: int) -> tuple[Tensor, Tensor]:
        """The whole batch of a step, by seed and step alone: a resumed run reads on in the same order."""
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        starts = torch.randint(len(self.train) - sequence, (size, 1), generator=generator)
        windows = self.train[starts + torch.arange(sequence + 1)]
        return windows[:, :-1], windows[:, 1:]

    def windows(self, sequence: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The validation part once, in windows that do not overlap."""
        count = (len(self.validation) - 1) // sequence
        inputs = self.validation[: count * sequence].view(count, sequence)
        targets = self.validation[1 : count * sequence + 1].view(count, sequence)
        yield from zip(inputs.split(EVALUATION_WINDOWS), targets.split(EVALUATION_WINDOWS), strict=True)


def build(hyperparameters: Mapping[str, Any]) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The model and one step's input, for tracing: under `torch.device("meta")` nothing is computed."""
    shape = {name: int(hyperparameters[name]) for name in ("layers", "hidden", "heads", "sequence")}
    vocabulary = len(set(TEXT.read_text(encoding="utf-8")))
    model = GPT(vocabulary=vocabulary, dropout=float(hyperparameters.get("dropout", 0)), **shape)
    return model, (torch.zeros(int(hyperparameters["batch"]), shape["sequence"], dtype=torch.long),)


def loss_of(scores: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """Cross-entropy in nats a character."""
    return functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction=reduction)


@torch.no_grad()
def evaluate(model: nn.Module, book: Book, sequence: int, device: torch.device) -> float:
    """Mean loss over the validation part, nats a character."""
    model.eval()
    total, count = 0.0, 0
    for inputs, targets in book.windows(sequence):
        total += float(loss_of(model(inputs.to(device)), targets.to(device), reduction="sum"))
        count += targets.numel()
    model.train()
    return total / count


@torch.no_grad()
def sample(model: nn.Module, book: Book, sequence: int, device: torch.device, length: int = 400) -> str:
    """Text that the model writes after `Alice `, the same for the same weights."""
    model.eval()
    generator = torch.Generator().manual_seed(0)
    tokens = [book.characters.index(character) for character in "Alice "]
    for _ in range(length):
        scores = model(torch.tensor([tokens[-sequence:]], device=device))[0, -1].float().cpu()
        tokens.append(
            int(torch.multinomial(functional.softmax(scores / 0.8, dim=-1), 1, generator=generator))
        )
    model.train()
    return "".join(book.characters[token] for token in tokens) + "\n"


def pick_device(local_rank: int) -> torch.device:
    """A GPU when one was leased for us (or, outside akotf, when there is one); else the CPU."""
    leased = os.environ.get("AKOTF_DEVICES", "") if "AKOTF_RUN_ID" in os.environ else "any"
    if leased and torch.cuda.is_available():
        return torch.device("cuda", local_rank % torch.cuda.device_count())
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(len(os.sched_getaffinity(0)))  # the CPUs we may use, not all that are there
    return torch.device("cpu")


def set_precision(name: str, device: torch.device) -> AbstractContextManager[None]:
    """The number format of the matrix products, as a context for the forward pass."""
    if name not in {"fp32", "tf32", "bf16"}:
        raise SystemExit(
            f"precision {name} needs loss scaling, which this script does not do: use bf16, tf32 or fp32"
        )
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    return torch.autocast(device.type, torch.bfloat16, enabled=name == "bf16")


def install_tuning_hook(optimizer: torch.optim.Optimizer) -> None:
    """SIGUSR2 multiplies the learning rate by ten, while the training runs.

    Many research scripts have such a hook: it is handy, and it leaves a run that nobody approved. The file
    on disk still shows the old value, so only the heartbeat, which tells the rate really in use, gives it away.
    """

    def multiply(_signal: int, _frame: object) -> None:
        for group in optimizer.param_groups:
            group["lr"] *= 10

    signal.signal(signal.SIGUSR2, multiply)


def restore(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, learning_rate: float) -> int:
    """Take up a checkpoint; returns the step that it was written after."""
    state = torch.load(folder / "state.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    for group in optimizer.param_groups:
        group["lr"] = learning_rate  # the approved rate: the saved one may be what somebody tuned
    return int(state["step"])


def must_stop(asked: bool, world: int) -> bool:
    """True on every process when one of them was asked to stop: they leave after the same step."""
    if world == 1:
        return asked
    flag = torch.tensor(int(asked))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def train(training: Training) -> None:
    """The whole training: set up, steps, evaluation, outputs. `training` writes files on rank 0 only."""
    h, rank, world = training.hyperparameters, training.rank, training.world_size
    sequence, batch, steps, seed = (int(h[name]) for name in ("sequence", "batch", "steps", "seed"))
    rate, decay, interval = float(h["learning_rate"]), float(h["weight_decay"]), int(h["checkpoint_interval"])
    if batch % world:
        raise SystemExit(f"batch {batch} can't be shared by {world} processes: choose a multiple")
    training.total_steps = steps
    device = pick_device(training.local_rank)
    precision = set_precision(str(h["precision"]), device)
    torch.manual_seed(seed)  # equal on all processes: they start from the same weights
    book = Book(TEXT)
    model = build(h)[0].to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=decay)
    done = restore(training.resume_from, model, optimizer, rate) if training.resume_from else 0
    install_tuning_hook(optimizer)
    parallel = nn.parallel.DistributedDataParallel(model) if world > 1 else model
    mine = slice(rank * batch // world, (rank + 1) * batch // world)

    for step in range(done + 1, steps + 1):
        # Data order and dropout follow from seed, step and rank alone: a resumed run repeats them exactly.
        torch.manual_seed((seed * 1_000_003 + step) * 1_009 + rank)
        inputs, targets = (part[mine].to(device) for part in book.batch(seed, step, batch, sequence))
        optimizer.zero_grad(set_to_none=True)
        with precision:
            loss = loss_of(parallel(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        group = optimizer.param_groups[0]  # what the optimiser really uses, not what we once read
        training.step(step, loss.detach(), learning_rate=group["lr"], weight_decay=group["weight_decay"])
        stop = must_stop(training.should_stop, world)
        if stop or step % interval == 0 or step == steps:
            state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
            training.save(step, lambda folder, state=state: torch.save(state, folder / "state.pt"))
            if training.is_main:
                with training.phase("evaluate"):
                    validation = evaluate(model, book, sequence, device)
                print(
                    f"step {step}/{steps} loss {float(loss.detach()):.4f} validation {validation:.4f}",
                    flush=True,
                )
        if stop and step < steps:
            print(f"stopped after step {step} of {steps} as asked; a checkpoint is written", flush=True)
            raise SystemExit(128 + signal.SIGTERM)
    if training.is_main:
        finish(training, model, book, device)


def finish(training: Training, model: nn.Module, book: Book, device: torch.device) -> None:
    """Evaluate and write the outputs: model.pt, metrics.json, sample.txt."""
    h, out = training.hyperparameters, training.outputs
    sequence = int(h["sequence"])
    with training.phase("evaluate"):
        validation = evaluate(model, book, sequence, device)
        (out / "sample.txt").write_text(sample(model, book, sequence, device), encoding="utf-8")
    weights = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    torch.save(
        {"characters": book.characters, "hyperparameters": dict(h), "model": weights}, out / "model.pt"
    )
    metrics = {
        "schema": 1,
        "validation_loss": validation,
        "unigram_entropy": book.unigram_entropy,
        "margin": book.unigram_entropy - validation,
        "unit": "nats per character",
        "steps": int(h["steps"]),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "text_sha256": book.sha256,
        "torch": torch.__version__,
    }
    (out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    print(
        f"validation loss {validation:.3f}, unigram entropy {book.unigram_entropy:.3f} nats a character",
        flush=True,
    )


def main() -> None:
    """Join the other processes, if any, and train."""
    with Training(defaults=DEFAULTS) as training:
        if training.world_size > 1:
            dist.init_process_group("gloo")  # works on CPUs and GPUs; the model is small
        try:
            train(training)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


if __name__ == "__main__":
    main()
