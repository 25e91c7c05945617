"""What a system repairs and what it breaks: success and over-correction by error type.

For an error type T, as GECLens defines them (Gautam, Thakur and Mishra 2026):

- **success**: of the sentences in which an annotator made a T edit, the share in which the system
  made every T edit of at least one such annotator, same place and same words;
- **over-correction**: of the sentences that no annotator edited, the share that the system edited;
  by type, the share in which it made a T edit.

Two systems are compared type by type; Holm's method adjusts p-values over the types that occur, for
success and for over-correction separately.

>>> from gec.eval.metrics.errant import Annotation, Block
>>> edit = Annotation(1, 2, "R:VERB:SVA", "goes", 0)
>>> gold = [Block("He go .", (edit,)), Block("She left .", ())]
>>> score = error_rates([Block("He go .", (edit,)), Block("She left .", ())], gold)
>>> score.success, score.overcorrection
(1.0, 0.0)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gec.errors import InputError
from gec.eval.metrics.errant import Block
from gec.eval.metrics.score import assessed, once, show, signature, use_utf8
from gec.eval.metrics.significance import Significance, holm
from gec.eval.metrics.statistics import Numbers, Statistics, ratio
from gec.eval.metrics.system_edits import (
    Change,
    Systems,
    changes_by_coder,
    check_sentences,
    only_changes,
    read_reference,
)

_FIXED, _POSITIVE, _BROKEN = range(3)  # numbers of a type; of all types together first


@dataclass(frozen=True, slots=True)
class TypeRates:
    """One error type.

    Attributes:
        edits: edits of this type in the reference, of all annotators.
        positive, fixed: numbers of sentences with such an edit, and of those repaired.
        broken: number of correct sentences in which the system made such an edit.
        success, overcorrection: shares; None if no sentence counts.
        p_success, p_overcorrection: adjusted p-values of the difference from the other system.
    """

    type: str
    edits: int
    positive: int
    fixed: int
    broken: int
    success: float | None
    overcorrection: float | None
    p_success: float | None = None
    p_overcorrection: float | None = None


@dataclass(frozen=True, slots=True)
class RatesScore:
    """Rates over all edits, and of every type, the most frequent in the reference first.

    Attributes:
        edited, repaired: numbers of sentences that an annotator edited, and of those in which the
            system made all edits of an annotator.
        correct, changed: numbers of sentences that no annotator edited, and of those that the
            system edited.
    """

    success: float | None
    overcorrection: float | None
    edited: int
    repaired: int
    correct: int
    changed: int
    types: tuple[TypeRates, ...]
    signature: str

    def __str__(self) -> str:
        width = max([4, *(len(row.type) for row in self.types)])
        tested = any(row.p_success is not None for row in self.types)
        header = f"{'type':<{width}}   edits  success              over-correction"
        lines = [header + ("      p (Holm): success, over-correction" if tested else "")]
        lines.append(
            f"{'all':<{width}}  {sum(row.edits for row in self.types):6d}  "
            f"{_share(self.repaired, self.edited)}  {_share(self.changed, self.correct)}"
        )
        for row in self.types:
            line = (
                f"{row.type:<{width}}  {row.edits:6d}  {_share(row.fixed, row.positive)}  "
                f"{_share(row.broken, self.correct)}"
            )
            p = "".join(f"  {_p(value)}" for value in (row.p_success, row.p_overcorrection))
            lines.append((line + p if tested else line).rstrip())
        return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    percent = f"{100 * part / whole:5.1f} %" if whole else "      -"
    return f"{percent} {f'{part}/{whole}':<11}"


def _p(value: float | None) -> str:
    return "     -" if value is None else f"{value:.4f}"


def error_rates(
    hypothesis: Sequence[Block], reference: Sequence[Block], *, category: bool = False
) -> RatesScore:
    """Return rates by error type; an example is at the top of the module.

    Args:
        hypothesis: the system's edits, a block for each sentence.
        reference: the annotators' edits, with ERRANT's types.
        category: whether M:DET, R:DET and U:DET are one type, DET.

    Raises:
        InputError: no sentence, or different numbers of sentences.
        DataError: the i-th sentences differ.
    """
    measured = measure([hypothesis], reference, category=category)
    return measured.score(0)


@dataclass(frozen=True, slots=True)
class Measured:
    """Types, their edits in the reference, and every system's statistics.

    A row has, for all types together and then for each type, whether the sentence was repaired, had
    to be repaired, was broken; its last number says whether no annotator edited the sentence.
    """

    types: Sequence[str]
    edits: Sequence[int]
    statistics: Sequence[Statistics]

    def score(self, system: int) -> RatesScore:
        """Return the rates of one system, by its index."""
        statistics = self.statistics[system]
        sums = statistics.rows.sum(axis=0).astype(int).tolist()
        correct = sums.pop()
        (repaired, edited, changed), *rest = (sums[i : i + 3] for i in range(0, len(sums), 3))
        return RatesScore(
            _rate(repaired, edited),
            _rate(changed, correct),
            edited,
            repaired,
            correct,
            changed,
            tuple(
                TypeRates(
                    kind,
                    edits,
                    positive,
                    fixed,
                    broken,
                    _rate(fixed, positive),
                    _rate(broken, correct),
                )
                for kind, edits, (fixed, positive, broken) in zip(
                    self.types, self.edits, rest, strict=True
                )
            ),
            statistics.signature,
        )

    def adjusted(self, score: RatesScore, significance: Significance) -> RatesScore:
        """Return a score with Holm-adjusted p-values for the types that occur."""
        tests = significance.comparisons or {}
        sums = sum(statistics.rows.sum(axis=0) for statistics in self.statistics)
        counts = np.reshape(np.asarray(sums)[3:-1], (-1, 3))
        found: list[dict[str, float]] = []
        for name, column in (("success", _POSITIVE), ("overcorrection", _BROKEN)):
            kinds = [k for k, count in zip(self.types, counts[:, column], strict=True) if count]
            p = holm([tests[f"{name}:{kind}"].p for kind in kinds])
            found.append(dict(zip(kinds, p, strict=True)))
        rows = (
            replace(row, p_success=found[0].get(row.type), p_overcorrection=found[1].get(row.type))
            for row in score.types
        )
        return replace(score, types=tuple(rows))


def measure(
    systems: Sequence[Sequence[Block]],
    reference: Sequence[Block],
    *,
    category: bool = False,
    how: dict[str, object] | None = None,
) -> Measured:
    """Return the counts that :func:`error_rates` sums up, for several systems; errors as there."""
    if not reference:
        raise InputError("no sentence to score")
    for blocks in systems:
        check_sentences("reference", reference, "hypothesis", blocks)
    gold = [
        [[_typed(change, category) for change in changes] for changes in coders.values()]
        for coders in map(changes_by_coder, reference)
    ]
    made = [
        [[_typed(change, category) for change in only_changes(block)] for block in blocks]
        for blocks in systems
    ]
    counts: dict[str, int] = {}
    for change in (change for coders in gold for changes in coders for change in changes):
        counts[change.type] = counts.get(change.type, 0) + 1
    for change in (change for system in made for changes in system for change in changes):
        counts.setdefault(change.type, 0)
    types = sorted(counts, key=lambda kind: (-counts[kind], kind))
    names = [f"{name}{kind}" for kind in ("", *(f":{t}" for t in types)) for name in _RATES]
    text = signature("rates", category=category, **(how or {}))
    statistics = [
        Statistics(
            np.array([_row(*pair, types) for pair in zip(system, gold, strict=True)]),
            _rates,
            tuple(names),
            "success",
            text,
        )
        for system in made
    ]
    return Measured(types, [counts[kind] for kind in types], statistics)


_RATES = ("success", "overcorrection")


def _typed(change: Change, category: bool) -> Change:
    if category and change.type[:2] in ("M:", "R:", "U:"):
        return change._replace(type=change.type[2:])
    return change


def _row(
    system: Sequence[Change], coders: Sequence[Sequence[Change]], types: Sequence[str]
) -> NDArray[np.int64]:
    """Return a sentence's numbers, see :class:`Measured`."""
    correct = not any(coders)
    row = np.zeros(3 * (len(types) + 1) + 1, dtype=np.int64)
    row[-1] = correct
    row[:3] = _numbers(system, coders, correct)
    there = {change.type for changes in (system, *coders) for change in changes}
    for kind in there:
        place = 3 * (types.index(kind) + 1)
        own = [[change for change in changes if change.type == kind] for changes in coders]
        of_type = any(change.type == kind for change in system)
        row[place : place + 3] = _numbers(system, own, correct and of_type)
    return row


