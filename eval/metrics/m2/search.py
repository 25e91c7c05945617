"""The path through the lattice that contains most gold edits, and then changes least."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import inf

from gec.eval.metrics.m2.lattice import EPSILON, Lattice
from gec.eval.metrics.m2.reading import GoldEdit

# Called with each arc that is compared with gold edits, and with the gold edit that it equals.
Observer = Callable[[int, GoldEdit | None], None]


def _ignore(arc: int, gold: GoldEdit | None) -> None:
    pass


def gold_weights(
    lattice: Lattice, gold: Sequence[GoldEdit], observe: Observer = _ignore
) -> list[float]:
    """Return the cost of each arc; gold edits cost so little that any detour for one more pays.

    An arc equal to a gold edit costs -(entries in the list of arcs). Any other arc costs its
    length, and ``EPSILON`` if it changes something, once for each time it is listed.
    """
    weights = lattice.weights()
    for span, (arcs, candidates) in sorted(_by_span(lattice, gold).items()):
        for arc in arcs:
            weights[arc] = lattice.lengths[arc]
        weigh = _weigh_insertions if span[0] == span[1] else _weigh
        weigh(lattice, weights, arcs, candidates, observe)
    return weights


def _by_span(
    lattice: Lattice, gold: Sequence[GoldEdit]
) -> dict[tuple[int, int], tuple[list[int], list[GoldEdit]]]:
    """Return, by span of gold edits, the arcs over it, sorted as vertices are, and the edits."""
    spans: dict[tuple[int, int], tuple[list[int], list[GoldEdit]]] = defaultdict(lambda: ([], []))
    for edit in gold:
        spans[edit.start, edit.end][1].append(edit)
    if spans:
        for arc in lattice.listed:
            if (span := lattice.span(arc)) in spans:
                spans[span][0].append(arc)
    for arcs, _ in spans.values():
        arcs.sort(key=lambda arc: (lattice.tails[arc], lattice.heads[arc]))
    return spans


def _weigh(
    lattice: Lattice,
    weights: list[float],
    arcs: Sequence[int],
    gold: Sequence[GoldEdit],
    observe: Observer,
) -> None:
    """Weigh deletions and substitutions: every arc equal to a gold edit counts as one."""
    for arc in arcs:
        hit = _find(lattice, arc, gold, range(len(gold)))
        observe(arc, None if hit is None else gold[hit])
        if hit is not None:
            weights[arc] = -len(lattice.listed)
        elif not lattice.keeps(arc):
            weights[arc] += EPSILON


def _weigh_insertions(
    lattice: Lattice,
    weights: list[float],
    arcs: Sequence[int],
    gold: Sequence[GoldEdit],
    observe: Observer,
) -> None:
    """Weigh insertions at one offset, whose order counts: a gold edit may serve only once.

    The arcs are visited from both ends; the side changes after each arc that equals no gold edit.
    An arc that equals a gold edit uses up this edit and all edits outside of it, and the same side
    goes on with the next arc that could follow on a path through the lattice.
    """
    tails, heads = lattice.tails, lattice.heads
    left, right = 0, len(arcs) - 1
    first, last = 0, len(gold) - 1  # the gold edits not yet used
    at = left
    while left <= right:
        arc = arcs[at]
        from_left = at == left
        window = range(first, last + 1)
        hit = _find(lattice, arc, gold, window if from_left else reversed(window))
        observe(arc, None if hit is None else gold[hit])
        left, right = (left + 1, right) if from_left else (left, right - 1)
        if hit is None:
            weights[arc] += EPSILON
            at = right if from_left else left
            continue
        weights[arc] = -len(lattice.listed)
        if from_left:
            first = hit + 1
            while left < len(arcs) and tails[arcs[left]] != heads[arc]:
                weights[arcs[left]] += EPSILON
                left += 1
            at = left
        else:
            last = hit - 1
            while right >= 0 and heads[arcs[right]] != tails[arc]:
                weights[arcs[right]] += EPSILON
                right -= 1
            at = right


def _find(
    lattice: Lattice, arc: int, gold: Sequence[GoldEdit], indices: Iterable[int]
) -> int | None:
    """Return the first of ``indices`` whose gold edit equals the arc's edit, or None."""
    edit = lattice.edit(arc)
    for index in indices:
        if gold[index].accepts(edit.start, edit.end, edit.original, edit.correction):
            return index
    return None


def cheapest_path(lattice: Lattice, weights: Sequence[float]) -> list[int]:
    """Return the arcs of the cheapest path from the first vertex to the last (Bellman-Ford).

    Of equal paths the one found first stays, and sums are rounded in the order of addition: so the
    order of ``lattice.listed`` decides the result. A round that changes nothing ends the search,
    because all later rounds would do the same.
    """
    tails, heads = lattice.tails, lattice.heads
    steps = [(tails[arc], heads[arc], weights[arc], arc) for arc in lattice.listed]
    distance = [inf] * len(lattice.vertices)
    distance[0] = 0.0
    via = [-1] * len(lattice.vertices)
    changed = True
    while changed:
        changed = False
        for tail, head, weight, arc in steps:
            if (total := distance[tail] + weight) < distance[head]:
                distance[head] = total
                via[head] = arc
                changed = True
    path: list[int] = []
    vertex = len(lattice.vertices) - 1
    while vertex:
        path.append(via[vertex])
        vertex = tails[via[vertex]]
    return path[::-1]
