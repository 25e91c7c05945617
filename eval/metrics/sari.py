"""SARI, the metric of text simplification, with the numbers of EASSE.

Xu, Napoles, Pavlick, Chen and Callison-Burch 2016, "Optimizing Statistical Machine Translation for
Text Simplification"; EASSE: Alva-Manchego, Martin, Scarton and Specia 2019. What the output added,
kept and deleted of the source is compared with what the references did, for n-grams of 1 to 4
words, summed over the corpus first.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError
from gec.eval.metrics.ngrams import Grams, Words, ngrams
from gec.eval.metrics.score import (
    assessed,
    check_corpus,
    check_parallel,
    once,
    read_corpus,
    read_lines,
    show,
    signature,
)
from gec.eval.metrics.statistics import Numbers, Statistics, ratio
from gec.extras import missing

Done = NDArray[np.int64]  # [3, 4, 3]: add, keep, delete; order; right, done, wanted
Tokenizer = Callable[[str], str]

TOKENIZERS = ("13a", "intl", "moses", "penn", "none")
_ORDERS = 4
_ADD, _KEEP, _DELETE = range(3)


@dataclass(frozen=True, slots=True)
class SariScore:
    """From 0 to 100: the mean of the three operations' scores, and each of them."""

    value: float
    add: float
    keep: float
    delete: float
    signature: str

    def __str__(self) -> str:
        parts = (self.value, self.add, self.keep, self.delete)
        names = ("sari", "sari_add", "sari_keep", "sari_del")
        return str({name: round(part, 3) for name, part in zip(names, parts, strict=True)})


def sari(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = "13a",
    lowercase: bool = True,
    legacy: bool = False,
    f1_for_deletion: bool = True,
    paper_version: bool = False,
) -> SariScore:
    """Score simplified sentences.

    Args:
        sources: the original sentences.
        hypotheses: the simplified ones.
        references: [set][sentence].
        tokenizer: one of :data:`TOKENIZERS`; Moses and Penn need the package sacremoses.
        lowercase: compare in lower case.
        legacy: as the first releases: case is kept and the source is not tokenized.
        f1_for_deletion: deletion by F1, else by precision, as the paper has it.
        paper_version: F1 of precision and recall averaged over the orders, as the paper has it,
            where else F1 of every order is averaged, as the authors' program has it.

    Raises:
        InputError: no sentence, or lists of different lengths.
        ConfigError: no such tokenizer, its package is missing, or a string where a list should be.
    """
    found = statistics(
        sources,
        hypotheses,
        references,
        tokenizer=tokenizer,
        lowercase=lowercase,
        legacy=legacy,
        f1_for_deletion=f1_for_deletion,
        paper_version=paper_version,
    )
    return _of(found)


def statistics(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: str = "13a",
    lowercase: bool = True,
    legacy: bool = False,
    f1_for_deletion: bool = True,
    paper_version: bool = False,
) -> Statistics:
    """Return every sentence's counts; arguments and errors as for :func:`sari`."""
    check_corpus("SARI", sources, hypotheses, references)
    lowercase = lowercase and not legacy
    tokenize = _tokenizer(tokenizer)

    def words(text: str, tokenize: Tokenizer = tokenize) -> Words:
        return tokenize(text.lower() if lowercase else text).split()

    rows = []
    for source, hypothesis, *targets in zip(sources, hypotheses, *references, strict=True):
        before = words(source, str if legacy else tokenize)
        rows.append(_count_sentence(before, words(hypothesis), [words(text) for text in targets]))

    def scores(sums: Numbers) -> Numbers:
        shape = (*sums.shape[:-1], 3, _ORDERS, 3)
        return _scores(sums.reshape(shape), f1_for_deletion, paper_version)

    made = signature(
        "sari",
        references=len(references),
        tokenizer=tokenizer,
        lowercase=lowercase,
        legacy=legacy,
        f1_for_deletion=f1_for_deletion,
        paper_version=paper_version,
    )
    names = ("sari", "add", "keep", "delete")
    return Statistics(np.array(rows).reshape(len(rows), -1), scores, names, "sari", made)


def _of(statistics: Statistics) -> SariScore:
    value, add, keep, delete = statistics.summed.tolist()
    return SariScore(value, add, keep, delete, statistics.signature)


