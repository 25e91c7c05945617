"""Plan a text: segment it, spell its words, and cut what shall be decoded into windows."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from gec.correct.options import Setting
from gec.edits.edits import WordEdit
from gec.errors import ConfigError
from gec.text.language import looks_english
from gec.text.protection import Overlaps
from gec.text.remembered import Remembered
from gec.text.segmentation import Sentence, segment, windows
from gec.text.spelling import Speller
from gec.text.subwords import WordCodec
from gec.text.words import Word, split_tokenized, tokenize_line

WINDOW_WORDS, WINDOW_OVERLAP = 64, 16
"""Longer sentences are corrected in windows of so many words that overlap by so many."""
WINDOW_TOKENS = 200
"""Windows with more subwords than this (names, long unbroken strings) are halved until they fit."""
FEWEST_WORDS = 4
"""No half has fewer words: what does not fit even so is left as it is."""

Interrupt = Callable[[], None]
"""Is called about once a sentence of each phase; what it raises ends the call."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One call's options with nothing left open.

    Attributes:
        setting: what an edit must overcome.
        dictionary, protected: words and spans never to change.
        speller: corrects misspelt words before the model sees them; None leaves them.
        tokenized: the text is one sentence whose tokens are set off by blanks.
    """

    setting: Setting
    dictionary: frozenset[str]
    protected: tuple[tuple[int, int], ...]
    speller: Speller | None
    tokenized: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One window of one sentence on its way through the decoder.

    Attributes:
        sentence: the number of the sentence in the plan.
        start, end: the window's first word in the sentence, and the word after its last.
        places: the words in between that the model sees: all but pictures.
        words: those words.
        respelt: what the model sees instead of a word, and the speller's confidence; by the index
            into ``words``.
        ids: the window's token ids.
        whole: the window ends where the sentence ends.
    """

    sentence: int
    start: int
    end: int
    places: tuple[int, ...]
    words: tuple[Word, ...]
    respelt: dict[int, tuple[str, float]]
    ids: tuple[int, ...]
    whole: bool

    def place(self, edit: WordEdit) -> WordEdit:
        """Return an edit of the words that the model sees as one of the sentence's words."""
        first, last = edit.source_start, edit.source_end
        start = self.places[first] if first < len(self.places) else self.end
        end = self.places[last - 1] + 1 if last > first else start
        return replace(edit, source_start=start, source_end=end)


