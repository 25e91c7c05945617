"""What ``gec correct`` prints: pure functions from a file's name and its Correction to a string.

A line ends at ``\\n``, ``\\r\\n`` or ``\\r`` and nowhere else (str.splitlines would also split at
form feeds and U+2028, which no editor counts). Lines and columns are 1-based; columns are code
points, in SARIF UTF-16 code units.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gec import __version__
from gec.edits.messages import message

if TYPE_CHECKING:
    from gec.correct.corrector import Correction, SentenceResult
    from gec.edits.edits import Edit

SCHEMA_VERSION = 1
SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LINE_END = re.compile(r"\r\n|\n|\r")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Positions:
    """Lines and columns of code-point offsets, each in logarithmic time.

    >>> positions = Positions("a\\r\\nbc")
    >>> positions.line(4), positions.column(4)
    (2, 2)
    """

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        self._astral = [match.start() for match in _ASTRAL.finditer(text)]

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        return offset - self._starts[self.line(offset) - 1] + 1

    def utf16(self, offset: int) -> int:
        """The offset in UTF-16 code units: a character beyond U+FFFF counts two."""
        return offset + bisect_left(self._astral, offset)

    def utf16_column(self, offset: int) -> int:
        return self.utf16(offset) - self.utf16(self._starts[self.line(offset) - 1]) + 1


def label(name: str) -> str:
    """How outputs call a file; bytes of a name that are not UTF-8 become U+FFFD."""
    if name == "-":
        return "stdin"
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def split_lines(text: str) -> list[tuple[str, str]]:
    """Lines as (content, line end); nothing is lost; no empty line follows the last line end."""
    lines: list[tuple[str, str]] = []
    start = 0
    for match in _LINE_END.finditer(text):
        lines.append((text[start : match.start()], match.group()))
        start = match.end()
    if start < len(text):
        lines.append((text[start:], ""))
    return lines


def join(parts: Sequence[str | Correction]) -> Correction:
    """One Correction for consecutive pieces of a text; a plain string is an unchanged piece."""
    from gec.correct.corrector import Correction

    original: list[str] = []
    text: list[str] = []
    edits: list[Edit] = []
    sentences: list[SentenceResult] = []
    warnings: dict[str, None] = {}  # the same warning for many lines is said once
    offset = 0
    for part in parts:
        if isinstance(part, str):
            original.append(part)
            text.append(part)
            offset += len(part)
            continue
        original.append(part.original)
        text.append(part.text)
        edits += [replace(e, start=e.start + offset, end=e.end + offset) for e in part.edits]
        sentences += [
            replace(s, start=s.start + offset, end=s.end + offset) for s in part.sentences
        ]
        warnings.update(dict.fromkeys(part.warnings))
        offset += len(part.original)
    return Correction(
        original="".join(original),
        text="".join(text),
        edits=tuple(edits),
        sentences=tuple(sentences),
        warnings=tuple(warnings),
    )


# ------------------------------------------------------------------------------------ json, jsonl


def document(name: str, correction: Correction, line: int = 1) -> dict[str, Any]:
    """The JSON object of one file; ``line`` is where its text begins in that file."""
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
        "warnings": list(correction.warnings),
    }


def to_json(results: Iterable[tuple[str, Correction]]) -> str:
    return _dump([document(name, correction) for name, correction in results], indent=2) + "\n"


def to_jsonl(name: str, correction: Correction, line: int = 1) -> str:
    return _dump(document(name, correction, line)) + "\n"


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


# --------------------------------------------------------------------------------------------- m2


def to_m2(correction: Correction) -> str:
    """CoNLL M2: a line S per sentence, a line A per edit, ``noop`` where there is none."""
    return "".join(_m2_block(correction, sentence) for sentence in correction.sentences)


def _m2_block(correction: Correction, sentence: SentenceResult) -> str:
    from gec.edits.align import align

    source, target = sentence.source, sentence.target
    if not source and not target:
        return ""
    text = correction.original
    spans = list(_word_spans(text, sentence))
    inside = [e for e in correction.edits if e.start >= sentence.start and e.end <= sentence.end]
    found = align(source, target)
    kinds: list[str | None] = [edit.type for edit in inside]
    if len(inside) != len(found):  # some were left out for their confidence
        kinds = [_kind(inside, spans, edit.source_start, edit.source_end) for edit in found]
    lines = ["S " + " ".join(map(partial(_own_word, text), source, spans))]
    for edit, kind in zip(found, kinds, strict=True):
        if kind is not None:
            words = " ".join(target[edit.target_start : edit.target_end])
            lines.append(_m2_edit(edit.source_start, edit.source_end, kind, words))
    if len(lines) == 1:
        lines.append(_m2_edit(-1, -1, "noop", "-NONE-"))
    return "\n".join(lines) + "\n\n"


def _m2_edit(start: int, end: int, kind: str, words: str) -> str:
    return f"A {start} {end}|||{kind}|||{words}|||REQUIRED|||-NONE-|||0"


def _own_word(text: str, word: str, span: tuple[int, int]) -> str:
    """The user's spelling of a word, unless M2 cannot hold it."""
    own = text[span[0] : span[1]]
    return own if len(own.split()) == 1 else word


