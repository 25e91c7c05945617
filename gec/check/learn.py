"""A project's own words: terms that recur in its files and are no misspellings.

A word counts once a sentence, and a sentence that is repeated, in a file or in another one, counts
once. Forms of a word (frobnicator, Frobnicators) count together.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gec.check.project import Project
from gec.check.wordfiles import (
    PROJECT_WORDS,
    add_to_project,
    add_words,
    lines_for,
    own_dictionary,
    with_dictionary,
)
from gec.documents.markup import passages
from gec.documents.passage import Passage
from gec.documents.prose import prose_kind
from gec.errors import ConfigError
from gec.files import Document, read_document
from gec.output.diff import patch_lines
from gec.output.wording import label
from gec.text.inflection import MARKERS, regular
from gec.text.language import looks_english
from gec.text.protection import mask, merged
from gec.text.segmentation import Sentence, segment
from gec.text.spelling import Speller, neighbours

FEWEST = 3
"""In so many sentences a word must stand to be a term."""
SURE, MANY = 0.5, 10
"""A word is no term if the speller is so sure that it is wrong, unless many sentences have it."""
IN_CODE = 2
"""A word that stands so often outside of prose is a name, whatever other words it resembles."""
_SHORTEST = 3  # letters: the speller leaves shorter words alone
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Term:
    """A word that recurs and is in no dictionary.

    Attributes:
        forms: how the project writes it, sorted.
        sentences: in how many it stands.
        code: how often it stands outside of prose: in code, addresses, markup.
        doubt: why it may be a misspelling; empty if it is a term.
    """

    forms: tuple[str, ...]
    sentences: int
    code: int
    doubt: str = ""


class Vocabulary:
    """The words of a project's files.

    Args:
        speller: knows the words of the language.
        own: the words and phrases that the project knows already.
    """

    def __init__(self, speller: Speller, own: Collection[str] = ()) -> None:
        self._speller = speller
        self._own = frozenset(own)
        self._read: set[str] = set()
        self._forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._places: defaultdict[str, set[int]] = defaultdict(set)
        self._names: set[str] = set()
        self._code: Counter[str] = Counter()
        self._recurring: defaultdict[tuple[str, int], list[str]] = defaultdict(list)

    def read(self, source: str, name: str, ignored: Collection[str] = ()) -> None:
        """Count the words of a file, except those that are ``ignored`` in it.

        Raises:
            DataError: it is not of the kind that its name says.
        """
        self._recurring.clear()
        phrases = {own for own in self._own if not _LETTERS.fullmatch(own)}.union(ignored)
        found = passages(prose_kind(name), source, name)
        self._code.update(_outside(source, found))
        for passage in found:
            text = passage.seen(source)
            if text in self._read:
                continue
            self._read.add(text)
            for sentence in segment(text, dictionary=phrases, spans=passage.protected):
                written = text[sentence.start : sentence.end]
                if written == text or written not in self._read:
                    self._read.add(written)
                    self._count(sentence)

    def _count(self, sentence: Sentence) -> None:
        """Count each form in a sentence once, if the sentence is English."""
        if not looks_english(sentence.words):
            return
        words = [*_words(sentence)]
        for form in {form for form, _ in words}:
            self._forms[form.lower()][form] += 1
            if self._is_unknown(form):
                self._places[form.lower()].add(len(self._read))
        self._names |= {form.lower() for form, first in words if not first and form[0].isupper()}

    def _is_unknown(self, word: str) -> bool:
        return len(word) >= _SHORTEST and not self._speller.knows(word)

    def terms(self) -> list[Term]:
        """Return the words that recur and are unknown, in alphabetical order."""
        found = []
        for family in _families(self._places):
            forms = {form for word in family for form in self._forms[word]}
            sentences = len({place for word in family for place in self._places[word]})
            new = tuple(sorted(forms - self._own, key=alphabetical))
            if sentences >= FEWEST and new:
                code = sum(self._code[word] for word in family)
                doubt = "" if forms & self._own else self._doubt(family, sentences, code)
                found.append(Term(new, sentences, code, doubt))
        return sorted(found, key=lambda term: alphabetical(term.forms[0]))

    def _doubt(self, family: Sequence[str], sentences: int, code: int) -> str:
        """Return why the forms of a word may be a misspelling; empty if they hardly are."""
        for word in family:
            if not any(form[1:].islower() for form in self._forms[word]):
                continue  # an abbreviation, or capitals inside: the speller leaves it alone
            name = self._is_name(word)
            if meant := self._speller.meant(word, lists=2 if name else 1):
                return f"a common misspelling of “{meant}”"
            if code >= IN_CODE:
                continue
            if other := self._more_frequent(word, sentences, family, name):
                return f"close to “{other}”, which is more frequent"
            if sentences < MANY and (meant := self._meant(word, name)):
                return f"probably “{meant}”"
        return ""

    def _is_name(self, word: str) -> bool:
        """Whether a word has a capital letter in the middle of sentences, and everywhere."""
        return word in self._names and not any(form.islower() for form in self._forms[word])

    def _more_frequent(
        self, word: str, sentences: int, family: Collection[str], name: bool
    ) -> str | None:
        """Return a word that is written like this one, and more often; of a draw the known one."""
        near = neighbours(word, self._beginning, self._forms, most=1 if name else 2)
        found = [
            (slips, other)
            for other, slips in near
            if other not in family
            and not (name and other[0] != word[0])
            and self._written(other, name) >= sentences + (not self._speller.knows(other))
        ]
        return min(found)[1] if found else None

    def _written(self, word: str, name: bool) -> int:
        """Return in how many sentences a word stands; if it is a name, with its capital letter."""
        forms = self._forms[word]
        return forms[word.capitalize()] if name else forms.total()

    def _beginning(self, first: str, length: int) -> list[str]:
        """Return the words that recur, of a first letter and a length."""
        if not self._recurring:
            for word, forms in self._forms.items():
                if forms.total() >= FEWEST:
                    self._recurring[word[0], len(word)].append(word)
        return self._recurring.get((first, length), [])

    def _meant(self, word: str, name: bool) -> str | None:
        """Return what the speller takes an unknown word for; None if it may be right."""
        if not word.isascii():
            return None  # it leaves such words alone
        found = self._speller.suggest(word.capitalize() if name else word)
        sure = sum(suggestion.confidence for suggestion in found) >= SURE
        return found[0].word if found and sure else None


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was learned from some files, and where it belongs.

    Attributes:
        dictionary: the file that gets the words.
        settings: the file that has to name the dictionary, if none does.
        terms: all words that recur; those without a doubt belong to the dictionary.
    """

    dictionary: Path
    settings: Path | None
    terms: Sequence[Term]

    @property
    def words(self) -> list[str]:
        """What the dictionary lacks, in alphabetical order."""
        return sorted((f for t in self.terms if not t.doubt for f in t.forms), key=alphabetical)

    def write(self) -> None:
        """Add the words to the dictionary, and name it in the settings.

        Raises:
            InputError: a file cannot be read or written.
            ConfigError: somebody has to name the dictionary by hand.
        """
        if self.settings is not None and (self.words or self.dictionary.exists()):
            add_to_project(self.dictionary, self.words, self.settings)
        elif self.words:
            add_words(self.dictionary, self.words)

    def diff(self, root: Path) -> str:
        """Return what :meth:`write` would change, as a diff.

        ``git apply`` accepts it at the top of the repository that the folder ``root`` is in, or in
        ``root`` itself if there is none.

        Raises:
            InputError: as there.
            ConfigError: as there, or a file is outside of that folder.
        """
        found, top = "", _top(root)
        exists = self.dictionary.exists()
        if self.words:
            old = read_document(str(self.dictionary)) if exists else Document("", "")
            more = replace(old, text=old.text + lines_for(old.text, self.words))
            found = _diff(_inner(self.dictionary, top), old, more, new=not exists)
        if self.settings is not None and (self.words or exists):
            settings = read_document(str(self.settings))
            named = replace(settings, text=with_dictionary(settings))
            found += _diff(_inner(self.settings, top), settings, named)
        return found

    def report(self) -> str:
        """Return a line for each term and for each word in doubt."""
        lines = []
        for term in self.terms:
            facts = _count(term.sentences, "sentence")
            if term.code:
                facts += f", {_count(term.code, 'time')} in code"
            sign, why = ("?", f": {term.doubt}") if term.doubt else ("+", "")
            lines.append(f"{sign} {' '.join(term.forms)} ({facts}){why}\n")
        return "".join(lines)

    def summary(self, done: str) -> str:
        """Return one line for all; ``done`` says what became of the words."""
        doubts = sum(bool(term.doubt) for term in self.terms)
        said = f"{self.dictionary}: {_count(len(self.words), 'word')} {done}"
        if doubts:
            said += f", {doubts:,} in doubt; add by hand what is no misspelling"
        return said


