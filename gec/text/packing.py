"""The tables of a bundle, from text files to tables that need no parsing."""

from __future__ import annotations

from pathlib import Path

from gec.text.inflection import Inflections
from gec.text.ngrams import NGrams
from gec.text.spelling import MISSPELLINGS, WORDS, Speller
from gec.text.subwords import INFLECTION_TABLES, INFLECTIONS


def pack_tables(folder: Path) -> None:
    """Turn a folder's text tables into tables that are mapped; what was packed already stays.

    Raises:
        ModelError, ValueError: a text table is broken.
    """
    if (folder / WORDS).exists():
        speller = Speller.load(folder)
        assert speller is not None
        speller.pack(folder)
        for name in (WORDS, MISSPELLINGS):
            (folder / name).unlink()
    if (folder / INFLECTIONS).exists():
        Inflections.load(folder / INFLECTIONS).pack(folder / INFLECTION_TABLES)
        (folder / INFLECTIONS).unlink()
    if ngrams := NGrams.load(folder):
        ngrams.save(folder)
