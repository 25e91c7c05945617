"""What one strategy did with a test set: a row of the tables of ``gec bench generate``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gec.decoding.bild import shares
from gec.decoding.decoder import Decoder, Hypothesis
from gec.decoding.strategies import Parts, make_decoder, parse, promise
from gec.eval.benchmark.contenders import batches
from gec.eval.benchmark.harness import PAUSE, ROUNDS, Times, Way, now, ratio, take_turns
from gec.eval.benchmark.memory import device_peak, reset_device_peak
from gec.eval.benchmark.profiling import phase_shares
from gec.eval.benchmark.two_models import counted_passes
from gec.eval.metrics.translation import bleu, chrf

BASE, GREEDY = "beam:beam-size=5", "greedy"
_WARM_UP = 4


@dataclass(slots=True)
class StrategyRow:
    """What one strategy did with the test set at one batch size.

    Attributes:
        strategy: its specification.
        passes: of the verifier (of the drafter where it decodes alone), all rows.
        drafter_passes: of the models that draft token by token, the largest first; one a batch.
        accepted: drafted tokens that stood, of one pass on average.
        fallback: share of the output that the verifier wrote rather than a drafting model.
        rollback: share of the drafted tokens that did not stand.
        tokens: of the outputs, EOS counted.
        per_pass: tokens a pass; greedy decoding has 1.
        bleu, chrf: from 0 to 100; None without a reference.
        rouge1, rouge2, rougel, sari: from 0 to 100; of summaries, of simplifications.
        repeated: share of the tokens that are the same as the one before them.
        as_greedy: share of the outputs that are greedy decoding's, token for token.
        as_beam: of speculative beam search, share of the outputs that are plain beam search's.
        truncated: outputs that reached the length limit.
        seconds: decoding time, the medians of all batches, None when not taken;
            ``sentence_seconds`` of each sentence at batch size 1.
        unsteadiness: how far the slowest round is above the fastest, as a share of the median one.
        speedup, speedup_greedy: over beam search with 5 and over greedy decoding;
            ``speedup_interval`` and ``speedup_greedy_interval`` are 95 % intervals of them.
        memory: peak of the device, in MB; of a CPU, of the whole process so far.
        profile: share of the time of each of :data:`~gec.eval.benchmark.profiling.PHASES`.
    """

    strategy: str
    batch_size: int
    passes: int
    tokens: int
    bleu: float | None
    chrf: float | None
    repeated: float
    as_greedy: float | None
    truncated: int
    as_beam: float | None = None
    accepted: float = 0.0
    drafter_passes: str | None = None
    fallback: float | None = None
    rollback: float | None = None
    rouge1: float | None = None
    rouge2: float | None = None
    rougel: float | None = None
    sari: float | None = None
    seconds: float | None = None
    sentence_seconds: list[float] = field(default_factory=list)
    unsteadiness: float | None = None
    speedup: float | None = None
    speedup_interval: tuple[float, float] | None = None
    speedup_greedy: float | None = None
    speedup_greedy_interval: tuple[float, float] | None = None
    memory: float | None = None
    profile: dict[str, float] = field(default_factory=dict)

    @property
    def per_pass(self) -> float:
        return self.tokens / max(1, self.passes)


def default_strategies(parts: Parts, task: str = "translation") -> list[str]:
    """Return the papers' rows that a bundle has the parts for."""
    names = [BASE, GREEDY]
    if task == "simplification":  # whose outputs are copies for the most part
        names += ["iad", "iad-paper", "lookup", "speculative-beam"]
    if task == "summarization":  # whose outputs take words from all over the source
        names += ["iad", "lookup"]
    if parts.blocks is not None:
        most = parts.blocks.block
        names += ["nat", *(f"gad:k={k}" for k in (5, 10, 15, 20, 25, 30) if k <= most)]
        names += [f"gad++:beta={b},tau={t}" for b in (3, 5) for t in range(1, 6)]
    if parts.heads is not None:
        names += [f"blockwise:k={k}" for k in range(2, 11) if k <= parts.heads.heads + 1]
    if parts.smaller:
        names += ["speculative", *(f"speculative:gamma={gamma}" for gamma in (1, 2, 3, 5, 7))]
        names += [f"bild:fallback={f},rollback={r}" for f in (0.4, 0.6, 0.8) for r in (1, 2, 4)]
        names += ["bild:fallback=0", "bild:rollback=inf"]  # ablations: Kim et al. 2023, Figure 5
        names += ["speculative-beam:draft=small"]
    if len(parts.smaller) > 1:
        names += [f"hierarchical:gamma={gamma}" for gamma in (2, 3, 5)]
    if parts.early is not None:
        names += [f"early-exit:gamma={gamma}" for gamma in (1, 2, 3, 5)]
    return names


