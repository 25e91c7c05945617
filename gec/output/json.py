"""JSON and JSON Lines: an object for each file, or for each line of a tokenized one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gec.output.wording import dump, label
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction

SCHEMA_VERSION = 1


def document(name: str, correction: Correction, line: int = 1) -> dict[str, Any]:
    """Return the JSON object of one file; ``line`` is where its text begins in that file."""
    positions = Positions(correction.original)
    return {
        "version": SCHEMA_VERSION,
        "file": label(name),
        "line": line,
        "text": correction.original,
        "corrected": correction.text,
        "edits": [
            {
                "start": edit.start,
                "end": edit.end,
                "line": positions.line(edit.start) + line - 1,
                "column": positions.column(edit.start),
                "original": edit.original,
                "replacement": edit.replacement,
                "type": edit.type,
                "confidence": edit.confidence,
                "message": edit.message,
            }
            for edit in correction.edits
        ],
        "sentences": [
            {
                "start": sentence.start,
                "end": sentence.end,
                "passes": sentence.trace.passes if sentence.trace else 0,
                "tokens": sum(step.emitted for step in sentence.trace.steps)
                if sentence.trace
                else 0,
                "milliseconds": round(sentence.seconds * 1000, 3),
            }
            for sentence in correction.sentences
        ],
        "warnings": [str(warning) for warning in correction.warnings],
    }


def to_json(results: Iterable[tuple[str, Correction]]) -> str:
    """Return one JSON array with an object for each file."""
    return dump([document(name, correction) for name, correction in results], indent=2) + "\n"


def to_jsonl(name: str, correction: Correction, line: int = 1) -> str:
    """Return the object of one file, or of one of its lines, as one line."""
    return dump(document(name, correction, line)) + "\n"
