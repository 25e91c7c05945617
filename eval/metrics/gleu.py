"""GLEU, the fluency metric of JFLEG, with the numbers of its authors' script.

Napoles, Sakaguchi, Post and Tetreault 2015, "Ground Truth for Grammatical Error Correction
Metrics", and their 2016 revision "GLEU Without Tuning", whose formula this is. An n-gram of the
output counts for the output if the reference has it, too, and against it if only the source has it.

With several references every iteration draws one of them for each sentence, seeded with 101 times
the iteration's number. The script ran under Python 2 until 2019 and under Python 3 since, and the
two draw different references from the same seed: scores differ by up to 0.0009. The year of a
published number tells which Python it is of; ``sampling`` chooses.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError, InputError
from gec.eval.metrics.characters import add_setting, by_characters, warn_of_forms
from gec.eval.metrics.ngrams import Grams, Words, ngrams
from gec.eval.metrics.score import (
    ReferenceExit,
    as_fields,
    assessed,
    check_parallel,
    once,
    print_json,
    read_corpus,
    read_lines,
    shift,
    show,
    signature,
    use_utf8,
    warn,
)
from gec.eval.metrics.statistics import Numbers, Statistics

Tallies = NDArray[np.int64]
"""[..., 2 + 2 * order]: words of the output, words of the reference, then for each order the
n-grams that count (those for the output less those against, at least 0) and all its n-grams."""

_MEAN_OVER = 4  # the script divides the sum of logarithms by 4, whatever the order
_ONE_REFERENCE = "There is one reference. NOTE: GLEU is not computing the confidence interval."


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over samplings (or over references), its population standard deviation, and the
    normal 95 % interval, which is None if the deviation is 0."""

    mean: float
    std: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        low, high = self.interval or (math.nan, math.nan)
        return str([f"{self.mean:f}", f"{self.std:f}", f"({low:.3f},{high:.3f})"])


@dataclass(frozen=True, slots=True)
class GleuScore:
    """One estimate for the corpus, or one for every sentence; all from 0 to 1.

    The score prints as the script does, which with one reference shows only the first mean.
    """

    estimates: tuple[Estimate, ...]
    references: int
    signature: str

    def __str__(self) -> str:
        if self.references == 1:
            return f"{_ONE_REFERENCE}\n{self.estimates[0].mean:f}"
        return f"[{', '.join(map(str, self.estimates))}]"


def gleu(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    iterations: int = 500,
    sampling: str = "python2",
    allow_fewer: bool = False,
) -> GleuScore:
    """Score a corpus of tokenized sentences.

    Blanks separate words, no-break and other Unicode blanks among them, as under Python 3; Python 2
    read bytes and knew only ASCII blanks.

    Args:
        sources: the original sentences.
        hypotheses: the corrected ones.
        references: [set][sentence].
        order: longest n-gram.
        iterations: number of draws of a reference for every sentence.
        sampling: whose random numbers draw references, ``python2`` or ``python3``.
        allow_fewer: whether to score only the hypotheses if they end early, as the script does.

    Raises:
        InputError: no sentence, hypotheses that end early, or references that do not belong to the
            sources.
        ReferenceExit: more hypotheses than sources.
        ConfigError: an order, a number of iterations or a sampling that does not exist.
    """
    if iterations < 1:
        raise ConfigError(f"iterations must be at least 1, not {iterations}")
    if sampling not in _DRAW:
        raise ConfigError(f"sampling must be one of {', '.join(_DRAW)}, not {sampling!r}")
    counts = count(sources, hypotheses, references, order, allow_fewer=allow_fewer)
    return _score_corpus(counts, order, iterations, sampling)


def statistics(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    iterations: int = 500,
    sampling: str = "python2",
    allow_fewer: bool = False,
) -> Statistics:
    """Return every sentence's counts, averaged over the references, for intervals and tests.

    The average is the mean over draws of references, so resamples need no draws of their own; the
    printed score remains that of the draws. Arguments and errors as for :func:`gleu`.
    """
    counts = count(sources, hypotheses, references, order, allow_fewer=allow_fewer)
    score = _score_corpus(counts, order, iterations, sampling)
    values = (score.estimates[0].mean,)
    return Statistics(counts.mean(axis=1), _scores, ("gleu",), "gleu", score.signature, values)


