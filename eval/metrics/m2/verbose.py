"""The output of m2scorer with ``-v`` and ``--very_verbose``, in Python 2's notation.

``--very_verbose`` differs from m2scorer in three points: dictionaries are sorted, while Python 2
prints them in the order of its hash table; of the arcs that get weights only those over a gold
edit's span are shown; and back pointers and the steps of loops, which exist only in the original,
are left out. An arc that was replaced by a shorter one is shown once, in its last form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from gec.eval.metrics.m2.lattice import Edit, Lattice, distances
from gec.eval.metrics.m2.reading import GoldEdit
from gec.eval.metrics.m2.scoring import Decision, M2Score
from gec.eval.metrics.m2.search import cheapest_path, gold_weights


def sentence_lines(decision: Decision, number: int, beta: float) -> Iterable[str]:
    """Return the lines of ``-v``: every annotator's edits, and the totals with that annotator."""
    for match, total in zip(decision.matches, decision.totals, strict=True):
        yield f">> Annotator: {match.annotator}"
        yield f"SOURCE        : {decision.sentence.source}"
        yield f"HYPOTHESIS    : {decision.hypothesis.strip()}"
        yield f"EDIT SEQ      : {_list(_edit(_shrink(edit)) for edit in match.proposed)}"
        yield f"GOLD EDITS    : {_list(map(_gold, match.gold))}"
        yield f"CORRECT EDITS : {_list(map(_edit, match.matched))}"
        yield f"# correct     : {total.correct}"
        yield f"# proposed    : {total.proposed}"
        yield f"# gold        : {total.gold}"
        yield f"precision     : {_float(total.precision)}"
        yield f"recall        : {_float(total.recall)}"
        yield f"f_{beta:.1f}         : {_float(total.f(beta))}"
        yield "-------------------------------------------"
    yield f">> Chosen Annotator for line {number} : {decision.matches[decision.chosen].annotator}"
    yield ""


def total_lines(score: M2Score) -> Iterable[str]:
    """Return the lines of ``-v`` before the three lines of the result."""
    yield f"CORRECT EDITS  : {score.correct}"
    yield f"PROPOSED EDITS : {score.proposed}"
    yield f"GOLD EDITS     : {score.gold}"
    yield f"P = {_float(score.precision)}"
    yield f"R = {_float(score.recall)}"
    yield f"F_{score.beta:.1f} = {_float(score.f)}"


# ---------------------------------------------------------------------------------- --very_verbose


def lattice_lines(decision: Decision) -> Iterable[str]:
    """Return the lines of ``--very_verbose``: the making of the lattice, and the paths in it."""
    lattice = decision.lattice
    for substitution in (1, 2):
        matrix = distances(lattice.source, lattice.hypothesis, substitution)
        yield f"edit matrix {substitution}: {matrix}"
    yield f"edits (w/o transitive arcs): {_edits(lattice, range(lattice.base))}"
    yield "-- Add transitive arcs --"
    for arc in range(lattice.base, len(lattice.tails)):
        yield f" add new arcs v_i -> v_j: {_arc(lattice, arc)}"
    yield "-- Remove transitive noop arcs --"
    for arc in lattice.removed:
        yield f" remove noop arc v_i -> vj: {_ends(lattice, arc)}"
    for match in decision.matches:
        yield from _search_lines(lattice, match.gold)


def _search_lines(lattice: Lattice, gold: Sequence[GoldEdit]) -> Iterable[str]:
    yield f"set weights of edges() gold edits : {_list(map(_gold, gold))}"
    visits: list[tuple[int, GoldEdit | None]] = []
    weights = gold_weights(lattice, gold, lambda arc, hit: visits.append((arc, hit)))
    for arc, hit in visits:
        yield f"set weights of edge {_ends(lattice, arc)}"
        yield f"edit  = {_arc(lattice, arc)}"
        if hit is not None:
            yield f"matched gold edit : {_gold(hit)}"
            yield f"set weight to : {-len(lattice.listed)}"
    yield "Graph(V,E) = "
    yield f"V = {lattice.vertices}"
    yield f"E = {_list(_ends(lattice, arc) for arc in lattice.listed)}"
    yield f"edits (with transitive arcs): {_edits(lattice, lattice.listed)}"
    numbers = {arc: f"{weights[arc]!r}".removesuffix(".0") for arc in lattice.listed}
    numbers |= dict.fromkeys(lattice.removed, "inf")
    yield f"dist() = {_dict(lattice, numbers)}"
    path = cheapest_path(lattice, weights)
    edits = [lattice.edit(arc) for arc in reversed(path) if not lattice.keeps(arc)]
    yield f"viterbi path = {_list(map(_edit, edits))}"


def _edits(lattice: Lattice, arcs: Iterable[int]) -> str:
    return _dict(lattice, {arc: _arc(lattice, arc) for arc in arcs})


def _dict(lattice: Lattice, values: Mapping[int, str]) -> str:
    """Return a dictionary from arcs, which are written as pairs of vertices."""
    ordered = sorted(values, key=lambda arc: (lattice.tails[arc], lattice.heads[arc]))
    return "{" + ", ".join(f"{_ends(lattice, arc)}: {values[arc]}" for arc in ordered) + "}"


def _ends(lattice: Lattice, arc: int) -> str:
    return f"({lattice.vertices[lattice.tails[arc]]}, {lattice.vertices[lattice.heads[arc]]})"


def _arc(lattice: Lattice, arc: int) -> str:
    edit = lattice.edit(arc)
    if lattice.keeps(arc):
        kind = "noop"
    elif not edit.original:
        kind = "ins"
    else:
        kind = "sub" if edit.correction else "del"
    return f"({kind!r}, {_edit(edit)[1:-1]}, {lattice.unchanged[arc]})"


# ------------------------------------------------------------------------------ Python 2's notation


def _edit(edit: Edit) -> str:
    return f"({edit.start}, {edit.end}, {_string(edit.original)}, {_string(edit.correction)})"


def _gold(edit: GoldEdit) -> str:
    corrections = _list(map(_string, edit.corrections))
    return f"({edit.start}, {edit.end}, {_string(edit.original)}, {corrections})"


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _string(text: str) -> str:
    return f"u{text!a}" if text else "''"


def _float(value: float) -> str:
    text = f"{value:.12g}"
    return text if set(text) - set("-0123456789") else f"{text}.0"


def _shrink(edit: Edit) -> Edit:
    """Return the edit without the tokens that both sides share at the beginning and the end."""
    original, correction = edit.original.split(), edit.correction.split()
    start = _common(original, correction)
    end = _common(original[start:][::-1], correction[start:][::-1])
    original = original[start : len(original) - end]
    correction = correction[start : len(correction) - end]
    return Edit(edit.start + start, edit.end - end, " ".join(original), " ".join(correction))


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of equal tokens at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
