"""``gec report``: one self-contained HTML page, or JSON, about systems on a test set.

Edits are ERRANT's on the system's side and the gold file's on the other; a sentence counts against
the gold annotator that the scorer chose. The precision-recall curve and the speed plots need what
``gec correct --tokenized --format jsonl`` writes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gec import __version__
from gec.errors import ConfigError, DataError, InputError
from gec.eval.compare import plots
from gec.eval.compare.significance import Comparison, Interval, bootstrap, compare_all, holm
from gec.eval.metrics import errant_compare, m2
from gec.eval.metrics.errant import Annotator, reannotate
from gec.eval.metrics.errant_compare import (
    Annotation,
    Block,
    Counts,
    ErrantScore,
    compare,
    parse_blocks,
    read_blocks,
)
from gec.eval.metrics.m2 import GoldSentence, M2Score, read_gold, score_m2
from gec.eval.metrics.pipeline import chosen_pipeline
from gec.eval.metrics.score import check_parallel, read_lines, write_text

THRESHOLDS = 20
"""Points of the precision-recall curve at most."""

FORMATS = ("html", "json")

_GLUED = re.compile(r"\w[.?!]$")  # a word with the mark that ends its sentence, as in plain text


class Change(NamedTuple):
    """An edit as ``gec correct`` writes it: code points of the line, and a probability."""

    start: int
    end: int
    replacement: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Line:
    """What a system did with one line: its output, and what it said about it (JSONL only)."""

    text: str
    source: str = ""
    edits: tuple[Change, ...] = ()
    passes: int = 0
    tokens: int = 0
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class System:
    """A system's name and lines; ``detailed``: they came with confidences and times."""

    name: str
    lines: tuple[Line, ...]
    detailed: bool


@dataclass(frozen=True, slots=True)
class Point:
    """Scores when edits below a confidence are left out."""

    threshold: float
    precision: float
    recall: float
    f: float


@dataclass(frozen=True, slots=True)
class Result:
    """A system's scores on the test set, with intervals from resampled sentences."""

    system: System
    m2: M2Score
    m2_interval: tuple[Interval, ...]
    errant: ErrantScore
    errant_interval: tuple[Interval, ...]
    by_type: Mapping[str, Counts]
    blocks: tuple[Block, ...]
    curve: tuple[Point, ...]


def read_system(
    path: str, sources: Sequence[str], name: str | None = None, *, allow_empty: bool = False
) -> System:
    """Read a system's output: tokenized lines, or the JSON Lines of ``gec correct``.

    In JSON Lines there is an object for every line that is not blank.

    Args:
        name: what to call the system; None takes the file's name.
        allow_empty: take a line without words for a sentence that was deleted.

    Raises:
        InputError: not as many lines as sources, a line without words, or text that is not
            tokenized as the sources are.
        DataError: a line is not the JSON that ``gec correct`` writes for this source, or missing.
    """
    label = name or Path(path).name
    rows = read_lines(path)
    if not rows or not rows[0].startswith('{"'):
        check_parallel({"the gold file": sources, path: rows})
        check_fits(path, sources, rows, allow_empty=allow_empty)
        return System(label, tuple(Line(row) for row in rows), detailed=False)
    found: dict[int, Line] = {}
    for number, row in enumerate(rows, 1):
        try:
            place, line = _parse(json.loads(row), sources)
            if place in found:
                raise ValueError(f"a second object for line {place + 1}")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}:{number}: not what gec correct --tokenized --format jsonl writes for the "
                f"gold file's sentences ({type(error).__name__}: {error})"
            ) from None
        found[place] = line
    for place, source in enumerate(sources):
        if source.strip() and place not in found:
            raise DataError(f"{path} has no object for sentence {place + 1}: {source[:60]!r}")
    lines = tuple(found.get(place, Line(source)) for place, source in enumerate(sources))
    check_fits(path, sources, [line.text for line in lines], allow_empty=allow_empty)
    return System(label, lines, detailed=True)


