"""``gec leaderboard``: systems ranked by several metrics, in clusters that differ significantly.

All pairs of systems are compared on the same resamples of the sentences; p-values are adjusted for
the number of pairs (Holm 1979). Between two clusters of a ranking every system above the line
differs significantly from every system below it, as in the rankings of the WMT shared tasks.

A metric is a row of :data:`METRICS`: what makes :class:`~gec.eval.compare.significance.Statistics`
of a system's output.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

from gec import __version__
from gec.errors import ConfigError, DataError, InputError
from gec.eval.compare import plots
from gec.eval.compare.files import check_output, output_format, read_system, system_names
from gec.eval.compare.significance import (
    SAMPLES,
    Comparison,
    Interval,
    Statistics,
    clusters,
    compare_all,
    holm,
    samples_needed,
)
from gec.eval.metrics import cleme, errant, gleu, gotoscorer, green, imeasure, m2, sari
from gec.eval.metrics.errant import Annotator, Block
from gec.eval.metrics.score import (
    check_parallel,
    check_samples,
    extended,
    read_lines,
    warn,
    write_text,
)

FORMATS = ("text", "json", "html")
TESTS = ("randomization", "bootstrap")
Lines = Sequence[str]

ON_EDITS = ("errant", "cleme", "gotoscorer")
"""Metrics of ERRANT's edits, which are found once for all of them."""
SMALL = 5000
"""Outputs, of all systems together, for which more processes take longer to start than to work."""


