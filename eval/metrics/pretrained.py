"""PT-M2 and PT-ERRANT: M2 and ERRANT with edits weighed by a pretrained metric.

Gong, Liu, Huang and Zhang 2022, "Revisiting Grammatical Error Correction Evaluation and Beyond"
(EMNLP). Edits are those of M2 or of ERRANT. The weight of an edit e is its effect on the similarity
of the source S to an annotator's reference R::

    weight(e) = | score(S with e alone, R) - score(S, R) |

The similarity is BERTScore's F (:mod:`.bertscore`). Precision, recall and F are computed as usual,
but from sums of weights: of the edits that are correct, proposed and gold. The F of the running
totals chooses an annotator for every sentence, as in M2.

``level="sentence"``, which the authors recommend, is the mean of the sentences' own F; if all edits
of a sentence have the weight 0, their weights count as equal. BERTScore's rescaling, which the
authors' program turns on, is linear: it multiplies all weights by one number and changes no score.

>>> from gec.eval.metrics.m2 import GoldEdit, GoldSentence
>>> gold = GoldSentence("He go home", {0: (GoldEdit(1, 2, "go", ("goes",)),)})
>>> def same_words(pairs):
...     return [len({*a.split()} & {*b.split()}) / 3 for a, b in pairs]
>>> score = pt_m2(["He goes house"], [gold], same_words)
>>> f"{score.precision:.2f} {score.recall:.2f}"  # "goes" adds a third to 2/3, "house" takes one
'0.50 1.00'
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from gec.errors import ConfigError
from gec.eval.metrics import m2
from gec.eval.metrics.bertscore import BertScore
from gec.eval.metrics.errant import Block
from gec.eval.metrics.m2.scoring import check_lengths
from gec.eval.metrics.pretrained_edits import Matched, errant_matches, m2_matches
from gec.eval.metrics.score import assessed, once, show, signature, use_utf8
from gec.eval.metrics.statistics import Numbers, Statistics, f_score
from gec.eval.metrics.system_edits import (
    Systems,
    check_sentences,
    corrected,
    read_output,
    read_reference,
)

Level = Literal["corpus", "sentence"]
LEVELS: tuple[Level, ...] = ("corpus", "sentence")
Similarity = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""Takes pairs of tokenized sentences, candidate and reference; returns a score for each pair."""


@dataclass(frozen=True, slots=True)
class PretrainedScore:
    """Weighed precision, recall and F; at level "sentence" the means over sentences.

    Attributes:
        correct, proposed, gold: sums of weights, for the chosen annotators.
        chosen_annotators: the annotator of each sentence.
        sentences: F of every sentence alone.
    """

    precision: float
    recall: float
    f: float
    correct: float
    proposed: float
    gold: float
    level: Level
    beta: float
    chosen_annotators: tuple[int, ...]
    sentences: tuple[float, ...]
    signature: str

    def __str__(self) -> str:
        names = ("Precision", "Recall", f"F_{self.beta:.1f}")
        values = (self.precision, self.recall, self.f)
        return "\n".join(f"{n:<12}: {v:.4f}" for n, v in zip(names, values, strict=True))


class Sums(NamedTuple):
    """Weights of edits."""

    correct: float = 0.0
    proposed: float = 0.0
    gold: float = 0.0

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))

    def scores(self, beta: float) -> tuple[float, float, float]:
        """Return P, R and F."""
        precision = self.correct / self.proposed if self.proposed else 1.0
        recall = self.correct / self.gold if self.gold else 1.0
        below = beta * beta * precision + recall
        f = (1 + beta * beta) * precision * recall / below if below else 0.0
        return precision, recall, f

    def merit(self, beta: float) -> tuple[float, float, float]:
        """Return the key by which annotators are chosen: greater is better."""
        return self.scores(beta)[2], self.correct, -(self.proposed + beta * beta * self.gold)


