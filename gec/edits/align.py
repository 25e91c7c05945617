"""Align two word sequences, and merge neighbouring steps into edits.

The verbs are ERRANT's (Bryant et al. 2017): align, merge, classify.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from gec.edits.edits import WordEdit
from gec.edits.wordlists import (
    AUXILIARIES,
    HELPERS,
    bases,
    is_clitic,
    is_punctuation,
    letters,
    same_lemma,
    similarity,
    word_class,
)
from gec.text.remembered import Remembered


def align(source: Sequence[str], target: Sequence[str]) -> list[WordEdit]:
    """Return the edits, in order and minimal in words, that turn ``source`` into ``target``.

    A weighted Levenshtein alignment: words that differ in case, forms of one word, and similar
    words are rather substituted; a word and a punctuation mark never are. Neighbouring steps
    become one edit if they make one change: alot -> a lot, is depend -> depends, ", it" ->
    ". It", a word that moved. Time and memory grow with the product of the lengths of what is
    left between the common first and last words.

    >>> align("he go alot to".split(), "he goes a lot to".split())
    [WordEdit(source_start=1, source_end=2, target_start=1, target_end=2),
     WordEdit(source_start=2, source_end=3, target_start=2, target_end=4)]
    """
    shorter = min(len(source), len(target))
    first = 0
    while first < shorter and source[first] == target[first]:
        first += 1
    last = 0
    while last < shorter - first and source[-1 - last] == target[-1 - last]:
        last += 1
    steps = _steps(source[first : len(source) - last], target[first : len(target) - last])
    edits = [WordEdit(first + i, first + j, first + k, first + m) for i, j, k, m in steps]
    return merge(source, target, edits)


def merge(
    source: Sequence[str], target: Sequence[str], edits: Iterable[WordEdit]
) -> list[WordEdit]:
    """Merge edits, in order, that make one change: neighbours, or a word that moved."""
    joined: list[WordEdit] = []
    for edit in edits:
        if joined and joined[-1].touches(edit) and _one_change(source, target, joined[-1], edit):
            edit = _union(joined.pop(), edit)
        joined.append(edit)
    merged: list[WordEdit] = []
    for edit in joined:
        if merged and _moved(source, target, merged[-1], edit):
            edit = _union(merged.pop(), edit)
        merged.append(edit)
    return merged


def _steps(source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the deletions, insertions and substitutions of single words, in order."""
    margin = 1
    costs = _table(source, target, margin)
    # What leaves the band deletes and inserts so many words that it is no better.
    while costs[-1][-1] >= 2 * margin + abs(len(source) - len(target)) + 1.5:
        margin *= 4
        costs = _table(source, target, margin)
    steps = []
    i, j = len(source), len(target)
    while i or j:
        here = costs[i][j]
        if i and j and source[i - 1] == target[j - 1] and here == costs[i - 1][j - 1]:
            i, j = i - 1, j - 1
        elif i and j and here == costs[i - 1][j - 1] + _cost(source[i - 1], target[j - 1]):
            i, j = i - 1, j - 1
            steps.append((i, i + 1, j, j + 1))
        elif i and here == costs[i - 1][j] + 1:
            i -= 1
            steps.append((i, i + 1, j, j))
        else:
            j -= 1
            steps.append((i, i, j, j + 1))
    return steps[::-1]


def _table(source: Sequence[str], target: Sequence[str], margin: int) -> list[list[float]]:
    """Return the costs of turning the first words of one into the first of the other.

    Left out (infinite) is what is more than ``margin`` places off the way from corner to corner.
    """
    shift = len(target) - len(source)
    left, right = min(0, shift) - margin, max(0, shift) + margin
    costs = [[float(j) if j <= right else inf for j in range(len(target) + 1)]]
    for i, word in enumerate(source):
        above = costs[-1]
        first, last = max(0, i + 1 + left), min(len(target), i + 1 + right)
        row = [inf] * (len(target) + 1)
        if first == 0:
            row[0] = i + 1.0
        here = row[0] if first == 0 else inf
        for j in range(max(first, 1), last + 1):  # most of an alignment's time, so no min()
            other, swap, below = target[j - 1], above[j - 1], above[j] + 1
            if word != other:
                swap += _cost(word, other)
            here += 1
            if below < here:
                here = below
            if swap < here:
                here = swap
            row[j] = here
        costs.append(row)
    return costs


