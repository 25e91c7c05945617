"""The metrics of a leaderboard, and the test set that they measure systems on.

A metric is a row of :data:`METRICS`: what makes :class:`~gec.eval.metrics.statistics.Statistics` of
a system's output.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

from gec.errors import DataError, InputError
from gec.eval.compare.files import read_system
from gec.eval.metrics import cleme, errant, gleu, gotoscorer, green, imeasure, m2, sari
from gec.eval.metrics.errant import Annotator, Block
from gec.eval.metrics.score import check_parallel, read_lines
from gec.eval.metrics.statistics import Statistics

Lines = Sequence[str]


@dataclass(eq=False)
class TestSet:
    """What systems are scored on, and the outputs that are.

    Attributes:
        gold, blocks: one M2 file as the two scorers read it.
        references: [set][sentence]; may be empty.
        outputs: [system][sentence].
        make_annotator: loads ERRANT, when the first metric asks for it.
    """

    __test__ = False  # no test, whatever pytest thinks of the name

    gold: Sequence[m2.GoldSentence]
    blocks: Sequence[Block]
    references: Sequence[Lines] = ()
    outputs: Sequence[Lines] = ()
    beta: float = 0.5
    make_annotator: Callable[[], Annotator] = Annotator
    _edits: dict[tuple[str, str], Block] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return [block.sentence for block in self.blocks]

    @cached_property
    def annotator(self) -> Annotator:
        return self.make_annotator()

    def edits(self, hypotheses: Lines) -> list[Block]:
        """Return a system's edits as ERRANT finds them.

        The first call annotates all outputs together, so that each distinct sentence is parsed once
        and each distinct pair aligned once.
        """
        pairs = list(zip(self.sources, hypotheses, strict=True))
        if any(pair not in self._edits for pair in pairs):
            rows = zip(self.sources, hypotheses, *self.outputs, strict=True)
            every = dict.fromkeys((source, line) for source, *lines in rows for line in lines)
            found = self.annotator.blocks(*map(list, zip(*every, strict=True)))
            self._edits.update(zip(every, found, strict=True))
        return [self._edits[pair] for pair in pairs]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its name on the command line.

    Attributes:
        title: its name on a page.
        measure: makes the statistics of one system's output.
        needs_references: it compares with corrected sentences, not with edits.
    """

    title: str
    measure: Callable[[TestSet, Lines], Statistics]
    needs_references: bool = False


def _m2(test: TestSet, hypotheses: Lines) -> Statistics:
    return m2.statistics(m2.score_m2(hypotheses, test.gold, beta=test.beta))


def _errant(test: TestSet, hypotheses: Lines) -> Statistics:
    edits = test.edits(hypotheses)
    score = errant.compare(edits, test.blocks, beta=test.beta, how=test.annotator.settings)
    return errant.statistics(score)


def _gleu(test: TestSet, hypotheses: Lines) -> Statistics:
    return gleu.statistics(test.sources, hypotheses, test.references)


def _sari(test: TestSet, hypotheses: Lines) -> Statistics:
    return sari.statistics(test.sources, hypotheses, test.references)


def _green(test: TestSet, hypotheses: Lines) -> Statistics:
    return green.green_statistics(test.sources, hypotheses, test.references)


def _cleme(test: TestSet, hypotheses: Lines) -> Statistics:
    edits, how = test.edits(hypotheses), test.annotator.settings
    return cleme.measure(edits, test.blocks, beta=test.beta, how=how).statistics


def _gotoscorer(test: TestSet, hypotheses: Lines) -> Statistics:
    """The difficulty is measured over all systems of the board."""
    return _together(test)[test.outputs.index(hypotheses)]


@lru_cache(maxsize=1)
def _together(test: TestSet) -> Sequence[Statistics]:
    edits = [test.edits(output) for output in test.outputs]
    return gotoscorer.measure(edits, test.blocks, how=test.annotator.settings).statistics


def _imeasure(test: TestSet, hypotheses: Lines) -> Statistics:
    return imeasure.imeasure_statistics(hypotheses, test.blocks)


METRICS: dict[str, Metric] = {
    "m2": Metric("M2", _m2),
    "errant": Metric("ERRANT", _errant),
    "gleu": Metric("GLEU", _gleu, needs_references=True),
    "sari": Metric("SARI", _sari, needs_references=True),
    "green": Metric("GREEN", _green, needs_references=True),
    "cleme": Metric("CLEME", _cleme),
    "gotoscorer": Metric("GoToScorer", _gotoscorer),
    "imeasure": Metric("I-measure", _imeasure),
}

ON_EDITS = ("errant", "cleme", "gotoscorer")
"""Metrics of ERRANT's edits, which are found once for all of them."""
DEFAULT = ("m2", "errant", "gleu", "sari")
"""Metrics if none are named; those that need references only where there are some."""


def read_test_set(args: argparse.Namespace) -> TestSet:
    """Read the gold file, the references and all systems.

    Raises:
        InputError, DataError: a file that cannot be read or does not fit; says which and where.
    """
    blocks = errant.read_blocks(args.gold)
    if not any(block.sentence.strip() for block in blocks):
        raise InputError(f"{args.gold} holds no sentence")
    gold = m2.read_gold(args.gold)
    if len(gold) != len(blocks):
        raise DataError(f"{args.gold}: M2 and ERRANT disagree on its sentences; is it CRLF?")
    sources = [block.sentence for block in blocks]
    references = [read_lines(name) for name in args.references]
    check_parallel([(args.gold, sources), *zip(args.references, references, strict=True)])
    outputs = [
        [line.text for line in read_system(name, sources, allow_empty=args.allow_empty).lines]
        for name in args.hypotheses
    ]
    return TestSet(
        gold=gold,
        blocks=blocks,
        references=references,
        outputs=outputs,
        beta=args.beta,
        make_annotator=partial(_annotator, args.spacy_model, args.require_spacy_model),
    )


def _annotator(spacy_model: str | None, require_spacy_model: bool) -> Annotator:
    """Load ERRANT; a function that another process can call."""
    from gec.eval.metrics.pipeline import chosen_pipeline

    args = argparse.Namespace(spacy_model=spacy_model, require_spacy_model=require_spacy_model)
    return Annotator(chosen_pipeline(args, types=False))
