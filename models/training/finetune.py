"""``gec train`` of a recipe whose method is "finetune": a pretrained decoder learns to correct.

A pair is one row ``BOS source separator target EOS``; the loss is the target's. Weights compute in
bfloat16 and are kept and updated in float32. The embedding stays as it is: it is most of a small
network's numbers, and the update that a release ships need not hold it.

The run folder holds ``last.ckpt`` (replaced atomically, resumes exactly), ``weights.safetensors``
and ``log.csv``. On a CPU set MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ to some gigabytes:
else the C library gives every large block back, and the time goes into faulting pages in anew.
"""

from __future__ import annotations

import argparse
import csv
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from gec.errors import ConfigError, DataError
from gec.models.fetch import pretrained, update
from gec.models.network.llama import Llama, LlamaConfig, rotations
from gec.models.training import finetune_data
from gec.models.training.finetune_data import Examples
from gec.models.training.recipe import build, parse_duration, read_layers
from gec.untrusted import guarded

METHOD = "finetune"
ChunkLoss = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
_CHUNK = 256  # rows whose logits exist at once
_LONGEST_STEP = 60.0  # seconds; what takes longer was compiled, or the machine slept


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRecipe:
    """Schedule and loss; see the comments of ``en_large.toml``."""

    batch_tokens: int
    widths: tuple[int, ...]
    learning_rate: float
    warmup_steps: int
    decay_share: float
    weight_decay: float
    gradient_clip: float
    edit_weight: float
    kept_sample: float
    save_every: str
    compile: bool = True

    def __post_init__(self) -> None:
        if not self.widths or list(self.widths) != sorted(set(self.widths)):
            raise ConfigError("widths must be numbers of tokens, each above the one before")
        if self.batch_tokens < self.widths[-1]:
            raise ConfigError("batch_tokens must be no less than the largest of the widths")
        if not all(type(width) is int and width > 0 for width in self.widths):
            raise ConfigError(f"widths must be whole numbers of tokens, not {list(self.widths)}")
        if not 0 < self.kept_sample <= 1 or not 0 < self.decay_share <= 1:
            raise ConfigError("kept_sample and decay_share must be above 0 and at most 1")
        if not self.learning_rate > 0 or not self.edit_weight > 0:
            raise ConfigError("learning_rate and edit_weight must be above 0")

    def rate(self, step: int, share: float) -> float:
        """Return the learning rate at a step, ``share`` (0 to 1) of the budget being spent."""
        warm = min(1.0, (step + 1) / max(1, self.warmup_steps))
        return self.learning_rate * warm * min(1.0, max(0.0, (1 - share) / self.decay_share))


@dataclass(slots=True)
class Progress:
    """Where a run stands: steps, seconds and tokens so far, and the next batch of an epoch."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one width: ids [B, T], where a target token is predicted, which, and if edited."""

    tokens: Tensor
    wanted: Tensor
    target: Tensor
    edited: Tensor

    @classmethod
    def of(cls, examples: Examples, rows: Sequence[int], width: int, config: LlamaConfig) -> Batch:
        """Lay the examples ``rows`` out, padded to ``width`` with EOS."""
        shape = len(rows), width
        tokens = torch.full(shape, config.eos_id)
        wanted, marks = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
        target = torch.zeros(shape, dtype=torch.long)
        for row, i in enumerate(rows):
            before = [config.bos_id, *examples.sources[i], *config.separator]
            after = [*examples.targets[i], config.eos_id]
            first, last = len(before) - 1, len(before) + len(after) - 1
            tokens[row, : last + 1] = torch.tensor(before + after)
            wanted[row, first:last] = True
            target[row, first:last] = torch.tensor(after)
            marks[row, first:last] = torch.tensor(examples.edited[i])
        return cls(tokens, wanted, target, marks)


