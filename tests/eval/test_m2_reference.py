"""A plain m2scorer, step by step as the original works, to hold the fast one against.

No step is left out and none is sped up: strings are joined at each merge, all triples of vertices
are visited, Bellman-Ford makes all its rounds. It first has to give the expected results itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gec.eval.metrics.m2 import GoldEdit, GoldSentence, match_sentence, read_gold, read_hypotheses
from gec.eval.metrics.m2.lattice import build_lattice
from gec.eval.metrics.m2.scoring import visiting_order
from gec.eval.metrics.m2.search import cheapest_path, gold_weights

DATA = Path(__file__).with_name("data") / "m2scorer_expected"
CASES = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))["cases"]
VERSIONS = {"v3.2": "3.2", "master": "2016"}

Vertex = tuple[int, int]
Edge = tuple[Vertex, Vertex]


class Step(NamedTuple):
    """What an edge of the lattice does."""

    kind: str  # noop, ins, del, sub
    start: int
    end: int
    original: str
    correction: str
    unchanged: int


# ---------------------------------------------------------------------------------- the lattice


def pointers(
    source: list[str], hypothesis: list[str], substitution: int, version: str
) -> dict[Vertex, list[tuple[Vertex, Step]]]:
    """All optimal ways into each cell of the Levenshtein matrix."""
    cost: dict[Vertex, int] = {(0, 0): 0}
    back: dict[Vertex, list[tuple[Vertex, Step]]] = {}
    for i in range(len(source) + 1):
        for j in range(len(hypothesis) + 1):
            ways: list[tuple[int, Vertex, Step]] = []
            if i and j:
                old, new = source[i - 1], hypothesis[j - 1]
                same = old == new
                kind = "noop" if same else "sub"
                step = Step(kind, i - 1, i, old, new, int(same))
                price = 0 if same else substitution
                ways.append((cost[i - 1, j - 1] + price, (i - 1, j - 1), step))
            if i:
                step = Step("del", i - 1, i, source[i - 1], "", 0)
                ways.append((cost[i - 1, j] + 1, (i - 1, j), step))
            if j:
                at = j - 1 if version == "3.2" and i == 0 else i
                step = Step("ins", at, at, "", hypothesis[j - 1], 0)
                ways.append((cost[i, j - 1] + 1, (i, j - 1), step))
            if ways:
                cost[i, j] = min(price for price, _, _ in ways)
                back[i, j] = [(tail, step) for price, tail, step in ways if price == cost[i, j]]
    return back


def merged(first: Step, second: Step) -> Step:
    kind = first.kind if first.kind == second.kind else "sub"
    return Step(
        kind,
        first.start,
        second.end,
        " ".join(filter(None, (first.original, second.original))),
        " ".join(filter(None, (first.correction, second.correction))),
        first.unchanged + second.unchanged,
    )


@dataclass
class PlainLattice:
    vertices: list[Vertex]
    edges: list[Edge]  # with duplicates
    steps: dict[Edge, Step]
    length: dict[Edge, float]


def plain_lattice(
    source: list[str], hypothesis: list[str], version: str, max_unchanged_words: int
) -> PlainLattice:
    vertices: set[Vertex] = set()
    edges: list[Edge] = []
    steps: dict[Edge, Step] = {}
    for substitution in (1, 2):
        back = pointers(source, hypothesis, substitution, version)
        queue = [(len(source), len(hypothesis))]
        seen: set[Vertex] = set()
        while queue:
            head = queue.pop(0)
            if head in seen:
                continue
            seen.add(head)
            for tail, step in back.get(head, ()):
                edges.append((tail, head))  # also if the other graph has it
                steps[tail, head] = step
                queue.append(tail)
        vertices |= seen
    lattice = PlainLattice(sorted(vertices), sorted(edges), steps, dict.fromkeys(edges, 1))
    add_transitive_arcs(lattice, max_unchanged_words)
    remove_transitive_noops(lattice)
    return lattice


def add_transitive_arcs(lattice: PlainLattice, max_unchanged_words: int) -> None:
    """Floyd-Warshall."""
    steps, length = lattice.steps, lattice.length
    for k in lattice.vertices:
        for i in lattice.vertices:
            for j in lattice.vertices:
                if (i, k) in steps and (k, j) in steps:
                    total = length[i, k] + length[k, j]
                    step = merged(steps[i, k], steps[k, j])
                    if total < length.get((i, j), inf) and step.unchanged <= max_unchanged_words:
                        lattice.edges.append((i, j))
                        steps[i, j] = step
                        length[i, j] = total


def remove_transitive_noops(lattice: PlainLattice) -> None:
    for edge in lattice.edges:  # the list shrinks under the loop, on purpose
        # a removed one met again is a KeyError here, and in the original
        if lattice.steps[edge].kind == "noop" and lattice.length[edge] > 1:
            lattice.edges.remove(edge)
            del lattice.steps[edge]


# ----------------------------------------------------------------------------------- the search


def is_gold(step: Step, gold: GoldEdit) -> bool:
    """Start, end, original and one of the corrections are the same."""
    same_place = (step.start, step.end, step.original) == (gold.start, gold.end, gold.original)
    return same_place and step.correction in gold.corrections


def plain_weights(lattice: PlainLattice, gold: Sequence[GoldEdit]) -> dict[Edge, float]:
    weights = dict(lattice.length)
    spans: dict[tuple[int, int], list[Edge]] = {}
    for edge in lattice.edges:
        spans.setdefault((lattice.steps[edge].start, lattice.steps[edge].end), []).append(edge)
    for (start, end), edges in sorted(spans.items()):
        here = [edit for edit in gold if (edit.start, edit.end) == (start, end)]
        if start == end:
            weigh_insertions(lattice, weights, sorted(edges), here)
            continue
        for edge in edges:
            if any(is_gold(lattice.steps[edge], edit) for edit in here):
                weights[edge] = -len(lattice.edges)
            elif lattice.steps[edge].kind != "noop":
                weights[edge] += 0.001
    return weights


def weigh_insertions(
    lattice: PlainLattice, weights: dict[Edge, float], edges: list[Edge], gold: list[GoldEdit]
) -> None:
    """From both ends in turn; a hit uses up gold from its side, and its side has the next turn."""
    low, high = 0, len(edges) - 1
    gold_low, gold_high = 0, len(gold) - 1
    current = low
    while low <= high:
        edge = edges[current]
        side = "left" if current == low else "right"
        order = list(range(gold_low, gold_high + 1))
        if side == "right":
            order.reverse()
        hits = [index for index in order if is_gold(lattice.steps[edge], gold[index])]
        if side == "left":
            low += 1
        else:
            high -= 1
        if not hits:
            if lattice.steps[edge].kind != "noop":
                weights[edge] += 0.001
            current = high if side == "left" else low
        elif side == "left":
            weights[edge] = -len(lattice.edges)
            gold_low = hits[0] + 1
            while low < len(edges) and edges[low][0] != edge[1]:
                weights[edges[low]] += 0.001
                low += 1
            current = low
        else:
            weights[edge] = -len(lattice.edges)
            gold_high = hits[0] - 1
            while high >= 0 and edges[high][1] != edge[0]:
                weights[edges[high]] += 0.001
                high -= 1
            current = high


def bellman_ford(lattice: PlainLattice, weights: dict[Edge, float]) -> list[Edge]:
    distance: dict[Vertex, float] = dict.fromkeys(lattice.vertices, inf)
    distance[0, 0] = 0
    previous: dict[Vertex, Vertex] = {}
    for _ in range(len(lattice.vertices) - 1):
        for tail, head in lattice.edges:
            if distance[tail] + weights[tail, head] < distance[head]:
                distance[head] = distance[tail] + weights[tail, head]
                previous[head] = tail
    path: list[Edge] = []
    vertex = lattice.vertices[-1]
    while vertex in previous:
        path.insert(0, (previous[vertex], vertex))
        vertex = previous[vertex]
    return path


def plain_match(
    hypothesis: str,
    sentence: GoldSentence,
    version: str,
    max_unchanged_words: int = 2,
    ignore_whitespace_casing: bool = False,
) -> dict[int, tuple[list[Step], list[Step]]]:
    """Annotator: proposed edits, correct edits."""
    lattice = plain_lattice(
        sentence.source.split(), hypothesis.split(), version, max_unchanged_words
    )
    results = {}
    for annotator in visiting_order(sentence.edits):
        gold = sentence.edits[annotator]
        path = bellman_ford(lattice, plain_weights(lattice, gold))
        proposed = [lattice.steps[edge] for edge in path if lattice.steps[edge].kind != "noop"]
        if ignore_whitespace_casing:
            proposed = [
                step
                for step in proposed
                if step.original.replace(" ", "").lower()
                != step.correction.replace(" ", "").lower()
            ]
        correct = []
        first = 0
        for step in proposed:
            for index, edit in enumerate(gold):
                if index >= first and is_gold(step, edit):
                    correct.append(step)
                    first = index + 1
        results[annotator] = proposed, correct
    return results


def plain_score(
    hypotheses: Sequence[str],
    gold: Sequence[GoldSentence],
    version: str,
    beta: float = 0.5,
    **options: Any,
) -> tuple[int, int, int, list[int]]:
    """Correct, proposed, gold, annotators chosen."""
    correct = proposed = in_gold = 0
    chosen = []
    for hypothesis, sentence in zip(hypotheses, gold, strict=True):
        best: tuple[float, int, float] = (-1.0, -1, inf)
        choice = (-1, 0, 0, 0)
        for annotator, (edits, hits) in plain_match(
            hypothesis, sentence, version, **options
        ).items():
            c, p = correct + len(hits), proposed + len(edits)
            g = in_gold + len(sentence.edits[annotator])
            f = (1 + beta**2) * c / (beta**2 * g + p) if beta**2 * g + p else 1.0
            size = p + beta**2 * g
            if (f, c) > best[:2] or ((f, c) == best[:2] and size < best[2]):
                best, choice = (f, c, size), (annotator, c, p, g)
        chosen.append(choice[0])
        _, correct, proposed, in_gold = choice
    return correct, proposed, in_gold, chosen


# -------------------------------------------------------------------------------------- the tests

NAMES = {
    "--max_unchanged_words": ("max_unchanged_words", int),
    "--beta": ("beta", float),
    "--ignore_whitespace_casing": ("ignore_whitespace_casing", bool),
}


def parsed(options: list[str]) -> dict[str, Any]:
    words = iter(" ".join(options).replace("=", " ").split())
    result: dict[str, Any] = {}
    for word in words:
        (full,) = (name for name in NAMES if name.startswith(word))
        name, convert = NAMES[full]
        result[name] = True if convert is bool else convert(next(words))
    return result


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["expected"]["master"]["exit"] == 0],
    ids=lambda c: c["name"],
)
def test_the_plain_scorer_gives_the_expected_counts(case: dict[str, Any], version: str) -> None:
    hypotheses = read_hypotheses(str(DATA / case["hyp"]))
    gold = read_gold(str(DATA / case["gold"]))
    result = plain_score(hypotheses, gold, VERSIONS[version], **parsed(case["options"]))
    expected = case["expected"][version]
    assert result == (
        *(expected[name] for name in ("correct", "proposed", "gold")),
        expected["chosen_annotators"],
    )


WORDS = st.lists(st.sampled_from("abcd"), max_size=8)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, GoldSentence]:
    """A hypothesis and a source with gold edits, many of which the hypothesis can satisfy."""
    source, hypothesis = draw(WORDS), draw(WORDS)
    edits = []
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(source)))
        end = min(start + draw(st.integers(0, 3)), len(source))
        first = draw(st.integers(0, len(hypothesis)))
        last = min(first + draw(st.integers(0, 3)), len(hypothesis))
        corrections = [" ".join(hypothesis[first:last])]
        corrections += draw(st.lists(st.sampled_from(["", "a", "b c", "x"]), max_size=1))
        edits.append(GoldEdit(start, end, " ".join(source[start:end]), tuple(corrections)))
    return " ".join(hypothesis), GoldSentence(" ".join(source), {0: edits})


def single(source: str, hypothesis: str, *edits: tuple[int, int, str]) -> tuple[str, GoldSentence]:
    words = source.split()
    gold = [GoldEdit(s, e, " ".join(words[s:e]), (correction,)) for s, e, correction in edits]
    return hypothesis, GoldSentence(source, {0: gold})


@given(sentences(), st.sampled_from(["3.2", "2016"]), st.integers(0, 4))
@settings(max_examples=150, deadline=None)
@example(single("a b", "c c c a b", (0, 0, "c"), (0, 0, "c")), "2016", 2)
@example(single("a b", "a c d c b", (1, 1, "c"), (1, 1, "c")), "3.2", 2)
@example(single("a b a b c", "b a b c a", (0, 1, ""), (5, 5, "a")), "2016", 2)
@example(single("", "a b", (0, 0, "a b")), "3.2", 2)
@example(
    single("a b c a b c a b c", "a b c d a b c d", (3, 3, "d"), (6, 6, "d"), (9, 9, "d")), "2016", 2
)
def test_the_fast_scorer_proposes_the_same_edits(
    pair: tuple[str, GoldSentence], version: str, max_unchanged_words: int
) -> None:
    hypothesis, sentence = pair
    (match,) = match_sentence(
        hypothesis, sentence, version=version, max_unchanged_words=max_unchanged_words
    )
    plain = plain_match(hypothesis, sentence, version, max_unchanged_words)[0]
    fields = [
        [(edit.start, edit.end, edit.original, edit.correction) for edit in edits]
        for edits in (match.proposed, match.matched)
    ]
    assert fields == [[step[1:5] for step in steps] for steps in plain]


@given(sentences(), st.sampled_from(["3.2", "2016"]), st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_the_fast_scorer_has_the_same_lattice(
    pair: tuple[str, GoldSentence], version: str, max_unchanged_words: int
) -> None:
    """Every arc in the same place of the list and with the same weight, to the last bit."""
    hypothesis, sentence = pair
    source, gold = sentence.source.split(), sentence.edits[0]
    fast = build_lattice(
        source, hypothesis.split(), version=version, max_unchanged_words=max_unchanged_words
    )
    plain = plain_lattice(source, hypothesis.split(), version, max_unchanged_words)
    assert fast.vertices == plain.vertices
    ends = [
        (fast.vertices[t], fast.vertices[h]) for t, h in zip(fast.tails, fast.heads, strict=True)
    ]
    assert [ends[arc] for arc in fast.listed] == plain.edges
    weights, plainly = gold_weights(fast, gold), plain_weights(plain, gold)
    assert [weights[arc] for arc in fast.listed] == [plainly[edge] for edge in plain.edges]
    assert [ends[arc] for arc in cheapest_path(fast, weights)] == bellman_ford(plain, plainly)
