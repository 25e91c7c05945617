"""``gec bench generate``: strategies side by side on one test set, as in the papers' tables.

Ge et al. 2022 (Tables 5 to 9, 18; Figures 4, 8) and Xia et al. 2022 (Tables 1, 2, 3, 6): passes of
the verifier, mean accepted tokens a pass, BLEU, speed over beam search and over greedy decoding,
memory, repetitions, where the time goes, and how the speed-up is spread over the sentences.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from gec.decoding.bild import shares
from gec.decoding.decoder import Decoder, Hypothesis
from gec.decoding.drafters import Drafter
from gec.decoding.strategies import Parts, make_decoder, parse, promise
from gec.errors import ConfigError, InputError, ModelError
from gec.eval.benchmark.machine import describe
from gec.eval.benchmark.two_models import (
    counted_passes,
    families,
    gamma_plot,
    gamma_table,
    tradeoff_plot,
)
from gec.eval.metrics.score import check_parallel, read_lines
from gec.eval.metrics.translation import bleu, chrf

BASE, GREEDY = "beam:beam-size=5", "greedy"
_WARM_UP = 4
PHASES = ("encode", "draft", "verify", "rest")
"""Where the time goes: both encoders, the drafter's passes, the verifier's, all the rest."""


@dataclass(slots=True)
class Row:
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
        seconds: decoding time, None when not taken; ``sentence_seconds`` of each at batch size 1.
        speedup, speedup_greedy: over beam search with 5 and over greedy decoding.
        memory: peak of the device, in MB; of a CPU, of the whole process so far.
        profile: share of the time of each of :data:`PHASES`.
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
    speedup: float | None = None
    speedup_greedy: float | None = None
    memory: float | None = None
    profile: dict[str, float] = field(default_factory=dict)

    @property
    def per_pass(self) -> float:
        return self.tokens / max(1, self.passes)


def default_strategies(parts: Parts, task: str = "translation") -> list[str]:
    """Return the papers' rows that a bundle has the parts for."""
    names = [BASE, GREEDY]
    if task == "simplification":  # whose outputs are copies for the most part
        names += ["iad", "iad-paper", "speculative-beam"]
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