def pt_m2(
    hypotheses: Sequence[str],
    gold: Sequence[m2.GoldSentence],
    similarity: Similarity,
    *,
    level: Level = "corpus",
    beta: float = 0.5,
    version: str = "2016",
) -> PretrainedScore:
    """Return PT-M2 of tokenized hypotheses; an example is at the top of the module.

    Args:
        level: "corpus", or "sentence" (SentPT-M2).
        version: the version of m2scorer that finds the edits; the authors' program has "2016".

    Raises:
        InputError: not as many hypotheses as gold sentences.
        ConfigError: no such version or level.
    """
    measured = measure_m2(hypotheses, gold, similarity, level=level, beta=beta, version=version)
    return measured.score()


def pt_errant(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    similarity: Similarity,
    *,
    level: Level = "corpus",
    beta: float = 0.5,
) -> PretrainedScore:
    """Return PT-ERRANT of a system's edits and the annotators'; other arguments as in PT-M2.

    Raises:
        InputError: different numbers of sentences.
        DataError: the i-th sentences differ.
        ConfigError: no such level.
    """
    return measure_errant(hypothesis, reference, similarity, level=level, beta=beta).score()


@dataclass(frozen=True, slots=True)
class Measured:
    """The sums of every sentence, for the chosen annotator."""

    sums: Sequence[Sums]
    chosen: Sequence[int]
    level: Level
    beta: float
    signature: str

    @property
    def statistics(self) -> Statistics:
        """The sums by sentence, for significance."""
        beta, names = self.beta, ("precision", "recall", "f")
        if self.level == "sentence":
            rows = np.array([(*sums.scores(beta), 1.0) for sums in self.sums]).reshape(-1, 4)
            return Statistics(rows, _means, names, "f", self.signature)

        def scores(sums: Numbers) -> Numbers:
            correct, proposed, gold = (sums[..., i] for i in range(3))
            precision, recall = _share(correct, proposed), _share(correct, gold)
            return np.stack([precision, recall, f_score(precision, recall, beta)], axis=-1)

        rows = np.array(self.sums).reshape(-1, 3)
        return Statistics(rows, scores, names, "f", self.signature)

    def score(self) -> PretrainedScore:
        """Return the scores of all sentences together."""
        total = Sums()
        for sums in self.sums:
            total = total.plus(sums)
        each = [sums.scores(self.beta) for sums in self.sums]
        values = total.scores(self.beta)
        if self.level == "sentence":
            values = (
                float(np.mean([p for p, _, _ in each])),
                float(np.mean([r for _, r, _ in each])),
                float(np.mean([f for _, _, f in each])),
            )
        return PretrainedScore(
            *values, *total, self.level, self.beta, tuple(self.chosen),
            tuple(f for _, _, f in each), self.signature,
        )  # fmt: skip


def _means(sums: Numbers) -> Numbers:
    count = sums[..., 3:]
    return np.where(count > 0, sums[..., :3] / np.where(count > 0, count, 1.0), 0.0)


def _share(part: Numbers, whole: Numbers) -> Numbers:
    some = whole > 0
    return np.where(some, part / np.where(some, whole, 1.0), 1.0)


def measure_m2(
    hypotheses: Sequence[str],
    gold: Sequence[m2.GoldSentence],
    similarity: Similarity,
    *,
    level: Level = "corpus",
    beta: float = 0.5,
    version: str = "2016",
) -> Measured:
    """Return the sums of :func:`pt_m2` by sentence; errors as there."""
    check_lengths(hypotheses, gold)
    matched = [
        m2_matches(hypothesis, sentence, version)
        for hypothesis, sentence in zip(hypotheses, gold, strict=True)
    ]
    sources = [sentence.source for sentence in gold]
    made = _signature("pt-m2", similarity, level=level, beta=beta, version=version)
    return _measure(sources, matched, similarity, level, beta, made)


