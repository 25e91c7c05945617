"""Generalized aggressive and blockwise decoding as their papers write them: no cache, no batch.

``scores(source, output)`` returns the logits [V] of the token after ``output``; ``draft(source,
output)`` the drafted tokens with their log-probabilities, from scratch. All ids without BOS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from reference_decoding import EOS, Output, Scores
from torch import Tensor

from gec.models.network.cache import Positions
from gec.models.network.heads import Heads
from gec.models.network.nat import NatTransformer
from gec.models.network.transformer import Transformer

BOS = 1
Draft = Callable[[Sequence[int], Sequence[int]], list[tuple[int, float]]]
Stands = Callable[[Tensor, int, float], bool]
"""Whether a token stands: from the verifier's logits [V], the token and its draft's log-prob."""


def exact(logits: Tensor, token: int, _logprob: float) -> bool:
    return token == int(logits.argmax())


def top_beta(beta: int, tau: float) -> Stands:
    """In the verifier's best ``beta`` and at most ``tau`` nats behind its best."""

    def stands(logits: Tensor, token: int, _logprob: float) -> bool:
        logprobs = logits.float().log_softmax(-1).tolist()
        ranked = sorted(logprobs, reverse=True)
        return logprobs[token] >= ranked[beta - 1] and ranked[0] - logprobs[token] <= tau + 1e-6

    return stands


def paper_top_beta(beta: int, tau: float) -> Stands:
    """Equations (6) and (7) with the drafter's log-probability on their left and right."""

    def stands(logits: Tensor, _token: int, logprob: float) -> bool:
        ranked = sorted(logits.float().log_softmax(-1).tolist(), reverse=True)
        return logprob >= ranked[beta - 1] and ranked[0] - logprob <= tau

    return stands


def top_k(k: int) -> Stands:
    def stands(logits: Tensor, token: int, _logprob: float) -> bool:
        return token in sorted(range(len(logits)), key=lambda i: -float(logits[i]))[:k]

    return stands


def distance(epsilon: int) -> Stands:
    def stands(logits: Tensor, token: int, _logprob: float) -> bool:
        best = int(logits.argmax())
        if EOS in (best, token):
            return best == token
        return abs(best - token) <= epsilon

    return stands


def generalized(
    scores: Scores, draft: Draft, source: Sequence[int], limit: int, stands: Stands
) -> Output:
    """Draft a block, keep it up to the bifurcation, go on with the verifier's own token."""
    y: list[int] = []
    passes: list[tuple[int, int, int]] = []
    while len(y) < limit and EOS not in y:
        drafted = []
        for token, logprob in draft(source, y):
            drafted.append((token, logprob))
            if token == EOS:
                break
        drafted = drafted[: limit - len(y) - 1]
        accepted, before = 0, len(y)
        for token, logprob in drafted:
            if not stands(scores(source, y), token, logprob):
                break
            y.append(token)
            accepted += 1
        if EOS not in y:
            y.append(int(scores(source, y).argmax()))
        passes.append((len(drafted), accepted, len(y) - before))
    ended = y[-1] == EOS
    return Output(tuple(y[:-1] if ended else y), not ended, tuple(passes))


@torch.inference_mode()
def nat_draft(
    network: NatTransformer,
    source: Sequence[int],
    output: Sequence[int],
    k: int,
    verifier: Transformer | None = None,
) -> list[tuple[int, float]]:
    """Predict a block by one forward computation over ``[BOS output ; k x MASK]``.

    ``verifier`` encodes where the drafter has no encoder.
    """
    encoded = (verifier or network).encode(torch.tensor([[*source, EOS]]))
    prefix = [BOS, *output]
    tokens = torch.tensor([[*prefix, *[network.mask_id] * k]])
    size = tokens.shape[1]
    seen = torch.ones(size, size, dtype=torch.bool)
    if network.nat.causal_prefix:  # prefix token i sees the tokens 0..i
        for i in range(len(prefix)):
            seen[i, i + 1 :] = False
    positions = Positions(torch.arange(size), 0, size, seen[None, None], False)
    hidden = network.decode_block(tokens, network.caches(encoded), positions)
    logits = network.output(hidden[0, -k:]).float().log_softmax(-1)
    return [(int(row.argmax()), float(row.max())) for row in logits]


@torch.inference_mode()
def heads_draft(
    network: Transformer, heads: Heads, source: Sequence[int], output: Sequence[int], k: int
) -> list[tuple[int, float]]:
    """Return what the heads predict to follow the last output token, from the state before it."""
    if not output:
        return []
    hidden: list[Tensor] = []
    hook = network.decoder_norm.register_forward_hook(lambda *args: hidden.append(args[2]))
    network(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *output[:-1]]]))
    hook.remove()
    state = hidden[0][0, -1]
    return [(int(network.output(heads(state, head)).argmax()), 0.0) for head in range(k - 1)]
