"""The edits that PT-M2 and PT-ERRANT weigh: a system's beside each annotator's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gec.eval.metrics import m2
from gec.eval.metrics.errant import Block
from gec.eval.metrics.system_edits import Change, changes_by_coder, corrected, only_changes


class Matched(NamedTuple):
    """A sentence's edits beside those of one annotator, and the annotator's sentence.

    An edit that stands in a list twice counts twice.
    """

    annotator: int
    proposed: Sequence[Change]
    gold: Sequence[Change]
    correct: Sequence[Change]
    reference: str


def m2_matches(hypothesis: str, sentence: m2.GoldSentence, version: str) -> list[Matched]:
    """Return the matches of every annotator, in the order of the file."""
    found = {
        match.annotator: match for match in m2.match_sentence(hypothesis, sentence, version=version)
    }
    matches = []
    for annotator in sentence.edits:
        match = found[annotator]
        gold = [
            Change(edit.start, edit.end, tuple(edit.corrections[0].split())) for edit in match.gold
        ]
        reference = corrected(sentence.source, gold)
        proposed, correct = (
            [Change(edit.start, edit.end, tuple(edit.correction.split())) for edit in edits]
            for edits in (match.proposed, match.matched)
        )
        matches.append(Matched(annotator, proposed, gold, correct, reference))
    return matches


def errant_matches(hypothesis: Block, reference: Block) -> list[Matched]:
    proposed = _untyped(only_changes(hypothesis))
    matches = []
    for annotator, changes in changes_by_coder(reference).items():
        gold = _untyped(changes)
        correct = [change for change in proposed if change in gold]
        text = corrected(reference.sentence, gold)
        matches.append(Matched(annotator, proposed, gold, correct, text))
    return matches


def _untyped(changes: Iterable[Change]) -> list[Change]:
    """Return changes without their types; one that stands there twice, once, as in ERRANT."""
    return list(dict.fromkeys(change._replace(type="") for change in changes))
