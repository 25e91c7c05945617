"""A decoder that is fine-tuned: its weights, its loss and one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gec.errors import DataError
from gec.models.network.llama import Llama, LlamaConfig, rotations
from gec.models.training.finetune_batches import Batch
from gec.models.training.finetune_recipe import TrainingRecipe

ChunkLoss = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
CHUNK = 256  # rows whose logits exist at once


def chunk_loss(logits: Tensor, target: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return cross-entropy losses [N] and the gradient of their weighted sum for logits [N, V]."""
    exact = logits.float()  # [N, V]
    top = exact.amax(-1, keepdim=True)  # [N, 1]
    powers = (exact - top).exp()  # [N, V]
    total = powers.sum(-1, keepdim=True)  # [N, 1]
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
        """Return (weighted sum of the losses, losses [N]); keep the gradient of ``hidden``."""
        gradient, losses = torch.empty_like(hidden), []
        for start in range(0, len(hidden), CHUNK):
            part = slice(start, start + CHUNK)
            found, change = compute(hidden[part] @ table.t(), target[part], weight[part])
            gradient[part] = change @ table
            losses.append(found)
        ctx.save_for_backward(gradient)
        every = torch.cat(losses)  # [N]
        ctx.mark_non_differentiable(every)
        return (every * weight).sum(), every

    @staticmethod
    def backward(ctx: Any, total: Tensor, _: Tensor) -> tuple[Tensor, None, None, None, None]:
        """Return the gradient of the hidden states [N, D]."""
        (gradient,) = ctx.saved_tensors
        return gradient * total.to(gradient.dtype), None, None, None, None


class Trainer:
    """A network in bfloat16, its weights in float32 and what moves them."""

    def __init__(
        self, config: LlamaConfig, state: dict[str, Tensor], training: TrainingRecipe
    ) -> None:
        self.config, self.training = config, training
        self.network = Llama.of(config, state)
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
        hidden = self._hidden(batch.tokens, scored, compiled=True)
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

    @torch.no_grad()
    def scores(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss in nats [N] of the N target tokens, and whether each is the likeliest."""
        hidden = self._hidden(batch.tokens, batch.wanted, compiled=False)
        target, losses, right = batch.target[batch.wanted], [], []
        for start in range(0, len(hidden), CHUNK):
            part = slice(start, start + CHUNK)
            logits = (hidden[part] @ self.network.embedding.weight.t()).float()  # [CHUNK, V]
            losses.append(F.cross_entropy(logits, target[part], reduction="none"))
            right.append(logits.argmax(-1) == target[part])
        return torch.cat(losses), torch.cat(right)

    def _hidden(self, tokens: Tensor, scored: Tensor, *, compiled: bool) -> Tensor:
        """Return the last hidden states [N, D] where ``scored`` [B, T] marks N places."""
        network = self.network
        x = network.embedding(tokens).requires_grad_()  # [B, T, D]
        cos, sin = (part[:, None].to(x) for part in rotations(self.config, tokens.shape[1]))
        for layer in network.layers:
            x = layer(x, cos, sin) if compiled else layer.forward(x, cos, sin)
        return network.norm(x[scored])


def _mean(x: Tensor) -> float:
    return float(x.mean()) if len(x) else 0.0
