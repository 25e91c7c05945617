"""Gold edits over characters instead of words (``gec score m2 --tokens characters``)."""

from __future__ import annotations

from itertools import accumulate

from gec.eval.metrics.characters import by_characters
from gec.eval.metrics.m2.reading import GoldEdit, GoldSentence


def gold_by_characters(sentence: GoldSentence) -> GoldSentence:
    """Return a sentence and its edits over characters; an edit spans its tokens' characters."""
    sizes = [len(by_characters(token).split()) for token in sentence.source.split()]
    places = [0, *accumulate(sizes)]

    def place(offset: int) -> int:
        # an edit beyond its sentence, which m2scorer keeps in some files, stays beyond it
        beyond = offset - (len(places) - 1)
        return places[-1] + beyond if beyond > 0 else places[offset] if offset > 0 else offset

    def moved(edit: GoldEdit) -> GoldEdit:
        return GoldEdit(
            place(edit.start),
            place(edit.end),
            by_characters(edit.original),
            tuple(by_characters(correction) for correction in edit.corrections),
            edit.type,
        )

    edits = {coder: tuple(map(moved, found)) for coder, found in sentence.edits.items()}
    return GoldSentence(by_characters(sentence.source), edits)
