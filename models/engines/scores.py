"""Scores in torch: the answers that acceptance rules get, and the arithmetic of sampling.

Shapes: B rows, N places of all rows, T longest row, V vocabulary.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gec.decoding.sampling import Sampling
from gec.decoding.scores import Rows
from gec.errors import ModelError

_TOGETHER = 256  # places whose log-probabilities are computed at once: all take as much memory


class TorchScores:
    """Meets :class:`gec.decoding.scores.Scores` with logits; a column is a tensor [N] or [N, k].

    Args:
        logits: [N, V], the rows' places one after another, all or some of them.
        lengths: how many places each row has.
        begins: which of the N is each row's first; None: the row before ends there.
    """

    def __init__(
        self, logits: Tensor, lengths: Sequence[int], begins: Sequence[int] | None = None
    ) -> None:
        self.raw, self.lengths = logits, lengths
        self.begins = first_places(lengths) if begins is None else begins
        self._best: tuple[Tensor, Tensor] | None = None

    @classmethod
    def padded(cls, logits: Tensor, lengths: Sequence[int]) -> TorchScores:
        """Return the scores of logits [B, T, V], of which each row has its first places."""
        width = logits.shape[1]
        return cls(logits.flatten(0, 1), lengths, range(0, width * len(lengths), width))

    @property
    def logits(self) -> Tensor:
        """The logits [B, T, V]; zeros behind a row's last place."""
        if len(set(self.lengths)) == 1 and len(self.raw) == sum(self.lengths):
            return self.raw.view(len(self.lengths), -1, self.raw.shape[1])
        parts = [self.raw[begin : begin + n] for begin, n in self._spans()]
        return pad_sequence(parts, batch_first=True)

    def best(self) -> Tensor:
        return self._likeliest()[1]

    def behind(self, tokens: Rows) -> Tensor:
        ids = self._column(tokens)
        top, _ = self._likeliest()
        return (top.float() - self._of(ids).float()).masked_fill(ids < 0, torch.inf)

    def rank(self, tokens: Rows) -> Tensor:
        ids = self._column(tokens)
        given = self._of(ids).masked_fill(ids < 0, -torch.inf)
        better = (self.raw > given[:, None]).sum(-1)
        return better.masked_fill(~given.isfinite(), self.raw.shape[1])

    def logprobs(self, *tokens: Rows | Tensor) -> list[Tensor]:
        columns = [t if isinstance(t, Tensor) else self._column(t) for t in tokens]
        ids = torch.stack(columns, 1).clamp_min(0)  # [N, columns]
        rows = zip(torch.split(self.raw, _TOGETHER), torch.split(ids, _TOGETHER), strict=True)
        found = [some.float().log_softmax(-1).gather(-1, wanted) for some, wanted in rows]
        return list(torch.cat(found).unbind(1))

    def certainty(self) -> Tensor:
        logits = self.raw.float()
        return (logits.amax(-1) - logits.logsumexp(-1)).exp()

    def top(self, count: int) -> list[Tensor]:
        logprobs = self.raw.float().log_softmax(-1)
        return list(logprobs.topk(min(count, logprobs.shape[-1]), dim=-1))

    def read(self, *columns: Tensor) -> list[list[list[Any]]]:
        if len(columns) == 1 and columns[0].dim() == 1:
            return [self._rows(columns[0].tolist())]
        # ids below 2**24 are exact in float32, so one transfer carries all
        parts = [(column if column.dim() == 2 else column[:, None]).float() for column in columns]
        whole = torch.cat(parts, 1).tolist()  # [N, numbers of all columns]
        ends = itertools.accumulate(part.shape[1] for part in parts)
        return [
            self._rows(_numbers(whole, end - part.shape[1], end, column))
            for column, part, end in zip(columns, parts, ends, strict=True)
        ]

    def distribution(self, sampling: Sampling) -> TorchDistributions:
        return TorchDistributions(probabilities(sampling, self.logits))

    def after(self, counts: Sequence[int]) -> TorchScores:
        lengths = [n - count for n, count in zip(self.lengths, counts, strict=True)]
        begins = [begin + count for begin, count in zip(self.begins, counts, strict=True)]
        return TorchScores(self.raw, lengths, begins)

    def at(self, places: Sequence[int]) -> TorchScores:
        wanted = [begin + place for begin, place in zip(self.begins, places, strict=True)]
        index = torch.tensor(wanted, device=self.raw.device)
        return TorchScores(self.raw.index_select(0, index), [1] * len(places))

    def _likeliest(self) -> tuple[Tensor, Tensor]:
        """Return the largest logits [N] and their ids [N], looked for once."""
        if self._best is None:
            self._best = best_of(self.raw)
        return self._best

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Return each row's first place and how many it has."""
        return zip(self.begins, self.lengths, strict=True)

    def _rows(self, flat: list[Any]) -> list[list[Any]]:
        return [flat[begin : begin + n] for begin, n in self._spans()]

    def _column(self, tokens: Rows) -> Tensor:
        """Return ids [N], -1 where a place has none."""
        ids = [-1] * len(self.raw)
        for (begin, _), row in zip(self._spans(), tokens, strict=True):
            ids[begin : begin + len(row)] = row
        return torch.tensor(ids, device=self.raw.device)

    def _of(self, ids: Tensor) -> Tensor:
        """Return the logits [N] of ids [N]."""
        return self.raw.gather(-1, ids.clamp_min(0)[:, None])[:, 0]