def _numbers(
    system: Iterable[Change], coders: Sequence[Sequence[Change]], correct: bool
) -> tuple[bool, bool, bool]:
    """Return whether a sentence was repaired, had to be repaired, and was broken."""
    made = {change[:3] for change in system}
    wanted = [{change[:3] for change in changes} for changes in coders if changes]
    return any(edits <= made for edits in wanted), bool(wanted), correct and bool(made)


def _rates(sums: Numbers) -> Numbers:
    """Return success and over-correction of all types together, then of each type."""
    correct = sums[..., -1:]
    fixed, positive, broken = (sums[..., i:-1:3] for i in range(3))
    rates = np.stack([ratio(fixed, positive), ratio(broken, correct)], axis=-1)
    return rates.reshape(*rates.shape[:-2], -1)


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def rates_main(args: argparse.Namespace) -> int:
    """``gec score rates HYP GOLD``"""
    once([args.hypothesis, args.gold, args.paired])
    use_utf8()
    systems = Systems(args, read_reference(args.gold), types=True)
    names = [args.hypothesis, *([args.paired] if args.paired else [])]
    blocks = [systems.read(name) for name in names]
    measured = measure(
        blocks, systems.reference.blocks, category=args.category, how=systems.settings
    )
    significance = assessed(args, lambda: measured.statistics[0], lambda: measured.statistics[-1])
    score = measured.score(0)
    if significance and significance.comparisons:
        score = measured.adjusted(score, significance)
    show(score, as_json=args.json, significance=significance)
    return 0
