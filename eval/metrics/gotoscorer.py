"""GoToScorer: scores that weigh every error by how hard it is to correct.

Gotou, Nagata, Mita and Hanawa 2020, "Taking the Correction Difficulty into Account in Grammatical
Error Correction Evaluation" (COLING). The reference divides a sentence into chunks: its edits, the
tokens between them, and the gaps between all these, where something could be inserted. A system
corrects a chunk if it has the same chunk with the same words (:func:`judge`). The difficulty of a
chunk, its weight, is the share of the systems that do not correct it. A chunk counts with its
weight as

- true positive: an error, changed as the reference does;
- false positive: anything changed otherwise; if it is an error, also as
- false negative, as is an error left alone;
- true negative: no error, and left alone.

So the weights, and with them every score, depend on the set of systems. The authors publish weights
of their systems; such a file (``weights``) holds the number of systems in its first line, and then
one line for each sentence: how many systems correct each chunk. The reference is one annotator's.

>>> from gec.eval.metrics.errant import Annotation, Block
>>> edits = Annotation(1, 2, "R:VERB:SVA", "goes", 0), Annotation(2, 2, "M:PREP", "to", 0)
>>> gold = Block("He go school", edits)
>>> first, second = (Block("He go school", edits[:n]) for n in (1, 2))
>>> [score.recall for score in gotoscorer([[first], [second]], [gold]).systems]
[0.0, 1.0]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.errant import Block
from gec.eval.metrics.gotoscorer_chunks import Chunk, Verdict, divide, judge
from gec.eval.metrics.score import (
    assessed,
    check_parallel,
    once,
    read_lines,
    show,
    signature,
    use_utf8,
    write_text,
)
from gec.eval.metrics.statistics import Numbers, Statistics, f_score, ratio
from gec.eval.metrics.system_edits import Systems, changes_by_coder, only_changes, read_reference

Weights = Sequence[NDArray[np.float64]]  # a sentence: [chunks]

NAMES = ("precision", "recall", "f1", "f0.5", "accuracy")
_COLUMNS = ("TP", "FP", "FN", "TN", "Prec.", "Recall", "F1", "F0.5", "Accuracy")
_TP, _FP, _FN, _TN, _ALL = range(5)


@dataclass(frozen=True, slots=True)
class SystemScore:
    """One system's weighted counts and scores."""

    name: str
    tp: float
    fp: float
    fn: float
    tn: float
    precision: float
    recall: float
    f1: float
    f05: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class GoToScore:
    """All systems, and the difficulty of the reference's errors.

    Attributes:
        corrected: number of systems that correct each chunk, by sentence; or a weights file's.
        out_of: number of systems behind ``corrected``.
        difficulty: error type, mean weight and number of its errors, the hardest type first.
    """

    systems: tuple[SystemScore, ...]
    corrected: tuple[tuple[int, ...], ...]
    out_of: int
    difficulty: tuple[tuple[str, float, int], ...]
    signature: str

    def __str__(self) -> str:
        width = max(6, *(len(system.name) for system in self.systems))
        lines = ["".join([" " * width, *(f"  {name:>9}" for name in _COLUMNS)])]
        for name, *numbers in map(_fields, self.systems):
            lines.append("".join([f"{name:<{width}}", *(f"  {n:9.4f}" for n in numbers)]))
        return "\n".join(lines)


def _fields(score: SystemScore) -> tuple[str, *tuple[float, ...]]:
    numbers = (getattr(score, name) for name in SystemScore.__slots__[1:])
    return (score.name, *numbers)


def gotoscorer(
    systems: Sequence[Sequence[Block]],
    reference: Sequence[Block],
    *,
    names: Sequence[str] = (),
    annotator: int = 0,
    corrected: Sequence[Sequence[int]] | None = None,
    out_of: int = 0,
    weighted: bool = True,
) -> GoToScore:
    """Score systems together; an example is at the top of the module.

    Args:
        systems: every system's edits, a block for each sentence.
        reference: the reference's edits.
        names: names of the systems.
        annotator: the annotator whose edits are the reference; a sentence without any is correct.
        corrected: weights measured before: how many of ``out_of`` systems correct each chunk.
        weighted: whether to weigh by difficulty; otherwise every chunk counts 1.

    Raises:
        InputError: no sentence, or different numbers of sentences.
        ConfigError: a single system and no weights, or no such annotator.
        DataError: ``corrected`` does not fit the reference; the message names the sentence.
    """
    found = measure(
        systems,
        reference,
        annotator=annotator,
        corrected=corrected,
        out_of=out_of,
        weighted=weighted,
    )
    return found.score(names or [f"system {i}" for i in range(1, len(systems) + 1)])


