"""The references of the I-measure: all sentences that annotators' edits make, mixed or not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, product

from gec.eval.metrics.errant import Block
from gec.eval.metrics.imeasure_alignment import Words

Correction = tuple[int, int, tuple[str, ...]]  # tokens start to end become these


def _edits(block: Block) -> tuple[set[int], list[tuple[Correction, int]]]:
    """Return the annotators, and all edits with their annotators; only first alternatives count."""
    annotators = {annotation.coder for annotation in block.annotations}
    found = []
    for start, end, kind, correction, coder in block.annotations:
        if kind.lower() != "noop" and 0 <= start <= end:
            words = "" if correction == "-NONE-" else correction.split("||")[0]
            found.append(((start, end, tuple(words.split())), coder))
    return annotators, found


def _clusters(edits: Sequence[tuple[Correction, int]]) -> list[dict[int, list[Correction]]]:
    """Return the groups of overlapping edits from left to right, each as edits by annotator."""
    clusters: list[list[tuple[Correction, int]]] = []
    for edit in sorted(edits, key=lambda edit: edit[0][0] - edit[0][1]):  # the longest first
        for cluster in clusters:
            if any(_overlap(edit[0], other) for other, _ in cluster):
                cluster.append(edit)
                break
        else:
            clusters.append([edit])
    clusters.sort(key=lambda cluster: cluster[0][0][:2])
    by_coder = [sorted(cluster, key=lambda edit: edit[1]) for cluster in clusters]
    return [
        {coder: [place for place, _ in group] for coder, group in groupby(c, lambda edit: edit[1])}
        for c in by_coder
    ]


def _overlap(one: Correction, other: Correction) -> bool:
    (a, b), (c, d) = one[:2], other[:2]
    if (a, b) == (c, d):
        return True
    if a == b or c == d:  # an insertion overlaps an edit only if it lies within the edit
        return c < a and b < d if a == b else a < c and d < b
    return c < b <= d or c <= a < d


def mixtures(block: Block, most: int) -> list[Words] | None:
    """Return every mixture of annotators' edits as a sentence; None if there are over ``most``."""
    annotators, edits = _edits(block)
    options: list[list[tuple[Correction, ...]]] = []
    for cluster in _clusters(edits):
        found = [tuple(sorted(_joined(places))) for places in cluster.values()]
        if len(cluster) < len(annotators):
            found.insert(0, ())
        options.append(list(dict.fromkeys(found)))
    if math.prod(map(len, options)) > most:
        return None
    tokens = block.sentence.split()
    mixed = ([edit for part in parts for edit in part] for parts in product(*options))
    return _distinct(_applied(tokens, edits) for edits in mixed if _compatible(edits))


def _joined(places: Iterable[Correction]) -> list[Correction]:
    """Join an annotator's corrections of one place, in their order."""
    joined: dict[tuple[int, int], tuple[str, ...]] = {}
    for start, end, words in places:
        joined[start, end] = joined.get((start, end), ()) + words
    return [(*place, words) for place, words in joined.items()]


def _compatible(edits: Sequence[Correction]) -> bool:
    return len({edit[:2] for edit in edits}) == len(edits)


def by_annotator(block: Block) -> list[Words]:
    """Return each annotator's sentence, which is the source if the annotator found nothing."""
    annotators, edits = _edits(block)
    tokens = block.sentence.split()
    clusters = _clusters(edits)
    some = {coder for _, coder in edits}
    texts: list[Words] = [] if annotators and some == annotators else [tokens]
    for coder in sorted(some):
        own = [edit for cluster in clusters for edit in _joined(cluster.get(coder, ()))]
        texts.append(_applied(tokens, own))
    return _distinct(texts)


def _applied(tokens: Words, edits: Iterable[Correction]) -> Words:
    """Return the sentence after the edits, from right to left; none may empty the sentence."""
    text = list(tokens)
    for start, end, words in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        corrected = [*text[:start], *words, *text[end:]]
        text = corrected or text
    return text


def _distinct(texts: Iterable[Words]) -> list[Words]:
    return list({tuple(text): text for text in texts}.values())
