"""Documents: prose is corrected, and nothing else is touched."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from batch.batch_fakes import Corrected, Engine, unchanging
from counting import growth
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.batch.blocks import Outcome, Result, Size
from gec.batch.documents import Documents
from gec.documents.markup import PARSERS, passages
from gec.documents.passage import Passage
from gec.edits.edits import Edit
from gec.text.protection import Span

MARKDOWN = """---
title: go
---
# We GO

I **GO** to
> no

> I GO
> you GO

```
go
```

    go

- we GO [GO](http://x.org/go) `go` ![GO](go.png)
  they GO

| a GO | b |
|---|---|
| GO `go` | GO |

[go]: http://go

<div>
go
</div>

<!-- gec: off -->

I go

<!-- gec: on -->

I GO [GO][go] [^go]
"""
RST = """We GO
=====

I *GO* to ``go`` and :ref:`go`
they GO::

   go

.. code:: python

   go

.. include:: go

* we GO
  you GO

.. note:: I GO

.. automodule:: go

term GO
   def GO
"""
HTML = """<!DOCTYPE go><html><head><title>We GO</title><style>go</style></head><body class="go">
<p>I <b>GO</b> to <code>go</code> &amp; GO.</p><pre>go</pre><!-- go --><p>You GO<br>we
<em>GO</em><img alt="go"><script>go</script></p><ul><li>GO he<li>GO she</ul></body>"""
LATEX = r"""\documentclass{go} % go
\usepackage{go}
\begin{document}
I \emph{GO} to $go$ \cite{go}, GO\footnote{I GO}. % go

We GO~GO
\begin{equation}go\end{equation}
\begin{verbatim}go\end{verbatim}
\begin{itemize}\item I GO \item you GO\end{itemize}
\section{We GO}\label{go}
\end{document}
"""
PYTHON = '''#!/usr/bin/env go
"""Doc GO.

    We GO
    on.
    """
go = "go"
# I GO
# you GO
def f():
    x = 1  # they GO
    go()
    # go = go;
'''
JAVASCRIPT = """/**
 * We GO
 * home.
 */
var go = 'go'; // I GO
/* you GO */
"""
C = "#include <go.h>\n/* I GO\n   you GO */\nint go(); // GO we\n"

DOCUMENTS = {
    "plain": ("x.txt", "I GO.\r\n\r\nYou GO `go` GO\n"),
    "markdown": ("x.md", MARKDOWN),
    "markdown with CRLF": ("x.md", MARKDOWN.replace("\n", "\r\n")),
    "rst": ("x.rst", RST),
    "html": ("x.html", HTML),
    "latex": ("x.tex", LATEX),
    "code": ("x.py", PYTHON),
    "code, JavaScript": ("x.js", JAVASCRIPT),
    "code, C": ("x.c", C),
}


def through(kind: str, name: str, data: bytes, correct: Any = None) -> Result:
    format = Documents(kind, name)
    (block,) = format.blocks(io.BytesIO(data), Size())
    return format.process(block, correct or Engine())


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_prose_and_nothing_else(kind: str) -> None:
    """``GO`` marks the words that are prose."""
    name, marked = DOCUMENTS[kind]
    result = through(kind.split()[0].strip(","), name, marked.replace("GO", "go").encode())
    assert result.data.decode() == marked.replace("GO", "goes")
    assert result.edits == marked.count("GO")
    assert (result.records, result.changed) == (1, 1)


def texts(kind: str, source: str, name: str = "") -> list[str]:
    return [passage.text(source) for passage in passages(kind, source, name)]


def test_passages_read_as_prose() -> None:
    """What the model sees is the sentence without its markup."""
    assert texts("markdown", "> He **goes**\n> *home*.\n") == ["He goes\nhome.\n"]
    assert texts("html", "<p>He <b>goes</b> <a href='x'>home</a>.</p>") == ["He goes home."]
    assert texts("code", "// He goes\n  // home.\nx()\n", "x.js") == ["He goes\nhome.\n"]
    assert texts("code", "# One.\n\n# Two.\n", "x.py") == ["One.\n", "Two.\n"]
    assert texts("latex", r"He \emph{goes} home\footnote{Or so.}.") == ["Or so.", "He goes home."]


def test_an_edit_across_markup_is_left_out() -> None:
    def edits(texts: Sequence[str], protected: Any = None) -> list[Outcome]:
        found = []
        for text in texts:
            made = (
                Edit(0, 2, text[:2], "She", "R:PRON", 1.0, ""),
                Edit(8, 14, text[8:14], "away", "R:NOUN", 1.0, ""),
                Edit(12, 12, "", " now", "M:ADV", 1.0, ""),
            )
            corrected: Any = Corrected(text, text, made)
            found.append(Outcome(corrected))
        return found

    result = through("markdown", "x.md", b"He **goes home** x", edits)
    assert result.data == b"She **goes home now** x"


def test_failures_have_their_line() -> None:
    result = through("markdown", "x.md", b"# go\n\nI go\n\nFAIL go\n")
    assert result.data == b"# goes\n\nI goes\n\nFAIL go\n"
    assert [(f.line, f.error) for f in result.failures] == [(5, "the fake model failed")]


def test_documents_that_are_no_text() -> None:
    for data in (b"go \xff", b"go \0"):
        result = through("plain", "x", data)
        assert result.data == data
        assert len(result.failures) == 1
    result = through("code", "x.nonsense", b"# go\n")
    assert "language of x.nonsense is not known" in result.failures[0].error


WORDS = st.sampled_from(
    ["go", "I ", "*", "**", "_", "`", "```", "\n", "\n\n", "> ", "- ", "# ", "|", "[", "](", ")",
     "<p>", "</p>", "<code>", "</code>", "<!--", "-->", "&amp;", "&", "\\emph{", "}", "$", "%",
     "\\begin{itemize}", "\\end{itemize}", "\\item ", ":: ", ".. ", "=====",
     '"""', "\\", "//", "/*", "*/",
     "\r\n", "    ", "é", "😀", "---\n", "<", ">", "~~"]
)  # fmt: skip
NAMES = {"code": "x.py", "html": "x.html"}


