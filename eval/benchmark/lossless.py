"""Is aggressive decoding lossless here? Compare it with greedy decoding, token for token.

A matrix product over k rows and over one row may differ in the last bits, so where the verifier's
two best tokens tie, the argmax may flip. Every difference is therefore traced to the first token
that differs, and to the gap between the two best logits there. In int8 products are exact, but what
is around them (norms, attention) is not, and a last bit before rounding can move a value by a whole
int8 step: there a tie is wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.reentry import Vocabulary
from gec.decoding.model import Model
from gec.eval.benchmark.contenders import copying
from gec.text.subwords import WordCodec

TIES = {"fp32": 1e-4, "int8": 0.05}
"""Largest gap between the two best logits that counts as a tie, by precision."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One sentence decoded otherwise; gap is between the two tokens' logits, recomputed plainly."""

    sentence: int
    strategy: str
    batch_size: int
    position: int
    greedy_token: int
    other_token: int
    gap: float


@dataclass(frozen=True, slots=True)
class LosslessReport:
    """The comparison of every strategy and batch size with greedy decoding one at a time."""

    sentences: int
    changed: int
    truncated: int
    compared: tuple[tuple[str, int], ...]
    differences: tuple[Difference, ...]
    precision: str = "fp32"

    @property
    def tie(self) -> float:
        """The largest gap that counts as a tie."""
        return TIES.get(self.precision, TIES["fp32"])

    @property
    def lossless(self) -> bool:
        """True when every difference is a tie."""
        return all(difference.gap <= self.tie for difference in self.differences)

    def describe(self, subwords: WordCodec) -> str:
        lines = [
            f"{self.precision}: {self.sentences} sentences, {self.changed} changed by greedy "
            f"decoding, "
            f"{self.truncated} at the length limit"
        ]
        for strategy, size in self.compared:
            found = [d for d in self.differences if (d.strategy, d.batch_size) == (strategy, size)]
            ties = sum(d.gap <= self.tie for d in found)
            lines.append(
                f"{strategy}, batch {size}: {self.sentences - len(found)} of {self.sentences} "
                f"token for token as greedy, batch 1; {len(found)} differ, {ties} of them by a tie "
                f"(gap at most {self.tie:g})"
            )
            for d in found:
                pair = subwords.pieces([d.greedy_token, d.other_token])
                lines.append(
                    f"  sentence {d.sentence}, token {d.position}: {pair[0]!r} / {pair[1]!r}, "
                    f"gap {d.gap:.2g}"
                )
        lines.append("lossless" if self.lossless else "NOT lossless")
        return "\n".join(lines)


def check_lossless(
    model: Model,
    sources: Sequence[Sequence[int]],
    *,
    batch_sizes: Sequence[int] = (1, 32),
    precision: str = "fp32",
    words: Vocabulary | None = None,
) -> LosslessReport:
    """Decode greedily at batch 1, then by IAD (and greedily) at every batch size, and compare.

    Args:
        precision: the model's, which says what a tie is.
        words: the model's vocabulary; None: subwords as in ``en``.
    """
    greedy, iad = Decoder(model), Decoder(model, copying(words))
    expected = [found[0] for found in greedy.decode(sources, batch_size=1)]
    compared = [("iad", size) for size in batch_sizes]
    compared += [("greedy", size) for size in batch_sizes if size != 1]
    differences = []
    for name, size in compared:
        results = (greedy if name == "greedy" else iad).decode(sources, batch_size=size)
        for number, (want, found) in enumerate(zip(expected, results, strict=True)):
            if want.tokens == found[0].tokens and want.truncated == found[0].truncated:
                continue
            differences.append(
                _explain(model, sources[number], number, name, size, want.tokens, found[0].tokens)
            )
    changed = sum(
        tuple(source) != found.tokens for source, found in zip(sources, expected, strict=True)
    )
    truncated = sum(found.truncated for found in expected)
    return LosslessReport(
        len(sources), changed, truncated, tuple(compared), tuple(differences), precision
    )


def first_difference(
    want: Sequence[int], got: Sequence[int], eos_id: int
) -> tuple[Sequence[int], int, int]:
    """Return what two different outputs begin with alike, and the token of either after it."""
    want, got = [*want, eos_id], [*got, eos_id]
    position = next(i for i, (a, b) in enumerate(zip(want, got, strict=False)) if a != b)
    return want[:position], want[position], got[position]


def gap_between(
    model: Model, source: Sequence[int], prefix: Sequence[int], first: int, second: int
) -> float:
    """Return how far apart the logits of two tokens are after ``prefix``, in one plain pass."""
    block = [model.bos_id, *prefix]
    scores = model.verify(model.start([source]), [block], [0]).at([len(prefix)])
    [[[one]], [[other]]] = scores.read(scores.behind([[first]]), scores.behind([[second]]))
    return abs(float(one - other))


def _explain(
    model: Model,
    source: Sequence[int],
    sentence: int,
    strategy: str,
    batch_size: int,
    want: Sequence[int],
    got: Sequence[int],
) -> Difference:
    prefix, first, second = first_difference(want, got, model.eos_id)
    gap = gap_between(model, source, prefix, first, second)
    return Difference(sentence, strategy, batch_size, len(prefix), first, second, gap)