def _scores(sums: Numbers) -> Numbers:
    """Return GLEU of counts [..., 2 + 2 * order] as [..., 1]; 0 if any count is 0."""
    whole = (sums > 0).all(axis=-1, keepdims=True)
    safe = np.where(whole, sums, 1.0)
    logs = np.log(safe[..., 2::2] / safe[..., 3::2]).sum(axis=-1, keepdims=True)
    brevity = np.minimum(0.0, 1 - safe[..., 1:2] / safe[..., :1])
    return np.where(whole, np.exp(brevity + logs / _MEAN_OVER), 0.0)


def _score_corpus(counts: Tallies, order: int, iterations: int, sampling: str) -> GleuScore:
    sentences, references = counts.shape[:2]
    settings: dict[str, object] = {"references": references, "n": order}
    if references == 1:
        scores = [_score(counts[:, 0].sum(axis=0))]
    else:
        settings |= {"iterations": iterations, "sampling": sampling}
        every = np.arange(sentences)
        chosen = _all_draws(references, sentences, iterations, sampling)
        scores = [_score(counts[every, row].sum(axis=0)) for row in chosen]
    return GleuScore((_estimate(scores),), references, signature("gleu", **settings))


def sentence_gleu(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    order: int = 4,
    allow_fewer: bool = False,
) -> GleuScore:
    """Score every sentence alone against each reference; a count of 0 counts as 1.

    Arguments and errors as for :func:`gleu`.
    """
    counts = count(sources, hypotheses, references, order, allow_fewer=allow_fewer)
    counts = np.maximum(counts, 1)
    estimates = tuple(_estimate([_score(row) for row in rows]) for rows in counts)
    made = signature("gleu", references=len(references), n=order, level="sentence")
    return GleuScore(estimates, len(references), made)


def count(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    order: int = 4,
    *,
    allow_fewer: bool = False,
) -> Tallies:
    """Return every hypothesis's counts against each of its references, [sentences, sets, ...].

    Raises:
        InputError, ReferenceExit, ConfigError: as for :func:`gleu`.
    """
    if order < 1:
        raise ConfigError(f"order must be at least 1, not {order}")
    if not references:
        raise InputError("GLEU needs at least one reference")
    sets = [(f"reference {i}", lines) for i, lines in enumerate(references)]
    check_parallel([("sources", sources), *sets])
    if len(hypotheses) > len(sources):
        raise ReferenceExit(
            f"there are {len(hypotheses)} hypotheses for {len(sources)} source sentences"
        )
    if not hypotheses:
        raise InputError("no sentence to score: the hypothesis is empty")
    if not allow_fewer:
        check_parallel([("sources", sources), ("hypotheses", hypotheses)])
    rows = zip(sources, hypotheses, *references, strict=False)
    return np.array([_count_sentence(*(line.split() for line in row), order=order) for row in rows])


def _count_sentence(source: Words, hypothesis: Words, *references: Words, order: int) -> Tallies:
    rows = [[len(hypothesis), len(reference)] for reference in references]
    for n in range(1, order + 1):
        there, before = ngrams(hypothesis, n), ngrams(source, n)
        for row, reference in zip(rows, references, strict=True):
            row.append(max(0, _balance(there, before, ngrams(reference, n))))
            row.append(max(0, len(hypothesis) + 1 - n))
    return np.array(rows, dtype=np.int64)


def _balance(
    there: Grams,
    before: Grams,
    wanted: Grams,
) -> int:
    """Return the n-grams shared with the reference less those shared with the source alone."""
    balance = 0
    for ngram, times in there.items():
        if ngram in wanted:
            balance += min(times, wanted[ngram])
        elif ngram in before:
            balance -= min(times, before[ngram])
    return balance


def _score(counts: Tallies) -> float:
    """Return GLEU of counts [2 + 2 * order]; 0 if any count is 0."""
    length, wanted, *orders = counts.tolist()
    if not all((length, wanted, *orders)):
        return 0.0
    logs = [math.log(good / all_) for good, all_ in zip(orders[::2], orders[1::2], strict=True)]
    return math.exp(min(0.0, 1 - wanted / length) + sum(logs) / _MEAN_OVER)


