"""Text for people and editors: findings, the summary of a file, how long its sentences took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gec.output.wording import change_of, label
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction


def to_findings(name: str, correction: Correction) -> str:
    """Return ``file:line:column: change [type]`` for each edit, the form editors and grep know."""
    positions = Positions(correction.original)
    return "".join(
        f"{label(name)}:{positions.line(e.start)}:{positions.column(e.start)}: "
        f"{change_of(e)} [{e.type}]\n"
        for e in correction.edits
    )


def to_summary(name: str, correction: Correction) -> str:
    """Return the edits as a table for people."""
    positions = Positions(correction.original)
    rows = [("line:col", "type", "confidence", "change")]
    rows += [
        (
            f"{positions.line(e.start)}:{positions.column(e.start)}",
            e.type,
            f"{e.confidence:.2f}",
            change_of(e),
        )
        for e in correction.edits
    ]
    count = len(correction.edits)
    head = f"{label(name)}: {count} edit{'' if count == 1 else 's'}\n"
    if not count:
        return head
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return head + "".join(
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        # the change comes last because its width is the user's
        + f"  {row[3]}\n"
        for row in rows
    )


def to_timing(name: str, correction: Correction) -> str:
    """Return the milliseconds of each sentence, then of the file."""
    lines = []
    for sentence in correction.sentences:
        words = " ".join(correction.original[sentence.start : sentence.end].split())
        shown = words if len(words) <= 60 else words[:59] + "…"
        lines.append(f"{1000 * sentence.seconds:9.1f} ms  {shown}\n")
    count, seconds = len(lines), sum(s.seconds for s in correction.sentences)
    mean = f", {1000 * seconds / count:.1f} ms each" if count else ""
    noun = "sentence" if count == 1 else "sentences"
    return "".join(lines) + f"{label(name)}: {count} {noun}, {1000 * seconds:.1f} ms{mean}\n"
