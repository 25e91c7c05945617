"""Counts and probabilities of :class:`gec.text.ngrams.NGrams`: interpolated Kneser-Ney.

Kneser and Ney 1995, in the interpolated form of Chen and Goodman 1998 with one discount an order.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gec.errors import DataError
from gec.text.ngrams import (
    BEGIN,
    END,
    FIRST_WORD,
    MOST_WORDS,
    STEP,
    UNKNOWN,
    Level,
    NGrams,
    normal_form,
)

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_BITS = np.uint64(16)


def build_ngrams(
    sentences: Callable[[], Iterable[Sequence[str]]],
    *,
    least: Sequence[int] = (1, 2, 2, 3),
    vocabulary: int = MOST_WORDS,
) -> NGrams:
    """Return the model of some sentences of words.

    Args:
        sentences: gives them anew; they are read twice.
        least: for each order, from 1, how often an n-gram must occur to be kept; at most 4 orders.
        vocabulary: the most words; rarer ones are one unknown word.

    Raises:
        DataError: there are no words.
    """
    frequency = Counter(normal_form(word) for words in sentences() for word in words)
    ranked = sorted(frequency, key=lambda word: (-frequency[word], word))
    words = [word for word in ranked if "\n" not in word][: min(vocabulary, MOST_WORDS)]
    if not words:
        raise DataError("no sentences to count n-grams of")
    order = len(least)
    tokens = _tokens(sentences(), words, order)
    raw = [_count(tokens, n) for n in range(1, order + 1)]
    levels: list[Level] = []
    below: tuple[Keys, npt.NDArray[np.float64]] | None = None
    for n in range(1, order + 1):
        keys, occurrences = raw[n - 1]
        counts = occurrences if n == order else _continuations(keys, occurrences, raw[n][0], n)
        probabilities = _probabilities(keys, counts, below, FIRST_WORD + len(words), n)
        kept = occurrences >= least[n - 1]
        if n < order:
            above_keys, above = raw[n]
            if n + 1 < order:
                above = _continuations(above_keys, above, raw[n + 1][0], n + 1)
            shown, costs, backoffs = _with_backoffs(
                keys, kept, probabilities[kept], *_backoffs(above_keys, above)
            )
            levels.append(_level(shown, costs, backoffs, n, len(words)))
        else:
            level = _level(keys[kept], _steps(probabilities[kept]), None, n, len(words))
            levels.append(level)
        below = keys, probabilities
    return NGrams(words, levels)


def _tokens(sentences: Iterable[Sequence[str]], words: Sequence[str], order: int) -> Keys:
    """Return the ids of all words, each sentence between its beginnings and its end."""
    ids = {word: number for number, word in enumerate(words, FIRST_WORD)}
    stream = array("H")
    for sentence in sentences:
        stream.extend([BEGIN] * (order - 1))
        stream.extend(ids.get(normal_form(word), UNKNOWN) for word in sentence)
        stream.append(END)
    return np.frombuffer(stream, dtype=np.uint16).astype(np.uint64)


def _with_backoffs(
    keys: Keys,
    kept: npt.NDArray[np.bool_],
    probabilities: npt.NDArray[np.float64],
    histories: Keys,
    weights: npt.NDArray[np.float64],
) -> tuple[Keys, npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Return the n-grams that a level shows, with their costs and back-off weights in steps.

    Args:
        kept: which of the keys are shown; ``probabilities`` are theirs.
        histories: the keys that longer n-grams begin with, and their weights. Those that are only
            the beginning of a sentence are shown, too, and never predicted.
    """
    begins = np.setdiff1d(histories, keys)
    shown = np.concatenate([keys[kept], begins])
    costs = np.concatenate([_steps(probabilities), np.full(len(begins), 255)])
    backoffs = np.zeros(len(shown), dtype=np.uint8)
    places = np.searchsorted(histories, shown)
    places[places == len(histories)] = 0
    known = histories[places] == shown
    backoffs[known] = _steps(weights[places[known]])
    return shown, costs, backoffs


def _count(tokens: Keys, n: int) -> tuple[Keys, Counts]:
    """Return the sorted n-grams that end in a word, and how often each occurs."""
    keys = np.zeros(len(tokens) - n + 1, dtype=np.uint64)
    for i in range(n):
        keys = keys << _BITS | tokens[i : len(tokens) - n + 1 + i]
    found, counts = np.unique(keys[tokens[n - 1 :] != BEGIN], return_counts=True)
    return found, counts.astype(np.int64)


def _continuations(keys: Keys, occurrences: Counts, above: Keys, n: int) -> Counts:
    """Return before how many different words each n-gram occurs; at a beginning, how often."""
    mask = np.uint64((1 << 16 * n) - 1)
    suffixes, counts = np.unique(above & mask, return_counts=True)
    result = occurrences.copy()
    place = np.searchsorted(keys, suffixes)
    result[place] = counts
    begins = keys >> np.uint64(16 * (n - 1)) == BEGIN
    result[begins] = occurrences[begins]
    return result


def _discount(counts: Counts) -> float:
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once / (once + 2 * twice) if once and twice else 0.5


def _backoffs(keys: Keys, counts: Counts) -> tuple[Keys, npt.NDArray[np.float64]]:
    """Return the histories of some n-grams and the mass that each leaves to shorter ones."""
    histories, first, types = np.unique(keys >> _BITS, return_index=True, return_counts=True)
    totals = np.add.reduceat(counts, first)
    return histories, _discount(counts) * types / totals


def _probabilities(
    keys: Keys,
    counts: Counts,
    below: tuple[Keys, npt.NDArray[np.float64]] | None,
    vocabulary: int,
    n: int,
) -> npt.NDArray[np.float64]:
    """Return p(last word | the others) of every n-gram, interpolated with the order below."""
    discount = _discount(counts)
    _, first, types = np.unique(keys >> _BITS, return_index=True, return_counts=True)
    totals = np.repeat(np.add.reduceat(counts, first), types)
    left = discount * np.repeat(types, types) / totals
    if below is None:
        lower: npt.NDArray[np.float64] | float = 1 / vocabulary
    else:
        mask = np.uint64((1 << 16 * (n - 1)) - 1)
        lower = below[1][np.searchsorted(below[0], keys & mask)]
    result: npt.NDArray[np.float64] = np.maximum(counts - discount, 0) / totals + left * lower
    return result


def _level(
    keys: Keys,
    costs: npt.NDArray[np.uint8],
    backoffs: npt.NDArray[np.uint8] | None,
    n: int,
    words: int,
) -> Level:
    if n == 1:  # every id has its place
        size = FIRST_WORD + words
        hashes = np.arange(size, dtype=np.uint32)
        costs = _spread(costs, keys, size, 255)
        backoffs = None if backoffs is None else _spread(backoffs, keys, size, 0)
    else:
        hashes = (keys * _MULTIPLIER >> np.uint64(32)).astype(np.uint32)
        hashes, unique = np.unique(hashes, return_index=True)
        costs = costs[unique]
        backoffs = None if backoffs is None else backoffs[unique]
    return Level(
        array("I", hashes.tobytes()),
        array("B", costs.astype(np.uint8).tobytes()),
        array("B", b"" if backoffs is None else backoffs.tobytes()),
    )


def _steps(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint8]:
    return np.clip(np.rint(-np.log(values) / STEP), 0, 255).astype(np.uint8)


def _spread(
    values: npt.NDArray[np.uint8], keys: Keys, size: int, missing: int
) -> npt.NDArray[np.uint8]:
    result = np.full(size, missing, dtype=np.uint8)
    result[keys.astype(np.int64)] = values
    return result