@pytest.mark.parametrize("kind", PARSERS)
@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, max_size=30).map("".join) | st.text(max_size=60))
def test_any_document_survives(kind: str, text: str) -> None:
    """A model that changes nothing changes nothing; one that does stays inside the passages."""
    data = text.encode("utf-8", "ignore")
    source = data.decode().removeprefix("\ufeff")
    if not data or "\0" in source:
        return
    name = NAMES.get(kind, "x")
    assert through(kind, name, data, unchanging).data == data
    found = passages(kind, source, name)
    pieces = [piece for passage in found for piece in passage.pieces]
    assert all(0 <= start <= end <= len(source) for start, end in pieces)
    assert all(a[1] <= b[0] for p in found for a, b in pairwise(p.pieces))
    outside = source
    for start, end in sorted(pieces, reverse=True):
        outside = outside[:start] + outside[end:]
    new = through(kind, name, data).data.decode()
    assert len(re.findall(r"\bgo\b", new)) >= len(re.findall(r"\bgo\b", outside)) - 1
    assert new.replace("goes", "go") == data.decode().replace("goes", "go")


@pytest.mark.parametrize("kind", ["markdown", "rst", "html", "latex", "code"])
def test_pieces_are_in_order_and_apart(kind: str) -> None:
    source = "# We *go* to\n# the ``x`` *old* place\n# and *we* go.\n"
    if kind != "code":
        source = source.replace("# ", "")
    if kind == "html":
        source = f"<p>{source.replace('*old*', '<b>old</b>')}</p>"
    (passage,) = passages(kind, source, "x.py")
    flat = [place for piece in passage.pieces for place in piece]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(passage.text(source)) for start, end in passage.protected)
    assert passage.place(0, len(passage.text(source))) == (flat[0], flat[-1])


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("markdown", "# We go\n\n- they go\n\n| a | b go |\n|---|---|\n| we go | c |\n\nWe go\n",
         "# We go\n\n- they go\n\n| a | b go |\n|---|---|\n| we go | c |\n\nWe go.\n"),
        ("markdown", "- we go\n\n- they go\n", "- we go.\n\n- they go.\n"),  # of paragraphs
        ("rst", "We go\n=====\n\n- they go\n\nWe go\n", "We go\n=====\n\n- they go\n\nWe go.\n"),
        ("html", "<h1>We go</h1><p>We go</p><ul><li>go on</ul>",
         "<h1>We go</h1><p>We go.</p><ul><li>go on</ul>"),
        ("latex", "\\section{We go}\n\nWe go\n\\begin{itemize}\\item we go\\end{itemize}",
         "\\section{We go}\n\nWe go.\n\\begin{itemize}\\item we go\\end{itemize}"),
        ("code", "# we go\nx = 1\n", "# we go\nx = 1\n"),
    ],
)  # fmt: skip
def test_fragments_get_no_period(kind: str, source: str, expected: str) -> None:
    def correct(texts: Sequence[str], protected: Any = None) -> list[Outcome]:
        outcomes = []
        for text in texts:
            end = len(text.rstrip())
            edit = Edit(end, end, "", ".", "M:PUNCT", 0.9, "")
            outcomes.append(Outcome(Corrected(text, text, (edit,))))  # type: ignore[arg-type]
        return outcomes

    (block,) = Documents(kind, "x.py").blocks(io.BytesIO(source.encode()), Size())
    assert Documents(kind, "x.py").process(block, correct).data.decode() == expected


