"""What checkers correct and what they break: M2 and GLEU on gold files, changes of clean text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gec.errors import ConfigError, InputError
from gec.eval.benchmark.checker_peers.worker import Worker
from gec.eval.benchmark.plain_text import Plain, plain
from gec.eval.metrics import m2
from gec.eval.metrics.clean import needless
from gec.eval.metrics.gleu import gleu
from gec.eval.metrics.score import check_parallel, read_lines
from gec.eval.metrics.system_edits import Change, corrected

TOGETHER = 32
"""Texts in one request."""


@dataclass(frozen=True, slots=True)
class TextSet:
    """The sentences of a file, tokenized and plain.

    Attributes:
        name: the file's name without its ending.
        gold: with what to compare; None for text without errors.
        references: [reference][sentence], for GLEU.
    """

    name: str
    sentences: Sequence[Plain]
    gold: Sequence[m2.GoldSentence] | None = None
    references: Sequence[Sequence[str]] = ()

    @property
    def sources(self) -> list[str]:
        return [" ".join(sentence.tokens) for sentence in self.sentences]


@dataclass(frozen=True, slots=True)
class Corrections:
    """M2 (release 3.2's, beta 0.5) and GLEU of one checker on one gold file."""

    precision: float
    recall: float
    f: float
    gleu: float


@dataclass(frozen=True, slots=True)
class Changes:
    """What one checker changed in one file without errors."""

    sentences: int
    changed: int
    words: int
    changes: int

    @property
    def per_1000_sentences(self) -> float:
        return 1000 * self.changed / self.sentences

    @property
    def per_1000_words(self) -> float:
        return 1000 * self.changes / self.words

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.sentences + other.sentences,
            self.changed + other.changed,
            self.words + other.words,
            self.changes + other.changes,
        )


def read_sets(
    names: Sequence[str],
    limit: int | None = None,
    given: Mapping[str, Sequence[str]] | None = None,
) -> list[TextSet]:
    """Read M2 files (``*.m2``) and files of correct tokenized sentences, one a line.

    ``NAME=FILE`` gives a file another name than its own.

    Args:
        given: files of references by the set's name; without any they are made of the gold edits.

    Raises:
        InputError, DataError: a file that cannot be read, or has no sentence.
        ConfigError: two files with one name.
    """
    sets = [_read(*_named(name), limit) for name in names]
    seen = set[str]()
    for one in sets:
        if one.name in seen:
            raise ConfigError(f"two files are called {one.name!r}; name one as in NAME=FILE")
        seen.add(one.name)
    for name, files in (given or {}).items():
        if name not in seen:
            raise ConfigError(f"references for {name!r}, but no file is called so")
        place = [one.name for one in sets].index(name)
        sets[place] = _with_references(sets[place], files, limit)
    return sets


def _with_references(one: TextSet, files: Sequence[str], limit: int | None) -> TextSet:
    if one.gold is None:
        raise ConfigError(f"references for {one.name!r}, whose sentences have no errors")
    found = [(name, read_lines(name)[:limit]) for name in files]
    check_parallel([(one.name, one.sources), *found])
    return replace(one, references=[lines for _, lines in found])


def _named(name: str) -> tuple[str, str]:
    """Return what a file is called, and its path."""
    label, equals, path = name.partition("=")
    return (label, path) if equals and not Path(name).exists() else (Path(name).stem, name)


def _read(label: str, name: str, limit: int | None) -> TextSet:
    if not name.endswith(".m2"):
        lines = [line for line in read_lines(name) if line.strip()][:limit]
        if not lines:
            raise InputError(f"{name} holds no sentence")
        return TextSet(label, [plain(line) for line in lines])
    gold = m2.read_gold(name)[:limit]
    if not any(sentence.source.split() for sentence in gold):
        raise InputError(f"{name} holds no sentence")
    return TextSet(label, [plain(sentence.source) for sentence in gold], gold, references(gold))


def references(gold: Sequence[m2.GoldSentence]) -> list[list[str]]:
    """Return what every annotator's edits make of the sources; one without edits changes nothing.

    Of several corrections of an edit the first is taken, of edits that overlap the earlier one.
    """
    annotators = sorted({annotator for sentence in gold for annotator in sentence.edits})
    return [
        [corrected(sentence.source, _first(sentence.edits.get(annotator, ()))) for sentence in gold]
        for annotator in annotators
    ]


def _first(edits: Sequence[m2.GoldEdit]) -> list[Change]:
    return [Change(e.start, e.end, tuple(e.corrections[0].split())) for e in edits]


def correct(
    worker: Worker,
    settings: Sequence[str],
    sets: Sequence[TextSet],
    say: Callable[[str], None],
) -> dict[str, list[list[str]]]:
    """Return what a checker makes of all sets: by setting, [set][sentence], tokenized."""
    found: dict[str, list[list[str]]] = {setting: [] for setting in settings}
    for one in sets:
        outputs: dict[str, list[str]] = {setting: [] for setting in settings}
        for at in range(0, len(one.sentences), TOGETHER):
            chunk = one.sentences[at : at + TOGETHER]
            for setting in settings:
                fixes, _ = worker.check([sentence.text for sentence in chunk], setting)
                outputs[setting] += [
                    sentence.edited(found) for sentence, found in zip(chunk, fixes, strict=True)
                ]
        for setting in settings:
            found[setting].append(outputs[setting])
        say(f"{worker.name}: {one.name} corrected")
    return found


def scored(one: TextSet, outputs: Sequence[str]) -> Corrections | Changes:
    """Score one checker's output on one set."""
    if one.gold is None:
        score = needless(outputs, one.sources)
        return Changes(len(outputs), score.changed, score.words, score.changes)
    counted = m2.score_m2(outputs, one.gold)
    fluency = gleu(one.sources, outputs, one.references)
    return Corrections(counted.precision, counted.recall, counted.f, fluency.estimates[0].mean)


def write_hypotheses(
    folder: str, sets: Sequence[TextSet], outputs: Mapping[str, Sequence[Sequence[str]]]
) -> None:
    """Write ``FOLDER/SET/CHECKER.txt``, one tokenized sentence a line, for ``gec leaderboard``.

    Raises:
        InputError: a file cannot be written.
    """
    for checker, lines in outputs.items():
        for one, output in zip(sets, lines, strict=True):
            path = Path(folder, one.name, f"{checker.replace(' ', '-')}.txt")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{line}\n" for line in output), encoding="utf-8")
            except OSError as error:
                raise InputError(f"{path}: cannot be written ({error.strerror})") from error
