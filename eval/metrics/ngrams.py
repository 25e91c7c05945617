"""N-grams of tokenized sentences, as GLEU, GREEN and SARI count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Words = Sequence[str]
Grams = Counter[tuple[str, ...]]


def ngrams(words: Words, n: int) -> Grams:
    """Return how often each run of ``n`` words occurs.

    >>> dict(ngrams("a b a b".split(), 2))
    {('a', 'b'): 2, ('b', 'a'): 1}
    """
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))