@dataclass(frozen=True, slots=True)
class _TestSet:
    """Token ids of the sources, [set][segment] of references, and what makes text of ids."""

    sources: Sequence[Sequence[int]]
    references: Sequence[Sequence[str]]
    text: Callable[[Sequence[int]], str]
    task: str


def measure(
    parts: Parts,
    decode_text: Callable[[Sequence[int]], str],
    sources: Sequence[Sequence[int]],
    references: Sequence[Sequence[str]],
    strategies: Sequence[str],
    *,
    batch_sizes: Sequence[int] = (1,),
    rounds: int = ROUNDS,
    task: str = "translation",
) -> list[StrategyRow]:
    """Decode the sources with every strategy; strategies take turns batch by batch.

    Args:
        decode_text: ids to text, as :meth:`gec.text.vocabulary.Vocabulary.decode`.
        references: [set][segment].
        rounds: how often each batch is timed, the median counts; 0 takes no time.
        task: summaries have ROUGE, simplifications SARI in place of chrF.

    Raises:
        ConfigError: no such strategy, or an option out of range.
        ModelError: the bundle lacks what a strategy needs.
    """
    decoders = {name: make_decoder(parts, *parse(name)) for name in strategies}
    test = _TestSet(sources, references, decode_text, task)
    return [row for size in batch_sizes for row in _at_batch_size(decoders, test, size, rounds)]


