"""ROUGE, computed by rouge-score.

Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries". The package lower-cases, takes
runs of a-z and 0-9 for words, and by default stems those of more than three letters (Porter), so it
measures English and little else.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError
from gec.eval.metrics.score import assessed, check_samples, show, signature
from gec.eval.metrics.significance import bootstrap
from gec.eval.metrics.statistics import Numbers, Statistics
from gec.eval.metrics.translation import check_references, read_other, read_references

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_MEASURES = {"R": "recall", "P": "precision", "F": "fmeasure"}
_NAMES = tuple(f"{kind}-{measure}" for kind in TYPES for measure in _MEASURES)


@dataclass(frozen=True, slots=True)
class RougeScore:
    """Means over the summaries, from 0 to 1.

    Attributes:
        values: means by ``rouge1-R``, ``rouge1-P``, ``rouge1-F``, ...
        intervals: 95 % percentile bootstrap intervals by the same names; empty unless asked for.
    """

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    signature: str

    def __str__(self) -> str:
        """The table rouge-score writes; with one column only if there are no intervals."""
        if not self.intervals:
            return "\n".join(["score_type,mid", *(f"{k},{v:f}" for k, v in self.values.items())])
        rows = (
            f"{name},{low:f},{self.values[name]:f},{high:f}"
            for name, (low, high) in self.intervals.items()
        )
        return "\n".join(["score_type,low,mid,high", *rows])


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    stemmer: bool = True,
    separator: str | None = None,
    samples: int = 0,
    seed: int = 0,
) -> RougeScore:
    """Score summaries.

    Args:
        hypotheses: summaries.
        references: [set][summary]; for each type the reference with the best F counts.
        stemmer: stem words before they are compared.
        separator: text between a summary's sentences, besides line breaks; rougeLsum looks at
            every sentence by itself and equals rougeL if there is only one.
        samples: number of bootstrap resamples of the summaries, 0 for none.
        seed: seed of the bootstrap.

    Raises:
        InputError: no summary, or lists of different lengths.
        ConfigError: a negative number of samples or a single one, an empty separator, or a string
            where a list should be.
    """
    check_references(hypotheses, references)
    check_samples(samples)
    found = statistics(hypotheses, references, stemmer=stemmer, separator=separator)
    values = dict(zip(_NAMES, found.summed.tolist(), strict=True))
    if not samples:
        return RougeScore(values, {}, found.signature)
    intervals = bootstrap(found, samples=samples, seed=seed)
    return RougeScore(
        values,
        {name: (interval.low, interval.high) for name, interval in intervals.items()},
        _signature(references, stemmer, separator, samples=samples, seed=seed),
    )


def statistics(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    stemmer: bool = True,
    separator: str | None = None,
) -> Statistics:
    """Return every summary's scores and a 1; arguments and errors as for :func:`rouge`."""
    check_references(hypotheses, references)
    if separator == "":
        raise ConfigError("the separator of sentences must not be empty")
    rows = _score_each(hypotheses, references, stemmer, separator)
    made = _signature(references, stemmer, separator)
    counted = np.hstack([rows, np.ones((len(rows), 1))])
    return Statistics(counted, _means, _NAMES, "rougeL-F", made)


def _signature(
    references: Sequence[Sequence[str]], stemmer: bool, separator: str | None, **settings: object
) -> str:
    return signature(
        "rouge",
        references=len(references),
        tokenizer="default",
        stemmer="porter" if stemmer else "none",
        separator="newline" if separator is None else repr(separator),
        **settings,
        rouge_score=version("rouge-score"),
    )


def _means(sums: Numbers) -> Numbers:
    means: Numbers = sums[..., :-1] / sums[..., -1:]
    return means


def _score_each(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    stemmer: bool,
    separator: str | None,
) -> NDArray[np.float64]:
    """Return [summaries, types * measures]."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(TYPES), use_stemmer=stemmer)
    rows = []
    for summary, *targets in zip(hypotheses, *references, strict=True):
        texts = [_break(text, separator) for text in (summary, *targets)]
        scores = scorer.score_multi(texts[1:], texts[0])
        rows.append([getattr(scores[kind], m) for kind in TYPES for m in _MEASURES.values()])
    return np.array(rows, dtype=np.float64)


def _break(text: str, separator: str | None) -> str:
    return text if separator is None else text.replace(separator, "\n")


def main(args: argparse.Namespace) -> int:
    """``gec score rouge``"""
    hypotheses, references = read_references(args.hypothesis, args.references, args.paired)
    measured = partial(
        statistics,
        references=references,
        stemmer=not args.no_stemmer,
        separator=args.separator,
    )
    score = rouge(
        hypotheses,
        references,
        stemmer=not args.no_stemmer,
        separator=args.separator,
        samples=0 if args.paired else args.samples,  # else the table has the intervals
        seed=args.seed,
    )
    significance = None
    if args.paired:
        significance = assessed(
            args,
            lambda: measured(hypotheses),
            lambda: measured(read_other(args.paired, hypotheses)),
        )
    show(score, as_json=args.json, significance=significance)
    return 0