def measure_errant(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    similarity: Similarity,
    *,
    level: Level = "corpus",
    beta: float = 0.5,
    how: Mapping[str, object] | None = None,
) -> Measured:
    """Return the sums of :func:`pt_errant` by sentence; errors as there."""
    check_sentences("reference", reference, "hypothesis", hypothesis)
    matched = [
        errant_matches(ours, theirs) for ours, theirs in zip(hypothesis, reference, strict=True)
    ]
    sources = [block.sentence for block in reference]
    made = _signature("pt-errant", similarity, level=level, beta=beta, **(how or {}))
    return _measure(sources, matched, similarity, level, beta, made)


def _signature(metric: str, similarity: Similarity, **settings: object) -> str:
    about = similarity.settings if isinstance(similarity, BertScore) else {}
    return signature(metric, **settings, **about)


# -------------------------------------------------------------------------------------- weighing


def _measure(
    sources: Sequence[str],
    matched: Sequence[Sequence[Matched]],
    similarity: Similarity,
    level: Level,
    beta: float,
    made: str,
) -> Measured:
    if level not in LEVELS:
        raise ConfigError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    pairs = dict.fromkeys(
        pair
        for source, matches in zip(sources, matched, strict=True)
        for match in matches
        for pair in _pairs(source, match)
    )
    scores = dict(zip(pairs, similarity(list(pairs)), strict=True))
    total = Sums()
    sums, chosen = [], []
    for source, matches in zip(sources, matched, strict=True):
        own = [_sums(source, match, scores, even=level == "sentence") for match in matches]
        before = Sums() if level == "sentence" else total
        # the first of equals
        best = max(range(len(own)), key=lambda i: before.plus(own[i]).merit(beta))
        total = total.plus(own[best])
        sums.append(own[best])
        chosen.append(matches[best].annotator)
    return Measured(sums, chosen, level, beta, made)


def _pairs(source: str, match: Matched) -> Iterable[tuple[str, str]]:
    """Yield the pairs of texts whose similarity the weights of a sentence's edits need."""
    edits = {*match.proposed, *match.gold}
    if edits:
        yield source, match.reference
    for edit in sorted(edits):
        yield corrected(source, [edit]), match.reference


def _sums(
    source: str, match: Matched, scores: Mapping[tuple[str, str], float], *, even: bool
) -> Sums:
    """Return the sums of weights; with ``even``, weights that are all 0 become equal."""
    edits = {*match.proposed, *match.gold}
    weights = {
        edit: abs(
            scores[corrected(source, [edit]), match.reference] - scores[source, match.reference]
        )
        for edit in edits
    }
    if even and not sum(weights.values()):
        weights = dict.fromkeys(edits, 1 / max(1, len(edits)))
    parts = (match.correct, match.proposed, match.gold)
    return Sums(*(sum(weights.get(edit, 0.0) for edit in part) for part in parts))


# --------------------------------------------------------------------------------------- command


def m2_main(args: argparse.Namespace) -> int:
    """``gec score pt-m2 HYP GOLD``"""
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    gold = m2.read_gold(args.gold)
    sources = [sentence.source for sentence in gold]
    similarity = BertScore(args.encoder, args.layer)

    def measured(name: str) -> Measured:
        lines = read_output(args, name, args.gold, sources)
        return measure_m2(
            lines, gold, similarity, level=args.level, beta=args.beta, version=args.version
        )

    return _show(args, measured)


def errant_main(args: argparse.Namespace) -> int:
    """``gec score pt-errant HYP GOLD``"""
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    systems = Systems(args, read_reference(args.gold))
    similarity = BertScore(args.encoder, args.layer)

    def measured(name: str) -> Measured:
        blocks = systems.read(name)
        return measure_errant(
            blocks,
            systems.reference.blocks,
            similarity,
            level=args.level,
            beta=args.beta,
            how=systems.settings,
        )

    return _show(args, measured)


def _show(args: argparse.Namespace, measured: Callable[[str], Measured]) -> int:
    found = measured(args.hypothesis)
    significance = assessed(
        args, lambda: found.statistics, lambda: measured(args.paired).statistics
    )
    show(found.score(), as_json=args.json, significance=significance)
    return 0