def _at_batch_size(
    decoders: Mapping[str, Decoder], test: _TestSet, size: int, rounds: int
) -> list[StrategyRow]:
    order = sorted(range(len(test.sources)), key=lambda i: len(test.sources[i]))
    turns = list(batches(order, size))
    seconds, decoded = take_turns(
        [_way(decoder, test.sources, size) for decoder in decoders.values()],
        turns,
        rounds=max(1, rounds),
        warm_up=_WARM_UP if rounds else 0,
        pause=PAUSE if rounds else 0.0,
        what=f"batch size {size}",
    )
    found = {name: _in_order(order, given) for name, given in zip(decoders, decoded, strict=True)}
    sizes = np.array([len(turn) for turn in turns], dtype=np.float64)
    times = {name: Times(own, sizes) for name, own in zip(decoders, seconds, strict=True)}
    rows = []
    for (name, decoder), given in zip(decoders.items(), decoded, strict=True):
        row = _row(name, size, found[name], test)
        _count_drafting(row, found[name], given)
        _score(row, found[name], test)
        _compare_outputs(row, found)
        if rounds:
            _add_times(row, times[name], order)
            reset_device_peak()
            middle = [test.sources[i] for i in turns[len(turns) // 2]]
            row.profile = phase_shares(decoder, middle)
            row.memory = device_peak()
        rows.append(row)
    if rounds:
        _compare_times(rows, times)
    return rows


@dataclass(frozen=True, slots=True)
class _Decoded:
    """A batch's hypotheses, and the passes of each drafting model, the largest first."""

    hypotheses: list[Hypothesis]
    passes: Sequence[int]


def _way(
    decoder: Decoder, sources: Sequence[Sequence[int]], size: int
) -> Way[Sequence[int], _Decoded]:
    def decode(turn: Sequence[int]) -> tuple[_Decoded, float]:
        inputs = [sources[i] for i in turn]
        with counted_passes(decoder) as counts:
            began = now()
            outputs = decoder.decode(inputs, batch_size=size)
            seconds = now() - began
        return _Decoded([hypotheses[0] for hypotheses in outputs], counts), seconds

    return decode


def _in_order(order: Sequence[int], decoded: Sequence[_Decoded]) -> list[Hypothesis]:
    """Return the hypotheses in the order of the sources; they were decoded in ``order``."""
    found = [hypothesis for batch in decoded for hypothesis in batch.hypotheses]
    by_number = dict(zip(order, found, strict=True))
    return [by_number[number] for number in range(len(order))]


def _count_drafting(
    row: StrategyRow, hypotheses: Sequence[Hypothesis], decoded: Sequence[_Decoded]
) -> None:
    totals = [sum(column) for column in zip(*(batch.passes for batch in decoded), strict=True)]
    if totals:
        row.drafter_passes = " + ".join(map(str, totals))
        shared = shares(hypotheses)
        row.fallback, row.rollback = shared.fallback, shared.rollback


def _compare_outputs(row: StrategyRow, found: Mapping[str, Sequence[Hypothesis]]) -> None:
    """Fill in the shares of the outputs that are greedy decoding's and beam search's."""
    hypotheses = found[row.strategy]
    if GREEDY in found:
        row.as_greedy = _likeness(found[GREEDY], hypotheses)
    if BASE in found and promised(row.strategy) == BASE:
        row.as_beam = _likeness(found[BASE], hypotheses)


def _add_times(row: StrategyRow, times: Times, order: Sequence[int]) -> None:
    row.seconds, row.unsteadiness = times.total, times.unsteadiness
    if row.batch_size == 1:
        seconds = dict(zip(order, times.medians.tolist(), strict=True))
        row.sentence_seconds = [seconds[number] for number in range(len(order))]


def _compare_times(rows: Sequence[StrategyRow], times: Mapping[str, Times]) -> None:
    """Fill in the speed-ups over beam search and over greedy decoding, with their intervals."""
    for row in rows:
        if BASE in times:
            found = ratio(times[BASE], times[row.strategy])
            row.speedup, row.speedup_interval = found.value, (found.low, found.high)
        if GREEDY in times:
            found = ratio(times[GREEDY], times[row.strategy])
            row.speedup_greedy, row.speedup_greedy_interval = found.value, (found.low, found.high)


def _likeness(those: Sequence[Hypothesis], hypotheses: Sequence[Hypothesis]) -> float:
    """Return the share of the outputs that are the others', token for token."""
    same = [a.tokens == b.tokens for a, b in zip(those, hypotheses, strict=True)]
    return sum(same) / len(same)


def promised(specification: str) -> str | None:
    """Return whose outputs a strategy promises: greedy decoding's, beam search's or nobody's."""
    name, values = parse(specification)
    kept = promise(name, values)
    if kept == "exact":
        return GREEDY
    beam = values.get("beam_size", 5), values.get("length_penalty", 1.0)
    return BASE if kept == "beam" and name != "beam" and beam == (5, 1.0) else None


def _row(name: str, size: int, hypotheses: Sequence[Hypothesis], test: _TestSet) -> StrategyRow:
    """Return what is counted, and the scores of every task."""
    texts = [test.text(h.tokens) for h in hypotheses]
    references = test.references
    tokens = sum(len(h.tokens) + (not h.truncated) for h in hypotheses)
    repeats = sum(a == b for h in hypotheses for a, b in zip(h.tokens, h.tokens[1:], strict=False))
    return StrategyRow(
        strategy=name,
        batch_size=size,
        passes=sum(len(h.steps) for h in hypotheses),
        tokens=tokens,
        bleu=bleu(texts, references).value if references else None,
        chrf=chrf(texts, references).value if references else None,
        repeated=repeats / max(1, tokens),
        as_greedy=None,
        truncated=sum(h.truncated for h in hypotheses),
        accepted=sum(step.accepted for h in hypotheses for step in h.steps)
        / max(1, sum(len(h.steps) for h in hypotheses)),
    )


def _score(row: StrategyRow, hypotheses: Sequence[Hypothesis], test: _TestSet) -> None:
    """Add what is usual for a task beside BLEU."""
    if test.task == "translation" or not test.references:
        return
    texts = [test.text(h.tokens) for h in hypotheses]
    row.chrf = None
    if test.task == "simplification":
        from gec.eval.metrics.sari import sari

        sources = [test.text(source) for source in test.sources]
        row.sari = sari(sources, texts, test.references).value
    else:
        from gec.eval.metrics.summarization import rouge

        values = rouge(texts, test.references).values
        row.rouge1, row.rouge2, row.rougel = (
            100 * values[name] for name in ("rouge1-F", "rouge2-F", "rougeL-F")
        )
