"""What the parts of a bundle that generates are trained on: verifier, NAT drafter, heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gec.models.network.cache import PassingCache, Positions
from gec.models.network.heads import Heads
from gec.models.network.nat import NatTransformer
from gec.models.network.transformer import Transformer
from gec.models.training.generation_recipe import DrafterRecipe, GenerationSchedule
from gec.models.training.parallel_batches import ParallelBatch, ParallelBatches, make_parallel_batch
from gec.models.training.streams import Pair, batches_of
from gec.text.vocabulary import PAD_ID


@dataclass
class ParallelObjective:
    """What the objectives share: pairs to train and validate on."""

    pairs: Sequence[Pair]
    dev: Sequence[Pair]
    schedule: GenerationSchedule
    seed: int

    def stream(self, rank: int, starts: Sequence[tuple[int, int]]) -> ParallelBatches:
        """Return the endless batches of a process."""
        tokens = self.schedule.batch_tokens
        return ParallelBatches(self.pairs, tokens, seed=self.seed, rank=rank, starts=starts)

    @cached_property
    def validation(self) -> list[ParallelBatch]:
        """The batches of the dev sentences."""
        batches = batches_of(self.dev, self.schedule.batch_tokens)
        return [make_parallel_batch(batch, (0, 0)) for batch in batches]


@dataclass
class Seq2Seq(ParallelObjective):
    """Teacher and verifier: the next token, by teacher forcing."""

    module: Transformer

    @property
    def config(self) -> dict[str, Any]:
        """The network's architecture, kept in checkpoints."""
        return self.module.config.to_dict()

    def loss(self, model: nn.Module, batch: ParallelBatch, _share: float) -> tuple[Tensor, Tensor]:
        """Return (mean loss, number of target tokens)."""
        real = batch.target != PAD_ID  # [B, T], N of them
        logits = model(batch.source, batch.target_in, real)  # [N, V]
        smoothing = self.schedule.label_smoothing
        return mean_cross_entropy(logits, batch.target[real], smoothing), real.sum()

    @torch.no_grad()
    def measure(self, device: torch.device) -> dict[str, float]:
        """Return dev loss (nats a token) and the share of tokens that are the first choice."""
        self.module.eval()
        loss = right = count = 0.0
        for batch in self.validation:
            batch = batch.to(device)
            real = batch.target != PAD_ID
            logits = self.module(batch.source, batch.target_in, real).float()
            target = batch.target[real]
            loss += float(F.cross_entropy(logits, target, reduction="sum"))
            right += float((logits.argmax(-1) == target).sum())
            count += len(target)
        self.module.train()
        return {"dev_loss": loss / count, "dev_accuracy": right / count}


