"""Whether the peers write the same tokens, and by how much they differ if they do not.

Two engines add up in different orders, so a greedy choice between two tokens of nearly the same
logit may differ; beam search may, too, where two hypotheses have nearly the same score. Every
difference is measured with our own float32 network: between the two tokens' logits, or between the
two outputs' scores.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gec.decoding.model import Model
from gec.eval.benchmark.contenders import Ids
from gec.eval.benchmark.lossless import TIES, first_difference, gap_between

SCORE_TIE = 1e-4
"""Largest difference of length-normalised log-probabilities (nats a token) that counts as a tie."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One sentence with another output than ours.

    Attributes:
        gap: greedy: between the logits of the first two tokens that differ. Beam: our output's
            score less theirs, negative where their search found the better output.
    """

    source: Ids
    ours: Ids
    theirs: Ids
    gap: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """A contender's outputs against ours.

    Attributes:
        strict: every difference must be a tie. Not with int8 against float32, and not where their
            beam search found a better output than ours.
        tie: the largest gap that counts as one.
    """

    name: str
    reference: str
    sentences: int
    disagreements: tuple[Disagreement, ...]
    strict: bool
    tie: float

    @property
    def agreed(self) -> int:
        return self.sentences - len(self.disagreements)

    @property
    def ties(self) -> int:
        return sum(abs(d.gap) <= self.tie for d in self.disagreements)

    @property
    def holds(self) -> bool:
        return not self.strict or all(d.gap <= self.tie for d in self.disagreements)

    def line(self) -> str:
        text = f"{self.name}: {self.agreed} of {self.sentences} outputs as {self.reference}"
        if self.disagreements:
            worst = max(d.gap for d in self.disagreements)
            text += f", {self.ties} of the others by a tie, largest gap {worst:.2g}"
        return text if self.holds else text + ": NOT the same model"


def compare(
    name: str,
    strategy: str,
    precision: str,
    outputs: Mapping[Ids, Ids],
    expected: Mapping[Ids, Ids],
    model: Model,
    *,
    reference: str,
    strict: bool,
    limit: int,
) -> Agreement:
    """Compare ``outputs`` with what ours gave for the same sources.

    Args:
        model: ours in float32, to measure differences with.
        limit: the most tokens of an output, EOS included: engines differ in what the last is.
    """
    found = []
    beam = strategy.startswith("beam")
    for source, theirs in outputs.items():
        ours = expected[source]
        if ours[: limit - 1] == theirs[: limit - 1]:
            continue
        if beam:
            gap = score(model, source, ours) - score(model, source, theirs)
        else:
            gap = gap_between(model, source, *first_difference(ours, theirs, model.eos_id))
        found.append(Disagreement(source, ours, theirs, gap))
    tie = SCORE_TIE if beam else TIES.get(precision, TIES["fp32"])
    return Agreement(name, reference, len(outputs), tuple(found), strict, tie)


def score(model: Model, source: Sequence[int], output: Sequence[int]) -> float:
    """Return the log-probability (nats) of an output and its EOS, divided by their number."""
    ended = [*output, model.eos_id][: model.max_positions]
    memory = model.start([source])
    scores = model.verify(memory, [[model.bos_id, *ended[:-1]]], [0])
    [[logprobs]] = scores.read(*scores.logprobs([ended]))
    return statistics.fmean(logprobs)
