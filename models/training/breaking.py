"""``gec data break``: errors that a network samples, in correct sentences (back-translation).

A breaker is trained like a corrector with source and target exchanged (``reverse`` in a recipe).
Its sentences are drawn from its distribution, with the copied sentence as draft: most tokens stand,
so that a sentence takes a few passes (``iad-sample`` in gec.decoding.strategies).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from gec.models.load import bundle
from gec.models.training.sources import open_text
from gec.text.spelling import Speller

Pair = tuple[list[str], list[str]]
_EPSILON = 0.002  # what is less likely is seldom a learner's error, often half a word
_ALIKE = 0.6  # of two words: 1 less the edit distance over the longer one's length
_SHORTEST = 4  # letters of a word that can be told from noise
_TOGETHER = 4096  # sentences that are sorted by length before they are decoded


def broken_pairs(args: argparse.Namespace) -> Iterator[Pair]:
    """``gec data break FILE ... --model BREAKER``: yield (broken, clean) sentences of words.

    The files hold tokenized sentences, one a line. A sentence that is too long for the model is
    left out, and one with a word that is no likely slip (:func:`is_plausible`). What is drawn for a
    sentence depends on it and on the seed alone.
    """
    from gec.loading import load

    top = "" if args.top_p is None else f",top-p={args.top_p}"
    epsilon = (_EPSILON if args.temperature else 0.0) if args.epsilon is None else args.epsilon
    options = f"temperature={args.temperature},epsilon={epsilon},seed={args.seed}{top}"
    strategy = f"iad-sample:{options}"
    corrector = load(
        args.model, device=args.device, precision=args.precision, strategy=strategy, spelling=False
    )
    speller = Speller.load(bundle.find(args.model))
    knows = speller.knows if speller else (lambda _: False)
    codec, longest = corrector.subwords, corrector.model.max_positions - 1
    lines = (line for name in args.files for line in open_text(Path(name)))
    sentences = (words for line in lines if (words := line.split()))
    wanted = islice(sentences, args.limit)
    while chunk := list(islice(wanted, _TOGETHER)):
        encoded = [(tuple(codec.encode(words)), words) for words in chunk]
        short = [(ids, words) for ids, words in encoded if len(ids) <= longest]
        found = corrector.decode([ids for ids, _ in short], 0.0, batch_size=args.batch_size)
        for (_, words), hypothesis in zip(short, found, strict=True):
            broken = [word for word, _, _ in codec.decode_spans(hypothesis.tokens)]
            if not hypothesis.truncated and is_plausible(broken, words, knows):
                yield broken, words


def is_plausible(broken: Sequence[str], clean: Sequence[str], knows: Callable[[str], bool]) -> bool:
    """Tell whether every new word is a known one, or like some word that it may be a slip for.

    Pieces that are drawn one after another may make a word that nobody would write.

    >>> is_plausible(["respons", "auctionly"], ["responsible"], {"auction"}.__contains__)
    False
    >>> is_plausible(["responsable", ","], ["responsible"], set().__contains__)
    True
    """
    right = set(clean)
    for word in set(broken).difference(clean):
        if sum(map(str.isalpha, word)) < _SHORTEST or knows(word):
            continue
        if not any(Levenshtein.normalized_similarity(word, old) >= _ALIKE for old in right):
            return False
    return True