class Reader(Protocol):
    """A verifier that reads for a drafter."""

    def read(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the states [B, S, D] of sources and [B, T, D] of what precedes target tokens.

        Both are ids with EOS, padded; the second is None for a drafter that does not read it.
        """


@dataclass
class Nat(ParallelObjective):
    """The NAT drafter: the next k tokens after a random prefix, with glancing (Qian et al. 2021).

    Every target gives a block or several, behind prefixes of uniformly drawn length; the loss is on
    the blocks' tokens alone, the EOS included. First all of them are predicted from MASKs; then a
    random share of as many as were wrong is shown in their places, and the loss is on the rest.
    """

    module: NatTransformer
    recipe: DrafterRecipe
    reader: Reader | None = None
    """The verifier, if the drafter shares its encoder; it is not trained."""

    @property
    def config(self) -> dict[str, Any]:
        """The drafter's architecture, kept in checkpoints."""
        return {"network": self.module.config.to_dict(), "nat": self.module.nat.to_dict()}

    def loss(self, model: nn.Module, batch: ParallelBatch, share: float) -> tuple[Tensor, Tensor]:
        """Return (mean loss of the blocks, number of target tokens)."""
        low, high = self.recipe.smallest_block, self.recipe.block
        k = int(torch.randint(min(low, high), high + 1, ()))
        lengths = (batch.target != PAD_ID).sum(1)  # [B], with EOS
        every = lengths.repeat_interleave(self.recipe.blocks)  # [B blocks]
        # with BOS; at least the last token is left to predict
        prefixes = (torch.rand(every.shape, device=every.device) * every).long() + 1
        first, last = self.recipe.glancing
        logits, truth, _ = model(
            batch.source,
            batch.target,
            prefixes,
            k,
            first + (last - first) * share,
            *self._read(batch),
        )
        return mean_cross_entropy(logits, truth, self.schedule.label_smoothing), lengths.sum()

    def _read(self, batch: ParallelBatch) -> tuple[Tensor | None, Tensor | None]:
        return (None, None) if self.reader is None else self.reader.read(batch.source, batch.target)

    @torch.no_grad()
    def measure(self, device: torch.device) -> dict[str, float]:
        """Score the blocks at the beginning of the dev sentences.

        ``leading`` is the mean number of right tokens before the first wrong one.
        """
        self.module.eval()
        sums = dict.fromkeys(("loss", "right", "count", "leading", "rows"), 0.0)
        for batch in self.validation:
            batch = batch.to(device)
            ones = torch.ones(len(batch.source), dtype=torch.long, device=device)
            logits, truth, wanted = self.module(
                batch.source, batch.target, ones, self.recipe.block, 0.0, *self._read(batch)
            )
            right = torch.zeros_like(wanted)
            right[wanted] = logits.argmax(-1) == truth
            sums["loss"] += float(F.cross_entropy(logits.float(), truth, reduction="sum"))
            sums["right"] += float(right.sum())
            sums["count"] += float(wanted.sum())
            sums["leading"] += float(right.int().cumprod(1).sum())
            sums["rows"] += len(right)
        self.module.train()
        return {
            "dev_loss": sums["loss"] / sums["count"],
            "dev_accuracy": sums["right"] / sums["count"],
            "leading": sums["leading"] / sums["rows"],
        }


def ahead(heads: Heads, hidden: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the heads' states [N, D] for targets [B, T], and what each is to predict [N].

    Every place of a target, whose verifier's state is in ``hidden`` [B, T, D], trains one head,
    drawn for it: the paper's random sub-loss (Stern et al. 2018, section 6), drawn per token rather
    than per batch.
    """
    count = heads.count
    padded = F.pad(target, (0, count), value=PAD_ID)  # [B, T + count]
    chosen = torch.randint(count, target.shape, device=target.device)  # [B, T]
    place = torch.arange(target.shape[1], device=target.device)  # [T]
    truth = padded.gather(1, place + 1 + chosen)  # [B, T]
    states, truths = [], []
    for head in range(count):
        wanted = (chosen == head) & (truth != PAD_ID)
        states.append(heads(hidden[wanted], head))
        truths.append(truth[wanted])
    return torch.cat(states), torch.cat(truths)


class FrozenHeads(nn.Module):
    """Heads on what a reader, with a network that is not trained, makes of targets."""

    jointly = False

    def __init__(self, reader: Reader, network: Any, heads: Heads) -> None:
        super().__init__()
        self.heads = heads
        self._frozen = reader, network  # not among the module's weights

    @property
    def network(self) -> Any:
        """The verifier."""
        return self._frozen[1]

    def forward(self, source: Tensor, target_in: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        """Return (logits, targets) of the heads."""
        _, hidden = self._frozen[0].read(source, target)
        assert hidden is not None
        states, truth = ahead(self.heads, hidden, target)
        return self.network.output(states), truth


class HeadsTrainee(nn.Module):
    """A verifier and its heads; the verifier is frozen unless they are trained ``jointly``."""

    def __init__(self, network: Transformer, heads: Heads, *, jointly: bool) -> None:
        super().__init__()
        self.network, self.heads, self.jointly = network, heads, jointly
        network.requires_grad_(jointly)

    def forward(self, source: Tensor, target_in: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        """Return (logits, targets) of the heads, and jointly the same of the verifier itself."""
        hidden = self._hidden(source, target_in)  # [B, T, D]
        states, truth = ahead(self.heads, hidden, target)
        found = self.network.output(states), truth
        if not self.jointly:
            return found
        real = target != PAD_ID
        return *found, self.network.output(hidden[real]), target[real]

    def _hidden(self, source: Tensor, target_in: Tensor) -> Tensor:
        network = self.network.train(self.jointly and self.training)
        with torch.set_grad_enabled(self.jointly and torch.is_grad_enabled()):
            mask = (source != PAD_ID)[:, None, None, :]  # [B, 1, 1, S]
            caches = [PassingCache(c) for c in network.caches(network.encode(source, mask))]
            positions = Positions.of([0], target_in.shape[1], source.device)
            hidden: Tensor = network.decode_block(target_in, [*caches], positions, mask)
        return hidden


@dataclass
class HeadsObjective(ParallelObjective):
    """Extra heads: the tokens behind the next one."""

    module: HeadsTrainee | FrozenHeads

    @property
    def config(self) -> dict[str, Any]:
        """The architecture of verifier and heads, kept in checkpoints."""
        heads = self.module.heads
        return {
            "network": self.module.network.config.to_dict(),
            "heads": {"count": heads.count, "hidden": heads.hidden},
            "jointly": self.module.jointly,
        }

    def loss(self, model: nn.Module, batch: ParallelBatch, _share: float) -> tuple[Tensor, Tensor]:
        """Return (loss of the heads and, jointly, of the verifier, number of target tokens)."""
        found = model(batch.source, batch.target_in, batch.target)
        smoothing = self.schedule.label_smoothing
        losses = [
            mean_cross_entropy(logits, truth, smoothing)
            for logits, truth in zip(found[::2], found[1::2], strict=True)
        ]
        return torch.stack(losses).sum(), (batch.target != PAD_ID).sum()

    @torch.no_grad()
    def measure(self, device: torch.device) -> dict[str, float]:
        """Return the loss and accuracy of a random head at every place of the dev sentences."""
        self.module.eval()
        loss = right = count = 0.0
        with torch.random.fork_rng():  # the same heads every time, and no run depends on it
            torch.manual_seed(0)
            for batch in self.validation:
                batch = batch.to(device)
                logits, truth, *_ = self.module(batch.source, batch.target_in, batch.target)
                loss += float(F.cross_entropy(logits.float(), truth, reduction="sum"))
                right += float((logits.argmax(-1) == truth).sum())
                count += len(truth)
        self.module.train()
        return {"dev_loss": loss / count, "dev_accuracy": right / count}


def mean_cross_entropy(logits: Tensor, truth: Tensor, smoothing: float) -> Tensor:
    """Return the mean loss; 0 if nothing is left to predict, not 0 / 0."""
    total = F.cross_entropy(logits.float(), truth, label_smoothing=smoothing, reduction="sum")
    return total / max(1, len(truth))
