"""Words as base form plus inflection marker: ``goes`` = ``go +s``, ``went`` = ``go +ed``.

A small model learns slowly that *go*, *goes* and *went* belong together if they share no
subword. If verbs are written as base plus marker, an agreement error is one token to change, the
same token for every verb. The table is one-to-one, and every split is checked to restore the
exact surface form; an ambiguous or unknown word stays a surface form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gec.untrusted import read_text

MARKERS = ("+s", "+ed", "+en", "+ing", "+er", "+est")
"""Plural or third person, past, past participle (if it differs), -ing, comparative, superlative."""

_VOWELS = frozenset("aeiou")


def regular(base: str, marker: str) -> str:
    """Return the regular form of ``base``, e.g. ``regular("try", "+ed") == "tried"``."""
    consonant_y = len(base) > 1 and base.endswith("y") and base[-2] not in _VOWELS
    if marker == "+s":
        if consonant_y:
            return base[:-1] + "ies"
        return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")
    if marker == "+ing":
        if base.endswith("ie"):
            return base[:-2] + "ying"
        drop_e = base.endswith("e") and not base.endswith(("ee", "oe", "ye"))
        return (base[:-1] if drop_e else base) + "ing"
    suffix = {"+ed": "ed", "+en": "ed", "+er": "er", "+est": "est"}[marker]
    if base.endswith("e"):
        return base + suffix[1:]
    return (base[:-1] + "i" if consonant_y else base) + suffix


class Inflections:
    """A one-to-one table between surface forms and (base, marker) pairs, all lower case.

    >>> table = Inflections([("go", "+s", "goes"), ("go", "+ed", "went")])
    >>> table.split("went"), table.join("go", "+s"), table.split("banana")
    (('go', '+ed'), 'goes', ('banana', ''))
    """

    def __init__(self, entries: Iterable[tuple[str, str, str]] = ()) -> None:
        self._surface: dict[tuple[str, str], str] = {}
        self._split: dict[str, tuple[str, str]] = {}
        for base, marker, surface in entries:
            if marker not in MARKERS:
                raise ValueError(f"unknown inflection marker {marker!r}, expected one of {MARKERS}")
            pair = (base, marker)
            if (
                self._surface.get(pair, surface) != surface
                or self._split.get(surface, pair) != pair
            ):
                raise ValueError(f"not one-to-one: {base} {marker} = {surface}")
            self._surface[pair] = surface
            self._split[surface] = pair

    def split(self, word: str) -> tuple[str, str]:
        """Return (base, marker) of a lower-case word, or (word, "") if the table lacks the word."""
        return self._split.get(word, (word, ""))

    def join(self, base: str, marker: str) -> str:
        """Return the surface form; a pair outside the table gets its regular form."""
        if not marker:
            return base
        return self._surface.get((base, marker)) or regular(base, marker)

    def forms(self, base: str) -> Mapping[str, str]:
        """Return the table's forms of ``base`` by marker."""
        return {m: self._surface[base, m] for m in MARKERS if (base, m) in self._surface}

    def entries(self) -> list[tuple[str, str, str]]:
        """Return all (base, marker, surface) of the table, in the order they were given."""
        return [(base, marker, surface) for (base, marker), surface in self._surface.items()]

    def save(self, path: Path) -> None:
        """Write the table as sorted lines of base TAB marker TAB surface."""
        lines = ("\t".join(entry) + "\n" for entry in sorted(self.entries()))
        path.write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Inflections:
        """Read a table of base TAB marker TAB surface lines.

        Raises:
            ModelError: the file cannot be read.
            ValueError: a line is wrong.
        """
        entries = []
        for number, line in enumerate(read_text(path).splitlines(), 1):
            fields = line.split("\t")
            if len(fields) != 3:
                raise ValueError(f"{path}:{number}: expected 3 tab-separated fields: {line!r}")
            entries.append((fields[0], fields[1], fields[2]))
        return cls(entries)