def _scores(counts: Numbers, f1_for_deletion: bool, paper_version: bool) -> Numbers:
    """Return SARI and the scores of its operations, [..., 4], of counts [..., 3, 4, 3]."""
    precision = ratio(counts[..., 0], counts[..., 1])
    recall = ratio(counts[..., 0], counts[..., 2])
    if paper_version:
        precision, recall = (rates.mean(axis=-1, keepdims=True) for rates in (precision, recall))
    rates = _f1(precision, recall)
    if not f1_for_deletion:
        rates[..., _DELETE, :] = precision[..., _DELETE, :]
    parts = 100 * rates.mean(axis=-1)
    add, keep, delete = (parts[..., i] for i in (_ADD, _KEEP, _DELETE))
    return np.stack([(add + keep + delete) / 3, add, keep, delete], axis=-1)


def _tokenizer(name: str) -> Tokenizer:
    """Return a function from text to tokens with blanks between them."""
    if name in ("13a", "intl", "none"):
        from sacrebleu.metrics.bleu import BLEU

        theirs: Tokenizer = BLEU(tokenize=name).tokenizer
        return theirs
    if name not in TOKENIZERS:
        raise ConfigError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, not {name!r}")
    try:
        from sacremoses import MosesTokenizer
    except ModuleNotFoundError:
        raise ConfigError(f"no tokenizer {name!r}: {missing('sacremoses')}") from None
    moses = MosesTokenizer()
    if name == "moses":
        return partial(moses.tokenize, return_str=True, escape=False)
    for rules in ("MOSES_PENN_REGEXES_1", "MOSES_PENN_REGEXES_2"):  # not all compiled since 0.1
        setattr(moses, rules, [(re.compile(rule), new) for rule, new in getattr(moses, rules)])
    return partial(moses.penn_tokenize, return_str=True)


def _count_sentence(source: Words, hypothesis: Words, references: Sequence[Words]) -> Done:
    counts = [_count_order(source, hypothesis, references, n) for n in range(1, _ORDERS + 1)]
    return np.stack(counts, axis=1)


def _count_order(source: Words, hypothesis: Words, references: Sequence[Words], n: int) -> Done:
    """Return [3, 3]: for add, keep and delete what was done rightly, done, and to be done.

    Source and output count as often as there are references, so that all sides weigh the same.
    Additions are counted once however often they occur.
    """
    before, after = ngrams(source, n), ngrams(hypothesis, n)
    wanted = Grams()
    for reference in references:
        wanted.update(ngrams(reference, n))
    added, to_add = after.keys() - before.keys(), wanted.keys() - before.keys()
    kept_rightly = kept_all = keep_all = gone_rightly = gone_all = go_all = 0
    for ngram, times in before.items():
        there = times * len(references)
        kept = min(times, after[ngram]) * len(references)
        to_keep = min(there, wanted[ngram])
        gone, to_go = there - kept, there - to_keep
        kept_rightly += min(kept, to_keep)
        kept_all += kept
        keep_all += to_keep
        gone_rightly += min(gone, to_go)
        gone_all += gone
        go_all += to_go
    counts = np.zeros((3, 3), dtype=np.int64)
    counts[_ADD] = len(added & to_add), len(added), len(to_add)
    counts[_KEEP] = kept_rightly, kept_all, keep_all
    counts[_DELETE] = gone_rightly, gone_all, go_all
    return counts


def _f1(precision: Numbers, recall: Numbers) -> Numbers:
    both = precision + recall
    return 2 * precision * recall / np.where(both > 0, both, 1.0)


def main(args: argparse.Namespace) -> int:
    """``gec score sari``"""
    once([args.source, args.hypothesis, *args.references, args.paired])
    sources, references = read_corpus(args.source, args.references)
    hypotheses = read_lines(args.hypothesis)
    check_parallel([(args.source, sources), (args.hypothesis, hypotheses)])
    measured = partial(
        statistics,
        sources,
        references=references,
        tokenizer=args.tokenizer,
        lowercase=not args.no_lowercase,
        legacy=args.legacy,
        f1_for_deletion=not args.precision_for_deletion,
        paper_version=args.paper_version,
    )
    found = measured(hypotheses=hypotheses)

    def other() -> Statistics:
        lines = read_lines(args.paired)
        check_parallel([(args.source, sources), (args.paired, lines)])
        return measured(hypotheses=lines)

    show(_of(found), as_json=args.json, significance=assessed(args, lambda: found, other))
    return 0