def _word_spans(text: str, sentence: SentenceResult) -> Iterator[tuple[int, int]]:
    """Code points of each source word, whose quotes, dashes and such may be normalised."""
    from gec.text.words import normalise

    cursor = sentence.start
    for word in sentence.source:
        while cursor < sentence.end and text[cursor].isspace():
            cursor += 1
        end = cursor + len(word)
        if not text.startswith(word, cursor):
            longest = min(sentence.end, end + len(word) + _MAX_INVISIBLE)
            candidates = range(cursor + 1, longest + 1) if len(word) < _MAX_SEARCHED else ()
            end = next((n for n in candidates if normalise(text[cursor:n]) == word), cursor)
        yield cursor, end
        cursor = end


_MAX_INVISIBLE, _MAX_SEARCHED = 16, 500


def _kind(
    edits: Sequence[Edit], spans: Sequence[tuple[int, int]], start: int, end: int
) -> str | None:
    """The type of the Edit over source words start..end, or None; an insertion has start == end."""
    if start < end:
        first, last = spans[start][0], spans[end - 1][1]
        kinds = (e.type for e in edits if e.start < last and e.end > first)
    else:
        low = spans[start - 1][1] if start > 0 else 0
        high = spans[start][0] if start < len(spans) else low
        kinds = (e.type for e in edits if low <= e.start and e.end <= max(low, high))
    return next(kinds, None)


# ------------------------------------------------------------------------------------------ sarif


def to_sarif(results: Iterable[tuple[str, Correction]]) -> str:
    """SARIF 2.1.0: one run, a rule per edit type, a result with a fix per edit."""
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
    return _dump({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


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
        "message": {"text": edit.message or _change(edit)},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, "region": region}}],
        "fixes": [
            {
                "description": {"text": _change(edit)},
                "artifactChanges": [{"artifactLocation": artifact, "replacements": [change]}],
            }
        ],
        "properties": {"confidence": edit.confidence},
    }


def _uri(name: str) -> str:
    path = PurePath(label(name))
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


# ----------------------------------------------------------------------------------------- github


def to_github(name: str, correction: Correction) -> str:
    """GitHub workflow commands: one annotation per edit."""
    positions = Positions(correction.original)
    lines: list[str] = []
    for edit in correction.edits:
        line, end_line = positions.line(edit.start), positions.line(edit.end)
        properties = {"file": label(name), "line": str(line)}
        if line == end_line:  # GitHub refuses columns for a range over several lines
            properties["col"] = str(positions.column(edit.start))
            properties["endColumn"] = str(positions.column(edit.end))
        else:
            properties["endLine"] = str(end_line)
        properties["title"] = edit.type
        fields = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        lines.append(f"::warning {fields}::{_data(edit.message or _change(edit))}\n")
    return "".join(lines)


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


