"""Ordinary English sentences, as many as wanted and hardly two alike; one in four has a mistake.

For measuring: they are put together of parts at random, and the mistakes are those of learners:
agreement, articles, number, prepositions, word forms, spelling.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

MISTAKEN = 0.25
"""Share of the sentences with a mistake."""

# with the person of their verb: 0 for he and she, 1 for I and they
_WHO = (
    ("My sister", 0), ("My brother", 0), ("The teacher", 0), ("Our neighbour", 0), ("She", 0),
    ("A friend of mine", 0), ("The new manager", 0), ("His mother", 0), ("The old man", 0),
    ("Everyone in the office", 0), ("The students", 1), ("My parents", 1), ("They", 1), ("We", 1),
    ("Many people", 1), ("The children", 1), ("Some of my colleagues", 1), ("The tourists", 1),
    ("Our customers", 1), ("Most of the players", 1),
)  # fmt: skip
_DOES = (
    ("likes", "like"), ("buys", "buy"), ("needs", "need"), ("has", "have"), ("wants", "want"),
    ("writes about", "write about"), ("talks about", "talk about"), ("looks for", "look for"),
    ("remembers", "remember"), ("describes", "describe"), ("forgets", "forget"),
    ("sells", "sell"), ("pays for", "pay for"), ("thinks about", "think about"),
)  # fmt: skip
_HOW = ("", "", "", "often ", "never ", "always ", "sometimes ", "usually ", "really ")
_WHAT = (
    "a good book", "the cheap tickets", "an old bicycle", "a long letter", "the summer holidays",
    "a small garden", "the same problems", "an interesting story", "two blue chairs",
    "a cup of coffee", "the results of the exam", "a new computer", "three different answers",
    "the weather", "an important meeting", "the price of the house", "many beautiful pictures",
    "a difficult question", "the rules of the game", "several useful documents",
)  # fmt: skip
_WHERE = (
    "in the city", "at the station", "at school", "in the kitchen", "near the river",
    "on the first floor", "at work", "in a small village", "on the internet", "in the library",
    "at the end of the street", "in the north of the country", "behind the church", "at home",
)  # fmt: skip
_WHEN = (
    "every day", "on Mondays", "in the morning", "after dinner", "before the lesson starts",
    "when it rains", "once a week", "during the holidays", "at the weekend", "in winter",
    "as soon as the shops open", "from time to time", "on their way home", "late at night",
)  # fmt: skip
_AND = (", and ", ", but ", " because ", " although ", ", so ", " while ")


def sentences(count: int, seed: int = 0) -> Iterator[str]:
    """Yield ``count`` sentences, the same ones each time."""
    choose = random.Random(seed)
    for _ in range(count):
        clauses = [_clause(choose) for _ in range(choose.choice((1, 1, 1, 2, 2, 3)))]
        text = clauses[0]
        for clause in clauses[1:]:
            text += choose.choice(_AND) + clause[0].lower() + clause[1:]
        if choose.random() < MISTAKEN:
            text = _mistaken(text, choose)
        yield text + "."


def _clause(choose: random.Random) -> str:
    who, person = choose.choice(_WHO)
    does = choose.choice(_DOES)[person]
    rest = [choose.choice(_WHAT), choose.choice(_WHERE), choose.choice(_WHEN)]
    return f"{who} {choose.choice(_HOW)}{does} {' '.join(rest[: choose.choice((1, 2, 3, 3))])}"


def _mistaken(text: str, choose: random.Random) -> str:
    """Make the first mistake of a random order that the text has a place for."""
    for mistake in choose.sample(_MISTAKES, len(_MISTAKES)):
        if (wrong := mistake(text, choose)) != text:
            return wrong
    return text


def _swap(pairs: tuple[tuple[str, str], ...]) -> Callable[[str, random.Random], str]:
    def mistake(text: str, choose: random.Random) -> str:
        found = [pair for pair in pairs if f" {pair[0]} " in text]
        if not found:
            return text
        right, wrong = choose.choice(found)
        return text.replace(f" {right} ", f" {wrong} " if wrong else " ", 1)

    return mistake


def _misspelt(text: str, choose: random.Random) -> str:
    """Two letters inside a long word change places."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if len(word) > 5 and word.isalpha()]
    if not long:
        return text
    place = choose.choice(long)
    word = words[place]
    at = choose.randrange(1, len(word) - 2)
    words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


_MISTAKES = (
    _swap(tuple((does.split()[0], do.split()[0]) for does, do in _DOES)),
    _swap(tuple((do.split()[0], does.split()[0]) for does, do in _DOES)),
    _swap((("a", ""), ("the", ""), ("an", "a"), ("a", "an"))),
    _swap((("in", "on"), ("on", "in"), ("at", "in"), ("about", "of"), ("for", "at"))),
    _swap((("chairs", "chair"), ("pictures", "picture"), ("documents", "document"),
           ("answers", "answer"), ("problems", "problem"), ("people", "peoples"))),
    _misspelt,
)  # fmt: skip