def check_fits(
    name: str, sources: Sequence[str], lines: Sequence[str], *, allow_empty: bool = False
) -> None:
    """Refuse output that no scorer can say anything sensible about.

    Output is taken for text that is not tokenized if in half of the sentences whose last token is a
    full stop, an exclamation or a question mark it has such a mark joined to its last word.

    Raises:
        InputError: a line without words for a sentence that has some, or lines that are not
            tokenized as the sources are; says the first.
    """
    ended = glued = 0
    first = None
    for number, (source, line) in enumerate(zip(sources, lines, strict=True), 1):
        before, after = source.split(), line.split()
        if before and not after:
            if allow_empty:
                continue
            raise InputError(
                f"{name}, line {number}: empty, but the sentence is {source[:60]!r}; "
                "--allow-empty takes it for deleted"
            )
        if before and before[-1] in (".", "!", "?"):
            ended += 1
            if _GLUED.search(after[-1]) and after[-1] not in before:
                glued += 1
                first = first or number
    if first and glued * 2 >= ended:
        raise InputError(
            f"{name}, line {first}: not tokenized as the gold file is: {lines[first - 1][-60:]!r} "
            f"beside {sources[first - 1][-60:]!r}; separate words and marks by blanks"
        )


def _parse(row: Any, sources: Sequence[str]) -> tuple[int, Line]:
    number, text = int(row["line"]), str(row["text"])
    if not 1 <= number <= len(sources):
        raise ValueError(f"line {number} of {len(sources)}")
    if text.split() != sources[number - 1].split():
        raise ValueError(f"its text is not sentence {number}; was the text tokenized?")
    parts = row["sentences"]
    return number - 1, Line(
        text=str(row["corrected"]),
        source=text,
        edits=tuple(
            Change(int(e["start"]), int(e["end"]), str(e["replacement"]), float(e["confidence"]))
            for e in row["edits"]
        ),
        passes=sum(int(part["passes"]) for part in parts),
        tokens=sum(int(part["tokens"]) for part in parts),
        milliseconds=sum(float(part["milliseconds"]) for part in parts),
    )


def evaluate(
    system: System,
    gold: Sequence[GoldSentence],
    blocks: Sequence[Block],
    annotator: Annotator,
    *,
    beta: float = 0.5,
    samples: int = 1000,
    seed: int = 0,
) -> Result:
    """Score one system; ``gold`` and ``blocks`` are one file as the two scorers read it."""
    texts = [line.text for line in system.lines]
    maxmatch = score_m2(texts, gold, beta=beta)
    sources = [block.sentence for block in blocks]
    annotated = annotator.blocks(sources, texts)
    errant = compare(annotated, blocks, beta=beta, how=annotator.settings)
    typed = compare(annotated, errant_types(blocks, annotator), beta=beta)
    return Result(
        system=system,
        m2=maxmatch,
        m2_interval=tuple(bootstrap(m2.statistics(maxmatch), samples=samples, seed=seed).values()),
        errant=errant,
        errant_interval=tuple(
            bootstrap(errant_compare.statistics(errant), samples=samples, seed=seed).values()
        ),
        by_type=typed.by_type,
        blocks=tuple(annotated),
        curve=tuple(_curve(system, annotator, blocks, beta)) if system.detailed else (),
    )


def errant_types(blocks: Sequence[Block], annotator: Annotator) -> Sequence[Block]:
    """Return gold blocks whose edits have ERRANT's types; other types are classified anew."""
    types = {edit.type for block in blocks for edit in block.annotations}
    if all(kind in ("noop", "UNK") or kind[:2] in ("M:", "R:", "U:") for kind in types):
        return blocks
    retyped = reannotate(blocks, annotator, gold=True, minimise=False)
    return [
        replace(block, annotations=tuple(map(_counted, block.annotations)))
        for block in parse_blocks("".join(retyped), "the gold file")
    ]


def _counted(edit: Annotation) -> Annotation:
    """Errors that were only detected count as edits in the scores; let them do so by type."""
    return edit._replace(type="R:OTHER") if edit.type == "UNK" else edit


