"""Words as base form plus inflection marker: ``goes`` = ``go +s``, ``went`` = ``go +ed``.

A small model learns slowly that *go*, *goes* and *went* belong together if they share no
subword. If verbs are written as base plus marker, an agreement error is one token to change, the
same token for every verb. The table is one-to-one, and every split is checked to restore the
exact surface form; an ambiguous or unknown word stays a surface form.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from gec.errors import ModelError
from gec.text.tables import Numbers, Strings, read_tables, write_tables
from gec.untrusted import read_text

_FORMAT = 1
_PARTS = "snnsnn"
_MOST_BYTES = 64 << 20

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

    def pack(self, path: Path) -> None:
        """Write the table as one that needs no parsing; the same entries give the same bytes."""
        surfaces = Strings.of(self._split)
        bases = Strings.of({base for base, _ in self._surface})
        place_of = {base: place for place, base in enumerate(bases)}
        pairs = [self._split[surface] for surface in surfaces]
        irregular = sorted(
            (place_of[base] * len(MARKERS) + MARKERS.index(marker), place)
            for place, (surface, (base, marker)) in enumerate(zip(surfaces, pairs, strict=True))
            if surface != regular(base, marker)
        )
        parts: list[Strings | Numbers] = [
            surfaces,
            Numbers.of(place_of[base] for base, _ in pairs),
            Numbers.of(MARKERS.index(marker) for _, marker in pairs),
            bases,
            Numbers.of(pair for pair, _ in irregular),
            Numbers.of(surface for _, surface in irregular),
        ]
        write_tables(path, _FORMAT, parts)


class PackedInflections(Inflections):
    """The table of a file that :meth:`Inflections.pack` wrote, which is searched, not read.

    The file holds the surface forms, of each the base and the marker, the bases, and the pairs of
    base and marker whose form is irregular.

    Raises:
        ModelError: the file is broken.
    """

    def __init__(self, path: Path) -> None:
        parts = read_tables(path, _FORMAT, _PARTS, _MOST_BYTES)
        self._surfaces, self._bases = cast(Strings, parts[0]), cast(Strings, parts[3])
        numbers = [cast(Numbers, parts[i]).values for i in (1, 2, 4, 5)]
        self._base_of, self._marker_of, self._irregular, self._forms = numbers
        if not len(self._surfaces) == len(numbers[0]) == len(numbers[1]) or (
            len(numbers[2]) != len(numbers[3])
        ):
            raise ModelError(f"cannot read {path}: its parts differ in length")
        if (
            max(self._base_of, default=-1) >= len(self._bases)
            or max(self._marker_of, default=-1) >= len(MARKERS)
            or max(self._forms, default=-1) >= len(self._surfaces)
        ):
            raise ModelError(f"cannot read {path}: it names words that it does not have")
        self._joined: dict[tuple[str, str], str] = {}

    def split(self, word: str) -> tuple[str, str]:
        place = self._surfaces.find(word)
        return (word, "") if place is None else self._pair(place)

    def _pair(self, place: int) -> tuple[str, str]:
        return self._bases[self._base_of[place]], MARKERS[self._marker_of[place]]

    def join(self, base: str, marker: str) -> str:
        if not marker:
            return base
        pair = base, marker
        if (form := self._joined.get(pair)) is None:
            if len(self._joined) >= _REMEMBERED:
                self._joined.clear()
            form = self._joined[pair] = self._search(base, marker) or regular(base, marker)
        return form

    def _search(self, base: str, marker: str) -> str:
        place = self._bases.find(base)
        if place is None:
            return ""
        wanted = place * len(MARKERS) + MARKERS.index(marker)
        at = bisect_left(self._irregular, wanted)
        if at == len(self._irregular) or self._irregular[at] != wanted:
            return ""
        return self._surfaces[self._forms[at]]

    def forms(self, base: str) -> Mapping[str, str]:
        found = {marker: self.join(base, marker) for marker in MARKERS}
        return {m: form for m, form in found.items() if self.split(form) == (base, m)}

    def entries(self) -> list[tuple[str, str, str]]:
        return sorted(self._entries())

    def _entries(self) -> Iterator[tuple[str, str, str]]:
        for place, surface in enumerate(self._surfaces):
            base, marker = self._pair(place)
            yield base, marker, surface

    def pack(self, path: Path) -> None:
        Inflections(self.entries()).pack(path)


_REMEMBERED = 50_000  # pairs whose form is kept