def measure(
    parts: Parts,
    decode_text: Any,
    sources: Sequence[Sequence[int]],
    references: Sequence[Sequence[str]],
    strategies: Sequence[str],
    *,
    batch_sizes: Sequence[int] = (1,),
    rounds: int = 1,
    task: str = "translation",
) -> list[Row]:
    """Decode the sources with every strategy; strategies take turns sentence batch by batch.

    Args:
        decode_text: ids to text, as :meth:`gec.text.vocabulary.Vocabulary.decode`.
        references: [set][segment].
        rounds: how often each batch is timed, the quickest counts; 0 takes no time.
        task: summaries have ROUGE, simplifications SARI in place of chrF.

    Raises:
        ConfigError: no such strategy, or an option out of range.
        ModelError: the bundle lacks what a strategy needs.
    """
    decoders = {name: make_decoder(parts, *parse(name)) for name in strategies}
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    rows: list[Row] = []
    for size in batch_sizes:
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        found: dict[str, dict[int, Hypothesis]] = {name: {} for name in decoders}
        times: dict[str, dict[int, float]] = {name: {} for name in decoders}
        profiles: dict[str, dict[str, float]] = {name: {} for name in decoders}
        peaks: dict[str, float | None] = {}
        drafting: dict[str, list[int]] = {name: [] for name in decoders}
        for decoder in decoders.values() if rounds else ():
            for batch in batches[:: max(1, len(batches) // _WARM_UP)][:_WARM_UP]:
                decoder.decode([sources[i] for i in batch], batch_size=size)
        for number, batch in enumerate(batches):
            inputs = [sources[i] for i in batch]
            for name, decoder in decoders.items():
                taken = []
                for _ in range(max(1, rounds)):
                    with counted_passes(decoder) as counts:
                        began = _now()
                        outputs = decoder.decode(inputs, batch_size=size)
                        taken.append(_now() - began)
                drafting[name] = [
                    a + b for a, b in zip(drafting[name] or [0] * len(counts), counts, strict=True)
                ]
                found[name] |= {i: hyps[0] for i, hyps in zip(batch, outputs, strict=True)}
                times[name][number] = min(taken)
        for name, decoder in decoders.items() if rounds else ():
            _reset_peak()
            profiles[name] = profile(decoder, [sources[i] for i in batches[len(batches) // 2]])
            peaks[name] = _peak()
        greedy, beam = found.get(GREEDY), found.get(BASE)
        for name in decoders:
            hypotheses = [found[name][i] for i in range(len(sources))]
            row = _row(name, size, hypotheses, decode_text, references)
            if drafting[name]:
                row.drafter_passes = " + ".join(map(str, drafting[name]))
                shared = shares(hypotheses)
                row.fallback, row.rollback = shared.fallback, shared.rollback
            _score(
                row, task, [decode_text(s) for s in sources], hypotheses, decode_text, references
            )
            if greedy is not None:
                row.as_greedy = _likeness(greedy, hypotheses)
            if beam is not None and _promises(name) == BASE:
                row.as_beam = _likeness(beam, hypotheses)
            if rounds:
                row.seconds = sum(times[name].values())
                row.memory, row.profile = peaks[name], profiles[name]
                if size == 1:
                    seconds = {batch[0]: times[name][n] for n, batch in enumerate(batches)}
                    row.sentence_seconds = [seconds[i] for i in range(len(sources))]
            rows.append(row)
        _compare(rows[-len(decoders) :])
    return rows


def _likeness(those: Mapping[int, Hypothesis], hypotheses: Sequence[Hypothesis]) -> float:
    """Return the share of the outputs that are those of the same numbers, token for token."""
    same = [those[number].tokens == h.tokens for number, h in enumerate(hypotheses)]
    return sum(same) / len(same)


def _promises(specification: str) -> str | None:
    """Return whose outputs a strategy promises: greedy decoding's, beam search's or nobody's."""
    name, values = parse(specification)
    promised = promise(name, values)
    if promised == "exact":
        return GREEDY
    beam = values.get("beam_size", 5), values.get("length_penalty", 1.0)
    return BASE if promised == "beam" and name != "beam" and beam == (5, 1.0) else None


def _row(
    name: str,
    size: int,
    hypotheses: Sequence[Hypothesis],
    decode_text: Any,
    references: Sequence[Sequence[str]],
) -> Row:
    texts = [decode_text(h.tokens) for h in hypotheses]
    tokens = sum(len(h.tokens) + (not h.truncated) for h in hypotheses)
    repeats = sum(a == b for h in hypotheses for a, b in zip(h.tokens, h.tokens[1:], strict=False))
    return Row(
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


def _score(
    row: Row,
    task: str,
    sources: Sequence[str],
    hypotheses: Sequence[Hypothesis],
    decode_text: Any,
    references: Sequence[Sequence[str]],
) -> None:
    """Add what is usual for a task beside BLEU."""
    if task == "translation" or not references:
        return
    texts = [decode_text(h.tokens) for h in hypotheses]
    row.chrf = None
    if task == "simplification":
        from gec.eval.metrics.sari import sari

        row.sari = sari(sources, texts, references).value
    else:
        from gec.eval.metrics.summarization import rouge

        values = rouge(texts, references).values
        row.rouge1, row.rouge2, row.rougel = (
            100 * values[name] for name in ("rouge1-F", "rouge2-F", "rougeL-F")
        )


def _compare(rows: Sequence[Row]) -> None:
    """Fill in the speed-ups over the rows of beam search and of greedy decoding."""
    by_name = {row.strategy: row for row in rows}
    for row in rows:
        for base, attribute in ((BASE, "speedup"), (GREEDY, "speedup_greedy")):
            other = by_name.get(base)
            if other is not None and other.seconds and row.seconds:
                setattr(row, attribute, other.seconds / row.seconds)


# --------------------------------------------------------------------------------------- profile


def profile(decoder: Decoder, sources: Sequence[Sequence[int]]) -> dict[str, float]:
    """Return which share of decoding goes into each phase (Ge et al. 2022, Table 18)."""
    spent = dict.fromkeys(PHASES, 0.0)
    with (
        _timed(decoder.model, "start", spent, "encode"),
        _timed(decoder.model, "verify", spent, "verify"),
        _timed(decoder.drafter, "start", spent, "encode"),
        _timed(decoder.drafter, "propose", spent, "draft"),
        _timed(decoder.drafter, "observe", spent, "draft"),
    ):
        began = _now()
        decoder.decode(sources, batch_size=len(sources))
        whole = _now() - began
    spent["rest"] = whole - sum(spent.values())
    return {phase: max(0.0, seconds) / whole for phase, seconds in spent.items()}


@contextmanager
def _timed(owner: Drafter | Any, name: str, spent: dict[str, float], phase: str) -> Iterator[None]:
    """Add the time of a method's calls to ``spent[phase]`` while the block runs."""
    method = getattr(owner, name, None)
    if method is None:
        yield
        return

    def timed(*args: Any, **more: Any) -> Any:
        began = _now()
        try:
            return method(*args, **more)
        finally:
            spent[phase] += _now() - began

    setattr(owner, name, timed)
    try:
        yield
    finally:
        delattr(owner, name)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _reset_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak() -> float | None:
    """Return MB: of the GPU since the last reset, or of the process; None if it is not known."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e6
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KB; on macOS bytes
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


# ---------------------------------------------------------------------------------------- report

_COLUMNS = (
    ("strategy", "strategy", "{}"),
    ("batch", "batch_size", "{}"),
    ("passes", "passes", "{}"),
    ("drafter's", "drafter_passes", "{}"),
    ("tokens/pass", "per_pass", "{:.2f}"),
    ("accepted", "accepted", "{:.2f}"),
    ("fallback", "fallback", "{:.1%}"),
    ("rollback", "rollback", "{:.1%}"),
    ("SARI", "sari", "{:.2f}"),
    ("ROUGE-1", "rouge1", "{:.2f}"),
    ("ROUGE-2", "rouge2", "{:.2f}"),
    ("ROUGE-L", "rougel", "{:.2f}"),
    ("BLEU", "bleu", "{:.2f}"),
    ("chrF", "chrf", "{:.2f}"),
    ("as greedy", "as_greedy", "{:.1%}"),
    ("as beam", "as_beam", "{:.1%}"),
    ("repeated", "repeated", "{:.2%}"),
    ("truncated", "truncated", "{}"),
    ("seconds", "seconds", "{:.1f}"),
    ("x beam 5", "speedup", "{:.2f}"),
    ("x greedy", "speedup_greedy", "{:.2f}"),
    ("peak MB", "memory", "{:.0f}"),
)


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; columns nothing is known of are left out."""
    columns = [c for c in _COLUMNS if any(getattr(row, c[1]) is not None for row in rows)]
    lines = ["| " + " | ".join(head for head, _, _ in columns) + " |"]
    lines.append("|" + "---|" * len(columns))
    for row in rows:
        cells = ((getattr(row, attribute), form) for _, attribute, form in columns)
        lines.append(
            "| " + " | ".join("-" if v is None else form.format(v) for v, form in cells) + " |"
        )
    return "\n".join(lines)


def profile_table(rows: Sequence[Row]) -> str:
    """Return the profiles as a Markdown table, empty without any."""
    if not any(row.profile for row in rows):
        return ""
    lines = [f"| strategy | batch | {' | '.join(PHASES)} |", "|---|---|" + "---|" * len(PHASES)]
    for row in rows:
        shares = " | ".join(f"{row.profile.get(phase, 0):.1%}" for phase in PHASES)
        lines.append(f"| {row.strategy} | {row.batch_size} | {shares} |")
    return "\n".join(lines)


def summary(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    return asdict(row) | {"per_pass": row.per_pass}


def operations_table(
    parts: Parts, strategies: Sequence[str], sources: Sequence[Sequence[int]]
) -> str:
    """Return the work of each strategy, one sentence at a time (Kim et al. 2023, Figure 8).

    Of the verifier and of the smaller models together, in fp32; a strategy that needs another
    drafter has a dash.
    """
    from gec.loading import work_of

    lines = ["| strategy | GFLOP | GB moved | operations a byte |", "|---|---|---|---|"]
    for strategy in strategies:
        try:
            work = work_of(parts, *parse(strategy), sources)
        except ModelError:
            lines.append(f"| {strategy} | - | - | - |")
            continue
        flops, moved = (sum(model[i] for model in work) for i in (1, 2))
        lines.append(
            f"| {strategy} | {flops / 1e9:.2f} | {moved / 1e9:.2f} | {flops / moved:.2f} |"
        )
    return "\n".join(lines)


def speedups(rows: Sequence[Row]) -> Mapping[str, list[float]]:
    """Return per strategy every sentence's speed-up over beam search at batch size 1."""
    base = next((row for row in rows if row.strategy == BASE and row.sentence_seconds), None)
    if base is None:
        return {}
    return {
        row.strategy: [
            b / s for b, s in zip(base.sentence_seconds, row.sentence_seconds, strict=True)
        ]
        for row in rows
        if row.sentence_seconds and row is not base
    }


def check_exact(rows: Sequence[Row]) -> list[str]:
    """Return a line for each strategy whose outputs are not those that it promises."""
    wrong = []
    for row in rows:
        same = {GREEDY: row.as_greedy, BASE: row.as_beam}.get(_promises(row.strategy) or "")
        if same is not None and same < 1:
            as_what = "beam search" if row.as_beam is not None else "greedy"
            wrong.append(f"{row.strategy}, batch {row.batch_size}: {same:.2%} as {as_what}")
    return wrong


def main(args: argparse.Namespace) -> int:
    """Run ``gec bench generate``; exit status 1 when an exact strategy is not."""
    from gec.loading import load_generation_parts

    if args.plot_gamma:
        Path(args.plot_gamma).write_text(gamma_plot() + "\n", encoding="utf-8")
        sys.stdout.write(gamma_table() + "\n")
        if args.sources is None:
            return 0
    if args.sources is None:
        raise ConfigError("name the file of sources, and its references")
    if args.model is None:
        raise ConfigError("name the bundle: --model")
    sources = read_lines(args.sources)
    references = [read_lines(name) for name in args.references]
    named = [(args.sources, sources), *zip(args.references, references, strict=True)]
    check_parallel(named)
    if not sources:
        raise InputError(f"{args.sources} is empty")
    sources = sources[: args.limit]
    references = [lines[: args.limit] for lines in references]
    parts, codec, about = load_generation_parts(
        args.model, device=args.device, precision=args.precision
    )
    ids = [codec.encode(line) for line in sources]
    most = parts.model.max_positions - 1
    for number, found in enumerate(ids, 1):
        if len(found) > most:
            raise InputError(
                f"{args.sources}:{number}: {len(found)} tokens, the model takes {most}: split it"
            )
    strategies = args.strategies or default_strategies(parts, str(about["task"]))
    if len(set(strategies)) < len(strategies):
        raise ConfigError("a strategy is named twice")
    rows = measure(
        parts, codec.decode, ids, references, strategies,
        batch_sizes=args.batch_size or [1], rounds=args.rounds,
        task=str(about.get("task", "translation")),
    )  # fmt: skip
    heading = {
        "machine": describe().line(),
        "file": Path(args.sources).name,
        "sentences": len(sources),
        "model": about["bundle"],
        "parameters": about["parameters"],
        "precision": about["precision"],
    }
    text = ", ".join(f"{name} {value}" for name, value in heading.items())
    text += f"\n\n{markdown(rows)}\n"
    if profiles := profile_table(rows):
        text += f"\n{profiles}\n"
    if args.operations:
        text += f"\n{operations_table(parts, strategies, ids)}\n"
    sys.stdout.write(text)
    if args.out:
        _write(Path(args.out), heading, rows, text)
    for line in (wrong := check_exact(rows)):
        print(f"NOT exact: {line}", file=sys.stderr)
    return 1 if wrong else 0


def _write(out: Path, heading: Mapping[str, Any], rows: Sequence[Row], text: str) -> None:
    from gec.eval.compare import plots

    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(text, encoding="utf-8")
    result = dict(heading) | {"rows": [summary(row) for row in rows]}
    (out / "table.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if found := speedups(rows):
        (out / "speedups.svg").write_text(plots.distribution(found), encoding="utf-8")
    if len(points := _tradeoff(rows)) > 1:
        quality = "SARI" if rows[0].sari is not None else "BLEU"
        quality = "ROUGE-L" if rows[0].rougel is not None else quality
        (out / "tradeoff.svg").write_text(tradeoff_plot(points, quality), encoding="utf-8")


def _tradeoff(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """Return (speed over greedy, quality) of the first batch size by kind of strategy."""
    points: dict[str, list[tuple[float, float]]] = {}
    rows = [row for row in rows if row.batch_size == rows[0].batch_size]
    varying = ("fallback", "rollback", "longest", "k", "beta", "tau", "gamma")
    for name, numbers in families([row.strategy for row in rows], varying).items():
        for row in (rows[number] for number in numbers):
            value = next((v for v in (row.sari, row.rougel, row.bleu) if v is not None), None)
            if row.speedup_greedy is not None and value is not None:
                points.setdefault(name, []).append((row.speedup_greedy, value))
    return points
