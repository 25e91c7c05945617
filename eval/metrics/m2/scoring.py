"""From paths to numbers: matching, choosing an annotator, totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gec.errors import ConfigError, InputError
from gec.eval.metrics.m2.lattice import Edit, Lattice, build_lattice
from gec.eval.metrics.m2.reading import GoldEdit, GoldSentence
from gec.eval.metrics.m2.search import cheapest_path, gold_weights
from gec.eval.metrics.score import first_shifted, signature
from gec.eval.metrics.statistics import Numbers, Statistics, f_score

VERSIONS = ("3.2", "2016")


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """One sentence against one annotator.

    Attributes:
        proposed: the edits that lead from the source to the hypothesis, left to right.
        gold: the annotator's edits, in the order of the file.
        matched: proposed edits that gold has; an edit stands here twice if gold has it twice.
    """

    annotator: int
    proposed: tuple[Edit, ...]
    gold: tuple[GoldEdit, ...]
    matched: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of correct, proposed and gold edits."""

    correct: int = 0
    proposed: int = 0
    gold: int = 0

    def plus(self, match: SentenceMatch) -> Counts:
        """Return these counts plus those of a sentence."""
        return Counts(
            self.correct + len(match.matched),
            self.proposed + len(match.proposed),
            self.gold + len(match.gold),
        )

    @property
    def precision(self) -> float:
        """Correct out of proposed edits; 1 if none is proposed."""
        return self.correct / self.proposed if self.proposed else 1.0

    @property
    def recall(self) -> float:
        """Correct out of gold edits; 1 if there is none."""
        return self.correct / self.gold if self.gold else 1.0

    def f(self, beta: float) -> float:
        """Return F from counts, by which annotators are chosen."""
        weighted = beta * beta * self.gold + self.proposed
        return (1 + beta * beta) * self.correct / weighted if weighted else 1.0

    def final_f(self, beta: float) -> float:
        """Return F from precision and recall, which is reported; 0 if both are 0."""
        precision, recall = self.precision, self.recall
        weighted = beta * beta * precision + recall
        return (1 + beta * beta) * precision * recall / weighted if weighted else 0.0