@dataclass(eq=False)
class TestSet:
    """What systems are scored on, and the outputs that are.

    Attributes:
        gold, blocks: one M2 file as the two scorers read it.
        references: [set][sentence]; may be empty.
        outputs: [system][sentence].
        make_annotator: loads ERRANT, when the first metric asks for it.
    """

    __test__ = False  # no test, whatever pytest thinks of the name

    gold: Sequence[m2.GoldSentence]
    blocks: Sequence[Block]
    references: Sequence[Lines] = ()
    outputs: Sequence[Lines] = ()
    beta: float = 0.5
    make_annotator: Callable[[], Annotator] = Annotator
    _edits: dict[tuple[str, str], Block] = field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        return [block.sentence for block in self.blocks]

    @cached_property
    def annotator(self) -> Annotator:
        return self.make_annotator()

    def edits(self, hypotheses: Lines) -> list[Block]:
        """Return a system's edits as ERRANT finds them.

        The first call annotates all outputs together, so that each distinct sentence is parsed once
        and each distinct pair aligned once.
        """
        pairs = list(zip(self.sources, hypotheses, strict=True))
        if any(pair not in self._edits for pair in pairs):
            rows = zip(self.sources, hypotheses, *self.outputs, strict=True)
            every = dict.fromkeys((source, line) for source, *lines in rows for line in lines)
            found = self.annotator.blocks(*map(list, zip(*every, strict=True)))
            self._edits.update(zip(every, found, strict=True))
        return [self._edits[pair] for pair in pairs]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its name on the command line.

    Attributes:
        title: its name on a page.
        measure: makes the statistics of one system's output.
        needs_references: it compares with corrected sentences, not with edits.
    """

    title: str
    measure: Callable[[TestSet, Lines], Statistics]
    needs_references: bool = False


def _m2(test: TestSet, hypotheses: Lines) -> Statistics:
    return m2.statistics(m2.score_m2(hypotheses, test.gold, beta=test.beta))


def _errant(test: TestSet, hypotheses: Lines) -> Statistics:
    edits = test.edits(hypotheses)
    score = errant.compare(edits, test.blocks, beta=test.beta, how=test.annotator.settings)
    return errant.statistics(score)


def _gleu(test: TestSet, hypotheses: Lines) -> Statistics:
    return gleu.statistics(test.sources, hypotheses, test.references)


def _sari(test: TestSet, hypotheses: Lines) -> Statistics:
    return sari.statistics(test.sources, hypotheses, test.references)


def _green(test: TestSet, hypotheses: Lines) -> Statistics:
    return green.green_statistics(test.sources, hypotheses, test.references)


def _cleme(test: TestSet, hypotheses: Lines) -> Statistics:
    edits, how = test.edits(hypotheses), test.annotator.settings
    return cleme.measure(edits, test.blocks, beta=test.beta, how=how).statistics


def _gotoscorer(test: TestSet, hypotheses: Lines) -> Statistics:
    """The difficulty is measured over all systems of the board."""
    return _together(test)[test.outputs.index(hypotheses)]


@lru_cache(maxsize=1)
def _together(test: TestSet) -> Sequence[Statistics]:
    edits = [test.edits(output) for output in test.outputs]
    return gotoscorer.measure(edits, test.blocks, how=test.annotator.settings).statistics


def _imeasure(test: TestSet, hypotheses: Lines) -> Statistics:
    return imeasure.imeasure_statistics(hypotheses, test.blocks)


METRICS: dict[str, Metric] = {
    "m2": Metric("M2", _m2),
    "errant": Metric("ERRANT", _errant),
    "gleu": Metric("GLEU", _gleu, needs_references=True),
    "sari": Metric("SARI", _sari, needs_references=True),
    "green": Metric("GREEN", _green, needs_references=True),
    "cleme": Metric("CLEME", _cleme),
    "gotoscorer": Metric("GoToScorer", _gotoscorer),
    "imeasure": Metric("I-measure", _imeasure),
}


# --------------------------------------------------------------------------------------- ranking


@dataclass(frozen=True, slots=True)
class Row:
    """A system in a ranking.

    Attributes:
        cluster: the number of its cluster, from 1.
        ranks: the best and the worst place that the tests leave it.
        scores: by name, with intervals.
    """

    system: str
    cluster: int
    ranks: tuple[int, int]
    scores: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Pair:
    """A system against one ranked below it; ``difference`` is its main score less the other's.

    Attributes:
        p: of the test that was chosen.
        p_adjusted: for the number of all pairs.
        significant: the adjusted one is at most alpha.
    """

    system: str
    other: str
    difference: Interval
    p: float
    p_adjusted: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """All systems by one metric, the best first; pairs in the same order."""

    metric: str
    title: str
    main: str
    signature: str
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]


def rank(
    name: str,
    title: str,
    systems: Mapping[str, Statistics],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    alpha: float = 0.05,
    test: str = "randomization",
) -> Ranking:
    """Rank systems by a metric's main score; equal ones stay in the given order.

    Args:
        systems: by name.
        alpha: the level at which adjusted p-values are significant.
        test: one of :data:`TESTS`.

    Raises:
        ConfigError: systems that cannot be compared, no such test, or samples below 1.
    """
    if test not in TESTS:
        raise ConfigError(f"test must be one of {', '.join(TESTS)}, not {test!r}")
    best_first = sorted(systems, key=lambda key: -systems[key][systems[key].main])
    main = systems[best_first[0]].main
    # worst first: then a comparison is what the better system has over the worse
    ordered = best_first[::-1]
    found = compare_all([systems[key] for key in ordered], samples=samples, seed=seed)
    tested = {
        (ordered[j], ordered[i]): scores[main] for (i, j), scores in found.comparisons.items()
    }
    pairs = _pairs(best_first, tested, alpha, test)
    different = {frozenset((pair.system, pair.other)) for pair in pairs if pair.significant}
    groups = clusters(
        range(len(ordered)), lambda i, j: frozenset((best_first[i], best_first[j])) in different
    )
    intervals = dict(zip(ordered, found.intervals, strict=True))
    rows = []
    for number, group in enumerate(groups, 1):
        for place in group:
            key = best_first[place]
            above, below = best_first[:place], best_first[place + 1 :]
            beaten_by = sum(frozenset((key, other)) in different for other in above)
            beats = sum(frozenset((key, other)) in different for other in below)
            ranks = (1 + beaten_by, len(ordered) - beats)
            rows.append(Row(key, number, ranks, intervals[key]))
    made = extended(
        systems[best_first[0]].signature,
        {"samples": samples, "seed": seed, "test": test, "adjusted": "holm", "alpha": alpha},
    )
    return Ranking(name, title, main, made, tuple(rows), tuple(pairs))


@dataclass(frozen=True, slots=True)
class Tests:
    """How systems are compared, see :func:`rank`."""

    __test__ = False

    samples: int
    seed: int
    alpha: float
    test: str


def rank_all(
    test: TestSet, names: Sequence[str], metrics: Sequence[str], how: Tests, *, jobs: int = 1
) -> list[Ranking]:
    """Rank the systems by every metric, in as many processes as ``jobs`` says.

    Metrics that need ERRANT's edits share a process. Little work is done in this one.

    Args:
        names: of the systems, in the order of their outputs.
    """
    shared = [name for name in metrics if name in ON_EDITS]
    groups = [[name] for name in metrics if name not in shared]
    groups[:0] = [shared] if shared else []
    if jobs == 1 or len(groups) < 2 or len(test.outputs) * len(test.blocks) < SMALL:
        found = [_ranked(test, names, metrics, how)]
    else:
        # not forked: numerical libraries have threads
        with ProcessPoolExecutor(min(jobs, len(groups)), get_context("spawn")) as pool:
            found = list(pool.map(partial(_ranked, test, names, how=how), groups))
    by_name = {ranking.metric: ranking for rankings in found for ranking in rankings}
    return [by_name[name] for name in metrics]


def _ranked(
    test: TestSet, names: Sequence[str], metrics: Sequence[str], how: Tests
) -> list[Ranking]:
    rankings = []
    for name in metrics:
        metric = METRICS[name]
        measured = [metric.measure(test, lines) for lines in test.outputs]
        systems = dict(zip(names, measured, strict=True))
        rankings.append(
            rank(
                name,
                metric.title,
                systems,
                samples=how.samples,
                seed=how.seed,
                alpha=how.alpha,
                test=how.test,
            )
        )
    return rankings


def _pairs(
    best_first: Sequence[str],
    tested: Mapping[tuple[str, str], Comparison],
    alpha: float,
    test: str,
) -> list[Pair]:
    keys = [
        (system, other)
        for place, system in enumerate(best_first)
        for other in best_first[place + 1 :]
    ]
    chosen = [tested[key].p if test == "randomization" else tested[key].p_bootstrap for key in keys]
    return [
        Pair(*key, tested[key].difference, p, adjusted, adjusted <= alpha)
        for key, p, adjusted in zip(keys, chosen, holm(chosen), strict=True)
    ]


def default_samples(systems: int, alpha: float) -> int:
    """Return how many resamples leave Holm's adjustment room: four times what it needs."""
    return max(SAMPLES, 4 * samples_needed(systems, alpha))


