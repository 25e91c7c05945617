"""The lattice of all edits that may lie between a source sentence and a hypothesis.

A vertex (i, j) says that i source tokens are read and j hypothesis tokens are written. A base edge
reads or writes one token (or one of each); a transitive arc does several base edges at once. Every
path from (0, 0) to the last vertex explains the hypothesis by edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from operator import eq

from gec.eval.metrics.m2.reading import GoldEdit

Vertex = tuple[int, int]

EPSILON = 0.001  # cost of every proposed edit besides its length, so that fewer edits win
MOST_ARCS = 2_000_000  # two to three seconds, 250 MB; beyond, only arcs that can be needed


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the source tokens from ``start`` to ``end`` (token offsets) by ``correction``."""

    start: int
    end: int
    original: str
    correction: str


@dataclass(slots=True)
class Lattice:
    """Vertices and arcs. Arcs are numbers; the values of arc ``a`` stand at index ``a``.

    Attributes:
        vertices: (source tokens read, hypothesis tokens written), sorted; an arc leads from a
            vertex to a later one.
        tails, heads: start and end of each arc, as index into ``vertices``.
        lengths: number of base edges of each arc.
        unchanged: number of base edges of each arc that keep a token.
        starts: offset at which each arc's edit starts.
        ends: offset at which an edit ends, for each *vertex* (all arcs into a vertex agree).
        listed: the arcs in the order in which the search visits them. An arc may be listed twice,
            and then counts as two in several places, as in m2scorer.
        removed: arcs that keep everything and were taken off the list.
        base: number of arcs that are base edges; these have the first numbers.
    """

    source: Sequence[str]
    hypothesis: Sequence[str]
    vertices: list[Vertex] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    listed: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    base: int = 0

    def keeps(self, arc: int) -> bool:
        """Whether an arc changes nothing (m2scorer: noop)."""
        return self.unchanged[arc] == self.lengths[arc]

    def span(self, arc: int) -> tuple[int, int]:
        """Return the source offsets at which an arc's edit starts and ends."""
        return self.starts[arc], self.ends[self.heads[arc]]

    def edit(self, arc: int) -> Edit:
        """Return the edit that an arc stands for."""
        i, j = self.vertices[self.tails[arc]]
        k, m = self.vertices[self.heads[arc]]
        original, correction = self.source[i:k], self.hypothesis[j:m]
        return Edit(*self.span(arc), " ".join(original), " ".join(correction))

    def weights(self) -> list[float]:
        """Return the cost of each arc if there are no gold edits."""
        weights = list(map(float, self.lengths))
        for arc in self.listed:
            if not self.keeps(arc):
                weights[arc] += EPSILON
        return weights


def build_lattice(
    source: Sequence[str],
    hypothesis: Sequence[str],
    gold: Iterable[GoldEdit] = (),
    *,
    version: str = "3.2",
    max_unchanged_words: int = 2,
    most_arcs: int = MOST_ARCS,
) -> Lattice:
    """Return the lattice of two tokenized sentences.

    Args:
        source, hypothesis: tokens.
        gold: the edits the lattice will be compared with; they matter only beyond ``most_arcs``.
        version: "3.2" or "2016". They differ in the offsets of tokens that are inserted before the
            first source token: "2016" gives all of them 0, "3.2" gives the j-th one j - 1.
        max_unchanged_words: number of tokens that an arc may keep.
        most_arcs: if more than so many arcs would be listed, only arcs are made that a cheapest
            path can need, see :func:`_needed_reach`.
    """
    lattice = Lattice(source, hypothesis)
    _add_base_edges(lattice, shift=version == "3.2")
    anywhere = [len(lattice.vertices)] * len(lattice.vertices)
    if not _add_arcs(lattice, max_unchanged_words, anywhere, most_arcs):
        lattice = Lattice(source, hypothesis)
        _add_base_edges(lattice, shift=version == "3.2")
        _add_arcs(lattice, max_unchanged_words, _needed_reach(lattice, gold))
    _remove_kept(lattice)
    return lattice


# -------------------------------------------------------------------------------------- base edges


def distances(
    source: Sequence[str], hypothesis: Sequence[str], substitution: int
) -> list[list[int]]:
    """Return the Levenshtein matrix [len(source) + 1][len(hypothesis) + 1].

    >>> distances("a b".split(), "a c".split(), substitution=2)
    [[0, 1, 2], [1, 0, 1], [2, 1, 2]]
    """
    row = list(range(len(hypothesis) + 1))
    matrix = [row]
    for i, word in enumerate(source, start=1):
        left = i
        above, row = row, [i]
        for other, (diagonal, up) in zip(hypothesis, pairwise(above), strict=True):
            best = diagonal if word == other else diagonal + substitution
            if up < best:
                best = up + 1
            if left < best:
                best = left + 1
            row.append(best)
            left = best
        matrix.append(row)
    return matrix


def optimal_edges(
    source: Sequence[str], hypothesis: Sequence[str], substitution: int
) -> Iterator[tuple[Vertex, Vertex]]:
    """Yield each edge of each cheapest alignment once, as (from, to)."""
    matrix = distances(source, hypothesis, substitution)
    waiting = [(len(source), len(hypothesis))]
    found = set(waiting)
    while waiting:
        i, j = vertex = waiting.pop()
        before = []
        if i and j:
            cost = 0 if source[i - 1] == hypothesis[j - 1] else substitution
            if matrix[i - 1][j - 1] + cost == matrix[i][j]:
                before.append((i - 1, j - 1))
        if i and matrix[i - 1][j] + 1 == matrix[i][j]:
            before.append((i - 1, j))
        if j and matrix[i][j - 1] + 1 == matrix[i][j]:
            before.append((i, j - 1))
        for other in before:
            yield other, vertex
            if other not in found:
                found.add(other)
                waiting.append(other)