def _estimate(scores: Sequence[float]) -> Estimate:
    mean, std = float(np.mean(scores)), float(np.std(scores))
    if std == 0:
        return Estimate(mean, std, None)
    normal = NormalDist(mean, std)
    return Estimate(mean, std, (normal.inv_cdf(0.025), normal.inv_cdf(0.975)))


def draws(references: int, sentences: int, iterations: int, sampling: str) -> Iterator[list[int]]:
    """Yield for every iteration the index of each sentence's reference.

    Both Pythons seed the same Mersenne Twister in the same way; they differ in how ``randint``
    makes a number below n from the generator's output.
    """
    draw = _DRAW[sampling]
    for iteration in range(iterations):
        rng = random.Random(iteration * 101)
        yield [draw(rng, references) for _ in range(sentences)]


@lru_cache(maxsize=1)
def _all_draws(
    references: int, sentences: int, iterations: int, sampling: str
) -> NDArray[np.uint16]:
    """Return :func:`draws` as [iterations, sentences]; every system has the same draws."""
    return np.array(list(draws(references, sentences, iterations, sampling)), dtype=np.uint16)


def _draw_python2(rng: random.Random, n: int) -> int:
    """Return a number below n from the top 53 of 64 random bits, scaled."""
    return int(rng.random() * n)


def _draw_python3(rng: random.Random, n: int) -> int:
    """Return as many random bits as n has, drawn again until they are below n."""
    bits = n.bit_length()
    while (value := rng.getrandbits(bits)) >= n:
        pass
    return value


_DRAW: dict[str, Callable[[random.Random, int], int]] = {
    "python2": _draw_python2,
    "python3": _draw_python3,
}


def _paired(args: argparse.Namespace) -> list[str]:
    """Return the other system's sentences, as many as the first system has."""
    lines = read_lines(args.paired)
    return list(map(by_characters, lines)) if args.tokens == "characters" else lines


def main(args: argparse.Namespace) -> int:
    """``gec score gleu``"""
    names = [*args.hypotheses, *args.hyp]
    if not names:
        raise ConfigError("no hypothesis: name one before -r, or after --hyp")
    if args.sent and (args.samples or args.paired):
        raise ConfigError("--samples and --paired are about the whole corpus; leave out --sent")
    once([args.source, *args.references, *names, args.paired])
    use_utf8()
    sources, references = read_corpus(args.source, args.references)
    for name, lines in zip(args.references, references, strict=True):
        warn_of_forms(args.source, sources, name, lines)
    if args.tokens == "characters":
        sources = list(map(by_characters, sources))
        references = [list(map(by_characters, lines)) for lines in references]
    measured = partial(
        statistics,
        sources,
        references=references,
        order=args.n,
        iterations=args.iter,
        sampling=args.sampling,
        allow_fewer=True,
    )
    scores = []
    for name in names:
        hypotheses = read_lines(name)
        warn_of_forms(args.source, sources, name, hypotheses)
        print(name, file=sys.stderr if args.json else sys.stdout)
        if 0 < len(hypotheses) < len(sources):
            warn(
                f"{name} has {len(hypotheses)} lines, {args.source} has {len(sources)}: only the "
                f"first {len(hypotheses)} sentences are scored{shift(sources, hypotheses)}"
            )
        if args.tokens == "characters":
            hypotheses = list(map(by_characters, hypotheses))
        score = _score_file(args, sources, hypotheses, references)
        if args.tokens != "words":
            made = add_setting(score.signature, "tokens", args.tokens)
            score = dataclasses.replace(score, signature=made)
        significance = assessed(
            args,
            partial(measured, hypotheses=hypotheses),
            lambda: measured(hypotheses=_paired(args)),
        )
        if not args.json:
            show(score, significance=significance)
        scores.append(as_fields(score, significance))
    if args.json:
        print_json(scores[0] if len(scores) == 1 else scores)
    return 0


def _score_file(
    args: argparse.Namespace,
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
) -> GleuScore:
    if args.sent:
        return sentence_gleu(sources, hypotheses, references, order=args.n, allow_fewer=True)
    return gleu(
        sources,
        hypotheses,
        references,
        order=args.n,
        iterations=args.iter,
        sampling=args.sampling,
        allow_fewer=True,
    )