@dataclass(frozen=True, slots=True)
class M2Score:
    """The result over all sentences.

    Attributes:
        correct, proposed, gold: numbers of edits, for the chosen annotators.
        precision, recall, f: F weighs recall ``beta`` times as much as precision.
        chosen_annotators: the annotator of each sentence.
        per_sentence: each sentence's edits, for the chosen annotator.
    """

    correct: int
    proposed: int
    gold: int
    precision: float
    recall: float
    f: float
    chosen_annotators: tuple[int, ...]
    beta: float
    signature: str
    per_sentence: tuple[SentenceMatch, ...]

    def __str__(self) -> str:
        label = f"F_{self.beta:.1f}"
        return (
            f"Precision   : {self.precision:.4f}\n"
            f"Recall      : {self.recall:.4f}\n"
            f"{label}       : {self.f:.4f}"
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that decide on a score; all are part of its signature."""

    version: str = "3.2"
    max_unchanged_words: int = 2
    beta: float = 0.5
    ignore_whitespace_casing: bool = False

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise ConfigError(f"version must be one of {', '.join(VERSIONS)}, not {self.version!r}")

    @property
    def signature(self) -> str:
        """Return the signature of scores with these settings."""
        return signature(
            "m2",
            version=self.version,
            beta=self.beta,
            max_unchanged_words=self.max_unchanged_words,
            ignore_whitespace_casing=self.ignore_whitespace_casing,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """A sentence with every annotator's match, and the totals if that annotator is chosen."""

    hypothesis: str
    sentence: GoldSentence
    lattice: Lattice
    matches: Sequence[SentenceMatch]
    totals: Sequence[Counts]
    chosen: int  # index into matches and totals


def score_m2(
    hypotheses: Sequence[str],
    gold: Sequence[GoldSentence],
    *,
    version: str = "3.2",
    max_unchanged_words: int = 2,
    beta: float = 0.5,
    ignore_whitespace_casing: bool = False,
) -> M2Score:
    """Return the MaxMatch score of tokenized hypotheses.

    Args:
        hypotheses: a hypothesis for each gold sentence, with blanks between tokens.
        gold: the result of :func:`gec.eval.metrics.m2.read_gold`.
        version: the official scorer to equal, "3.2" (2014) or "2016".
        max_unchanged_words: number of tokens that an edit may keep between those it changes.
        beta: how many times as much recall counts as precision; also for choosing annotators.
        ignore_whitespace_casing: drop proposed edits that change only blanks and case.

    Raises:
        InputError: not as many hypotheses as gold sentences.
        ConfigError: no such version.
    """
    settings = Settings(version, max_unchanged_words, beta, ignore_whitespace_casing)
    return summarize(decide(hypotheses, gold, settings), settings)


def decide(
    hypotheses: Sequence[str], gold: Sequence[GoldSentence], settings: Settings
) -> Iterator[Decision]:
    """Yield the choice of an annotator for each sentence, given those chosen before.

    The annotator has the highest F over the totals so far; among equals the most correct edits in
    total; then the fewest edits, proposed + beta^2 gold; then the first place in
    :func:`visiting_order`.
    """
    check_lengths(hypotheses, gold)
    total = Counts()
    for hypothesis, sentence in zip(hypotheses, gold, strict=True):
        lattice, matches = _match(hypothesis, sentence, settings)
        totals = [total.plus(match) for match in matches]
        chosen = max(range(len(totals)), key=lambda i: merit(totals[i], settings.beta))
        total = totals[chosen]
        yield Decision(hypothesis, sentence, lattice, matches, totals, chosen)


def merit(total: Counts, beta: float) -> tuple[float, int, float]:
    """Return the key by which annotators are chosen: greater is better (see :func:`decide`)."""
    return total.f(beta), total.correct, -(total.proposed + beta * beta * total.gold)


def summarize(decisions: Iterable[Decision], settings: Settings) -> M2Score:
    """Return the score of all decisions together."""
    total = Counts()
    chosen = []
    for decision in decisions:
        total = decision.totals[decision.chosen]
        chosen.append(decision.matches[decision.chosen])
    return M2Score(
        correct=total.correct,
        proposed=total.proposed,
        gold=total.gold,
        precision=total.precision,
        recall=total.recall,
        f=total.final_f(settings.beta),
        chosen_annotators=tuple(match.annotator for match in chosen),
        beta=settings.beta,
        signature=settings.signature,
        per_sentence=tuple(chosen),
    )


def statistics(score: M2Score) -> Statistics:
    """Return every sentence's correct, proposed and gold edits, for the chosen annotators."""
    rows = [(len(s.matched), len(s.proposed), len(s.gold)) for s in score.per_sentence]

    def scores(sums: Numbers) -> Numbers:
        correct, proposed, gold = (sums[..., i] for i in range(3))
        precision = np.where(proposed > 0, correct / np.maximum(proposed, 1), 1.0)
        recall = np.where(gold > 0, correct / np.maximum(gold, 1), 1.0)
        return np.stack([precision, recall, f_score(precision, recall, score.beta)], axis=-1)

    names = ("precision", "recall", "f")
    return Statistics(np.array(rows).reshape(-1, 3), scores, names, "f", score.signature)


def check_lengths(
    hypotheses: Sequence[str],
    gold: Sequence[GoldSentence],
    names: tuple[str, str] = ("the hypotheses", "gold"),
) -> None:
    """Refuse files that do not belong together.

    Raises:
        InputError: the lengths differ; the message has both and the first line that looks shifted.
    """
    if len(hypotheses) == len(gold):
        return
    message = f"{names[0]}: {len(hypotheses)} lines; {names[1]}: {len(gold)} sentences"
    shifted = first_shifted([sentence.source for sentence in gold], hypotheses)
    if shifted is not None:
        message += (
            f"; they look shifted from line {shifted + 1} on: {hypotheses[shifted][:60]!r}"
            f" beside {gold[shifted].source[:60]!r}"
        )
    elif not any(line.strip() for line in hypotheses[len(gold) :]) and len(hypotheses) > len(gold):
        message += "; blank lines at the end count too"
    raise InputError(message)


# ------------------------------------------------------------------------------------ one sentence


def match_sentence(
    hypothesis: str,
    sentence: GoldSentence,
    *,
    version: str = "3.2",
    max_unchanged_words: int = 2,
    ignore_whitespace_casing: bool = False,
) -> list[SentenceMatch]:
    """Return one sentence's proposed and correct edits, for every annotator.

    Proposed edits may differ between annotators: of all explanations of the hypothesis, each
    annotator gets the one with most of the annotator's own edits.
    """
    settings = Settings(
        version, max_unchanged_words, ignore_whitespace_casing=ignore_whitespace_casing
    )
    return _match(hypothesis, sentence, settings)[1]


def _match(
    hypothesis: str, sentence: GoldSentence, settings: Settings
) -> tuple[Lattice, list[SentenceMatch]]:
    lattice = build_lattice(
        sentence.source.split(),
        hypothesis.split(),
        [edit for edits in sentence.edits.values() for edit in edits],
        version=settings.version,
        max_unchanged_words=settings.max_unchanged_words,
    )
    matches = []
    for annotator in visiting_order(sentence.edits):
        gold = tuple(sentence.edits[annotator])
        path = cheapest_path(lattice, gold_weights(lattice, gold))
        proposed = tuple(lattice.edit(arc) for arc in path if not lattice.keeps(arc))
        if settings.ignore_whitespace_casing:
            proposed = tuple(edit for edit in proposed if not _same_letters(edit))
        matches.append(SentenceMatch(annotator, proposed, gold, tuple(_matched(proposed, gold))))
    return lattice, matches


def _matched(proposed: Sequence[Edit], gold: Sequence[GoldEdit]) -> Iterator[Edit]:
    """Walk along both lists once.

    A gold edit before the last matched one is not compared again; a gold edit that is listed twice
    counts twice.
    """
    first = 0
    for edit in proposed:
        for index in range(first, len(gold)):
            if gold[index].accepts(edit.start, edit.end, edit.original, edit.correction):
                yield edit
                first = index + 1


def _same_letters(edit: Edit) -> bool:
    original, correction = (
        # letter by letter, as in Python 2: lower() of a whole word knows a final sigma and turns a
        # dotted capital I into two characters
        [letter.lower()[0] for letter in side.replace(" ", "")]
        for side in (edit.original, edit.correction)
    )
    return original == correction


def visiting_order(annotators: Iterable[int]) -> list[int]:
    """Return the order in which m2scorer visits annotators, whom the file names in the given order.

    m2scorer keeps annotators in a Python 2 dict and copies the dict once; of equal annotators the
    one visited first is chosen. Ids up to 7 are ascending; larger ids depend on the hash table.

    >>> visiting_order([1, 0]), visiting_order([1, 8]), visiting_order([8, 0])
    ([0, 1], [8, 1], [8, 0])
    """
    return _python2_dict(_python2_dict(annotators))


def _python2_dict(keys: Iterable[int]) -> list[int]:
    """Return the keys of a Python 2 dict after they were inserted in the given order.

    An open hash table: at least a third stays free, a full one grows to four times its entries.
    """
    table: list[int | None] = [None] * 8
    for count, key in enumerate(keys, start=1):
        _insert(table, key)
        if count * 3 >= len(table) * 2:
            old, table = table, [None] * max(8, 1 << (4 * count).bit_length())
            for moved in old:
                if moved is not None:
                    _insert(table, moved)
    return [key for key in table if key is not None]


def _insert(table: list[int | None], key: int) -> None:
    hashed = -2 if key == -1 else key
    slot, rest = hashed, hashed % 2**64
    while table[slot % len(table)] is not None:
        slot = 5 * slot + rest + 1
        rest >>= 5
    table[slot % len(table)] = key