@dataclass(frozen=True, slots=True)
class Plan:
    """A segmented text and what of it shall be decoded: its sentences ``first`` to ``last``.

    ``chosen`` are the sentences to correct; there may be no window of one that is too long.
    """

    text: str
    rule: Rule
    sentences: Sequence[Sentence]
    jobs: Sequence[Job]
    chosen: Collection[int]
    first: int
    last: int

    def part(self, first: int, last: int) -> Plan:
        """Return the plan for some of its sentences."""
        last = min(last, self.last)
        jobs = [job for job in self.jobs if first <= job.sentence < last]
        return replace(self, jobs=jobs, first=first, last=last)

    def span(self) -> tuple[int, int]:
        """Return where the part stands in the text; blanks belong to what is before them."""
        begin = self.sentences[self.first].start if self.first else 0
        more = self.last < len(self.sentences)
        return begin, self.sentences[self.last].start if more else len(self.text)

    def following(self, place: int) -> int | None:
        """Return where the sentence after one begins; None after the last."""
        return self.sentences[place + 1].start if place + 1 < len(self.sentences) else None

    def is_title(self, place: int) -> bool:
        """Whether a sentence stands behind the mark of a bullet or a heading, on its line."""
        if place == 0:
            return False
        mark, sentence = self.sentences[place - 1 : place + 1]
        return all(word.protected for word in mark.words) and not any(
            c in "\r\n" for c in self.text[mark.end : sentence.start]
        )


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes the plans of one corrector.

    Attributes:
        subwords: writes words as the model's tokens.
        max_tokens: the most tokens that the model takes.
        interrupt: ends the work if it raises.
    """

    subwords: WordCodec
    max_tokens: int
    interrupt: Interrupt

    def plan(self, text: str, rule: Rule) -> Plan:
        """Plan one text.

        Raises:
            ConfigError: a protected span lies outside the text.
        """
        sentences = self._sentences(text, rule)
        return self._plan(text, rule, sentences, _correctable(sentences))

    def plan_sentences(
        self, text: str, rule: Rule, sentences: Sequence[Sentence], chosen: Collection[int]
    ) -> Plan:
        """Plan the ``chosen`` ones of a text's sentences, those that are English.

        Which words are protected is decided by ``rule``, as in :meth:`plan`.
        """
        sentences = _protected(sentences, rule)
        english = {place for place in chosen if looks_english(sentences[place].words)}
        return self._plan(text, rule, sentences, _changeable(sentences, english))

    def _plan(
        self, text: str, rule: Rule, sentences: Sequence[Sentence], chosen: Collection[int]
    ) -> Plan:
        jobs: list[Job] = []
        for place in sorted(chosen):
            sentence = sentences[place].words
            respelt = self._respell(rule.speller, sentence)
            for start, end in windows(sentence, size=WINDOW_WORDS, overlap=WINDOW_OVERLAP):
                self.interrupt()
                seen, words = tuple(range(start, end)), sentence[start:end]
                if any(map(_pictures.__getitem__, map(_TEXT, words))):
                    seen = tuple(p for p in seen if not _pictures[sentence[p].text])
                    words = tuple(sentence[p] for p in seen)
                inside = respelt and {i: respelt[p] for i, p in enumerate(seen) if p in respelt}
                ids = tuple(self.subwords.encode(_seen(words, inside)))
                whole = end == len(sentence)
                jobs += self._fitting(Job(place, start, end, seen, words, inside, ids, whole))
        return Plan(text, rule, sentences, jobs, chosen, 0, len(sentences))

    def halves(self, job: Job) -> list[Job]:
        """Return two windows for one; they overlap as windows do."""
        self.interrupt()
        count = len(job.words)
        overlap = min(WINDOW_OVERLAP, count // 4)
        halves = []
        for first, last in windows(job.words, size=(count + overlap + 1) // 2, overlap=overlap):
            words = job.words[first:last]
            respelt = {p - first: r for p, r in job.respelt.items() if first <= p < last}
            halves.append(
                Job(
                    job.sentence,
                    job.places[first] if first else job.start,
                    job.end if last == count else job.places[last],
                    job.places[first:last],
                    words,
                    respelt,
                    tuple(self.subwords.encode(_seen(words, respelt))),
                    job.whole and last == count,
                )
            )
        return halves

    def _fitting(self, job: Job) -> list[Job]:
        """Return a window, or as many parts of it as have not too many subwords each."""
        if len(job.ids) <= min(WINDOW_TOKENS, self.max_tokens):
            return [job]
        if len(job.words) < 2 * FEWEST_WORDS:
            return []
        return [part for half in self.halves(job) for part in self._fitting(half)]

    def _respell(
        self, speller: Speller | None, sentence: Sequence[Word]
    ) -> dict[int, tuple[str, float]]:
        """Return what the dictionary would write, by place; protected words stay."""
        if speller is None:
            return {}
        words = [word.text for word in sentence]
        if not speller.suspects(words):  # as in most sentences
            return {}
        protected = {place for place, word in enumerate(sentence) if word.protected}
        return speller.correct(words, protected, interrupt=self.interrupt)

    def _sentences(self, text: str, rule: Rule) -> list[Sentence]:
        if any(not 0 <= start <= end <= len(text) for start, end in rule.protected):
            raise ConfigError(
                f"protected spans must lie within the text of {len(text)} code points"
            )
        if rule.tokenized:
            words = split_tokenized(text)
            sentences = [Sentence(words[0].start, words[-1].end, tuple(words))] if words else []
        else:
            sentences = segment(
                text,
                dictionary=rule.dictionary,
                spans=rule.protected,
                interrupt=self.interrupt,
            )
        return _protected(sentences, rule)


def _protected(sentences: Iterable[Sentence], rule: Rule) -> list[Sentence]:
    """Return sentences in which the words that must stay are protected."""
    named = Overlaps(rule.protected) if rule.protected else None
    return [_protect(sentence, rule.dictionary, named) for sentence in sentences]


def model_word(word: Word) -> str:
    """Return the word as the model sees it: blanks inside a protected span joined."""
    return word.text.replace(" ", "\u00a0") if word.protected else word.text


def model_words(words: Sequence[Word]) -> list[str]:
    """Return the words as the model sees them."""
    texts = [word.text for word in words]
    return [model_word(word) for word in words] if " " in "".join(texts) else texts


def _seen(words: Sequence[Word], respelt: Mapping[int, tuple[str, float]]) -> list[str]:
    """Return the words as the model sees them after the speller."""
    if not respelt:
        return model_words(words)
    seen: list[str] = []
    for place, word in enumerate(words):
        if place in respelt:
            seen += tokenize_line(respelt[place][0])  # a lot, did n't
        else:
            seen.append(model_word(word))
    return seen


def _correctable(sentences: Sequence[Sentence]) -> set[int]:
    """Return which sentences to decode: English ones with a word that may change.

    If most words stand in foreign sentences, the undecided short ones are foreign, too.
    """
    foreign = [
        place for place, sentence in enumerate(sentences) if not looks_english(sentence.words)
    ]
    words = [len(sentence.words) for sentence in sentences]
    if 2 * sum(words[place] for place in foreign) > sum(words):
        return set()
    return _changeable(sentences, {*range(len(sentences))}.difference(foreign))


def _changeable(sentences: Sequence[Sentence], places: Iterable[int]) -> set[int]:
    """Return those of the places whose sentences have a word that may change."""
    return {place for place in places if not all(word.protected for word in sentences[place].words)}


def _protect(sentence: Sentence, dictionary: Collection[str], named: Overlaps | None) -> Sentence:
    """Protect numbers, pictures, unassigned characters, and in tokenized text what is named."""
    texts = map(_TEXT, sentence.words)
    if not dictionary and named is None and not any(map(_no_words.__getitem__, texts)):
        return sentence  # as most are
    words = tuple(
        Word(word.text, word.start, word.end, protected=True)
        if _no_words[word.text]
        or word.text in dictionary
        or (named is not None and named(word.start, word.end))
        else word
        for word in sentence.words
    )
    return Sentence(sentence.start, sentence.end, words)


def _is_no_word(word: str) -> bool:
    if word.isascii() and word.isalpha():  # as most are
        return False
    return any(c.isdigit() for c in word) or _is_picture(word) or _is_unassigned(word)


def _is_picture(word: str) -> bool:
    """Whether a word is emoji or the like, which the model has not learnt: it does not see them."""
    return not any(
        unicodedata.category(c)[0] in "LNP" or unicodedata.category(c) in ("Sm", "Sc") for c in word
    )


def _is_unassigned(word: str) -> bool:
    """Whether a word holds a character that no vocabulary need be able to write back."""
    return not word.isascii() and any(unicodedata.category(c) == "Cn" for c in word)


# Asked of every word of every text, and most words come again.
_no_words, _pictures = Remembered(_is_no_word), Remembered(_is_picture)
_TEXT = attrgetter("text")
