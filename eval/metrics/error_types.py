"""The share of each error type among made and annotated errors (``gec data noise --stats``).

The light rules of :mod:`gec.edits.classify` classify both, so that they can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gec.edits.align import align
from gec.edits.classify import classify
from gec.eval.metrics.m2.reading import read_gold


def of_pairs(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Counter[str]:
    """Count the types of the edits that lead from wrong sentences to right ones."""
    return Counter(
        classify(
            wrong[edit.source_start : edit.source_end], right[edit.target_start : edit.target_end]
        )[0]
        for wrong, right in pairs
        for edit in align(wrong, right)
    )


def of_m2(name: str) -> Counter[str]:
    """Count the types of the first annotator's edits in an M2 file."""
    return Counter(
        classify(words, new)[0]
        for sentence in read_gold(name)
        for edit in next(iter(sentence.edits.values()), ())
        if (words := edit.original.split()) != (new := edit.corrections[0].split())
    )


def shares(
    name: str, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], gold: Sequence[str]
) -> str:
    """Return the table of made errors, called ``name``, beside those of M2 files."""
    columns = {name: of_pairs(pairs)} | {Path(path).stem: of_m2(path) for path in gold}
    return "\n".join(table(columns)) + "\n"


def table(columns: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yield the lines of a table: per cent of each column's edits by type, sorted by the first."""
    totals = {name: max(1, counts.total()) for name, counts in columns.items()}
    first = next(iter(columns.values()))
    width = max(12, *map(len, columns))
    yield f"{'per cent':<14}" + "".join(f"  {name:>{width}}" for name in columns)
    yield f"{'edits':<14}" + "".join(f"  {counts.total():>{width}}" for counts in columns.values())
    for kind in sorted(set().union(*columns.values()), key=lambda kind: (-first[kind], kind)):
        shares = (100 * counts[kind] / totals[name] for name, counts in columns.items())
        yield f"{kind:<14}" + "".join(f"  {share:>{width}.1f}" for share in shares)
