"""SARIF 2.1.0: findings for code scanning, each with a fix."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gec import __version__
from gec.edits.messages import message
from gec.output.wording import change_of, dump, label
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction
    from gec.edits.edits import Edit

SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def to_sarif(results: Iterable[tuple[str, Correction]]) -> str:
    """Return one run, with a rule for each edit type and a result with a fix for each edit."""
    rules: dict[str, int] = {}
    found: list[dict[str, Any]] = []
    for name, correction in results:
        positions = Positions(correction.original)
        for edit in correction.edits:
            index = rules.setdefault(edit.type, len(rules))
            found.append(_sarif_result(name, edit, index, positions))
    driver = {
        "name": "gec",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": kind,
                "shortDescription": {"text": message(kind).short},
                "fullDescription": {"text": message(kind).explanation},
                "defaultConfiguration": {"level": "warning"},
            }
            for kind in rules
        ],
    }
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": found}
    return dump({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _sarif_result(name: str, edit: Edit, rule: int, positions: Positions) -> dict[str, Any]:
    artifact = {"uri": _uri(name)}
    region = {
        "startLine": positions.line(edit.start),
        "startColumn": positions.utf16_column(edit.start),
        "endLine": positions.line(edit.end),
        "endColumn": positions.utf16_column(edit.end),
        "charOffset": positions.utf16(edit.start),
        "charLength": positions.utf16(edit.end) - positions.utf16(edit.start),
    }
    change = {"deletedRegion": region, "insertedContent": {"text": edit.replacement}}
    return {
        "ruleId": edit.type,
        "ruleIndex": rule,
        "level": "warning",
        "message": {"text": edit.message or change_of(edit)},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "fixes": [
            {
                "description": {"text": change_of(edit)},
                "artifactChanges": [{"artifactLocation": artifact, "replacements": [change]}],
            }
        ],
        "properties": {"confidence": edit.confidence},
    }


def _uri(name: str) -> str:
    path = PurePath(label(name))
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