def test_what_is_nested_too_deeply_fails_as_a_record_does() -> None:
    source = "".join(" " * depth + "we go\n\n" for depth in range(1500)).encode()
    (block,) = Documents("rst").blocks(io.BytesIO(source), Size())
    result = Documents("rst").process(block, unchanging)
    assert result.data == source
    assert [failure.error for failure in result.failures] == ["is nested too deeply"]


# ------------------------------------------------------------------------------- passages' spans

ENDS = st.lists(st.integers(0, 60), max_size=16, unique=True).map(sorted)
APART = ENDS.map(lambda ends: list(zip(ends[::2], ends[1::2], strict=False)))


@given(APART, APART)
@settings(max_examples=300, deadline=None)
def test_spans_of_the_source_become_spans_of_the_passage(
    pieces: list[Span], spans: list[Span]
) -> None:
    """As character by character."""
    passage = Passage(tuple(pieces))
    places = [place for start, end in pieces for place in range(start, end)]
    expected = {
        at for at, place in enumerate(places) if any(start <= place < end for start, end in spans)
    }
    found = passage.inside(spans)
    assert {at for start, end in found for at in range(start, end)} == expected
    assert sum(end - start for start, end in found) == len(expected)
    assert list(found) == sorted(found)


@given(APART, st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9))), st.data())
@settings(max_examples=300, deadline=None)
def test_edits_that_touch_what_is_ignored_are_left_out(
    pieces: list[Span], ignored: list[Span], data: st.DataObject
) -> None:
    ignored = [(start, start + length) for start, length in ignored]
    free, tied = Passage(tuple(pieces)), Passage(tuple(pieces), ignored=tuple(ignored))
    length = sum(end - start for start, end in pieces)
    if not length:
        return
    places = st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted)
    edits = [Edit(*span, "", "x", "", 1.0, "") for span in data.draw(st.lists(places))]
    expected = [
        edit
        for edit in free.outside(edits)
        if not any(first <= edit.end and edit.start <= last for first, last in ignored)
    ]
    assert list(tied.outside(edits)) == expected


def test_the_work_on_many_spans_is_linear() -> None:
    def parse(size: int) -> None:
        """Paragraphs with code in them, every other line of which is ignored."""
        source = "We go `x`.  <!-- gec: ignore -->\nWe *go* `y` too.\n\n" * size
        for passage in passages("markdown", source):
            end = len(passage.text(source))
            edits = [Edit(at, at, "", "x", "", 1.0, "") for at in range(0, end, 3)]
            assert passage.seen(source)
            assert list(passage.outside(edits))

    def inside(size: int) -> None:
        passage = Passage(tuple((9 * n, 9 * n + 8) for n in range(size)))
        assert len(passage.inside([(9 * n + 2, 9 * n + 4) for n in range(size)])) == size

    assert growth(parse, 60) < 2.3
    assert growth(inside, 300) < 2.3


def test_comments_of_ours_are_hidden_in_one_pass() -> None:
    passage = Passage(((0, 30),), protected=((22, 26), (2, 8), (5, 9)))
    assert passage.seen("a gec: gec: gec: gec: gec: gec") == "a gec  gec: gec: gec: gec  gec"
