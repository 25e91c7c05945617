"""The alignment of the I-measure: source, hypothesis and references, column by column.

The least sum of pairwise costs (Felice and Briscoe 2015, section 3.2: gap 2, mismatch 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = Sequence[str]
Columns = NDArray[np.int64]  # [..., 5]: columns of the alignment that are TN, FN, FP, TP, FPN

TN, FN, FP, TP, FPN = range(5)

_GAP, _MISMATCH = 2, 3
_BATCH = 2_000_000  # cells of the alignment table at a time: bounds the memory


def align(source: Words, hypothesis: Words, references: Sequence[Words]) -> Columns:
    """Return the columns of the three-way alignment with each reference, [references, 5].

    All references go through one table, so alignments with equal beginnings share their work.
    Common last tokens are always aligned with each other, so the table leaves them out.
    """
    size = (len(source) + 1) * (len(hypothesis) + 1) * (max(map(len, references)) + 1)
    step = max(1, _BATCH // size)
    parts = [references[i : i + step] for i in range(0, len(references), step)]
    return np.concatenate([_align(source, hypothesis, part) for part in parts])


def _align(source: Words, hypothesis: Words, references: Sequence[Words]) -> Columns:
    same = min(_common_end(source, hypothesis, reference) for reference in references)
    cut = slice(-same if same else None)
    number: dict[str, int] = {}
    s, h, *r = (
        np.array([number.setdefault(word, len(number)) for word in words[cut]], dtype=np.int64)
        for words in (source, hypothesis, *references)
    )
    lengths = np.array([len(words) for words in r])
    padded = np.full((len(r), max(lengths)), -1)
    for row, words in zip(padded, r, strict=True):
        row[: len(words)] = words
    counts = _trace(_table(s, h, padded), s, h, padded, lengths)
    counts[:, TN] += same
    return counts


def _common_end(*texts: Words) -> int:
    count = 0
    for tokens in zip(*(text[::-1] for text in texts), strict=False):
        if len(set(tokens)) > 1:
            break
        count += 1
    return count


def _cost(one: NDArray[np.int64], other: NDArray[np.int64] | np.int64) -> NDArray[np.int64]:
    return np.where(one == other, 0, _MISMATCH)


def _table(s: NDArray[np.int64], h: NDArray[np.int64], r: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least cost of aligning the first i, j and k tokens, [i, j, reference, k]."""
    width = r.shape[1] + 1
    far = np.int64(1 << 40)
    table = np.full((len(s) + 1, len(h) + 1, len(r), width), far)
    gaps = 2 * _GAP  # cost of a token beside two gaps, or of a gap beside two tokens
    slope = gaps * np.arange(width)
    sr = [_cost(r, word) for word in s]
    hr = [_cost(r, word) for word in h]
    for i in range(len(s) + 1):
        for j in range(len(h) + 1):
            least = np.full((len(r), width), far)
            if i == j == 0:
                least[:, 0] = 0
            if i:
                above = table[i - 1, j]
                least = np.minimum(least, above + gaps)
                least[:, 1:] = np.minimum(least[:, 1:], above[:, :-1] + sr[i - 1] + gaps)
            if j:
                left = table[i, j - 1]
                least = np.minimum(least, left + gaps)
                least[:, 1:] = np.minimum(least[:, 1:], left[:, :-1] + hr[j - 1] + gaps)
            if i and j:
                diagonal = table[i - 1, j - 1] + (0 if s[i - 1] == h[j - 1] else _MISMATCH)
                least = np.minimum(least, diagonal + gaps)
                all_three = diagonal[:, :-1] + sr[i - 1] + hr[j - 1]
                least[:, 1:] = np.minimum(least[:, 1:], all_three)
            # tokens of the reference alone, one after the other along the row
            table[i, j] = np.minimum.accumulate(least - slope, axis=1) + slope
    return table


def _trace(
    table: NDArray[np.int64],
    s: NDArray[np.int64],
    h: NDArray[np.int64],
    r: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> Columns:
    """Return the counts of columns, [references, 5], traced back from all alignments' ends at once.

    Of equally cheap steps the first of this order is taken, as in the authors' program: all three,
    source and hypothesis, source and reference, hypothesis and reference, then one alone.
    """
    rows = np.arange(len(lengths))
    i, j, k = np.full(len(rows), len(s)), np.full(len(rows), len(h)), lengths.copy()
    counts = np.zeros((len(rows), 5), dtype=np.int64)
    gaps = 2 * _GAP
    # index -1, if no token is left, reads this additional entry; such steps are never taken
    s, h = np.append(s, -2), np.append(h, -3)
    r = np.hstack([r, np.full((len(rows), 1), -4)])
    steps = ((1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    while (going := (i + j + k) > 0).any():
        tokens = s[i - 1], h[j - 1], r[rows, k - 1]
        sh, sr, hr = tokens[0] == tokens[1], tokens[0] == tokens[2], tokens[1] == tokens[2]
        here = table[i, j, rows, k]
        open_ = going.copy()
        move = np.zeros((3, len(rows)), dtype=np.int64)
        kinds = np.zeros(len(rows), dtype=np.int64)
        for a, b, c in steps:
            there = (i >= a) & (j >= b) & (k >= c) & open_
            cost = _MISMATCH * (a * b * ~sh + a * c * ~sr + b * c * ~hr)
            cost = cost + gaps * (a + b + c < 3)
            before = table[np.maximum(i - a, 0), np.maximum(j - b, 0), rows, np.maximum(k - c, 0)]
            taken = there & (here == before + cost)
            move[:, taken] = np.array([[a], [b], [c]])
            kinds = np.where(taken, _kind(a, b, c, sh, sr, hr), kinds)
            open_ &= ~taken
        counts[rows[going], kinds[going]] += 1
        i, j, k = i - move[0], j - move[1], k - move[2]
    return counts


def _kind(
    a: int, b: int, c: int, sh: NDArray[np.bool_], sr: NDArray[np.bool_], hr: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the kind of a column; two gaps agree, a gap and a token do not."""

    def agree(one: int, other: int, equal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return equal if one and other else np.full(equal.shape, one == other)

    sh, sr, hr = agree(a, b, sh), agree(a, c, sr), agree(b, c, hr)
    return np.select([sh & hr, sh, sr, hr], [TN, FN, FP, TP], FPN)