def first_places(lengths: Sequence[int]) -> list[int]:
    """Return where each row begins among rows of these lengths that follow one another.

    >>> first_places([2, 1, 3])
    [0, 2, 3]
    """
    return [
        end - length for end, length in zip(itertools.accumulate(lengths), lengths, strict=True)
    ]


def _numbers(whole: list[list[float]], begin: int, end: int, column: Tensor) -> list[Any]:
    """Return what a column says of each place, which stands from ``begin`` to ``end``."""
    ids = not column.is_floating_point()
    if column.dim() == 2:
        lists = [place[begin:end] for place in whole]
        return [list(map(int, place)) for place in lists] if ids else lists
    numbers = [place[begin] for place in whole]
    return list(map(int, numbers)) if ids else numbers


def best_of(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest logit [...] of [..., V] and the first id that has it.

    The same as ``max(-1)``, which on a CPU compares one number at a time: here the best of each
    group of ids is found first, which compares many.
    """
    vocabulary = logits.shape[-1]
    size = next((n for n in (64, 32, 16) if vocabulary % n == 0), None)
    if logits.device.type != "cpu" or size is None or logits.numel() <= vocabulary:
        top, best = logits.max(-1)
        return top, best
    groups = logits.reshape(*logits.shape[:-1], -1, size)
    group = groups.amax(-1).argmax(-1)
    inside = groups.gather(-2, group[..., None, None].expand(*group.shape, 1, size))[..., 0, :]
    top, place = inside.max(-1)
    return top, group * size + place


# --------------------------------------------------------------------------------------- sampling


def probabilities(sampling: Sampling, logits: Tensor) -> Tensor:
    """Return the probabilities [..., V] that logits [..., V] give, at least in float32."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if sampling.greedy:
        best = logits.argmax(-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, best, 1.0)
    # the largest logit as the origin, lest a small temperature makes infinities
    logits = (logits - logits.amax(-1, keepdim=True)) / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        kept = logits.topk(sampling.top_k, -1)
        logits = torch.full_like(logits, -torch.inf).scatter(-1, kept.indices, kept.values)
    found = logits.softmax(-1)
    if sampling.epsilon:
        unlikely = (found < sampling.epsilon) & (found < found.amax(-1, keepdim=True))
        found = found.masked_fill(unlikely, 0.0)
        found = found / found.sum(-1, keepdim=True)
    return found if sampling.top_p == 1 else _nucleus(found, sampling.top_p)


def _nucleus(found: Tensor, top_p: float) -> Tensor:
    ordered, index = found.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered  # the likeliest has nothing before it: it stays
    ordered = ordered.masked_fill(before >= top_p, 0.0)
    ordered = ordered / ordered.sum(-1, keepdim=True)
    return torch.zeros_like(found).scatter(-1, index, ordered)


def draw(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Return [B] ids drawn from weights [B, V] (they need not sum to 1) by inversion.

    ``uniforms`` [B] lie in [0, 1). Ids of weight 0 are never drawn.
    """
    cumulative = weights.double().cumsum(-1)
    aims = uniforms[:, None].double() * cumulative[:, -1:]
    # the first id whose cumulated weight lies above the aim; an id of weight 0 never is the first
    return torch.searchsorted(cumulative, aims, right=True)[:, 0]


class TorchDistributions:
    """Meets :class:`gec.decoding.scores.Distributions` with p [B, T, V]; a part is [n, V]."""

    def __init__(self, p: Tensor) -> None:
        self.p = p

    def part(self, row: int, count: int) -> Tensor:
        return self.p[row, :count]

    def draw(self, numbers: Sequence[float]) -> list[int]:
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=self.p.device)
        found: list[int] = draw(self.p[:, 0], uniforms).tolist()
        return found

    def speculate(
        self,
        drafts: Rows,
        drawn: Sequence[Sequence[Tensor]] | None,
        chances: Sequence[Sequence[float]],
        last: Sequence[float],
    ) -> list[tuple[int, int]]:
        p, width = self.p, self.p.shape[1]
        tokens = self._padded(drafts, -1, torch.long)  # [B, T]
        q = self._drafted_from(drafts, drawn, tokens)
        u = self._padded(chances, 1.0, torch.float64)
        v = torch.tensor(last, dtype=torch.float64, device=p.device)
        ids = tokens.clamp_min(0)[..., None]
        # u < p(x) / q(x); beyond the draft q is 0 and p >= 0, hence the second condition
        stands = u * q.gather(-1, ids)[..., 0] < p.gather(-1, ids)[..., 0]
        stands &= tokens >= 0
        accepted = stands.int().cumprod(1).sum(1)  # [B]
        place = accepted.clamp_max(width - 1)[:, None, None].expand(-1, 1, p.shape[2])
        p, q = p.gather(1, place)[:, 0], q.gather(1, place)[:, 0]  # [B, V]
        rest = (p - q).clamp_min(0)  # beyond the draft q is 0: p itself
        # p and q the same but for rounding leave nothing
        rest = torch.where(rest.sum(-1, keepdim=True) > 0, rest, p)
        both = torch.stack([accepted, draw(rest, v)], 1).tolist()
        return [(count, token) for count, token in both]

    def _padded(self, rows: Sequence[Sequence[float]], fill: float, dtype: torch.dtype) -> Tensor:
        """Return [B, T]."""
        width = self.p.shape[1]
        padded = [[*row, *[fill] * (width - len(row))] for row in rows]
        return torch.tensor(padded, dtype=dtype, device=self.p.device)

    def _drafted_from(
        self, drafts: Rows, drawn: Sequence[Sequence[Tensor]] | None, tokens: Tensor
    ) -> Tensor:
        """Return q [B, T, V]: what each drafted token was drawn from; zeros beyond the draft."""
        q = torch.zeros_like(self.p)
        if drawn is None:
            q.scatter_(-1, tokens.clamp_min(0)[..., None], 1.0)
            return q.masked_fill_((tokens < 0)[..., None], 0.0)
        for row, (draft, parts) in enumerate(zip(drafts, drawn, strict=True)):
            if parts:
                self._check_vocabulary(parts[0])
                own = torch.cat(list(parts))[: len(draft)]
                q[row, : len(own)] = own.to(q.dtype)
        return q

    def _check_vocabulary(self, part: Tensor) -> None:
        mine, theirs = self.p.shape[-1], part.shape[-1]
        if mine != theirs:
            raise ModelError(
                f"the drafter has a vocabulary of {theirs} tokens, the verifier one of "
                f"{mine}: they must share it"
            )
