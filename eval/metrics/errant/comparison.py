"""A system's edits against reference edits, both as M2 blocks.

Numbers, choices and printed lines are those of ``errant_compare`` in ERRANT 3.0.2 (Bryant, Felice
and Briscoe 2017). Three surprises are kept, because published numbers depend on them:

- Every pair of a hypothesis coder and a reference coder is tried. The pair with the best F of the
  running totals, rounded to 4 decimals, is chosen, so a choice depends on the sentences before it.
- Edits with one key count together: an edit that the reference has twice is two true positives.
- Without false positives P is 1, without false negatives R is 1, even if nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gec.errors import ConfigError, InputError
from gec.eval.metrics.errant.annotator import Annotator
from gec.eval.metrics.errant.blocks import Annotation, Block
from gec.eval.metrics.score import check_parallel, first_shifted, signature
from gec.eval.metrics.statistics import Statistics, edit_statistics

Mode = Literal["dt", "ds", "cs", "cse"]
Key = tuple[int | str, ...]  # edits with the same key are equal; the mode decides about the key
Edits = dict[Key, list[str]]  # one coder's edits by key: the types of all of them, in file order

TITLES: dict[Mode, str] = {
    "dt": "Token-Based Detection",
    "ds": "Span-Based Detection",
    "cs": "Span-Based Correction",
    "cse": "Span-Based Correction + Classification",
}
_RULE = "-" * 40
_NOOP = Annotation(-1, -1, "noop", "-NONE-", 0)


class Counts(NamedTuple):
    """True positives, false positives, false negatives."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum of both counts."""
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    def scores(self, beta: float) -> tuple[float, float, float]:
        """Return P, R and F, each rounded to 4 decimals.

        >>> Counts(1, 1, 0).scores(0.5)
        (0.5, 1.0, 0.5556)

        Raises:
            ConfigError: F divides by zero (beta 0 with P but no R) or beta is too large.
        """
        p = self.tp / (self.tp + self.fp) if self.fp else 1.0
        r = self.tp / (self.tp + self.fn) if self.fn else 1.0
        try:
            f = (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0
        except (ZeroDivisionError, OverflowError):
            raise ConfigError(
                f"F{beta} is not defined for P {p:g} and R {r:g}; choose another --beta"
            ) from None
        return round(p, 4), round(r, 4), round(f, 4)


@dataclass(frozen=True, slots=True)
class ErrantScore:
    """The result of :func:`compare`; P, R and F are rounded to 4 decimals.

    Attributes:
        by_type: counts by full error type, in the order in which the types first counted.
        sentences: counts of the chosen pair of every sentence; their sum is tp, fp, fn.
        chosen: coder ids (hypothesis, reference) of that pair.
    """

    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f: float
    mode: Mode
    beta: float
    by_type: Mapping[str, Counts]
    sentences: tuple[Counts, ...]
    chosen: tuple[tuple[int, int], ...]
    signature: str

    def __str__(self) -> str:
        names = ["TP", "FP", "FN", "Prec", "Rec", f"F{self.beta}"]
        values = [self.tp, self.fp, self.fn, self.precision, self.recall, self.f]
        title = f" {TITLES[self.mode]} "
        return "\n".join(
            ["", f"{title:=^46}", "\t".join(names), "\t".join(map(str, values)), "=" * 46, ""]
        )

    def table(self, level: int) -> str:
        """Return the scores by type as ``-cat LEVEL`` shows them (see :meth:`grouped`)."""
        rows = [("Category", "TP", "FP", "FN", "P", "R", f"F{self.beta}")]
        for name, counts in sorted(self.grouped(level).items()):
            values = (*counts, *counts.scores(self.beta))
            rows.append((name, *map(str, values)))  # type: ignore[arg-type]
        lines = [
            " ".join([name.ljust(14), *(value.ljust(8) for value in values), f])
            for name, *values, f in rows
        ]
        title = f" {TITLES[self.mode]} "
        return "\n".join(["", f"{title:=^66}", *lines])

    def grouped(self, level: int) -> dict[str, Counts]:
        """Return counts by operation (1: M, R, U), category (2: NOUN, ...) or full type (3).

        Raises:
            ConfigError: level 1, and an edit has an empty type.
        """
        if level == 3:
            return dict(self.by_type)
        found: dict[str, Counts] = {}
        for kind, counts in self.by_type.items():
            if kind == "UNK":  # UNK stands alone; as in ERRANT it overwrites an "R:UNK"
                found[kind] = counts
                continue
            if level == 1 and not kind:
                raise ConfigError("an edit without a type has no operation; choose -cat 2 or 3")
            name = kind[0] if level == 1 else kind[2:]
            found[name] = found.get(name, Counts()).plus(counts)
        return found


# ------------------------------------------------------------------------------------ compare


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of which edits count, and of which are equal."""

    mode: Mode
    single: bool
    multi: bool
    filt: frozenset[str]

    def by_coder(self, block: Block) -> dict[int, Edits]:
        """Return every coder's edits, also of a coder whose edits are all left out."""
        coders: dict[int, Edits] = {}
        for annotation in block.annotations or (_NOOP,):
            edits = coders.setdefault(annotation.coder, {})
            if self._counts(annotation):
                for key in self._keys(annotation):
                    edits.setdefault(key, []).append(annotation.type)
        return coders

    def _counts(self, annotation: Annotation) -> bool:
        if annotation.type in self.filt:
            return False
        if annotation.type == "UNK" and self.mode in ("cs", "cse"):  # detected, not corrected
            return False
        words = max(annotation.end - annotation.start, len(annotation.correction.split()))
        return not (self.single and words >= 2) and not (self.multi and words < 2)

    def _keys(self, annotation: Annotation) -> list[Key]:
        start, end, kind, correction, _ = annotation
        if self.mode == "cs":
            return [(start, end, correction)]
        if self.mode == "cse":
            return [(start, end, kind, correction)]
        if self.mode == "ds":
            return [(start, end)]
        if start == -1:
            return [(-1, -1)]
        if start == end >= 0:  # an insertion counts as the token to its right, even at the end
            return [(start, start + 1)]
        return [(token, token + 1) for token in range(start, end)]


class _Pair(NamedTuple):
    """One hypothesis coder's edits against one reference coder's."""

    coders: tuple[int, int]
    hypothesis: Edits
    reference: Edits
    outcomes: list[tuple[str, int]]
    counts: Counts
    local: tuple[float, float, float]  # P, R, F of this sentence alone
    running: tuple[float, float, float]  # P, R, F together with the sentences before

    def rank(self) -> tuple[float, int, int, int]:
        return self.running[2], self.counts.tp, -self.counts.fp, -self.counts.fn

    def by_type(self) -> dict[str, Counts]:
        booked: dict[str, list[int]] = {}
        for kind, column in self.outcomes:
            booked.setdefault(kind, [0, 0, 0])[column] += 1
        return {kind: Counts(*counts) for kind, counts in booked.items()}


def compare(
    hypothesis: Sequence[Block],
    reference: Sequence[Block],
    *,
    mode: Mode = "cs",
    beta: float = 0.5,
    single: bool = False,
    multi: bool = False,
    filt: Collection[str] = (),
    verbose: Callable[[str], object] | None = None,
    how: Mapping[str, object] | None = None,
) -> ErrantScore:
    """Compare edits sentence by sentence, the i-th block with the i-th.

    Args:
        mode: edits are equal if they share a token (dt), the span (ds), span and correction (cs),
            or also the type (cse).
        single: whether to leave out edits of two or more tokens on a side.
        multi: whether to leave out all other edits.
        filt: full names of types to leave out.
        verbose: called with the lines that ``-v`` shows for each sentence.
        how: more settings for the signature, for example the annotator of the edits.

    Raises:
        InputError: different numbers of blocks.
        ConfigError: no such mode, or a beta for which F is not defined.
    """
    if mode not in TITLES:
        raise ConfigError(f"mode must be one of {', '.join(TITLES)}, not {mode!r}")
    if len(hypothesis) != len(reference):
        raise InputError(_unequal(hypothesis, reference))
    rules = _Rules(mode, single, multi, frozenset(filt))
    total = Counts()
    by_type: dict[str, Counts] = {}
    sentences, coders = [], []
    for number, (ours, theirs) in enumerate(zip(hypothesis, reference, strict=True)):
        pairs = list(_pairs(rules.by_coder(ours), rules.by_coder(theirs), total, beta))
        best = max(pairs, key=_Pair.rank)  # the first of equals
        if verbose is not None:
            verbose(_explain(number, ours.sentence, pairs, best, total, beta))
        total = total.plus(best.counts)
        for kind, counts in best.by_type().items():
            by_type[kind] = by_type.get(kind, Counts()).plus(counts)
        sentences.append(best.counts)
        coders.append(best.coders)
    settings = {"mode": mode, "beta": beta, "single": single, "multi": multi}
    return ErrantScore(
        *total,
        *total.scores(beta),
        mode,
        beta,
        by_type,
        tuple(sentences),
        tuple(coders),
        signature("errant", **settings, filt="+".join(sorted(filt)) or "none", **(how or {})),
    )


def score_errant(
    hypotheses: Sequence[str],
    reference: Sequence[Block],
    *,
    annotator: Annotator | None = None,
    mode: Mode = "cs",
    beta: float = 0.5,
) -> ErrantScore:
    """Find the edits of a system's sentences and compare them, as ``gec score errant`` does.

    Args:
        hypotheses: the corrected sentences, tokenized by blanks.
        reference: the sources with the annotators' edits.
        annotator: finds the edits; None takes ERRANT's with the pipeline that it finds.
        mode, beta: as for :func:`compare`.

    Raises:
        InputError: different numbers of sentences.
        ConfigError: as for :func:`compare`, or there is no pipeline.
    """
    sources = [block.sentence for block in reference]
    check_parallel({"the reference": sources, "the hypotheses": hypotheses})
    annotator = annotator or Annotator()
    edits = annotator.blocks(sources, hypotheses)
    return compare(edits, reference, mode=mode, beta=beta, how=annotator.settings)


def statistics(score: ErrantScore) -> Statistics:
    """Return the counts of every sentence, for the chosen pair of coders."""
    return edit_statistics(score.sentences, score.beta, score.signature)


def _unequal(hypothesis: Sequence[Block], reference: Sequence[Block]) -> str:
    message = f"the hypothesis has {len(hypothesis)} sentences, the reference {len(reference)}"
    sentences = ([block.sentence for block in blocks] for blocks in (reference, hypothesis))
    if (i := first_shifted(*sentences)) is None:
        return message
    ours, theirs = hypothesis[i], reference[i]
    return (
        f"{message}; they look shifted from sentence {i + 1} on: {ours.sentence[:60]!r} "
        f"(line {ours.line}) beside {theirs.sentence[:60]!r} (line {theirs.line})"
    )


def _pairs(
    hypotheses: dict[int, Edits], references: dict[int, Edits], total: Counts, beta: float
) -> Iterator[_Pair]:
    for hyp_coder, hypothesis in hypotheses.items():
        for ref_coder, reference in references.items():
            outcomes = _outcomes(hypothesis, reference)
            columns = [column for _, column in outcomes]
            counts = Counts(columns.count(0), columns.count(1), columns.count(2))
            yield _Pair(
                (hyp_coder, ref_coder),
                hypothesis,
                reference,
                outcomes,
                counts,
                counts.scores(beta),
                total.plus(counts).scores(beta),
            )


def _outcomes(hypothesis: Edits, reference: Edits) -> list[tuple[str, int]]:
    """Return the type of each counted edit, and its place in :class:`Counts`."""
    found = []
    for key, kinds in hypothesis.items():
        if kinds[0] != "noop":
            column = 0 if key in reference else 1
            found += [(kind, column) for kind in reference.get(key, kinds)]
    for key, kinds in reference.items():
        if kinds[0] != "noop" and key not in hypothesis:
            found += [(kind, 2) for kind in kinds]
    return found


# --------------------------------------------------------------------------------------- show


def _explain(
    number: int,
    sentence: str,
    pairs: Sequence[_Pair],
    best: _Pair,
    total: Counts,
    beta: float,
) -> str:
    """Return the lines that ``-v`` prints for one sentence, without the last line break."""
    lines = [_RULE, f"Original sentence {number}: {sentence}"]
    for pair in pairs:
        lines += [
            _RULE,
            "SENTENCE {} - HYP {} - REF {}".format(number, *pair.coders),
            f"HYPOTHESIS EDITS : {_listed(pair.hypothesis)}",
            f"REFERENCE EDITS  : {_listed(pair.reference)}",
            "Local TP/FP/FN   : {} {} {}".format(*pair.counts),
            "Local P/R/F{}  : {} {} {}".format(beta, *pair.local),
            "Global TP/FP/FN  : {} {} {}".format(*total.plus(pair.counts)),
            "Global P/R/F{}  : {} {} {}".format(beta, *pair.running),
        ]
    lines += [
        _RULE,
        "^^ HYP {}, REF {} chosen for sentence {}".format(*best.coders, number),
        "Local results:",
    ]
    rows = [("Category", *(name.upper() for name in Counts._fields))]
    rows += [(kind, *map(str, counts)) for kind, counts in best.by_type().items()]
    widths = [3 + max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]
    return "\n".join(lines)


def _listed(edits: Edits) -> list[Key]:
    """Return the edits with their first types; none if the first edit is a noop."""
    listed: list[Key] = [(*key, edits[key][0]) for key in sorted(edits)]
    return [] if listed and listed[0][0] == -1 else listed