@dataclass(frozen=True, slots=True)
class Measured:
    """Chunks, the systems that correct them, and every system's statistics."""

    chunks: Sequence[Sequence[Chunk]]
    corrected: Sequence[Sequence[int]]
    out_of: int
    weights: Weights
    statistics: Sequence[Statistics]

    def score(self, names: Sequence[str]) -> GoToScore:
        """Return the scores of all systems, which have these names."""
        return GoToScore(
            tuple(_system(n, s) for n, s in zip(names, self.statistics, strict=True)),
            tuple(map(tuple, self.corrected)),
            self.out_of,
            _difficulty(self.chunks, self.weights),
            self.statistics[0].signature,
        )


def measure(
    systems: Sequence[Sequence[Block]],
    reference: Sequence[Block],
    *,
    annotator: int = 0,
    corrected: Sequence[Sequence[int]] | None = None,
    out_of: int = 0,
    weighted: bool = True,
    how: dict[str, object] | None = None,
) -> Measured:
    """Return the counts that :func:`gotoscorer` sums up; arguments and errors as there."""
    if not systems or not reference:
        raise InputError("no sentence to score")
    if weighted and corrected is None and len(systems) < 2:
        raise ConfigError(
            "difficulty is measured over several systems, and there is one; "
            "name more outputs, or a file of weights, or count all errors alike (--unweighted)"
        )
    texts = [("reference", [b.sentence for b in reference])]
    check_parallel([*texts, *(("system", [b.sentence for b in blocks]) for blocks in systems)])
    chunks = _reference_chunks(reference, annotator)
    verdicts = [
        [judge(gold, divide(block.sentence.split(), only_changes(block))) for gold, block in rows]
        for rows in (zip(chunks, blocks, strict=True) for blocks in systems)
    ]
    if corrected is None:
        corrected, out_of = _count_correct(verdicts), len(systems)
    else:
        _check_weights(chunks, corrected, out_of)
    weights = [1 - np.array(row) / out_of if weighted else np.ones(len(row)) for row in corrected]
    made = signature(
        "gotoscorer",
        systems=out_of,
        annotator=annotator,
        weighted=weighted,
        **(how or {}),
    )
    statistics = [
        Statistics(
            np.array([_row(*parts) for parts in zip(chunks, found, weights, strict=True)]),
            _score,
            NAMES,
            "f0.5",
            made,
        )
        for found in verdicts
    ]
    return Measured(chunks, corrected, out_of, weights, statistics)


def _reference_chunks(reference: Sequence[Block], annotator: int) -> list[list[Chunk]]:
    coders = [changes_by_coder(block) for block in reference]
    if not any(annotator in found for found in coders):
        there = sorted(set().union(*coders))
        raise ConfigError(f"no annotator {annotator} in the reference; there are {there}")
    return [
        divide(block.sentence.split(), found.get(annotator, ()))
        for block, found in zip(reference, coders, strict=True)
    ]


def _count_correct(verdicts: Sequence[Sequence[Sequence[Verdict]]]) -> list[list[int]]:
    """Return how many systems correct each chunk, by sentence."""
    return [
        [sum(verdict.correct for verdict in each) for each in zip(*sentence, strict=True)]
        for sentence in zip(*verdicts, strict=True)
    ]


def _check_weights(
    chunks: Sequence[Sequence[Chunk]], corrected: Sequence[Sequence[int]], out_of: int
) -> None:
    if len(corrected) != len(chunks):
        raise DataError(f"weights of {len(corrected)} sentences, the reference has {len(chunks)}")
    for number, (row, found) in enumerate(zip(corrected, chunks, strict=True), start=1):
        if len(row) != len(found):
            raise DataError(
                f"sentence {number}: weights of {len(row)} chunks, the reference has {len(found)}"
            )
        if out_of < 1 or not all(0 <= count <= out_of for count in row):
            raise DataError(f"sentence {number}: a weight is not from 0 to {out_of}")