# ------------------------------------------------------------------------------------------ junit


def to_junit(results: Iterable[tuple[str, Correction]]) -> str:
    """JUnit's XML: a suite per file, a failed case per edit, a passed one where there is none."""
    from xml.etree import ElementTree as XML

    root = XML.Element("testsuites", name="gec")
    total = 0
    for name, correction in results:
        edits, positions = correction.edits, Positions(correction.original)
        total += len(edits)
        suite = XML.SubElement(
            root,
            "testsuite",
            name=_xml(label(name)),
            tests=str(max(1, len(edits))),
            failures=str(len(edits)),
            errors="0",
        )
        if not edits:
            XML.SubElement(suite, "testcase", classname=_xml(label(name)), name="no findings")
        for edit in edits:
            line = positions.line(edit.start)
            case = XML.SubElement(
                suite,
                "testcase",
                classname=_xml(label(name)),
                name=f"line {line}, column {positions.column(edit.start)}: {edit.type}",
                file=_xml(label(name)),
                line=str(line),
            )
            failure = XML.SubElement(case, "failure", type=edit.type, message=_xml(_change(edit)))
            failure.text = _xml(edit.message)
    root.set("failures", str(total))
    XML.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{XML.tostring(root, "unicode")}\n'


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    """Without the characters that XML does not have, escaped or not."""
    return _NOT_XML.sub("\ufffd", text)


# --------------------------------------------------------------------- findings, summary, timing


def to_findings(name: str, correction: Correction) -> str:
    """``file:line:column: change [type]`` per edit, the form editors and grep know."""
    positions = Positions(correction.original)
    return "".join(
        f"{label(name)}:{positions.line(e.start)}:{positions.column(e.start)}: "
        f"{_change(e)} [{e.type}]\n"
        for e in correction.edits
    )


