"""Word knowledge of the noise: inflections, confusions with counts, misspellings.

A lexicon is built once from the word lists. It consists of plain dicts, immutable by convention,
that can be pickled, so worker processes share one build.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gec.models.training.noise.choices import Weighted, weighted
from gec.models.training.noise.confusions import (
    Stems,
    confusions_of,
    homophones_of,
    misspellings_of,
    replacements,
    spelling_variants,
)
from gec.models.training.noise.lists import read_counts, read_lines, read_rows
from gec.models.training.noise.tables import PROPER_NAMES, SUPERFLUOUS
from gec.models.training.noise.word_forms import (
    adverbs_of,
    common_words,
    plurals_of,
    verb_readings,
    verbness_of,
    verbs_of,
)
from gec.text.inflection import Inflections


@dataclass(frozen=True)
class Lexicon:
    """The tables in which the error functions look up words; keys are lower case unless noted."""

    verbs: dict[str, dict[str, str]]
    """base -> marker -> form; every verb has "", "+s", "+ed", "+en" and "+ing"."""
    verb_of: dict[str, tuple[str, str]]
    """form -> (base, marker); a form with several readings has the likeliest one."""
    verbness: dict[str, float]
    """base -> share of its uses as a verb, 0 to 1, guessed from the counts of its forms."""
    plurals: dict[str, str]
    """singular noun -> plural."""
    singulars: dict[str, str]
    """plural noun -> singular."""
    comparisons: dict[str, tuple[str, str]]
    """comparative or superlative -> (adjective, marker)."""
    comparatives: dict[str, dict[str, str]]
    """adjective -> marker -> form."""
    adverbs: dict[str, str]
    """adjective -> adverb in -ly."""
    adjectives: dict[str, str]
    """adverb in -ly -> adjective."""
    confusions: dict[str, Weighted]
    """correct word -> other words that people wrote instead."""
    derivations: dict[str, Weighted]
    """correct word -> words of the same stem that people wrote instead: important -> importance."""
    prepositions: dict[str, Weighted]
    """correct preposition -> words that people wrote instead."""
    misspellings: dict[str, Weighted]
    """correct word -> its known misspellings."""
    missing: dict[str, float]
    """word -> weight with which people leave the word out."""
    extra: Weighted
    """Words that people put in though they do not belong there."""
    homophones: dict[str, tuple[str, ...]]
    names: frozenset[str]
    """Words with a fixed capital, as written: Monday, English."""
    common: frozenset[str]
    """Ordinary lower-case words."""

    def form(self, base: str, marker: str) -> str:
        """Return a verb's form with a marker; return other words as they are."""
        forms = self.verbs.get(base)
        return forms[marker] if forms else base

    def is_name(self, word: str) -> bool:
        """Whether a capitalised word keeps its capital anywhere in a sentence."""
        return word[:1].isupper() and (word in self.names or word.lower() not in self.common)

    @classmethod
    def load(cls, lists_dir: Path, inflections: Inflections) -> Lexicon:
        """Read the word lists; the inflection table decides between readings of a form."""
        counts = {word: int(n) for word, n in read_rows(lists_dir / "unigrams.tsv.xz", 2)}
        replaces = list(replacements(lists_dir, counts))
        adverbs = adverbs_of(counts)
        common = common_words(lists_dir, counts, inflections, adverbs)
        verbs = verbs_of(read_lines(lists_dir / "verb-form-vocab.txt.xz"), counts)
        verb_of = verb_readings(verbs, counts, inflections)
        plurals = plurals_of(inflections, counts, verbs, common)
        comparisons = {
            form: (base, marker)
            for base, marker, form in inflections.entries()
            if marker in ("+er", "+est")
        }
        comparatives: dict[str, dict[str, str]] = defaultdict(dict)
        for form, (base, marker) in comparisons.items():
            comparatives[base][marker] = form
        stems = Stems(
            verb_of, plurals, comparisons, dict(sorted(map(sorted, spelling_variants(lists_dir))))
        )
        confusions, derivations, prepositions = confusions_of(replaces, stems, common)
        return cls(
            verbs=verbs,
            verb_of=verb_of,
            verbness={base: verbness_of(base, forms, counts) for base, forms in verbs.items()},
            plurals=plurals,
            singulars={plural: singular for singular, plural in plurals.items()},
            comparisons=comparisons,
            comparatives=dict(comparatives),
            adverbs=adverbs,
            adjectives={adverb: adjective for adjective, adverb in adverbs.items()},
            confusions=confusions,
            derivations=derivations,
            prepositions=prepositions,
            misspellings=misspellings_of(lists_dir, counts),
            missing=read_counts(lists_dir / "errorify_common_inserts.tsv.xz"),
            extra=weighted(
                {
                    word: n
                    for word, n in read_counts(lists_dir / "errorify_common_deletes.tsv.xz").items()
                    if word in SUPERFLUOUS
                }
            ),
            homophones=homophones_of(lists_dir, counts),
            names=PROPER_NAMES,
            common=common,
        )