def _top(root: Path) -> Path:
    """Return the top of the repository that a folder is in, else the folder."""
    root = Path(os.path.realpath(root))
    return next((above for above in (root, *root.parents) if (above / ".git").exists()), root)


def _inner(file: Path, top: Path) -> str:
    """Return how a diff calls a file, links followed: git changes no file behind a link."""
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(top):
        raise ConfigError(f"{file}: is outside of {top}, where the diff belongs; leave out --diff")
    return real.relative_to(top).as_posix()


def _diff(name: str, old: Document, text: Document, *, new: bool = False) -> str:
    from difflib import unified_diff

    name = label(name) + "\t" * (" " in name)  # as git does, so that patch finds the name's end
    lines = unified_diff(
        patch_lines(old.bom + old.text),
        patch_lines(text.bom + text.text),
        "/dev/null" if new else f"a/{name}",
        f"b/{name}",
    )
    without_end = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + without_end for line in lines)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def dictionary_of(project: Project, named: str | None) -> tuple[Path, Path | None]:
    """Return the dictionary of a project, or the one ``named``, and what has to name it.

    Raises:
        ConfigError: there is no project, and no dictionary is named; or it is none to write to.
    """
    if "-" in (named, project.dictionary if named is None else None):
        raise ConfigError("--learn writes to a file: name another dictionary than -")
    if named is not None:
        return Path(named), None
    if not project.file:
        raise ConfigError(
            "--learn writes to a project's dictionary: write the table [tool.gec] into a "
            "pyproject.toml, or name a file with --dictionary"
        )
    if (found := own_dictionary(project)) is not None:
        return Path(os.path.relpath(found)), None
    return Path(project.path(PROJECT_WORDS)), Path(project.file)


