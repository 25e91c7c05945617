"""Measure ``gec correct --check --learn``: findings before and after, and misspellings learned.

    python tests/batch/vocabulary.py
    python tests/batch/vocabulary.py --typos typos.tsv --write docs/ci.md

Two kinds of projects: the descriptions of the packages of findings.py, one project each, and the
docstrings and comments of installed packages, whose findings are counted with ``--docstrings``. In
copies of the latter, right words are replaced by misspellings, each one to four times, and those
that are learned are counted: listed ones (the speller's lists), typing slips (one letter dropped,
doubled, replaced, or swapped with the next), and those of a file with a misspelling, a tab and its
correction in each line; of the last two kinds only those that no list has. ``--write`` puts the
tables into a page, between its lines ``<!-- learn: begin -->`` and ``<!-- learn: end -->``.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from findings import CHOSEN, FRESH, Count, beginning, descriptions, put

from gec.check.learn import Term, Vocabulary
from gec.correct.corrector import Corrector
from gec.correct.options import Options
from gec.documents.markup import passages
from gec.documents.prose import prose_kind
from gec.loading import load, load_speller
from gec.text.segmentation import segment
from gec.text.spelling import Speller

THRESHOLDS = (0.3, 0.5, 0.65)
CHECKED_WORDS = 3000
"""Of a package's docstrings: so many words are checked; all are read for --learn."""
LOOKED_AT = ("pydantic",)
"""Packages whose words were looked at when the rules were written."""
PACKAGES = "click flask httpx jinja2 werkzeug".split()
"""Their words were not; of three of them the planted misspellings that were learned were."""
TIMES, HEADS = (1, 2, 3, 4), ("once", "twice", "3 times", "4 times")
PLANTED = 20
"""Misspellings of each kind that are planted in a project once, and as many twice, and so on."""

Sources = Mapping[str, str]
"""The texts of a project's files by their names."""
Place = tuple[str, int, int]
"""A file, and where something begins and ends in it."""
Pairs = Callable[[str, random.Random], str | None]
"""Returns a misspelling of a word, None if there is none."""


@dataclass(frozen=True)
class Project:
    """The files of one project: those read for --learn, and what of them is checked."""

    name: str
    sources: Sources
    checked: Sources


def described() -> Iterator[Project]:
    """The descriptions of the packages of findings.py."""
    names = [*CHOSEN, *FRESH]
    whole, begun = descriptions(names, float("inf")), descriptions(names)
    for (name, source), (_, start) in zip(whole, begun, strict=True):
        yield Project(name, {name: source}, {name: start})


def packages(names: Sequence[str]) -> Iterator[Project]:
    """The Python files of packages."""
    for name in names:
        found = find_spec(name)
        if found is None or not found.submodule_search_locations:
            sys.exit(f"{name} is not installed: pip install {name}")
        root = Path(found.submodule_search_locations[0])
        sources, checked, left = {}, {}, float(CHECKED_WORDS)
        for path in sorted(root.rglob("*.py")):
            file = str(path.relative_to(root.parent))
            text = path.read_text(encoding="utf-8", errors="replace")
            sources[file] = text
            if left > 0:
                checked[file] = beginning(text, file, left)
                prose = passages("code", checked[file], file)
                left -= sum(len(passage.text(text).split()) for passage in prose)
        yield Project(name, sources, checked)


def learn(speller: Speller, sources: Sources) -> list[Term]:
    vocabulary = Vocabulary(speller)
    for name, source in sources.items():
        vocabulary.read(source, name)
    return vocabulary.terms()


def words(terms: Sequence[Term]) -> frozenset[str]:
    return frozenset(form for term in terms if not term.doubt for form in term.forms)


# ------------------------------------------------------------------------------------- findings


def compare(title: str, projects: Sequence[Project], speller: Speller, corrector: Corrector) -> str:
    """Findings before and after each project learned its words."""
    before, after = Count(), Count()
    learned = doubts = 0
    for project in projects:
        terms = learn(speller, project.sources)
        own = words(terms)
        learned += len(own)
        doubts += sum(bool(term.doubt) for term in terms)
        for name, source in project.checked.items():
            known = len(before.found)
            before.add(corrector, source, name)
            if any(word in source for word in own):
                after.add(corrector, source, name, Options(dictionary=own))
            else:
                after.found += before.found[known:]
    thousands = before.words / 1000
    lines = [
        f"{title}: {before.words:,} words checked; {learned:,} words learned, {doubts:,} in doubt",
        "",
        "at least  findings  in 1,000 words  with --learn  in 1,000 words",
    ]
    for least in THRESHOLDS:
        old, new = len(before.sure(least)), len(after.sure(least))
        lines.append(
            f"{least:8.2f}  {old:8d}  {old / thousands:14.2f}  {new:12d}  {new / thousands:14.2f}"
        )
    gone = Counter(line for _, line in before.sure(0.65))
    gone -= Counter(line for _, line in after.sure(0.65))
    return "\n".join([*lines, "", "gone at 0.65:", *(sorted(gone) or ["none"])])


# ------------------------------------------------------------------------------------- planting


