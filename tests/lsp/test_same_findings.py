"""The language server finds what ``gec correct --check`` finds, with the shipped model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import gec
from gec.check.findings import is_finding
from gec.check.project import Strictness
from gec.correct.corrector import Corrector
from gec.documents.prose import correct_prose, in_source, prose_kind
from gec.edits.edits import Edit
from gec.lsp.outline import Outline
from gec.lsp.sentences import Demand, Reading, Results

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = (ROOT / "tests/data/learner_sample.txt").read_text(encoding="utf-8")
GERMAN = "Das ist ein Satz auf Deutsch, und er ist nicht kurz.\n\n" * 3 + "He go home.\n"
SOURCES = {
    "a.txt": SAMPLE + "- She go to school every day.\n- It is so.However they was late.\n",
    "a.md": f"# She go to school every day\n\n> He have `two` dog.\n\n{SAMPLE}\n1. He go home.\n",
    "a.html": "<p>She go to <b>school</b> every day.</p><p>He <code>x</code> are happy.</p>",
    "a.py": "# She go to school every day.\n# He are happy.\nx = 1  # gec: ignore he go\n",
    "a.tex": "\\begin{document}\nShe go\\footnote{He are happy.} to school.\n\\end{document}",
    "b.txt": GERMAN,
    "c.txt": "She go to school “every day” and\nThey are happy there. He say “no.” to her.\n" * 3,
}  # fmt: skip


@cache
def corrector() -> Corrector:
    return gec.load("en", device="cpu")


def checked(name: str, words: frozenset[str] = frozenset()) -> list[Edit]:
    """What ``gec correct --check`` finds."""
    source = SOURCES[name]
    options = gec.Options(dictionary=words)
    pairs = [
        (passage, found.with_edits({e for e in found.edits if is_finding(found.original, e)}))
        for passage, found in correct_prose(corrector(), source, name, options)
    ]
    return [*in_source(source, pairs).edits]


def read(name: str, batch: int, words: frozenset[str] = frozenset()) -> list[Edit]:
    """What the language server finds."""
    outline = Outline.parsed(SOURCES[name], prose_kind(name), name)
    results = Results()
    reading = Reading(outline, Demand(Strictness(), words))
    while missing := reading.missing(results):
        reading.correct(corrector(), results, missing[:batch], batch)
    return [one.edit for one in reading.findings(results, lambda type: True)]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("batch", [1, 16])
def test_findings_are_those_of_a_check(name: str, batch: int) -> None:
    assert read(name, batch) == checked(name)


def test_there_are_findings_to_compare() -> None:
    assert sum(len(checked(name)) for name in SOURCES) > 20
    assert checked("b.txt") == []  # most of it is foreign


def test_words_of_a_dictionary_stay() -> None:
    words = frozenset({"go", "school every"})
    assert read("a.md", 4, words) == checked("a.md", words) != checked("a.md")