def to_summary(name: str, correction: Correction) -> str:
    """The edits as a table for people."""
    positions = Positions(correction.original)
    rows = [("line:col", "type", "confidence", "change")]
    rows += [
        (
            f"{positions.line(e.start)}:{positions.column(e.start)}",
            e.type,
            f"{e.confidence:.2f}",
            _change(e),
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
    """Milliseconds of each sentence, then of the file."""
    lines = []
    for sentence in correction.sentences:
        words = " ".join(correction.original[sentence.start : sentence.end].split())
        shown = words if len(words) <= 60 else words[:59] + "…"
        lines.append(f"{1000 * sentence.seconds:9.1f} ms  {shown}\n")
    count, seconds = len(lines), sum(s.seconds for s in correction.sentences)
    mean = f", {1000 * seconds / count:.1f} ms each" if count else ""
    noun = "sentence" if count == 1 else "sentences"
    return "".join(lines) + f"{label(name)}: {count} {noun}, {1000 * seconds:.1f} ms{mean}\n"


def _change(edit: Edit) -> str:
    old, new = _dump(edit.original), _dump(edit.replacement)  # control characters escaped
    if not edit.original:
        return f"insert {new}"
    if not edit.replacement:
        return f"delete {old}"
    return f"{old} → {new}"


# ------------------------------------------------------------------------------------------- diff

_CONTEXT = 3
_HEAD, _FRAME, _OLD, _NEW, _RESET = "\x1b[1m", "\x1b[36m", "\x1b[31;9m", "\x1b[32;1m", "\x1b[0m"


@dataclass(frozen=True)
class _Block:
    """Lines first..last (0-based, last exclusive) that change, and what they become."""

    first: int
    last: int
    new: str
    marked: str


def to_diff(name: str, correction: Correction, colour: bool = False) -> str:
    """What changed, in the manner of ``git diff``.

    Without colour: a unified diff that ``git apply`` and ``patch`` accept. With colour, for a
    person at a terminal: the same hunks as a word diff, where every changed line stands once, with
    the words taken out struck through in red and the words put in bold green. A paragraph is often
    one long line; a line diff prints it twice and leaves the reader to find the changed words.

    Both are drawn from the edits and not from a second comparison of the texts, so they show
    exactly the edits, in time linear in the text.
    """
    lines = _patch_lines(correction.original)
    starts = [0, *accumulate(len(line) for line in lines)]  # the last one is the text's end
    blocks = list(_blocks(correction, lines, starts))
    if not blocks:
        return ""
    paint = _paint if colour else _plain
    context = _ended if colour else partial(_line, " ")
    shown = label(name).lstrip("/")
    tab = "\t" if " " in shown else ""  # as git does, so that patch finds the name's end
    out = [paint(_HEAD, f"--- a/{shown}{tab}") + "\n", paint(_HEAD, f"+++ b/{shown}{tab}") + "\n"]
    drift = 0
    for group in _hunks(blocks):
        first = max(0, group[0].first - _CONTEXT)
        last = min(len(lines), group[-1].last + _CONTEXT)
        grown = sum(_count_lines(block.new) - (block.last - block.first) for block in group)
        old, new = last - first, last - first + grown
        header = f"@@ -{_range(first, old)} +{_range(first + drift, new)} @@"
        out.append(paint(_FRAME, header) + "\n")
        drift += grown
        at = first
        for block in group:
            out += [context(line) for line in lines[at : block.first]]
            if colour:
                out.append(_ended(block.marked))
            else:
                out += [_line("-", line) for line in lines[block.first : block.last]]
                out += [_line("+", line) for line in _patch_lines(block.new)]
            at = block.last
        out += [context(line) for line in lines[at:last]]
    return "".join(out)


def _blocks(
    correction: Correction, lines: Sequence[str], starts: Sequence[int]
) -> Iterator[_Block]:
    """Merge the edits into runs of changed lines."""
    original = correction.original
    pending: list[Edit] = []
    first = last = 0

    def close() -> _Block:
        begin, end = starts[first], starts[last]
        new, marked, cursor = [], [], begin
        for edit in pending:
            kept = original[cursor : edit.start]
            old = original[edit.start : edit.end]
            new += [kept, edit.replacement]
            marked += [kept, _paint(_OLD, old), _paint(_NEW, edit.replacement)]
            cursor = edit.end
        rest = original[cursor:end]
        return _Block(first, last, "".join([*new, rest]), "".join([*marked, rest]))

    for edit in correction.edits:
        if edit.original == edit.replacement:
            continue
        begin = min(bisect_right(starts, edit.start), len(lines)) - 1
        end = min(bisect_right(starts, edit.end), len(lines))
        begin, end = max(begin, 0), max(end, 0)
        if pending and begin >= last:
            yield close()
            pending = []
        if not pending:
            first = begin
        last = max(end, last) if pending else end
        pending.append(edit)
    if pending:
        yield close()


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    group: list[_Block] = []
    for block in blocks:
        if group and block.first - group[-1].last > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    yield group


def _patch_lines(text: str) -> list[str]:
    """Lines with their ends; only \\n ends one, as git and patch count."""
    pieces = text.split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _count_lines(text: str) -> int:
    return len(_patch_lines(text))


def _range(first: int, count: int) -> str:
    # A range of no lines names the line before it; a count of one is left out.
    return f"{first if count == 0 else first + 1}" + ("" if count == 1 else f",{count}")


def _line(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line
    return f"{sign}{line}\n\\ No newline at end of file\n"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"


def _plain(_code: str, text: str) -> str:
    return text


def _paint(code: str, text: str) -> str:
    return f"{code}{text}{_RESET}" if text else ""