def places(sources: Sources) -> dict[str, list[Place]]:
    """Where words in small letters stand in prose, one place a sentence."""
    found = defaultdict(list)
    for name, source in sources.items():
        for passage in passages(prose_kind(name), source, name):
            for sentence in segment(passage.seen(source), spans=passage.protected):
                for word in {word.text: word for word in sentence.words}.values():
                    span = passage.place(word.start, word.end)
                    if word.text.isalpha() and source[slice(*span)] == word.text.lower():
                        found[word.text].append((name, *span))
    return found


def plant(
    project: Project, found: Mapping[str, list[Place]], pairs: Pairs, speller: Speller
) -> list[Counter[int]]:
    """How many misspellings were planted in a copy of a project, and learned, by how often."""
    dice = random.Random(project.name)
    candidates = sorted(word for word in found if len(word) > 3 and speller.knows(word))
    dice.shuffle(candidates)
    edits: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    wrongs: dict[str, int] = {}
    for times in TIMES:
        left = PLANTED
        for word in [word for word in candidates if len(found[word]) >= times]:
            wrong = pairs(word, dice)
            if left and wrong and wrong not in found and wrong not in wrongs:
                candidates.remove(word)
                wrongs[wrong] = times
                left -= 1
                for name, start, end in dice.sample(found[word], times):
                    edits[name].append((start, end, wrong))
    changed = {name: _changed(text, edits[name]) for name, text in project.sources.items()}
    learned = {form.lower() for form in words(learn(speller, changed))}
    mistakes = Counter(times for wrong, times in wrongs.items() if wrong in learned)
    return [Counter(wrongs.values()), mistakes]


def _changed(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def listed(speller: Speller) -> Pairs:
    by_right = defaultdict(list)
    for wrong, rights in speller._misspellings.items():
        for right in rights:
            by_right[right].append(wrong)
    return lambda word, dice: dice.choice(by_right[word]) if word in by_right else None


def slips(speller: Speller) -> Pairs:
    def slip(word: str, dice: random.Random) -> str | None:
        at = dice.randrange(len(word) - 1)
        a, b, rest = word[at], word[at + 1], word[at + 2 :]
        other = dice.choice("abcdefghijklmnopqrstuvwxyz")
        wrong = word[:at] + dice.choice([b, a + a + b, other + b, b + a]) + rest
        return None if speller.knows(wrong) or speller.meant(wrong) else wrong

    return slip


def typos(file: str, speller: Speller) -> Pairs:
    by_right = defaultdict(list)
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        wrong, right = line.split("\t")
        if not (speller.knows(wrong) or speller.meant(wrong)):
            by_right[right].append(wrong)
    return lambda word, dice: dice.choice(by_right[word]) if word in by_right else None


def mistakes(projects: Sequence[Project], kinds: Mapping[str, Pairs], speller: Speller) -> str:
    planted = {kind: [Counter[int](), Counter[int]()] for kind in kinds}
    for project in projects:
        found = places(project.sources)
        for kind, pairs in kinds.items():
            for sum_, one in zip(planted[kind], plant(project, found, pairs, speller), strict=True):
                sum_.update(one)
    lines = [
        f"{'planted misspellings that were learned':38}" + "".join(map("{:>10}".format, HEADS))
    ]
    for kind, (all_, learned) in planted.items():
        cells = "".join(f"{f'{learned[n]} of {all_[n]}':>10}" for n in TIMES)
        lines.append(f"{kind:38}{cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--typos", metavar="FILE", help="misspelling, tab, correction")
    parser.add_argument(
        "--docstrings", action="store_true", help="count findings in docstrings, too"
    )
    parser.add_argument("--write", metavar="PAGE", help="put the tables into a page")
    parser.add_argument("--model", default="en", metavar="NAME")
    args = parser.parse_args()
    speller, corrector = load_speller(args.model), load(args.model, min_confidence=0.0)
    others = [*packages(PACKAGES)]
    kinds = {"in the speller's lists": listed(speller), "typing slips in no list": slips(speller)}
    if args.typos:
        kinds["of other people, in no list"] = typos(args.typos, speller)
    parts = [mistakes(others, kinds, speller)]
    print(parts[-1], flush=True)
    groups = {f"descriptions of {len(CHOSEN) + len(FRESH)} packages": [*described()]}
    if args.docstrings:
        groups[f"docstrings of {' '.join(LOOKED_AT)}"] = [*packages(LOOKED_AT)]
        groups[f"docstrings of {' '.join(PACKAGES)}"] = others
    for title, projects in groups.items():
        parts.append(compare(title, projects, speller, corrector))
        print(f"\n{parts[-1]}", flush=True)
    if args.write:
        facts = corrector.info()
        own = " --typos typos.tsv" if args.typos else ""
        own += " --docstrings" if args.docstrings else ""
        body = "\n\n".join([*parts[1:], parts[0]])
        text = (
            f"Measured {date.today()} with the bundle `{facts['bundle']}` ({facts['precision']}).\n"
            f"\n```\n$ python tests/batch/vocabulary.py{own} --write docs/ci.md\n{body}\n```"
        )
        put(Path(args.write), "learn", text)


if __name__ == "__main__":
    main()