# ---------------------------------------------------------------------------------------- output


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All rankings, and how they were made."""

    title: str
    gold: str
    sentences: int
    settings: Mapping[str, object]
    rankings: tuple[Ranking, ...]

    def to_text(self) -> str:
        return "\n".join([f"{self.title}: {self.sentences} sentences", *map(_table, self.rankings)])

    def to_json(self) -> str:
        fields = dataclasses.asdict(self) | {"gec": __version__}
        return json.dumps(fields, ensure_ascii=False, indent=1) + "\n"

    def to_html(self) -> str:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("gec.eval.compare", "templates"), autoescape=True,
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        return environment.get_template("leaderboard.html").render(
            board=self,
            matrices=[_matrix(ranking) for ranking in self.rankings],
            plot=plots.rankings(
                {
                    f"{ranking.title} {ranking.main}": [
                        (row.system, row.scores[ranking.main], row.cluster) for row in ranking.rows
                    ]
                    for ranking in self.rankings
                }
            ),
            version=__version__,
            date=datetime.now(UTC).date().isoformat(),
        )


def _table(ranking: Ranking) -> str:
    """Return a ranking as text, with a line between clusters."""
    others = [name for name in ranking.rows[0].scores if name != ranking.main]
    cells = [("ranks", "system", f"{ranking.title} {ranking.main}", *others)]
    for row in ranking.rows:
        low, high = row.ranks
        cells.append(
            (
                str(low) if low == high else f"{low}-{high}",
                row.system,
                str(row.scores[ranking.main]),
                *(f"{row.scores[name].value:.4f}" for name in others),
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    text = ["", lines[0]]
    last = 0
    for row, line in zip(ranking.rows, lines[1:], strict=True):
        if row.cluster != last:
            text.append("-" * (sum(widths) + 2 * len(widths) - 2))
        text.append(line)
        last = row.cluster
    return "\n".join([*text, ""])


def _matrix(ranking: Ranking) -> list[list[Pair | None]]:
    """Return for every system its pairs with those below it; None where there is none."""
    names = [row.system for row in ranking.rows]
    pairs = {(pair.system, pair.other): pair for pair in ranking.pairs}
    return [[pairs.get((system, other)) for other in names] for system in names]


# --------------------------------------------------------------------------------------- command


def main(args: argparse.Namespace) -> int:
    """``gec leaderboard GOLD HYP...``"""
    if "-" in (args.gold, *args.hypotheses, *args.references):
        raise ConfigError("a leaderboard reads files, not standard input (-)")
    if len(args.hypotheses) < 2:
        raise ConfigError("a leaderboard ranks at least 2 systems; name more HYP files")
    check_output(args.output)
    if not 0 < args.alpha < 1:
        raise ConfigError(f"--alpha must lie between 0 and 1, not {args.alpha:g}")
    names = system_names(args)
    metrics = _metrics(args)
    samples = _samples(args)
    test = read_test_set(args)
    how = Tests(samples, args.seed, args.alpha, args.test)
    rankings = rank_all(test, names, metrics, how, jobs=args.jobs or os.cpu_count() or 1)
    board = Leaderboard(
        title=args.title or Path(args.gold).name,
        gold=Path(args.gold).name,
        sentences=len(test.blocks),
        settings={
            "beta": args.beta,
            "samples": samples,
            "seed": args.seed,
            "test": args.test,
            "adjusted": "holm",
            "alpha": args.alpha,
        },
        rankings=tuple(rankings),
    )
    write_text(args.output, [_rendered(board, output_format(args, FORMATS))])
    for ranking in rankings:
        print(ranking.signature, file=sys.stderr)
    return 0


def _rendered(board: Leaderboard, how: str) -> str:
    if how == "json":
        return board.to_json()
    return board.to_html() if how == "html" else board.to_text()


def _metrics(args: argparse.Namespace) -> list[str]:
    given = bool(args.references)
    if args.metrics is None:
        return [name for name in DEFAULT if given or not METRICS[name].needs_references]
    names = list(dict.fromkeys(args.metrics.split(",")))
    for name in names:
        if name not in METRICS:
            raise ConfigError(f"no metric {name!r}; choose among {', '.join(METRICS)}")
        if METRICS[name].needs_references and not given:
            raise ConfigError(f"{name} needs references: name their files after -r")
    return names


DEFAULT = ("m2", "errant", "gleu", "sari")
"""Metrics if none are named; those that need references only where there are some."""


def _samples(args: argparse.Namespace) -> int:
    systems = len(args.hypotheses)
    if args.samples is None:
        return default_samples(systems, args.alpha)
    check_samples(args.samples)
    if args.samples == 0:
        raise ConfigError("--samples must be at least 2: without resamples nothing is compared")
    if args.samples < (least := samples_needed(systems, args.alpha)):
        warn(
            f"with {args.samples} resamples no pair of {systems} systems can differ significantly "
            f"at {args.alpha:g} after Holm's adjustment; that takes at least {least}"
        )
    return int(args.samples)


def read_test_set(args: argparse.Namespace) -> TestSet:
    """Read the gold file, the references and all systems.

    Raises:
        InputError, DataError: a file that cannot be read or does not fit; says which and where.
    """
    blocks = errant.read_blocks(args.gold)
    if not any(block.sentence.strip() for block in blocks):
        raise InputError(f"{args.gold} holds no sentence")
    gold = m2.read_gold(args.gold)
    if len(gold) != len(blocks):
        raise DataError(f"{args.gold}: M2 and ERRANT disagree on its sentences; is it CRLF?")
    sources = [block.sentence for block in blocks]
    references = [read_lines(name) for name in args.references]
    check_parallel([(args.gold, sources), *zip(args.references, references, strict=True)])
    outputs = [
        [line.text for line in read_system(name, sources, allow_empty=args.allow_empty).lines]
        for name in args.hypotheses
    ]
    return TestSet(
        gold=gold,
        blocks=blocks,
        references=references,
        outputs=outputs,
        beta=args.beta,
        make_annotator=partial(_annotator, args.spacy_model, args.require_spacy_model),
    )


def _annotator(spacy_model: str | None, require_spacy_model: bool) -> Annotator:
    """Load ERRANT; a function that another process can call."""
    from gec.eval.metrics.pipeline import chosen_pipeline

    args = argparse.Namespace(spacy_model=spacy_model, require_spacy_model=require_spacy_model)
    return Annotator(chosen_pipeline(args, types=False))
