"""The dictionary of :class:`gec.text.spelling.Speller`, from word lists and counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from gec.text.spelling import Speller

# What tokenizers leave of contractions; counts hold them as words, but nobody means them.
_STEMS = frozenset(
    "ain aren couldn didn doesn hadn hasn isn ll mustn needn shouldn ve wasn weren wouldn".split()
)
_CONTRACTED = {"dont": "don't", "cant": "can't", "wont": "won't"}  # hardly ever the rare words
_PLAIN = re.compile(r"[a-z]+")
_PHRASE = re.compile(r"[a-z']+(?: [a-z']+)?")


def build_speller(
    *,
    dictionary: Mapping[str, int],
    counts: Mapping[str, int],
    trusted: Iterable[str],
    misspellings: Iterable[Iterable[tuple[str, str]]],
) -> Speller:
    """Return the speller.

    Args:
        dictionary: words of a spelling dictionary with their counts in some large corpus.
        counts: words of the clean corpora with theirs; may hold misspellings.
        trusted: words that are right whatever the lists say (variants, inflection tables).
        misspellings: lists of (misspelling, correction).

    A word is known if it is trusted, or in the dictionary, or frequent in the corpora while less
    than two lists call it a misspelling.
    """
    listed: dict[str, Counter[str]] = defaultdict(Counter)
    lists: Counter[str] = Counter()
    for pairs in [*misspellings, _CONTRACTED.items()]:
        once = {(wrong.lower(), right.strip().lower()) for wrong, right in pairs}
        lists.update({wrong for wrong, _ in once})
        for wrong, right in once:
            if _PLAIN.fullmatch(wrong) and _PHRASE.fullmatch(right):
                listed[wrong][right] += 1
    wrongs = dict(listed)
    known = {word for word in trusted if _PLAIN.fullmatch(word)}
    known |= {word for word in dictionary if _PLAIN.fullmatch(word)}
    known |= {
        word
        for word, count in counts.items()
        if count >= (30 if word in wrongs else 8) and lists[word] < 2 and _PLAIN.fullmatch(word)
    }
    known -= _STEMS | _CONTRACTED.keys()
    own, theirs = max(1, sum(counts.values())), max(1, sum(dictionary.values()))

    def frequency(word: str) -> int:
        share = counts.get(word, 0) / own + dictionary.get(word, 0) / theirs
        return max(1, round(share / 2 * 1e9))

    words = {word: frequency(word) for word in sorted(known)}
    for right in {right for rights in wrongs.values() for right in rights if "'" in right}:
        stem = right.partition("'")[0]  # didn't is as frequent as its stem, they're rarer than they
        words[right] = max(1, frequency(stem) // (1 if stem in _STEMS else 20))
    unknown = {w: dict(rights) for w, rights in sorted(wrongs.items()) if w not in known}
    return Speller(words, unknown)


def read_speller(
    folder: Path, counts: Mapping[str, int], lines: Callable[[Path], Iterator[str]]
) -> Speller:
    """Build the speller from a folder of word lists and the dictionary that symspellpy carries.

    ``lines`` reads a file, ``counts`` are the clean corpora's.
    """
    resource = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    dictionary = {
        word: int(count)
        for word, count in map(str.split, resource.read_text(encoding="utf-8-sig").splitlines())
    }
    verbs = (line.partition(":")[0].split("_") for line in lines(folder / "verb-form-vocab.txt.xz"))
    trusted = {word.lower() for pair in verbs for word in pair}
    for line in lines(folder / "varcon.txt.xz"):
        if not line.startswith("#"):
            variants = line.partition("|")[0].split("/")
            trusted |= {variant.rpartition(":")[2].strip().lower() for variant in variants}
    tables = ("codespell", "typos_words", "client9_misspell", "wikipedia_common_misspellings")
    misspellings = [list(_pairs(lines(folder / f"{name}.tsv.xz"), 0, 1)) for name in tables]
    misspellings.append(list(_pairs(lines(folder / "toefl_spell_annotations.tsv.xz"), 2, 4)))
    lowered: Counter[str] = Counter()
    for word, count in counts.items():
        lowered[word.lower()] += count
    return build_speller(
        dictionary=dictionary, counts=lowered, trusted=trusted, misspellings=misspellings
    )


def _pairs(lines: Iterable[str], wrong: int, right: int) -> Iterator[tuple[str, str]]:
    for line in lines:
        columns = line.split("\t")
        if len(columns) > max(wrong, right):
            for correction in columns[right].split(","):
                yield columns[wrong], correction
