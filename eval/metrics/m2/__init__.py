"""MaxMatch (M2), the score of the CoNLL-2013 and CoNLL-2014 shared tasks.

A corrector returns a sentence, annotators return edits, and different edits can lead to the same
sentence: was "is eat" -> "are eating" one edit or two? MaxMatch (Dahlmeier and Ng 2012, "Better
Evaluation for Grammatical Error Correction") decides in the system's favour. Of all sets of edits
that lead from the source to the hypothesis, MaxMatch takes the set with most of the annotator's own
edits, and counts precision and recall on that set.

**The method**, a file a step:

1. :mod:`~gec.eval.metrics.m2.reading`: source sentences and gold edits from an M2 file.
2. :mod:`~gec.eval.metrics.m2.lattice`: align source and hypothesis by Levenshtein distance. All
   cheapest alignments together are a graph from (0, 0) to (n, m); its edges keep, replace, delete
   or insert one token. Arcs are added that stand for several of these base edges at once, as an
   edit of several tokens does; an arc may keep a few tokens on its way (``max_unchanged_words``).
3. :mod:`~gec.eval.metrics.m2.search`: an arc costs the number of its base edges, and a little more
   if it changes anything; but an arc that equals a gold edit costs so little that no detour around
   it pays. The cheapest path then has the most gold edits; among those the fewest other base edges;
   among those the fewest edits.
4. :mod:`~gec.eval.metrics.m2.scoring`: count that path's edits, choose the annotator who gives the
   best F in total, go on to the next sentence.

**Equal to m2scorer.** Numbers in papers come from m2scorer's release 3.2 of 2014, or from its last
public state of 2016. ``version`` chooses between them, with every habit that shows in a number:
edges that both alignments have count as two, and the order of the gold edits and of the sentences
matters.

**And fast.** m2scorer needs minutes for some sentences, and for a few never ends. This package
computes the same results sooner:

- m2scorer finds arcs in the manner of Floyd and Warshall, over all triples of vertices (i, k, j), k
  outermost: does i -> k -> j beat i -> j? Edges lead from a vertex to one that is greater in both
  or in one number, so the sorted vertices are in topological order. When k's turn comes, no arc
  from k over a later vertex has been made: only base edges leave k, three at most. So it is enough
  to extend each arc into k by each base edge out of k, in the same order.
- The two sides of an arc are the tokens between its vertices, whatever edges the arc consists of.
  So arcs are numbers; words are joined only for the comparison with a gold edit.
- Only arcs over the span of a gold edit can equal one; the others are never compared.
- m2scorer's Bellman-Ford search makes as many rounds as there are vertices. Once a round changes
  nothing, the next round would do exactly the same, so the search may end; because arcs are listed
  roughly from left to right, the search ends after a few rounds.

The tests compare a plain version of the original algorithm with this one: the same arcs in the same
order, the same weights to the last bit, the same path.

Two long sentences with next to nothing in common may have more than some million arcs
(:data:`~gec.eval.metrics.m2.lattice.MOST_ARCS`). The original does not end there; this package then
makes only the arcs that a cheapest path can need. That path has as many gold edits and as few base
edges outside them, but ties may be broken in another way, and in rare cases the path has one edit
more or less. It ignores gold edits that change nothing, and release 3.2's offsets of tokens
inserted at the start.
"""

from gec.eval.metrics.m2.command import main
from gec.eval.metrics.m2.lattice import Edit
from gec.eval.metrics.m2.reading import GoldEdit, GoldSentence, read_gold, read_hypotheses
from gec.eval.metrics.m2.scoring import (
    M2Score,
    SentenceMatch,
    match_sentence,
    score_m2,
    statistics,
)

__all__ = [
    "Edit",
    "GoldEdit",
    "GoldSentence",
    "M2Score",
    "SentenceMatch",
    "main",
    "match_sentence",
    "read_gold",
    "read_hypotheses",
    "score_m2",
    "statistics",
]
