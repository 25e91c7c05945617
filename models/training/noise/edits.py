"""One edit of a word list, drawn by weight; the result begins with a natural capital."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from gec.models.training.noise.lexicon import Lexicon


class Edit(NamedTuple):
    """A replacement of ``words[start:end]`` by ``new``; ``weight`` is relative to other edits."""

    start: int
    end: int
    new: tuple[str, ...]
    weight: float = 1.0


def swap(i: int, new: str, weight: float = 1.0) -> Edit:
    """Return the edit that replaces word i."""
    return Edit(i, i + 1, (new,), weight)


def drop(i: int, weight: float = 1.0) -> Edit:
    """Return the edit that leaves out word i."""
    return Edit(i, i + 1, (), weight)


def put(i: int, new: str, weight: float = 1.0) -> Edit:
    """Return the edit that puts a word before word i."""
    return Edit(i, i, (new,), weight)


def apply_one(
    words: Sequence[str],
    rng: random.Random,
    lexicon: Lexicon,
    edits: Iterable[Edit],
    *,
    exact_case: bool = False,
) -> list[str] | None:
    """Return the words after one of the edits, or None if none changes anything.

    Edits are drawn by weight; if all weights together stay below one, None is likelier the
    less they weigh, so that rare kinds of errors stay rare in sentences that allow no other.
    """
    options = [
        edit for edit in edits if edit.weight > 0 and list(edit.new) != words[edit.start : edit.end]
    ]
    if not options:
        return None
    totals = list(accumulate(option.weight for option in options))
    if totals[-1] < 1 and rng.random() >= totals[-1]:
        return None
    edit = rng.choices(options, cum_weights=totals)[0]
    result = [*words[: edit.start], *edit.new, *words[edit.end :]]
    if edit.start == 0 and not exact_case and words[0][:1].isupper():
        move_capital(result, words[0], len(edit.new), rng, lexicon)
    if not result or result == list(words):
        return None
    return result


def move_capital(
    result: list[str], first: str, inserted: int, rng: random.Random, lexicon: Lexicon
) -> None:
    """Give the new first word the capital of the old first word, as most writers would."""
    if not result or (not inserted and rng.random() > 0.8):
        return
    result[0] = capital(result[0])
    for i in range(1, min(inserted + 1, len(result))):
        if result[i] == first and first != "I" and not lexicon.is_name(first):
            if rng.random() < 0.8:
                result[i] = first.lower()
            return


def capital(word: str) -> str:
    """Return the word with its first letter in upper case."""
    return word[:1].upper() + word[1:]


def is_word(token: str) -> bool:
    """Whether a token has letters only."""
    return token.isalpha()


def lower(words: Sequence[str]) -> list[str]:
    """Return the words in lower case, the keys of the closed-class tables."""
    return [word.lower() for word in words]


def around(low: Sequence[str]) -> Iterator[tuple[int, str, str, str]]:
    """Yield (index, previous, word, next) with "" beyond both ends."""
    last = len(low) - 1
    for i, word in enumerate(low):
        yield i, low[i - 1] if i else "", word, low[i + 1] if i < last else ""