def _curve(
    system: System, annotator: Annotator, blocks: Sequence[Block], beta: float
) -> Iterable[Point]:
    confidences = sorted(edit.confidence for line in system.lines for edit in line.edits)
    if not confidences:
        return
    sources = [block.sentence for block in blocks]
    shares = np.linspace(0, 1, THRESHOLDS)
    for threshold in sorted(set(np.quantile(confidences, shares, method="lower").tolist())):
        texts = [above(line, threshold) for line in system.lines]
        score = compare(annotator.blocks(sources, texts), blocks, beta=beta)
        yield Point(threshold, score.precision, score.recall, score.f)


def above(line: Line, threshold: float) -> str:
    """Return a line's output when its edits below ``threshold`` are left out."""
    if all(edit.confidence >= threshold for edit in line.edits):
        return line.text
    text = line.source
    for edit in sorted(line.edits, reverse=True):
        if edit.confidence >= threshold:
            text = text[: edit.start] + edit.replacement + text[edit.end :]
    return text


# ------------------------------------------------------------------------------- what is shown


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a diff: ``kept``, or what was ``deleted`` and what ``inserted`` in its place."""

    kept: str = ""
    deleted: str = ""
    inserted: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its counts and diffs: of each system, and of each gold annotator chosen."""

    number: int
    counts: tuple[Counts, ...]
    diffs: tuple[tuple[Piece, ...], ...]
    gold: Mapping[int, tuple[Piece, ...]]


def diff(sentence: str, edits: Iterable[Annotation]) -> tuple[Piece, ...]:
    """Return a sentence as the pieces that edits keep and change; overlapping ones are skipped."""
    words = sentence.split()
    pieces: list[Piece] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.type in ("noop", "UNK", "Um") or not at <= edit.start <= edit.end <= len(words):
            continue
        pieces.append(Piece(kept=" ".join(words[at : edit.start])))
        correction = "" if edit.correction == "-NONE-" else edit.correction
        pieces.append(
            Piece(
                deleted=" ".join(words[edit.start : edit.end]),
                inserted=correction.partition("||")[0],
                type=edit.type,
            )
        )
        at = edit.end
    pieces.append(Piece(kept=" ".join(words[at:])))
    return tuple(piece for piece in pieces if piece != Piece())


def _example(number: int, results: Sequence[Result], gold: Sequence[Block]) -> Example:
    reference = gold[number]
    coders = sorted({result.errant.chosen[number][1] for result in results})
    return Example(
        number + 1,
        tuple(result.errant.sentences[number] for result in results),
        tuple(diff(reference.sentence, r.blocks[number].annotations) for r in results),
        {
            coder: diff(reference.sentence, (a for a in reference.annotations if a.coder == coder))
            for coder in coders
        },
    )


def wins(result: Result) -> list[int]:
    """Return the sentences corrected without a fault, most edits, then longest, first."""
    return sorted(
        (n for n, c in enumerate(result.errant.sentences) if c.tp and not c.fp and not c.fn),
        key=lambda n: (-result.errant.sentences[n].tp, -len(result.blocks[n].sentence), n),
    )


def losses(result: Result) -> list[int]:
    """Return the sentences with wrong edits, those with most, then the longest, first."""
    return sorted(
        (n for n, c in enumerate(result.errant.sentences) if c.fp),
        key=lambda n: (
            result.errant.sentences[n].tp - result.errant.sentences[n].fp,
            -len(result.blocks[n].sentence),
            n,
        ),
    )


def differing(results: Sequence[Result]) -> list[int]:
    """Return the sentences that systems correct differently, the most telling first."""
    rows = zip(*(result.blocks for result in results), strict=True)
    numbers = [
        n for n, row in enumerate(rows) if any(x.annotations != row[0].annotations for x in row)
    ]

    def spread(n: int) -> int:
        nets = [2 * counts.tp - counts.fp for counts in (r.errant.sentences[n] for r in results)]
        return max(nets) - min(nets)

    return sorted(numbers, key=lambda n: (-spread(n), n))


