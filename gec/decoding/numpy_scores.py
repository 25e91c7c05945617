"""Scores in numpy: as gec.models.engines.scores, for models that compute without torch.

Shapes: B rows, N places of all rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gec.decoding.sampling import Sampling
from gec.decoding.scores import Rows
from gec.errors import ModelError

Array = NDArray[Any]


class NumpyScores:
    """Meets :class:`gec.decoding.scores.Scores` with logits; a column is an array [N] or [N, k].

    Args:
        logits: [N, V], the rows' places one after another.
        lengths: how many places each row has.
    """

    def __init__(self, logits: Array, lengths: Sequence[int]) -> None:
        self.raw, self.lengths = logits, lengths

    @classmethod
    def of(cls, rows: Sequence[Sequence[Sequence[float]]]) -> NumpyScores:
        """Return the scores of logits by row and place, as lists."""
        logits = [place for row in rows for place in row]
        return cls(np.array(logits, np.float32), [len(row) for row in rows])

    def best(self) -> Array:
        found: Array = self.raw.argmax(-1)
        return found

    def behind(self, tokens: Rows) -> Array:
        ids = self._column(tokens)
        top = self.raw.max(-1).astype(np.float32)
        return np.where(ids < 0, np.inf, top - self._of(ids).astype(np.float32))

    def rank(self, tokens: Rows) -> Array:
        ids = self._column(tokens)
        given = np.where(ids < 0, -np.inf, self._of(ids))
        better = (self.raw > given[:, None]).sum(-1)
        found: Array = np.where(np.isfinite(given), better, self.raw.shape[1])
        return found

    def logprobs(self, *tokens: Rows | Array) -> list[Array]:
        found = _log_softmax(self.raw)
        columns = [t if isinstance(t, np.ndarray) else self._column(t) for t in tokens]
        return [np.take_along_axis(found, np.maximum(c, 0)[:, None], -1)[:, 0] for c in columns]

    def certainty(self) -> Array:
        found: Array = np.exp(_log_softmax(self.raw).max(-1))
        return found

    def top(self, count: int) -> list[Array]:
        logprobs = _log_softmax(self.raw)
        ids = (-logprobs).argsort(-1, kind="stable")[:, :count]
        return [np.take_along_axis(logprobs, ids, -1), ids]

    def read(self, *columns: Array) -> list[list[list[Any]]]:
        return [[part.tolist() for part in self._split(column)] for column in columns]

    def distribution(self, sampling: Sampling) -> NumpyDistributions:
        return NumpyDistributions(self._split(probabilities(sampling, self.raw)))

    def after(self, counts: Sequence[int]) -> NumpyScores:
        rows = [row[count:] for row, count in zip(self._split(self.raw), counts, strict=True)]
        return NumpyScores(np.concatenate(rows), [len(row) for row in rows])

    def at(self, places: Sequence[int]) -> NumpyScores:
        rows = [row[[place]] for row, place in zip(self._split(self.raw), places, strict=True)]
        return NumpyScores(np.concatenate(rows), [1] * len(rows))

    def _split(self, column: Array) -> list[Array]:
        return np.split(column, np.cumsum(self.lengths)[:-1])

    def _column(self, tokens: Rows) -> Array:
        """Return ids [N], -1 where a place has none."""
        pairs = zip(self.lengths, tokens, strict=True)
        return np.array([i for n, row in pairs for i in [*row, *[-1] * (n - len(row))]], np.int64)

    def _of(self, ids: Array) -> Array:
        """Return the logits [N] of ids [N]."""
        return np.take_along_axis(self.raw, np.maximum(ids, 0)[:, None], -1)[:, 0]


def _log_softmax(logits: Array) -> Array:
    logits = logits.astype(np.float32)
    logits = logits - logits.max(-1, keepdims=True)
    found: Array = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return found


# --------------------------------------------------------------------------------------- sampling


def probabilities(sampling: Sampling, logits: Array) -> Array:
    """Return the probabilities [..., V] that logits [..., V] give, at least in float32."""
    logits = logits if logits.dtype == np.float64 else logits.astype(np.float32)
    if sampling.greedy:
        best: Array = logits.argmax(-1)[..., None] == np.arange(logits.shape[-1])
        return best.astype(logits.dtype)
    logits = (logits - logits.max(-1, keepdims=True)) / logits.dtype.type(sampling.temperature)
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        place = (-logits).argsort(-1, kind="stable").argsort(-1)  # of each among the likeliest
        logits = np.where(place < sampling.top_k, logits, -np.inf)
    found = np.exp(logits)
    found /= found.sum(-1, keepdims=True)
    if sampling.epsilon:
        found[(found < sampling.epsilon) & (found < found.max(-1, keepdims=True))] = 0
        found /= found.sum(-1, keepdims=True)
    return found if sampling.top_p == 1 else _nucleus(found, sampling.top_p)


def _nucleus(found: Array, top_p: float) -> Array:
    """Return probabilities [..., V] with those behind the likeliest ``top_p`` of each row at zero.

    Tokens that are all less likely than (1 - p) / V sum to less than 1 - p: none of them stays, so
    that only the few others are sorted. Half of that bound leaves room for rounding.
    """
    kept = np.zeros(found.shape, found.dtype)
    size = found.shape[-1]
    least = (1 - top_p) / (2 * size)
    for row, into in zip(found.reshape(-1, size), kept.reshape(-1, size), strict=True):
        ids = np.flatnonzero(row > least)
        ids = ids[(-row[ids]).argsort(kind="stable")]
        ordered = row[ids]
        before = ordered.cumsum() - ordered  # the likeliest has nothing before it: it stays
        ids = ids[before < top_p]
        into[ids] = row[ids] / row[ids].sum()
    return kept


def draw(weights: Array, number: float) -> int:
    """Return an id drawn from weights [V] (they need not sum to 1) by inversion."""
    cumulative = weights.astype(np.float64).cumsum()
    return int(np.searchsorted(cumulative, number * cumulative[-1], side="right"))


class NumpyDistributions:
    """Meets :class:`gec.decoding.scores.Distributions`: p [n, V] of each row; so is a part."""

    def __init__(self, rows: Sequence[Array]) -> None:
        self.rows = rows

    def part(self, row: int, count: int) -> Array:
        return self.rows[row][:count]

    def draw(self, numbers: Sequence[float]) -> list[int]:
        return [draw(p[0], number) for p, number in zip(self.rows, numbers, strict=True)]

    def speculate(
        self,
        drafts: Rows,
        drawn: Sequence[Sequence[Array]] | None,
        chances: Sequence[Sequence[float]],
        last: Sequence[float],
    ) -> list[tuple[int, int]]:
        found = []
        for row, (p, draft) in enumerate(zip(self.rows, drafts, strict=True)):
            q = _drafted_from(p, draft, None if drawn is None else drawn[row])
            count = 0
            for token, chance in zip(draft, chances[row], strict=True):
                if not chance * float(q[count, token]) < float(p[count, token]):
                    break
                count += 1
            place = min(count, len(p) - 1)
            rest = np.maximum(p[place] - q[place], 0)
            found.append((count, draw(rest if rest.sum() > 0 else p[place], last[row])))
        return found


def _drafted_from(p: Array, draft: Sequence[int], drawn: Sequence[Array] | None) -> Array:
    """Return q [n, V] of one row: what each drafted token was drawn from; zeros beyond."""
    q = np.zeros_like(p)
    if drawn is None:
        q[range(len(draft)), draft] = 1
    elif drawn:
        if drawn[0].shape[-1] != p.shape[-1]:
            raise ModelError(
                f"the drafter has a vocabulary of {drawn[0].shape[-1]} tokens, the verifier one of "
                f"{p.shape[-1]}: they must share it"
            )
        own = np.concatenate(list(drawn))[: len(draft)]
        q[: len(own)] = own
    return q