class Batches:
    """The batches of each epoch, the same in every run with the same examples and shares."""

    def __init__(
        self, examples: Examples, shares: Sequence[float], training: TrainingRecipe, extra: int
    ) -> None:
        """``extra`` ids stand beside a pair's own: BOS, separator, EOS."""
        self._parts = np.array(examples.parts)
        self._lengths = examples.lengths() + extra
        self._shares, self._training = shares, training

    def epoch(self, number: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, rows) of each batch of an epoch, shuffled.

        A part's share of 1.4 takes each pair once and two fifths of them twice; the next epoch
        goes on with the following two fifths.
        """
        order = np.random.default_rng([7, number])
        taken: list[NDArray[np.int64]] = []
        for part, share in enumerate(self._shares):
            own = np.flatnonzero(self._parts == part)
            mixed = np.random.default_rng([11, part]).permutation(own)
            count = round(len(own) * (share % 1))
            taken += [own] * int(share)
            taken.append(np.roll(mixed, -number * count)[:count])
        rows = order.permutation(np.concatenate(taken))
        batches = []
        least = 0
        for width in self._training.widths:
            lengths = self._lengths[rows]
            fitting = rows[(lengths > least) & (lengths <= width)]
            size = self._training.batch_tokens // width
            whole = range(0, len(fitting) - size + 1, size)
            batches += [(width, fitting[i : i + size]) for i in whole]
            least = width
        return [batches[i] for i in order.permutation(len(batches))]


def chunk_loss(logits: Tensor, target: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return cross-entropy losses [N] and the gradient of their weighted sum for logits [N, V]."""
    exact = logits.float()
    top = exact.amax(-1, keepdim=True)
    powers = (exact - top).exp()
    total = powers.sum(-1, keepdim=True)
    loss = (total.log() + top)[:, 0] - exact.gather(1, target[:, None])[:, 0]
    # taken off in float32: of a probability near 1, rounded, little would be left
    aim = torch.arange(logits.shape[1], device=logits.device) == target[:, None]
    return loss, ((powers / total - aim.float()) * weight[:, None]).to(logits.dtype)


