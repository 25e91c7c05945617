"""JUnit's XML: a suite for each file, a failed case for each edit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gec.output.wording import change_of, label
from gec.text.lines import Positions

if TYPE_CHECKING:
    from gec.correct.result import Correction


def to_junit(results: Iterable[tuple[str, Correction]]) -> str:
    """Return a suite for each file, with a failed case for each edit, or one passed case."""
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
            failure = XML.SubElement(case, "failure", type=edit.type, message=_xml(change_of(edit)))
            failure.text = _xml(edit.message)
    root.set("failures", str(total))
    XML.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{XML.tostring(root, "unicode")}\n'


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    """Replace the characters that XML does not have, escaped or not."""
    return _NOT_XML.sub("\ufffd", text)
