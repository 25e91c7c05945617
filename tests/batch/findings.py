"""Count the findings of ``gec correct --check`` in 1,000 words at several least confidences.

    python tests/batch/findings.py docs/ README.md
    python tests/batch/findings.py --packages
    python tests/batch/findings.py --packages --write docs/ci.md

On good documentation this is about the rate of false alarms. Words are those of the prose.
``--packages`` takes the descriptions of Python packages that are installed: of those that were
looked at when the default was chosen, and of others that were not. ``--write`` puts the tables
into a page, between its lines ``<!-- findings: begin -->`` and ``<!-- findings: end -->``.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from textwrap import fill

from gec.check.findings import find_files, is_finding
from gec.check.project import CHECK_CONFIDENCE, Project
from gec.correct.corrector import Corrector
from gec.correct.options import Options
from gec.documents.markup import passages
from gec.documents.prose import correct_prose, in_source, prose_kind
from gec.loading import load
from gec.output.terminal import to_findings

THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
MOST_WORDS = 1000
"""Of a package's description: none shall outweigh the others."""

CHOSEN = """
    Jinja2 absl-py annotated-doc h11 httpx language_tool_python psutil pyLanguagetool rouge_score
    truststore typer waitress aiohttp docutils hf-xet httpx2 jsonschema-path lightning-utilities
    msgpack onnxruntime openapi-spec-validator pyarrow pytorch-lightning sortedcontainers spacy
""".split()
"""Their findings were read when the default was chosen."""
FRESH = """
    ConfigArgParse annotated-types charset-normalizer cloudpathlib colorama confection defusedxml
    frozenlist httpcore jsonschema_rs propcache pydantic pyrate-limiter python-dotenv regex rich
    ruff sacrebleu sentencepiece smart_open srsly tabulate tqdm transformers wasabi
""".split()
"""They were not."""


@dataclass
class Count:
    """What was found in some texts: words, and a confidence and a line for each finding."""

    words: int = 0
    texts: list[str] = field(default_factory=list)
    found: list[tuple[float, str]] = field(default_factory=list)

    def add(
        self, corrector: Corrector, source: str, name: str, options: Options | None = None
    ) -> None:
        prose = passages(prose_kind(name), source, name)
        self.words += sum(len(passage.text(source).split()) for passage in prose)
        self.texts.append(name)
        pairs = [
            (own, c.with_edits({e for e in c.edits if is_finding(c.original, e)}))
            for own, c in correct_prose(corrector, source, name, options)
        ]
        whole = in_source(source, pairs)
        lines = to_findings(name, whole).splitlines()
        self.found += [(e.confidence, line) for e, line in zip(whole.edits, lines, strict=True)]

    def sure(self, least: float) -> list[tuple[float, str]]:
        return [(confidence, line) for confidence, line in self.found if confidence >= least]


def most(count: int) -> float:
    """The expectation that gives so few events or fewer once in 40 times (Poisson, exact)."""
    low, high = float(count), count + 10 * math.sqrt(count + 1)
    while high - low > 1e-6:
        middle = (low + high) / 2
        terms = (i * math.log(middle) - middle - math.lgamma(i + 1) for i in range(count + 1))
        low, high = (middle, high) if sum(map(math.exp, terms)) > 0.025 else (low, middle)
    return high


def table(count: Count) -> str:
    """Findings at each threshold, in 1,000 words, and what the true rate may be (95 %)."""
    lines = [f"at least  findings  in {1000:,} words  at most (95 %)"]
    thousands = max(1, count.words) / 1000
    for least in THRESHOLDS:
        found = len(count.sure(least))
        rate, upper = found / thousands, most(found) / thousands
        lines.append(f"{least:8.2f}  {found:8d}  {rate:14.2f}  {upper:14.2f}")
    return "\n".join(lines)


def descriptions(names: Iterable[str], words: float = MOST_WORDS) -> Iterator[tuple[str, str]]:
    """Yield a name with a suffix and the first words of the description of each package."""
    for name in names:
        try:
            about = metadata(name)
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed: pip install {name}")
        kind = (about.get("Description-Content-Type") or "text/x-rst").split(";")[0]
        suffix = {"text/markdown": ".md", "text/x-rst": ".rst"}[kind]
        body = about.get_payload() or about["Description"]
        yield f"{name}-{about['Version']}{suffix}", beginning(str(body), name + suffix, words)


def beginning(source: str, name: str, words: float) -> str:
    """Return the beginning of a document, up to the passage with so many words before its end."""
    for passage in passages(prose_kind(name), source, name):
        words -= len(passage.text(source).split())
        if words <= 0:
            return source[: passage.pieces[-1][1]] + "\n"
    return source


def report(name: str, count: Count) -> str:
    sure = [f"{confidence:.2f} {line}" for confidence, line in count.sure(CHECK_CONFIDENCE)]
    listed = "\n".join(sure) or "none"
    return (
        f"{name}: {count.words:,} words in {len(count.texts)} texts\n"
        f"{fill(' '.join(count.texts), 110, break_on_hyphens=False)}\n\n{table(count)}\n\n"
        f"findings at {CHECK_CONFIDENCE:g}:\n{listed}\n"
    )


def packages(corrector: Corrector, page: str | None) -> None:
    """Report on both lists of packages, and write the reports into a page."""
    texts = {"chosen on": [*descriptions(CHOSEN)], "fresh": [*descriptions(FRESH)]}
    reports = []
    for name, sources in texts.items():
        count = Count()
        for own, source in sources:
            count.add(corrector, source, own)
        reports.append(report(name, count))
        print(reports[-1], flush=True)
    if page is not None:
        body = "\n".join(reports).strip()
        facts = corrector.info()
        text = (
            f"Measured {date.today()} with the bundle `{facts['bundle']}` ({facts['precision']}) "
            f"on the descriptions of {len(CHOSEN) + len(FRESH)} Python packages\n(the first "
            f"{MOST_WORDS:,} words of each), Markdown and reStructuredText from their installed "
            "metadata. The threshold was chosen\nlooking at the findings in all of the first "
            "list; the second was not looked at before it stood.\n\n"
            f"```\n$ python tests/batch/findings.py --packages --write docs/ci.md\n{body}\n```"
        )
        put(Path(page), "findings", text)


def put(page: Path, name: str, text: str) -> None:
    """Replace what stands in a page between two comments."""
    before = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    after, found = re.subn(
        rf"(?<={begin}\n).*?(?=\n{end})", lambda _: text, before, flags=re.DOTALL
    )
    if not found:
        sys.exit(f"{page} has no lines {begin} and {end}")
    page.write_text(after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files and folders")
    parser.add_argument("--packages", action="store_true", help="descriptions of packages")
    parser.add_argument("--write", metavar="PAGE", help="with --packages: put them into a page")
    parser.add_argument("--model", default="en", metavar="NAME")
    args = parser.parse_args()
    if not args.paths and not args.packages:
        parser.error("name files or folders, or --packages")
    corrector = load(args.model, min_confidence=0.0)
    if args.packages:
        packages(corrector, args.write)
    if args.paths:
        count = Count()
        for name in find_files(args.paths, Project(root=Path.cwd())):
            count.add(corrector, Path(name).read_text(encoding="utf-8"), name)
        print(report("files", count))


if __name__ == "__main__":
    main()