def _add_base_edges(lattice: Lattice, shift: bool) -> None:
    """Add the cheapest alignments with substitutions at cost 1 and at cost 2, in one graph.

    An edge of both alignments is listed twice.
    """
    source, hypothesis = lattice.source, lattice.hypothesis
    low, high = (set(optimal_edges(source, hypothesis, cost)) for cost in (1, 2))
    edges = sorted(low | high)
    vertices = {(0, 0)}.union(*edges)
    lattice.vertices = sorted(vertices)
    lattice.ends = [j - 1 if shift and i == 0 < j else i for i, j in lattice.vertices]
    number = {vertex: index for index, vertex in enumerate(lattice.vertices)}
    for arc, edge in enumerate(edges):
        (i, j), (k, m) = edge
        kept = k > i and m > j and source[i] == hypothesis[j]
        lattice.tails.append(number[i, j])
        lattice.heads.append(number[k, m])
        lattice.lengths.append(1)
        lattice.unchanged.append(int(kept))
        lattice.starts.append(j if shift and k == 0 else i)
        lattice.listed += [arc, arc] if edge in low and edge in high else [arc]
    lattice.base = len(edges)


# ---------------------------------------------------------------------------------- transitive arcs


def _add_arcs(
    lattice: Lattice,
    max_unchanged_words: int,
    reach: Sequence[int],
    most_arcs: float = inf,
) -> bool:
    """Join consecutive edges to arcs, as long as these keep at most ``max_unchanged_words`` tokens.

    For each vertex in turn, every arc into the vertex is extended by every base edge out of it. Of
    several arcs between two vertices the shortest stays, the first one of equals. Only that arc is
    extended further, even if a longer arc with fewer kept tokens could have been.

    Arcs from a vertex end at ``reach[vertex]`` or before. Returns False, and leaves the work half
    done, if the list grows beyond ``most_arcs``.
    """
    tails, heads, starts = lattice.tails, lattice.heads, lattice.starts
    lengths, unchanged, listed = lattice.lengths, lattice.unchanged, lattice.listed
    out: list[list[int]] = [[] for _ in lattice.vertices]
    into: list[dict[int, int]] = [{} for _ in lattice.vertices]  # tail -> arc
    for arc, (tail, head) in enumerate(zip(tails, heads, strict=True)):
        out[tail].append(arc)
        if head <= reach[tail]:
            into[head][tail] = arc
    for middle, base_edges in enumerate(out):
        steps = [(heads[edge], into[heads[edge]], unchanged[edge]) for edge in base_edges]
        for tail, arc in sorted(into[middle].items()):
            length = lengths[arc] + 1
            for head, known, more in steps:
                kept = unchanged[arc] + more
                if kept > max_unchanged_words or head > reach[tail]:
                    continue
                if (old := known.get(tail)) is None:
                    known[tail] = len(tails)
                    listed.append(len(tails))
                    tails.append(tail)
                    heads.append(head)
                    lengths.append(length)
                    unchanged.append(kept)
                    starts.append(starts[arc])
                elif length < lengths[old]:
                    listed.append(old)
                    lengths[old] = length
                    unchanged[old] = kept
                    starts[old] = starts[arc]
        into[middle] = {}  # not needed again
        if len(listed) > most_arcs:
            return False
    return True


def _needed_reach(lattice: Lattice, gold: Iterable[GoldEdit]) -> list[int]:
    """Return, for each vertex, the last vertex to which its arcs may be needed; -1 for none.

    Two edits in direct succession could be one edit. They pay only if one of them is a gold edit,
    or if the one edit would keep too many tokens; in that case the second may as well start after a
    kept token. So arcs to anywhere are needed from the first vertex, from vertices after kept
    tokens and from either end of gold edits. All insertions at a gold insertion's offset are also
    needed, because they are weighed together.
    """
    anywhere = len(lattice.vertices)
    number = {vertex: index for index, vertex in enumerate(lattice.vertices)}
    useful = {0} | {lattice.heads[edge] for edge in range(lattice.base) if lattice.keeps(edge)}
    insertions = set()
    for edit in gold:
        if edit.start == edit.end:
            insertions.add(edit.start)
        for correction in edit.corrections:
            for first, last in _occurrences(correction.split(), lattice.hypothesis):
                ends = (edit.start, first), (edit.end, last)
                useful |= {number[end] for end in ends if end in number}
    last_of_row = {i: number[i, j] for i, j in lattice.vertices}
    return [
        anywhere if index in useful else last_of_row[i] if i in insertions else -1
        for index, (i, _) in enumerate(lattice.vertices)
    ]


def _occurrences(words: Sequence[str], sentence: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``words`` in a sentence: offset of the first word, and after the last."""
    for start in range(len(sentence) - len(words) + 1):
        if all(map(eq, words, sentence[start:])):
            yield start, start + len(words)


def _remove_kept(lattice: Lattice) -> None:
    """Take arcs that keep everything off the list, except those right after a removed arc.

    m2scorer removes them from the list along which it walks, and so skips the next entry.
    """
    left: list[int] = []
    just_removed = False
    for arc in lattice.listed:
        just_removed = not just_removed and lattice.lengths[arc] > 1 and lattice.keeps(arc)
        (lattice.removed if just_removed else left).append(arc)
    lattice.listed = left
