"""``gec bench lsp``: milliseconds from a keystroke to diagnostics, and the server's memory.

An editor without a screen opens a document, waits until all of it is checked, and then changes one
sentence after the other: a word is added to a sentence that was there, so that it is a new one.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gec.errors import InputError
from gec.eval.benchmark.editor import Editor
from gec.lsp.positions import Text
from gec.text.segmentation import cut

URI = "file:///gec-bench-lsp/document"
PARAGRAPH = 5  # sentences
MIB = 2**20
LANGUAGES = ("plaintext", "markdown", "html", "latex", "restructuredtext", "python")


@dataclass(frozen=True, slots=True)
class Latency:
    """One document's times, in milliseconds unless the name says seconds; memory in MiB.

    Attributes:
        language: how the editor called it.
        findings: diagnostics of the whole document.
        first: seconds until the whole document was checked, the model's start not counted.
        median, most: from a change to the diagnostics of its version; ``p95`` of 20 changes 19
            stay below.
        resident: memory of the server after all changes; ``private`` of it, which no other
            process shares.
    """

    language: str
    sentences: int
    characters: int
    findings: int
    changes: int
    first: float
    median: float
    p95: float
    most: float
    resident: float
    private: float

    def row(self) -> str:
        """Return it as a row of the table."""
        return (
            f"| {self.language} | {self.sentences:,} | {self.characters:,} | {self.findings:,} "
            f"| {self.first:.1f} | {self.median:.0f} | {self.p95:.0f} | {self.most:.0f} "
            f"| {self.resident:.0f} | {self.private:.0f} |"
        )


HEAD = (
    "| document | sentences | characters | findings | all of it (s) | median (ms) | 95 % (ms) "
    "| most (ms) | resident (MiB) | private (MiB) |\n" + "|---|" + "---:|" * 9
)


def measure(
    language: str, sentences: Sequence[str], changes: int, options: Sequence[str], seed: int
) -> Latency:
    """Measure one kind of document."""
    lines = [" ".join(sentences[at : at + PARAGRAPH]) for at in range(0, len(sentences), PARAGRAPH)]
    text = Text.of(_document(language, lines))
    command = [sys.executable, "-m", "gec", "lsp", *options]
    with Editor(command) as editor:
        editor.begin()
        warm = f"{URI}-warm"
        editor.open(warm, "This are a sentence.", "plaintext")
        editor.diagnostics(warm, 1)
        began = time.perf_counter()
        editor.open(URI, text.value, language)
        first = _settle(editor, 1) - began
        seconds = []
        places = random.Random(seed)
        for version in range(2, changes + 2):
            text, change = _changed(text, places)
            began = time.perf_counter()
            editor.change(URI, version, change)
            editor.diagnostics(URI, version)
            seconds.append(1000 * (time.perf_counter() - began))
        found = len(editor.diagnostics(URI, changes + 1))
        resident, private = _memory(editor.process.pid)
        editor.end()
    low, high = np.quantile(seconds, [0.5, 0.95])
    return Latency(
        language, len(sentences), len(text.value), found, changes, first,
        float(low), float(high), max(seconds), resident, private,
    )  # fmt: skip


def _document(language: str, lines: Sequence[str]) -> str:
    match language:
        case "python":
            return "".join(f"# {line}\nx{n} = {n}\n\n" for n, line in enumerate(lines))
        case "html":
            body = "\n".join(f"<p>{line}</p>" for line in lines)
            return f"<html><body>\n{body}\n</body></html>\n"
        case "latex":
            body = "\n\n".join(line.replace("%", "\\%").replace("&", "\\&") for line in lines)
            return f"\\begin{{document}}\n{body}\n\\end{{document}}\n"
        case _:
            return "\n\n".join(lines) + "\n"


def _changed(text: Text, places: random.Random) -> tuple[Text, dict[str, Any]]:
    """Return the text with a word more somewhere, and the change for the protocol."""
    while True:
        at = places.randrange(len(text.value))
        before, behind = text.value[at - 1 : at], text.value[at + 1 : at + 2]
        if text.value[at] == " " and before.isalpha() and behind.isalpha():
            break
    line, character = text.position(at)
    place = {"line": line, "character": character}
    word = f" {places.choice(['really', 'also', 'then', 'often', 'very'])}"
    change = {"range": {"start": place, "end": place}, "text": word}
    return text.replaced(at, at, word), change


def _settle(editor: Editor, version: int) -> float:
    """Wait until nothing new is sent for a while; return when the last was."""
    editor.diagnostics(URI, version)
    while True:
        known, last = len(editor.told), time.perf_counter()
        try:
            editor.wait(lambda: len(editor.told) > known, 3.0)  # noqa: B023 - called at once
        except TimeoutError:
            return last


def _memory(process: int) -> tuple[float, float]:
    """Return a process's resident memory, and the part that is its own, in MiB."""
    status = Path(f"/proc/{process}/smaps_rollup")
    if not status.exists():
        return float("nan"), float("nan")
    sizes: dict[str, int] = {}
    for line in status.read_text().splitlines()[1:]:
        name, _, rest = line.partition(":")
        sizes[name] = int(rest.split()[0]) * 1024
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return sizes["Rss"] / MIB, private / MIB


def read_sentences(files: Sequence[str], count: int) -> list[str]:
    """Return so many sentences of files of plain text; if they have fewer, over again.

    Those that come again get a number, so that each is another sentence.

    Raises:
        InputError: a file cannot be read, or there is no sentence.
    """
    from gec.files import read_document

    found: list[str] = []
    for name in files:
        text = read_document(name).text
        found += [" ".join(text[start:end].split()) for start, end in cut(text).spans]
    if not found:
        raise InputError(f"{', '.join(files)}: no sentences to write a document of")
    return [
        found[n % len(found)] + (f" ({n // len(found)})" if n >= len(found) else "")
        for n in range(count)
    ]


def main(args: Any) -> int:
    """Run ``gec bench lsp``."""
    sentences = read_sentences(args.files, args.sentences)
    options = ["--model", args.model]
    if args.threads:
        options += ["--threads", str(args.threads)]
    found = [
        measure(language, sentences, args.changes, options, args.seed)
        for language in args.languages
    ]
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        print(HEAD)
        for one in found:
            print(one.row())
    return 0