@dataclass(frozen=True, slots=True)
class Difference:
    """ERRANT's F of one system less that of an earlier one; p adjusted for all pairs (Holm)."""

    system: str
    other: str
    comparison: Comparison
    p_adjusted: float


def compare_systems(
    results: Sequence[Result], *, samples: int = 1000, seed: int = 0
) -> tuple[Difference, ...]:
    """Compare every two systems; none for a single one."""
    statistics = [errant_compare.statistics(result.errant) for result in results]
    found = compare_all(statistics, samples=samples, seed=seed).comparisons
    adjusted = holm([scores["f"].p for scores in found.values()])
    return tuple(
        Difference(results[j].system.name, results[i].system.name, scores["f"], p)
        for ((i, j), scores), p in zip(found.items(), adjusted, strict=True)
    )


def edit_ratio(block: Block) -> float:
    """Return words in edits over words of the source, at most 1 (Sun et al. 2021, Figure 5)."""
    words = len(block.sentence.split())
    changed = sum(
        max(edit.end - edit.start, len(edit.correction.split())) for edit in block.annotations
    )
    return min(1.0, changed / words) if words else 0.0


def speed_by_ratio(result: Result) -> list[tuple[float, float, float]]:
    """Return (edit ratio, output tokens a pass, ms a token) of every decoded sentence.

    Times are NaN where sentences were decoded in batches: each then has an equal share of its
    batch's time, which says nothing about it.
    """
    times = [line.milliseconds for line in result.system.lines if line.passes]
    alone = sum(a == b for a, b in pairwise(sorted(times))) < len(times) / 10
    return [
        (
            edit_ratio(block),
            line.tokens / line.passes,
            line.milliseconds / line.tokens if alone else math.nan,
        )
        for block, line in zip(result.blocks, result.system.lines, strict=True)
        if line.passes and line.tokens
    ]


def render(
    results: Sequence[Result],
    gold: Sequence[Block],
    *,
    title: str,
    gold_name: str,
    differences: Sequence[Difference],
    settings: Mapping[str, object],
    examples: int = 10,
) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gec.eval.compare", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    chosen = {
        "wins": [[_example(n, [r], gold) for n in wins(r)[:examples]] for r in results],
        "losses": [[_example(n, [r], gold) for n in losses(r)[:examples]] for r in results],
        "differing": [
            _example(n, results, gold) for n in differing(results)[:examples] if len(results) > 1
        ],
    }
    curves = {r.system.name: [(p.recall, p.precision) for p in r.curve] for r in results if r.curve}
    speeds = {r.system.name: speed_by_ratio(r) for r in results if r.system.detailed}
    return environment.get_template("report.html").render(
        title=title,
        gold_name=gold_name,
        sentences=len(gold),
        words_total=sum(len(block.sentence.split()) for block in gold),
        results=results,
        types=sorted({kind for r in results for kind in r.by_type}),
        no_counts=Counts(),
        differences=differences,
        settings=settings,
        curve_plot=plots.precision_recall(curves) if curves else "",
        speed_plot=plots.speed_by_edit_ratio(speeds) if any(speeds.values()) else "",
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        **chosen,
    )


def to_json(
    results: Sequence[Result],
    gold: Sequence[Block],
    *,
    title: str,
    gold_name: str,
    differences: Sequence[Difference],
    settings: Mapping[str, object],
    examples: int = 10,
) -> str:
    """Return what the page says as JSON; sentences are numbers from 1."""
    shown = {
        "title": title,
        "gold": gold_name,
        "sentences": len(gold),
        "words": sum(len(block.sentence.split()) for block in gold),
        "settings": settings,
        "gec": __version__,
        "systems": [_fields(result, examples) for result in results],
        "differences": [asdict(difference) for difference in differences],
        "differing": [n + 1 for n in differing(results)[:examples]],
    }
    return json.dumps(shown, ensure_ascii=False, indent=1) + "\n"