class TiedCrossEntropy(torch.autograd.Function):
    """Weighted cross-entropy behind a frozen output table, without storing all logits.

    Inputs: hidden states [N, D], table [V, D], targets [N], weights [N], and :func:`chunk_loss`,
    compiled or not; outputs: the weighted sum of the losses, and the losses [N], which have no
    gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, table: Tensor, target: Tensor, weight: Tensor, compute: ChunkLoss
    ) -> tuple[Tensor, Tensor]:
        gradient, losses = torch.empty_like(hidden), []
        for start in range(0, len(hidden), _CHUNK):
            part = slice(start, start + _CHUNK)
            found, change = compute(hidden[part] @ table.t(), target[part], weight[part])
            gradient[part] = change @ table
            losses.append(found)
        ctx.save_for_backward(gradient)
        every = torch.cat(losses)
        ctx.mark_non_differentiable(every)
        return (every * weight).sum(), every

    @staticmethod
    def backward(ctx: Any, total: Tensor, _: Tensor) -> tuple[Tensor, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * total.to(gradient.dtype), None, None, None, None


class Trainer:
    """A network in bfloat16, its weights in float32 and what moves them."""

    def __init__(
        self, config: LlamaConfig, state: dict[str, Tensor], training: TrainingRecipe
    ) -> None:
        self.config, self.training = config, training
        self.network = Llama(config)
        self.network.load_state_dict(state | {"output.weight": state["embedding.weight"]})
        self.network.restore_buffers()
        self.network.to(torch.bfloat16).embedding.weight.requires_grad_(False)
        named = [(n, p) for n, p in self.network.named_parameters() if p.requires_grad]
        self.names, self._moved = [n for n, _ in named], [p for _, p in named]
        self.exact = [state[name].float().clone() for name in self.names]
        self._frozen = state["embedding.weight"]
        groups = [
            {
                "params": [w for w in self.exact if w.ndim > 1],
                "weight_decay": training.weight_decay,
            },
            {"params": [w for w in self.exact if w.ndim == 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=training.learning_rate, betas=(0.9, 0.98), fused=True
        )
        self._chunk_loss: ChunkLoss = chunk_loss
        if training.compile:
            torch._dynamo.config.cache_size_limit = 64  # a graph for each width
            for layer in self.network.layers:
                layer.compile(dynamic=False)
            self._chunk_loss = torch.compile(chunk_loss, dynamic=True)

    def state(self) -> dict[str, Tensor]:
        """Return all weights in float32, the tied output once."""
        own = dict(zip(self.names, self.exact, strict=True))
        return own | {"embedding.weight": self._frozen.float()}

    def put_back(self) -> None:
        """Round the exact weights into the network."""
        with torch.no_grad():
            for parameter, exact in zip(self._moved, self.exact, strict=True):
                parameter.copy_(exact)

    def step(self, batch: Batch, rate: float) -> tuple[float, float]:
        """Move the weights by one batch; return the mean loss of edited and of kept tokens.

        Raises:
            DataError: the loss is not finite.
        """
        training = self.training
        sampled = torch.rand(batch.wanted.shape) < training.kept_sample
        scored = batch.wanted & (batch.edited | sampled)
        if not scored.any():  # a small batch of unchanged sentences
            scored = batch.wanted
        edited = batch.edited[scored]
        weight = torch.where(edited, training.edit_weight, 1.0 / training.kept_sample)
        hidden = self._hidden(batch.tokens, scored)
        loss, losses = TiedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            hidden,
            self.network.embedding.weight,
            batch.target[scored],
            weight / weight.sum(),
            self._chunk_loss,
        )
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self._moved, training.gradient_clip)
        if not torch.isfinite(norm):
            raise DataError("the loss is not finite; the last checkpoint is kept")
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        for parameter, exact in zip(self._moved, self.exact, strict=True):
            assert parameter.grad is not None
            exact.grad, parameter.grad = parameter.grad.float(), None
        self.optimizer.step()
        for exact in self.exact:
            exact.grad = None
        self.put_back()
        return _mean(losses[edited]), _mean(losses[~edited])

    def _hidden(self, tokens: Tensor, scored: Tensor) -> Tensor:
        """Return the last hidden states [N, D] where ``scored`` [B, T] marks N places."""
        network = self.network
        x = network.embedding(tokens).requires_grad_()  # [B, T, D]
        cos, sin = (part[:, None].to(x) for part in rotations(self.config, tokens.shape[1]))
        for layer in network.layers:
            x = layer(x, cos, sin)
        return network.norm(x[scored])


def _mean(x: Tensor) -> float:
    return float(x.mean()) if len(x) else 0.0


def train(
    recipe: Path,
    packed: Path,
    out: Path,
    *,
    budget: float,
    resume: bool = False,
    init: Path | None = None,
    seed: int = 0,
) -> Progress:
    """Train for ``budget`` seconds of steps; Ctrl-C or SIGTERM saves and ends.

    Args:
        init: a ``weights.safetensors``, or an update's folder, to begin from.

    Raises:
        ConfigError, DataError, ModelError: a recipe, data or a checkpoint that cannot be used.
    """
    training: TrainingRecipe = build(
        recipe, TrainingRecipe, read_layers(recipe).get("training"), "training"
    )
    parts = finetune_data.data_recipe(recipe).part
    examples = Examples.load(packed / "examples.npz")
    if examples.names != [part.name for part in parts]:
        raise ConfigError(f"{packed} was prepared with other parts than {recipe} has")
    checkpoint = out / "last.ckpt"
    if checkpoint.exists() and not resume:
        raise ConfigError(f"{checkpoint} exists: continue it with --resume or choose another --out")
    if checkpoint.exists() and init is not None:
        raise ConfigError(f"--init begins a run, but {checkpoint} exists: leave it out")
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    config, state, _ = pretrained.load(pretrained.of_recipe(recipe))
    if init is not None:
        state = _begin_from(init, state)
    trainer = Trainer(config, state, training)
    progress = _restore(trainer, checkpoint) if checkpoint.exists() else Progress()
    trainer.put_back()
    batches = Batches(examples, [part.share for part in parts], training, len(config.separator) + 2)
    save_every, saved = parse_duration(training.save_every), time.monotonic()
    sums, steps, began, tokens = [0.0, 0.0], 0, time.monotonic(), 0
    epoch = batches.epoch(progress.epoch)
    if not epoch:
        raise DataError(f"{packed} holds fewer pairs than a batch of batch_tokens needs")
    with _asked_to_stop() as stop:
        while progress.seconds < budget and not stop:
            while progress.batch >= len(epoch):  # the next one may be empty: shares differ
                progress.epoch, progress.batch = progress.epoch + 1, 0
                epoch = batches.epoch(progress.epoch)
            start = time.monotonic()
            width, rows = epoch[progress.batch]
            batch = Batch.of(examples, rows.tolist(), width, config)
            rate = training.rate(progress.step, progress.seconds / budget)
            losses = trainer.step(batch, rate)
            progress.seconds += min(time.monotonic() - start, _LONGEST_STEP)
            progress.step, progress.batch = progress.step + 1, progress.batch + 1
            count = int(batch.wanted.sum())
            progress.tokens, tokens = progress.tokens + count, tokens + count
            sums = [before + loss for before, loss in zip(sums, losses, strict=True)]
            steps += 1
            if progress.step % 10 == 0:
                speed = tokens / (time.monotonic() - began)
                _log(out, progress, rate, sums[0] / steps, sums[1] / steps, speed)
                sums, steps, began, tokens = [0.0, 0.0], 0, time.monotonic(), 0
            if time.monotonic() - saved > save_every:
                _save(trainer, progress, checkpoint)
                saved = time.monotonic()
    _save(trainer, progress, checkpoint)
    return progress


def _begin_from(init: Path, base: dict[str, Tensor]) -> dict[str, Tensor]:
    path = init / "update.safetensors" if init.is_dir() else init
    with guarded(f"cannot read {path}"):
        stored = load_file(path)
        return update.expand(base, stored) if init.is_dir() else stored


def _log(
    out: Path, progress: Progress, rate: float, edited: float, kept: float, speed: float
) -> None:
    """Print a line and append it to ``log.csv``; losses in nats, speed in target tokens/s."""
    row = {
        "step": progress.step,
        "minutes": round(progress.seconds / 60, 2),
        "target_tokens": progress.tokens,
        "learning_rate": rate,
        "edited_loss": round(edited, 4),
        "kept_loss": round(kept, 5),
        "tokens_per_second": round(speed),
    }
    print(" ".join(f"{name} {value:.6g}" for name, value in row.items()), flush=True)
    path = out / "log.csv"
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


def _save(trainer: Trainer, progress: Progress, path: Path) -> None:
    """Write the checkpoint and the weights, each replaced at once."""
    part, weights = path.with_suffix(".part"), path.with_name("weights.safetensors")
    try:
        torch.save(
            {
                "network": trainer.config.to_dict(),
                "exact": trainer.exact,
                "optimizer": trainer.optimizer.state_dict(),
                "progress": asdict(progress),
                "rng": torch.get_rng_state(),
            },
            part,
        )
        part.replace(path)
        save_file({n: t.contiguous() for n, t in trainer.state().items()}, part)
        part.replace(weights)
    except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError of torch's writer
        part.unlink(missing_ok=True)
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"cannot save {path}, what is there is kept: {reason}") from error


def _restore(trainer: Trainer, path: Path) -> Progress:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        network = state["network"] | {"separator": tuple(state["network"]["separator"])}
        if network != trainer.config.to_dict():
            raise ValueError(f"it holds another network: {network}")
        for own, stored in zip(trainer.exact, state["exact"], strict=True):
            own.copy_(stored)
        trainer.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])
        return Progress(**state["progress"])
    except Exception as error:  # whatever a broken file makes torch, or the dictionary, raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"cannot read checkpoint {path}: {reason}") from error


@contextmanager
def _asked_to_stop() -> Iterator[list[int]]:
    """Collect the signals that ask a run to save and end."""
    asked: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        asked.append(number)

    before = {kind: signal.signal(kind, note) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def prepare_main(args: argparse.Namespace) -> int:
    """``gec data prepare`` of a fine-tuning recipe."""
    recipe = Path(args.recipe)
    training: TrainingRecipe = build(
        recipe, TrainingRecipe, read_layers(recipe).get("training"), "training"
    )
    config, _, words = pretrained.load(pretrained.of_recipe(recipe))
    longest = training.widths[-1] - len(config.separator) - 2
    data = finetune_data.data_recipe(recipe)
    if args.subwords:
        raise ConfigError("--subwords is not for a fine-tuning recipe: its vocabulary is given")
    exclude = [Path(name) for name in getattr(args, "exclude", None) or ()]
    finetune_data.prepare(data, Path(args.data_dir), Path(args.out), words, longest, exclude)
    return 0


def main(args: argparse.Namespace) -> int:
    """``gec train`` of a fine-tuning recipe."""
    if args.dev or args.workers != 1:
        raise ConfigError("--dev and --workers are not for a fine-tuning recipe")
    progress = train(
        Path(args.recipe),
        Path(args.data),
        Path(args.out),
        budget=parse_duration(args.budget or "25m"),
        resume=args.resume,
        init=Path(args.init) if args.init else None,
        seed=args.seed or 0,
    )
    print(f"{progress.step} steps, {progress.tokens} target tokens, {progress.seconds:.0f} s")
    return 0