def alphabetical(word: str) -> tuple[str, str]:
    """Return what words are sorted by: small and capital letters are alike."""
    return word.casefold(), word


def _words(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the words that may change, parts of compounds too, and whether each is the first."""
    first = True
    for word in sentence.words:
        if not word.protected:
            for found in _LETTERS.finditer(word.text):
                yield found[0], first
                first = False
        first = first and not any(map(str.isalnum, word.text))


def _outside(source: str, found: Sequence[Passage]) -> Iterator[str]:
    """Yield the words, in small letters, that stand between passages or are protected in them."""
    pieces = merged(source, (piece for passage in found for piece in passage.pieces))
    texts = [mask(source, pieces, " ")]
    for passage in found:
        text = passage.text(source)
        texts += (text[start:end] for start, end in passage.protected)
    for text in texts:
        yield from (word[0].lower() for word in _LETTERS.finditer(text))


def _families(words: Collection[str]) -> list[list[str]]:
    """Return lists of words that are regular forms of one word, which comes first."""
    heads: dict[str, str] = {}
    families: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: (len(word), word)):
        head = heads.get(word, word)
        families.setdefault(head, []).append(word)
        for marker in MARKERS:
            form = regular(word, marker)
            if form in words and form != word:
                heads.setdefault(form, head)
    return [*families.values()]