def _fields(result: Result, examples: int) -> dict[str, object]:
    names = ("precision", "recall", "f")

    def typed(counts: Counts) -> dict[str, float]:
        scores = zip(names, counts.scores(result.errant.beta), strict=True)
        return counts._asdict() | dict(scores)

    def scored(intervals: Sequence[Interval], signature: str) -> dict[str, object]:
        scores = {name: asdict(x) for name, x in zip(names, intervals, strict=True)}
        return scores | {"signature": signature}

    return {
        "name": result.system.name,
        "m2": scored(result.m2_interval, result.m2.signature),
        "errant": scored(result.errant_interval, result.errant.signature),
        "types": {kind: typed(counts) for kind, counts in sorted(result.by_type.items())},
        "curve": [asdict(point) for point in result.curve],
        "wins": [n + 1 for n in wins(result)[:examples]],
        "losses": [n + 1 for n in losses(result)[:examples]],
    }


def check_output(name: str) -> None:
    """Refuse to work for a file that cannot be written.

    Raises:
        ConfigError: there is no such folder.
    """
    if name != "-" and not Path(name).absolute().parent.is_dir():
        raise ConfigError(f"{name}: there is no such folder")


def output_format(args: argparse.Namespace, known: Sequence[str]) -> str:
    """Return ``--format``, or what the ending of ``--output`` says, else the first of ``known``."""
    ending = Path(args.output).suffix.removeprefix(".")
    chosen: str = args.format or (ending if ending in known else known[0])
    return chosen


def system_names(args: argparse.Namespace) -> list[str]:
    """Return ``--names``, or the names of the files; equal ones get numbers.

    Raises:
        ConfigError: not as many names as systems.
    """
    names = args.names.split(",") if args.names else [Path(name).name for name in args.hypotheses]
    if len(names) != len(args.hypotheses):
        raise ConfigError(f"{len(names)} names for {len(args.hypotheses)} systems")
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return names


def main(args: argparse.Namespace) -> int:
    """``gec report GOLD.m2 HYP... --output PAGE.html``"""
    if "-" in (args.gold, *args.hypotheses):
        raise ConfigError("a report reads files, not standard input (-)")
    names = system_names(args)
    check_output(args.output)
    gold = read_blocks(args.gold)
    if not any(block.sentence.strip() for block in gold):
        raise InputError(f"{args.gold} holds no sentence")
    sources = [block.sentence for block in gold]
    systems = [
        read_system(path, sources, name, allow_empty=args.allow_empty)
        for path, name in zip(args.hypotheses, names, strict=True)
    ]
    annotator = Annotator(chosen_pipeline(args, types=True))
    options = {"beta": args.beta, "samples": args.samples, "seed": args.seed}
    m2_gold = read_gold(args.gold)
    if len(m2_gold) != len(gold):
        raise DataError(f"{args.gold}: M2 and ERRANT disagree on its sentences; is it CRLF?")
    results = [evaluate(system, m2_gold, gold, annotator, **options) for system in systems]
    differences = compare_systems(results, samples=args.samples, seed=args.seed)
    write = to_json if output_format(args, FORMATS) == "json" else render
    page = write(
        results,
        gold,
        title=args.title or Path(args.gold).name,
        gold_name=Path(args.gold).name,
        differences=differences,
        settings=options | annotator.settings,
        examples=args.examples,
    )
    write_text(args.output, [page])
    out = sys.stderr if args.output == "-" else sys.stdout
    for result in results:
        print(f"{result.system.name}: ERRANT F{args.beta:g} {result.errant_interval[2]}", file=out)
        print(f"{result.system.name}: M2 F{args.beta:g} {result.m2_interval[2]}", file=out)
    for difference in differences:
        pair = "" if len(results) == 2 else f", {difference.system} less {difference.other}"
        found = difference.comparison
        print(f"difference in ERRANT F{pair}: {found.difference}, p = {found.p:.4f}", file=out)
    return 0
