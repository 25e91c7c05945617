"""How far two annotations of the same corrections agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gec.eval.metrics.errant.blocks import Block
from gec.eval.metrics.score import check_parallel, signature


@dataclass(frozen=True, slots=True)
class AnnotationAgreement:
    """How far two annotations of the same corrections agree.

    Attributes:
        first, second: numbers of edits on either side.
        edits: number of edits with the same span and correction on both sides.
        types: number of these edits that also have the same type.
        confusions: counts by (type in the first, type in the second) of all other such edits.
    """

    first: int
    second: int
    edits: int
    types: int
    confusions: tuple[tuple[str, str, int], ...]
    signature: str

    def __str__(self) -> str:
        total = self.first + self.second
        return (
            f"edits in both: {self.edits} of {self.first} and {self.second} "
            f"(F1 {2 * self.edits / total if total else 1:.4f})\n"
            f"with the same type: {self.types} of {self.edits} "
            f"({self.types / self.edits if self.edits else 1:.4f})"
        )


def agreement(first: Sequence[Block], second: Sequence[Block]) -> AnnotationAgreement:
    """Compare two annotations of the same corrections, each coder with the same coder.

    Raises:
        InputError: different numbers of sentences.
    """
    check_parallel({"first": [b.sentence for b in first], "second": [b.sentence for b in second]})
    counts = [0, 0, 0, 0]
    confusions: Counter[tuple[str, str]] = Counter()
    for one, other in zip(first, second, strict=True):
        ours, theirs = _by_place(one), _by_place(other)
        both = [(ours[key], theirs[key]) for key in ours if key in theirs]
        equal = sum(a == b for a, b in both)
        counts = [
            count + new
            for count, new in zip(counts, (len(ours), len(theirs), len(both), equal), strict=True)
        ]
        confusions.update((a, b) for a, b in both if a != b)
    listed = sorted(((a, b, n) for (a, b), n in confusions.items()), key=lambda c: (-c[2], c))
    a, b, edits, types = counts
    return AnnotationAgreement(a, b, edits, types, tuple(listed), signature("errant_agreement"))


def _by_place(block: Block) -> dict[tuple[int, int, int, str], str]:
    edits = (a for a in block.annotations if a.type != "noop")
    return {(a.coder, a.start, a.end, a.correction): a.type for a in edits}
