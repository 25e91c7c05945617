"""BLEU and chrF, computed by sacrebleu, with its signature inside ours.

Post 2018, "A Call for Clarity in Reporting BLEU Scores"; Popović 2015, "chrF: character n-gram
F-score for automatic MT evaluation". Input is detokenized text: sacrebleu tokenizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gec.errors import ConfigError, InputError
from gec.eval.score import check_parallel, once, read_lines, show, signature

TOKENIZERS = ("none", "zh", "13a", "intl", "char")


@dataclass(frozen=True, slots=True)
class TranslationScore:
    """A score from 0 to 100.

    Attributes:
        name: as sacrebleu calls it: BLEU, chrF2, chrF2++.
        mean, margin: of the bootstrap resamples, margin being half the 95 % interval; None unless
            they were asked for.
        line: what sacrebleu prints, for BLEU with the precisions and the brevity penalty.
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
        ConfigError: no such tokenization, a single resample, or a string where a list should be.
    """
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in TOKENIZERS:
        raise ConfigError(f"tokenize must be one of {', '.join(TOKENIZERS)}, not {tokenize!r}")
    metric = BLEU(tokenize=tokenize, lowercase=lowercase)
    return _measure("bleu", metric, hypotheses, references, samples)


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    word_order: int = 0,
    samples: int = 0,
) -> TranslationScore:
    """Return corpus chrF; word n-grams up to ``word_order`` count too (2 is chrF++).

    Other arguments and errors as for :func:`bleu`.
    """
    from sacrebleu.metrics.chrf import CHRF

    if word_order < 0:
        raise ConfigError(f"word_order must be at least 0, not {word_order}")
    return _measure("chrf", CHRF(word_order=word_order), hypotheses, references, samples)


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
    parts = dict(part.split(":", 1) for part in str(metric.get_signature()).split("|"))
    parts["sacrebleu"] = parts.pop("version")  # beside our own version it needs a name
    return TranslationScore(
        name=score.name,
        value=score.score,
        mean=score._mean if samples else None,
        margin=score._ci if samples else None,
        line=str(score),
        signature=signature(name, **parts),
    )


def check_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuse what no corpus score can be made of.

    Raises:
        InputError: nothing to score, no reference, or lists of different lengths.
        ConfigError: a string where a list of segments should be.
    """
    if not references:
        raise InputError("no reference to score against")
    if not hypotheses:
        raise InputError("nothing to score: the hypothesis is empty")
    sets = [(f"reference {i}", lines) for i, lines in enumerate(references)]
    check_parallel([("hypotheses", hypotheses), *sets])


def check_samples(samples: int) -> None:
    """Refuse a number of resamples that makes no interval.

    Raises:
        ConfigError: negative or 1.
    """
    if samples < 0 or samples == 1:
        raise ConfigError(f"--samples must be 0 or at least 2, not {samples}")


def read_references(
    hypothesis: str, references: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Read a hypothesis file and its reference files.

    Raises:
        InputError: a file cannot be read, or they differ in length.
        ConfigError: standard input is named twice.
    """
    once([hypothesis, *references])
    lines, sets = read_lines(hypothesis), [read_lines(name) for name in references]
    check_parallel([(hypothesis, lines), *zip(references, sets, strict=True)])
    return lines, sets


def bleu_main(args: argparse.Namespace) -> int:
    """``gec score bleu``"""
    hypotheses, references = read_references(args.hypothesis, args.references)
    score = bleu(
        hypotheses,
        references,
        tokenize=args.tokenize,
        lowercase=args.lowercase,
        samples=args.samples,
    )
    show(score, as_json=args.json)
    return 0


def chrf_main(args: argparse.Namespace) -> int:
    """``gec score chrf``"""
    hypotheses, references = read_references(args.hypothesis, args.references)
    score = chrf(hypotheses, references, word_order=args.word_order, samples=args.samples)
    show(score, as_json=args.json)
    return 0