@lru_cache(maxsize=65536)
def _cost(word: str, other: str) -> float:
    """Return the cost of a substitution; a deletion and an insertion cost 1 each."""
    one, two = _known[word], _known[other]
    if one.lower == two.lower:
        return 0.1
    if one.mark != two.mark:
        return 2.5
    if one.mark:
        return 0.8
    if one.auxiliary and two.auxiliary:
        same = one.auxiliary == two.auxiliary
    else:
        same = not one.bases.isdisjoint(two.bases)
    if same:
        return 0.3
    cost = 0.4 + 1.5 * (1 - similarity(one.lower, two.lower))
    return min(cost, 0.9) if one.kind == two.kind != "" else cost


class _Known(NamedTuple):
    """What a word is compared by: its class, its bases, and the auxiliary verb that it is of."""

    lower: str
    mark: bool
    kind: str
    bases: frozenset[str]
    auxiliary: str


def _know(word: str) -> _Known:
    lower = word.lower()
    lemma = AUXILIARIES[lower][0] if lower in AUXILIARIES else ""
    return _Known(lower, is_punctuation(word), word_class(word), bases(word), lemma)


_known = Remembered(_know, 2**14)


def _union(a: WordEdit, b: WordEdit) -> WordEdit:
    return WordEdit(a.source_start, b.source_end, a.target_start, b.target_end)


def _one_change(
    source: Sequence[str], target: Sequence[str], first: WordEdit, second: WordEdit
) -> bool:
    """Whether two edits without a word between are one change, or would do harm alone."""
    a, b = ([w.lower() for w in edit.old(source)] for edit in (first, second))
    c, d = ([w.lower() for w in edit.new(target)] for edit in (first, second))
    if not (a or b) or not (c or d):  # a run of insertions, or of deletions
        return True
    if not (a and c) and not (b and d):  # deleted here, inserted there
        return True
    if sorted(a + b) == sorted(c + d):  # two words changed places
        return True
    pure = (a, c) if not (a and c) else (b, d) if not (b and d) else None
    other = (b, d) if pure == (a, c) else (a, c)
    if b == d and (all(map(is_punctuation, a + c)) or (pure and first.source_start == 0)):
        return True  # ", it" -> ". It"; "Cat" -> "The cat"
    if pure is None:
        return False
    (word, *more) = pure[0] or pure[1]
    if is_clitic(word):  # students -> student's
        return True
    leads = pure == (a, c) and not more and word in HELPERS
    if leads and any(same_lemma(old, new) for old in b for new in d):
        return True  # is depend -> depends, more easy -> easier; but not go -> goes to
    whole = similarity(letters(a + b), letters(c + d))
    return whole >= 0.8 and whole > similarity(letters(other[0]), letters(other[1]))


def _moved(source: Sequence[str], target: Sequence[str], first: WordEdit, second: WordEdit) -> bool:
    """Whether words were deleted here and inserted a little further on, or the other way round."""
    if second.source_start - first.source_end > 4:
        return False
    return (
        _same(first.old(source), second.new(target))
        and not second.old(source)
        and not first.new(target)
    ) or (
        _same(second.old(source), first.new(target))
        and not first.old(source)
        and not second.new(target)
    )


def _same(words: Sequence[str], others: Sequence[str]) -> bool:
    return len(words) == len(others) and [w.lower() for w in words] == [w.lower() for w in others]
