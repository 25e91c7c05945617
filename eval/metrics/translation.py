"""BLEU and chrF, computed by sacrebleu, with its signature inside ours.

Post 2018, "A Call for Clarity in Reporting BLEU Scores"; Popović 2015, "chrF: character n-gram
F-score for automatic MT evaluation". Input is detokenized text: sacrebleu tokenizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gec.errors import ConfigError, InputError
from gec.eval.metrics.score import (
    assessed,
    check_parallel,
    check_samples,
    once,
    read_lines,
    show,
    signature,
)
from gec.eval.metrics.statistics import Numbers, Statistics

TOKENIZERS = ("none", "zh", "13a", "intl", "char")


@dataclass(frozen=True, slots=True)
class TranslationScore:
    """A score from 0 to 100.

    Attributes:
        name: sacrebleu's name of the metric: BLEU, chrF2, chrF2++.
        mean, margin: mean of the bootstrap resamples, and half of the 95 % interval; None unless
            they were asked for.
        line: the line that sacrebleu prints, for BLEU with precisions and brevity penalty.
    """

    name: str
    value: float
    mean: float | None
    margin: float | None
    line: str
    signature: str

    def __str__(self) -> str:
        return self.line


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    samples: int = 0,
) -> TranslationScore:
    """Return corpus BLEU.

    Args:
        hypotheses: detokenized segments.
        references: [set][segment].
        tokenize: one of :data:`TOKENIZERS`.
        lowercase: compare in lower case.
        samples: bootstrap resamples, 0 for none; the environment variable SACREBLEU_SEED seeds.

    Raises:
        InputError: no segment, or lists of different lengths.
        ConfigError: no such tokenization, a single resample, or a string instead of a list.
    """
    return _measure("bleu", _bleu(tokenize, lowercase), hypotheses, references, samples)


def bleu_statistics(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Statistics:
    """Return sacrebleu's counts of every segment; arguments and errors as for :func:`bleu`."""
    return _statistics("bleu", _bleu(tokenize, lowercase), hypotheses, references)


def _bleu(tokenize: str, lowercase: bool) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in TOKENIZERS:
        raise ConfigError(f"tokenize must be one of {', '.join(TOKENIZERS)}, not {tokenize!r}")
    return BLEU(tokenize=tokenize, lowercase=lowercase)


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    word_order: int = 0,
    samples: int = 0,
) -> TranslationScore:
    """Return corpus chrF; word n-grams up to ``word_order`` also count (2 is chrF++).

    Other arguments and errors as for :func:`bleu`.
    """
    return _measure("chrf", _chrf(word_order), hypotheses, references, samples)


def chrf_statistics(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0
) -> Statistics:
    """Return sacrebleu's counts of every segment; arguments and errors as for :func:`chrf`."""
    return _statistics("chrf", _chrf(word_order), hypotheses, references)


def _chrf(word_order: int) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    if word_order < 0:
        raise ConfigError(f"word_order must be at least 0, not {word_order}")
    return CHRF(word_order=word_order)


def _measure(
    name: str,
    metric: Any,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    samples: int,
) -> TranslationScore:
    check_references(hypotheses, references)
    check_samples(samples)
    score = metric.corpus_score(hypotheses, references, n_bootstrap=samples)
    return TranslationScore(
        name=score.name,
        value=score.score,
        mean=score._mean if samples else None,
        margin=score._ci if samples else None,
        line=str(score),
        signature=_signature(name, metric),
    )


def _signature(name: str, metric: Any) -> str:
    parts = dict(part.split(":", 1) for part in str(metric.get_signature()).split("|"))
    parts["sacrebleu"] = parts.pop("version")  # "version" would be taken for our own
    return signature(name, **parts)


def _statistics(
    name: str, metric: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> Statistics:
    check_references(hypotheses, references)
    rows = np.array(metric._extract_corpus_statistics(hypotheses, references))
    metric.num_refs = len(references)  # for its signature

    def score(sums: Numbers) -> Numbers:
        flat = sums.reshape(-1, sums.shape[-1]).tolist()
        scores = [metric._compute_score_from_stats(row).score for row in flat]
        return np.array(scores).reshape(*sums.shape[:-1], 1)

    return Statistics(rows, score, (name,), name, _signature(name, metric))


def check_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse input from which no corpus score can be computed.

    Raises:
        InputError: nothing to score, no reference, or lists of different lengths.
        ConfigError: a string instead of a list of segments.
    """
    if not references:
        raise InputError("no reference to score against")
    if not hypotheses:
        raise InputError("nothing to score: the hypothesis is empty")
    sets = [(f"reference {i}", lines) for i, lines in enumerate(references)]
    check_parallel([("hypotheses", hypotheses), *sets])


def read_references(
    hypothesis: str, references: Sequence[str], other: str | None = None
) -> tuple[list[str], list[list[str]]]:
    """Read a hypothesis file and its reference files; ``other`` will be read later.

    Raises:
        InputError: a file cannot be read, or they differ in length.
        ConfigError: standard input is named twice.
    """
    once([hypothesis, *references, other])
    lines, sets = read_lines(hypothesis), [read_lines(name) for name in references]
    check_parallel([(hypothesis, lines), *zip(references, sets, strict=True)])
    return lines, sets


def bleu_main(args: argparse.Namespace) -> int:
    """``gec score bleu``"""
    hypotheses, references = read_references(args.hypothesis, args.references, args.paired)
    options = {"tokenize": args.tokenize, "lowercase": args.lowercase}
    score = bleu(hypotheses, references, **options, samples=_own_samples(args))
    measured = partial(bleu_statistics, references=references, **options)
    return _show(args, score, measured, hypotheses)


def chrf_main(args: argparse.Namespace) -> int:
    """``gec score chrf``"""
    hypotheses, references = read_references(args.hypothesis, args.references, args.paired)
    score = chrf(hypotheses, references, word_order=args.word_order, samples=_own_samples(args))
    measured = partial(chrf_statistics, references=references, word_order=args.word_order)
    return _show(args, score, measured, hypotheses)


def _own_samples(args: argparse.Namespace) -> int:
    """Return how often sacrebleu resamples; beside a comparison the interval is ours."""
    return 0 if args.paired else int(args.samples)


def _show(
    args: argparse.Namespace,
    score: TranslationScore,
    measured: Callable[[Sequence[str]], Statistics],
    hypotheses: Sequence[str],
) -> int:
    if args.seed and not args.paired:
        raise ConfigError(
            "--seed is for --paired; the interval of --samples is sacrebleu's, whose seed is the "
            "environment variable SACREBLEU_SEED"
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


def read_other(name: str, hypotheses: Sequence[str]) -> list[str]:
    """Read the output that ``--paired`` names.

    Raises:
        InputError: the file cannot be read, or has another number of lines.
    """
    lines = read_lines(name)
    check_parallel([("the hypothesis", hypotheses), (name, lines)])
    return lines
