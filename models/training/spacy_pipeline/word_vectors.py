"""Word vectors that know which words stand in the same places, from plain text.

For each word the counts of the frequent words one and two places to its left and right, as positive
pointwise mutual information, reduced by a truncated SVD (Bullinaria and Levy 2012; Levy, Goldberg
and Dagan 2015). Windows this narrow and ordered bring together words of one part of speech, which
is what a tagger and a parser lack for words that their small treebank does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from spacy.language import Language

    Floats = NDArray[np.float32]

OFFSETS = (-2, -1, 1, 2)
_SMOOTHING = 0.75  # of the context words' frequencies: rare ones get less weight
_QUOTES = str.maketrans("‘’“”", "''\"\"")


def train_vectors(
    nlp: Language,
    texts: Iterable[str],
    *,
    words: int = 20_000,
    contexts: int = 800,
    size: int = 48,
    seed: int = 1,
) -> tuple[list[str], Floats]:
    """Return the most frequent words, lower case, and their vectors of length 1.

    Args:
        nlp: whose tokenizer splits the texts, one sentence each.
        words, contexts: how many words get a vector, and how many are counted around them.
        size: numbers a vector.

    Returns:
        The words by frequency and an array [words, size].
    """
    ids = _token_ids(nlp, texts)
    found, counts = np.unique(ids[ids != 0], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:words]
    known = found[order]
    ranks = _ranks(ids, known)
    matrix = _ppmi(_cooccurrences(ranks, len(known), min(contexts, len(known))))
    vectors = _reduce(matrix, size, np.random.default_rng(seed))
    return [nlp.vocab.strings[key] for key in known.tolist()], vectors


def add_vectors(nlp: Language, words: Sequence[str], vectors: Floats) -> None:
    """Give a pipeline the vectors, found by a word's lower case."""
    from spacy.vectors import Vectors

    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=vectors, keys=words, attr="LOWER")


def _token_ids(nlp: Language, texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return the texts' tokens as hashes of their lower case, two zeros after each text."""
    end = np.zeros(2, dtype=np.uint64)
    parts: list[Any] = []
    for text in texts:
        parts += [nlp.make_doc(text.translate(_QUOTES)).to_array("LOWER"), end]
    return np.concatenate(parts)


def _ranks(ids: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return each token's place in ``known``, or -1."""
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known, ids, sorter=order), len(known) - 1)
    ranks = order[places]
    return np.where(known[ranks] == ids, ranks, -1)


def _cooccurrences(ranks: NDArray[np.int64], words: int, contexts: int) -> Floats:
    """Count, for each offset, words beside context words: [words, offsets * contexts]."""
    columns = []
    for offset in OFFSETS:
        middle = ranks[max(0, -offset) : len(ranks) - max(0, offset)]
        beside = ranks[max(0, offset) : len(ranks) - max(0, -offset)]
        pairs = (middle >= 0) & (beside >= 0) & (beside < contexts)
        flat = np.bincount(middle[pairs] * contexts + beside[pairs], minlength=words * contexts)
        columns.append(flat.reshape(words, contexts).astype(np.float32))
    return np.concatenate(columns, axis=1)


def _ppmi(counts: Floats) -> Floats:
    """Turn counts, in place, into positive pointwise mutual information."""
    by_word = counts.sum(axis=1, keepdims=True)
    by_context = counts.sum(axis=0, keepdims=True) ** _SMOOTHING
    share = by_context / by_context.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(counts, by_word * share, out=counts)
        np.log(counts, out=counts)
    return np.nan_to_num(np.maximum(counts, 0, out=counts), copy=False)


def _reduce(matrix: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return the rows' first principal directions by randomized SVD (Halko et al. 2011)."""
    sketch = rng.standard_normal((matrix.shape[1], size + 10), dtype=np.float32)
    basis, _ = np.linalg.qr(matrix @ sketch)
    for _ in range(3):
        basis, _ = np.linalg.qr(matrix @ (matrix.T @ basis))
    left, singular, _ = np.linalg.svd(basis.T @ matrix, full_matrices=False)
    rows = (basis @ left)[:, :size] * np.sqrt(singular[:size])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)