def _row(
    chunks: Sequence[Chunk], verdicts: Sequence[Verdict], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    row = np.zeros(5)
    for chunk, verdict, weight in zip(chunks, verdicts, weights, strict=True):
        row[[*_counts_as(chunk.edited, verdict), _ALL]] += weight
    return row


def _counts_as(error: bool, verdict: Verdict) -> Iterator[int]:
    if verdict.correct:
        if verdict.changed == error:
            yield _TP if error else _TN
        return
    if verdict.changed:
        yield _FP
    if error:
        yield _FN


def _score(sums: Numbers) -> Numbers:
    """Return P, R, F1, F0.5 and accuracy of counts [..., 5]; a quotient by 0 is 0."""
    tp, fp, fn, tn, total = (sums[..., i] for i in range(5))
    precision, recall = ratio(tp, tp + fp), ratio(tp, tp + fn)
    scores = [f_score(precision, recall, beta) for beta in (1.0, 0.5)]
    return np.stack([precision, recall, *scores, ratio(tp + tn, total)], axis=-1)


def _system(name: str, statistics: Statistics) -> SystemScore:
    tp, fp, fn, tn, _ = statistics.rows.sum(axis=0).tolist()
    return SystemScore(name, tp, fp, fn, tn, *statistics.printed.tolist())


def _difficulty(
    chunks: Sequence[Sequence[Chunk]], weights: Weights
) -> tuple[tuple[str, float, int], ...]:
    """Return the mean weight of every error type (the paper's Table 4)."""
    by_type: dict[str, list[float]] = {}
    for row, found in zip(weights, chunks, strict=True):
        for chunk, weight in zip(found, row.tolist(), strict=True):
            if chunk.edited:
                by_type.setdefault(chunk.type, []).append(weight)
    listed = [(kind, float(np.mean(all_)), len(all_)) for kind, all_ in by_type.items()]
    return tuple(sorted(listed, key=lambda entry: (-entry[1], entry[0])))


# ----------------------------------------------------------------------------------------- command


def read_weights(name: str) -> tuple[list[list[int]], int]:
    """Return how many systems correct each chunk, and how many systems there were.

    Raises:
        InputError: the file cannot be read.
        DataError: a line has no whole numbers; the message names the line.
    """
    rows = []
    for number, line in enumerate(read_lines(name), start=1):
        try:
            rows.append([int(count) for count in line.split()])
        except ValueError:
            raise DataError(
                f"{name}, line {number}: expected whole numbers, found {line[:40]!r}"
            ) from None
    if not rows or len(rows[0]) != 1:
        raise DataError(f"{name}, line 1: expected the number of systems")
    return rows[1:], rows[0][0]


def main(args: argparse.Namespace) -> int:
    """``gec score gotoscorer HYP [HYP...] GOLD``"""
    once([*args.hypotheses, args.gold, args.paired])
    use_utf8()
    systems = Systems(args, read_reference(args.gold))
    names = [*args.hypotheses, *([args.paired] if args.paired else [])]
    blocks = [systems.read(name) for name in names]
    corrected, out_of = read_weights(args.weights) if args.weights else (None, 0)
    found = measure(
        blocks,
        systems.reference.blocks,
        annotator=args.annotator,
        corrected=corrected,
        out_of=out_of,
        weighted=not args.unweighted,
        how=systems.settings,
    )
    if args.write_weights:
        lines = [[found.out_of], *found.corrected]
        write_text(args.write_weights, (" ".join(map(str, row)) + "\n" for row in lines))
    significance = assessed(args, lambda: found.statistics[0], lambda: found.statistics[-1])
    score = found.score(names)
    show(score, as_json=args.json, significance=significance)
    if args.difficulty and not args.json:
        for kind, weight, count in score.difficulty:
            print(f"{weight:.2f}  {count:6d}  {kind}")
    return 0
