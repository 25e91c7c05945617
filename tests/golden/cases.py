"""The commands whose outputs are recorded, and the files they read.

``python tests/golden/cases.py`` records the outputs anew, after a change that was meant.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
RECORDED = HERE / "recorded"
DATA = TESTS / "data"
M2 = TESTS / "eval/data/m2scorer_expected"

TEXT = (DATA / "learner_sample.txt").read_text(encoding="utf-8")
LINES = """\
She go to school every day and have two book .
The informations that you gave me was very useful for my research .
Every thing is fine .
I am looking forward to see you in the summer .
He dont recieve teh letter , becuase it is to late .
In the other hand , this solution cost more and take longer to build .
"""
RIGHT = """\
She goes to school every day and has two books .
The information that you gave me was very useful for my research .
Everything is fine .
I am looking forward to seeing you in the summer .
He does not receive the letter , because it is too late .
On the other hand , this solution costs more and takes longer to build .
"""
MARKDOWN = """\
# The result of we work

This *are* a `code_span go` and a [link](https://example.org/they_goes) that have two word.

```python
x = "she go to school"
```

- He have a dog .
- It depends of the weather.

| name | text |
|---|---|
| one | There is many reason. |
"""
RST = """\
The title
=========

This are a paragraph with ``literal go`` and a :ref:`link that have go`.

.. code-block:: python

   # she go
   x = 1
"""
LATEX = r"""\documentclass{article}
\begin{document}
The result are shown in Table~\ref{tab:x}. It depend of $x + y$ and she go home. % a comments are
\begin{verbatim}
he go
\end{verbatim}
\end{document}
"""
HTML = """\
<html><head><title>He have a title</title><script>var go = "she go";</script></head>
<body><p>This <b>are</b> a text that have two word.</p><pre>he go</pre></body></html>
"""
PYTHON = '''\
"""This module have two function."""


def go(x: int) -> int:
    """Return the number of word that is in the text."""
    # He go to the shop every days.
    return x
'''
TERMS = """\
The frobnicators recieve every word. A frobnicator is a class in `uvicorn`, and `uvicorn` is fast.

We recieve what uvicorn has sent, and the frobnicator reads it. Uvicorn will then wait.

They recieve it again. Frobnicators and uvicorn are good.
"""
TABLE = 'id,text\n1,She go to school.\n2,"There is many reason, I thinks."\n3,\n'
JSONL = '{"id": 1, "text": "She go to school."}\n{"id": 2, "text": "Fine."}\n'
ESSAYS = """\
### essay_id = one
She go to school. She have two book.

It depends of the weather.

### essay_id = two
Everything is fine.
"""

INPUTS = {
    "text.txt": TEXT,
    "lines.txt": LINES,
    "right.txt": RIGHT,
    "doc.md": MARKDOWN,
    "doc.rst": RST,
    "doc.tex": LATEX,
    "doc.html": HTML,
    "code.py": PYTHON,
    "table.csv": TABLE,
    "rows.jsonl": JSONL,
    "essays.md": ESSAYS,
    "pairs.tsv": "".join(
        f"{a}\t{b}\n" for a, b in zip(LINES.splitlines(), RIGHT.splitlines(), strict=True)
    ),
    "words.txt": "informations\n",
    "terms.md": TERMS,
    "ours.txt": LINES.replace("She go", "She goes").replace("teh", "the"),
}

CASES: dict[str, list[list[str]]] = {
    "correct": [["correct", "text.txt"]],
    "correct-diff": [["correct", "--diff", "--summary", "text.txt"]],
    "correct-precise": [["correct", "--setting", "precise", "text.txt"]],
    "correct-thorough": [["correct", "--setting", "thorough", "--batch-size", "2", "text.txt"]],
    "correct-everything": [["correct", "--min-confidence", "0", "--summary", "text.txt"]],
    "correct-greedy": [["correct", "--strategy", "greedy", "text.txt"]],
    "correct-beam": [["correct", "--strategy", "beam", "--beam-size", "3", "lines.txt"]],
    "correct-trace": [["correct", "--trace", "--tokenized", "lines.txt"]],
    "correct-words": [["correct", "--dictionary", "words.txt", "--no-spelling", "lines.txt"]],
    **{
        f"correct-{name}": [["correct", "--format", name, "text.txt", "doc.md"]]
        for name in ("json", "jsonl", "m2", "sarif", "github", "junit")
    },
    "correct-tokenized-json": [["correct", "--tokenized", "--format", "json", "lines.txt"]],
    "correct-tokenized-m2": [["correct", "--tokenized", "--format", "m2", "lines.txt"]],
    "correct-essays": [["correct", "--essays", "essays.md"]],
    "correct-in-place": [["correct", "--in-place", "text.txt", "doc.md"]],
    "check": [["correct", "--check", "text.txt", "doc.md", "doc.rst", "doc.tex", "code.py"]],
    "check-sarif": [["correct", "--check", "--format", "sarif", "doc.md", "code.py"]],
    "check-github": [["correct", "--check", "--format", "github", "doc.html", "doc.md"]],
    "check-junit": [["correct", "--check", "--format", "junit", "doc.tex", "doc.md"]],
    "check-diff": [["correct", "--check", "--diff", "doc.md", "doc.rst", "doc.tex"]],
    "check-baseline": [
        ["correct", "--check", "--write-baseline", "--baseline", "known.json", "doc.md"],
        ["correct", "--check", "--baseline", "known.json", "doc.md", "doc.tex"],
    ],
    "check-learn": [
        ["correct", "--check", "--learn", "--diff", "--dictionary", "words.txt", "terms.md"],
        ["correct", "--check", "--learn", "--dictionary", "words.txt", "terms.md", "doc.md"],
    ],
    "batch-lines": [["batch", "--tokenized", "lines.txt", "out.txt"]],
    "batch-documents": [["batch", "doc.md", "doc.rst", "doc.tex", "doc.html", "code.py", "out"]],
    "batch-table": [
        ["batch", "table.csv", "--column", "text", "--edits-column", "edits", "out.csv"]
    ],
    "batch-jsonl": [["batch", "rows.jsonl", "out.jsonl"]],
    "score-m2": [
        ["errant", "parallel", "-orig", "lines.txt", "-cor", "right.txt", "-out", "gold.m2"],
        ["score", "m2", "ours.txt", "gold.m2"],
        ["score", "errant", "ours.txt", "gold.m2"],
        ["score", "m2", "ours.txt", "gold.m2", "--samples", "50", "--paired", "lines.txt"],
        ["score", "green", "ours.txt", "-s", "lines.txt", "-r", "right.txt"],
        ["score", "cleme", "ours.txt", "gold.m2"],
        ["score", "gotoscorer", "ours.txt", "gold.m2", "--unweighted"],
        ["score", "imeasure", "ours.txt", "gold.m2"],
        ["score", "rates", "ours.txt", "gold.m2"],
        ["leaderboard", "gold.m2", "ours.txt", "right.txt", "lines.txt", "--samples", "50"],
        ["report", "gold.m2", "ours.txt", "--format", "json", "-o", "report.json"],
    ],
    "score-texts": [
        ["score", "gleu", "ours.txt", "--source", "lines.txt", "--references", "right.txt"],
        ["score", "sari", "ours.txt", "--source", "lines.txt", "--references", "right.txt"],
        ["score", "bleu", "ours.txt", "right.txt"],
        ["score", "chrf", "ours.txt", "right.txt"],
        ["score", "rouge", "ours.txt", "right.txt"],
        ["score", "exact", "pairs.tsv"],
        ["score", "clean", "ours.txt", "right.txt"],
    ],
    "errant": [
        ["errant", "parallel", "-orig", "lines.txt", "-cor", "right.txt", "-out", "a.m2"],
        ["errant", "parallel", "-orig", "lines.txt", "-cor", "ours.txt", "-out", "b.m2"],
        ["errant", "m2", "a.m2", "-gold", "-out", "c.m2"],
        ["errant", "compare", "-hyp", "b.m2", "-ref", "a.m2", "-cat", "3"],
        ["errant", "agreement", "a.m2", "b.m2"],
    ],
    "essays": [
        ["essays", "lines", "essays.md", "--output", "essays"],
    ],
    "bench-quick": [["bench", "--quick"]],
    "model-list": [["model", "list"]],
    "refused": [
        ["correct", "missing.txt"],
        ["correct", "--tolerance", "-1", "text.txt"],
        ["correct", "--model", "nothing", "text.txt"],
        ["score", "m2", "right.txt", "missing.m2"],
        ["batch", "lines.txt"],
        ["generate", "--model", "en", "lines.txt"],
        ["convert", "missing"],
        ["train", "missing.toml"],
        ["calibrate", "missing.m2"],
    ],
}


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in INPUTS.items():
            (folder / file).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def _steady(text: str, folder: Path) -> str:
    """``text`` without what differs from run to run: the folder, times, sizes, the version."""
    from gec import __version__, models

    text = text.replace(os.environ["GEC_CACHE"], "CACHE")
    text = text.replace(str(folder), "FOLDER").replace(str(Path(models.__path__[0])), "MODELS")
    text = text.replace(__version__, "VERSION")
    text = re.sub(
        r"\b\d+(\.\d+)?(e-?\d+)? ?(ms|s|seconds|MB|MiB|sentences/s|words/s)\b", r"N \3", text
    )
    text = re.sub(r'("(?:seconds|milliseconds|time)": ?)[\d.e-]+', r"\1N", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "DATE", text)
    text = re.sub(r"(?m)^gec: +\d+%: .*\n?", "", text)  # only slow runs show their progress
    return re.sub(r"(?m)[ \t]+$", "", text)


def outputs(name: str) -> str:
    """What the commands of a case print and write, as one text."""
    from gec.cli import main

    shown: list[str] = []
    with _folder() as folder:
        for command in CASES[name]:
            out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    status: object = main(command)
                except SystemExit as exit:
                    status = exit.code
            out.flush()
            printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
            shown += [f"$ gec {' '.join(command)}", printed.rstrip("\n")]
            shown += [f"[standard error]\n{err.getvalue().rstrip()}"] if err.getvalue() else []
            shown.append(f"[status {status}]\n")
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(folder).as_posix()
            if (path.is_file() and not relative.endswith((".html", ".journal"))) or (
                path.name == "doc.html" and relative != "doc.html"
            ):
                text = path.read_text(encoding="utf-8")
                if INPUTS.get(relative) != text:
                    shown += [f"--- {relative}", text.rstrip("\n"), ""]
        return _steady("\n".join(shown), folder)


def record() -> None:
    """Write what every case gives now."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    for name in CASES:
        (RECORDED / f"{name}.txt").write_text(outputs(name), encoding="utf-8")
        print(name, file=sys.stderr)


if __name__ == "__main__":
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "100", "GEC_CACHE": "/nowhere"}
    record()
