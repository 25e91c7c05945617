"""Build the inflection table of :mod:`gec.text.inflection` from the word lists.

Verbs come from verb-form-vocab (MIT), nouns and adjectives from rules checked against word
counts. A surface form is kept whole when it is a base form itself (``lay``, ``ground``) unless
the inflected reading is clearly the usual one (``found``, ``saw``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gec.text.inflection import Inflections, regular

_TAGS = {"VBZ": "+s", "VBD": "+ed", "VBN": "+en", "VBG": "+ing"}
_FUNCTION_WORDS = frozenset(
    "this that his her its our your their us as hers the and but for nor yet all any".split()
)
_WHOLE = frozenset(
    """am is are was were be been being can could will would shall should may might must ought
    the this that these those his hers its ours yours theirs us as has-been news always perhaps
    besides sometimes afterwards towards across unless less yes thus various physics mathematics
    politics economics species series means thanks lots whereas plus versus hers christmas
    during according including regarding concerning following used morning evening nothing
    something anything everything king thing string spring wing ring bring sing wedding building
    ceiling red bed need feed seed indeed hundred sacred naked wicked
    other another either neither rather whether further after under over never ever water number
    wanna gonna gotta people police data media bit""".split()
)
_INFLECTED_THOUGH_BASE = frozenset(
    "found saw felt left thought fell shot struck lit met built rose drew wore".split()
)
_NOUNS = {
    "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "geese": "goose", "knives": "knife", "wives": "wife", "lives": "life",
    "wolves": "wolf", "shelves": "shelf", "halves": "half", "thieves": "thief", "loaves": "loaf",
    "potatoes": "potato", "tomatoes": "tomato", "heroes": "hero", "echoes": "echo",
    "buses": "bus", "quizzes": "quiz", "analyses": "analysis", "crises": "crisis",
    "hypotheses": "hypothesis", "phenomena": "phenomenon", "criteria": "criterion",
    "himself": "", "countrymen": "countryman", "policemen": "policeman", "firemen": "fireman",
    "grandchildren": "grandchild", "gentlemen": "gentleman", "fishermen": "fisherman",
}  # fmt: skip
_ADJECTIVES = """big old young new long short high low great small large strong weak fast slow hard
easy happy early late near close deep wide narrow rich poor cheap cold hot warm cool dark light
bright clean dirty quiet loud nice fine safe simple smart thick thin tall heavy busy pretty lucky
lazy healthy funny friendly angry hungry noisy sunny ugly wealthy lovely lonely dry wet soft sharp
smooth rough fair full kind mean proud quick rare sad sick sweet tough true wise young few clear
strange tight brave calm clever crazy cruel dear dense dull fat fit flat fresh gentle grand
guilty harsh humble mild neat odd pale plain pure ripe rude shallow shy silly sincere slim stupid
tasty tiny tidy vast worthy bitter broad costly cute deadly fancy fierce firm hardy holy juicy
likely lively mighty nasty naughty risky sleepy steady steep tricky ugly weird wild windy dumb
bold blue black white green""".split()
_COMPARATIVES = {
    "better": ("good", "+er"), "best": ("good", "+est"),
    "worse": ("bad", "+er"), "worst": ("bad", "+est"),
}  # fmt: skip
_DOUBLING = frozenset("big hot thin fat fit flat sad wet slim dim".split())

Forms = dict[tuple[str, str], str]
"""(base, marker) -> form."""
Readings = dict[str, tuple[str, str]]
"""form -> (base, marker)."""


def build_inflections(verb_forms: Iterable[str], counts: Mapping[str, int]) -> Inflections:
    """Build the table.

    Args:
        verb_forms: lines of verb-form-vocab, ``go_went:VB_VBD``.
        counts: how often each lower-case word occurs in clean text; forms never seen are left out.
    """
    pairs = _verb_forms(*_chosen_forms(verb_forms, counts), counts)
    pairs |= _COMPARATIVES
    for plural, singular in _NOUNS.items():
        if singular:
            pairs[plural] = (singular, "+s")
    _add_plurals(pairs, counts)
    _add_comparatives(pairs, counts)
    unique: Forms = {}
    for form, pair in sorted(pairs.items(), key=lambda item: -counts.get(item[0], 0)):
        unique.setdefault(pair, form)  # the more frequent spelling of a form wins
    return Inflections((base, marker, form) for (base, marker), form in unique.items())


def _chosen_forms(verb_forms: Iterable[str], counts: Mapping[str, int]) -> tuple[Forms, set[str]]:
    """Return the most frequent form of each verb and marker, and the verbs."""
    candidates: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    verb_bases: set[str] = set()
    for line in verb_forms:
        words, _, tags = line.strip().partition(":")
        base, _, form = words.partition("_")
        left, _, right = tags.partition("_")
        if left != "VB" or right not in _TAGS or not (base + form).isalpha():
            continue
        if base.lower() in {"be", "bes"} or base != base.lower():
            continue
        candidates[base, _TAGS[right]][form] = counts.get(form, 0)
        if counts.get(base, 0) > 1:
            verb_bases.add(base)
    chosen: Forms = {}
    for (base, marker), forms in candidates.items():
        form, count = max(forms.items(), key=lambda item: (item[1], item[0]))
        if count > 0 and base in verb_bases:
            chosen[base, marker] = form
    for base in verb_bases:  # one past form for both uses: +ed stands for it
        if chosen.get((base, "+en")) == chosen.get((base, "+ed")):
            chosen.pop((base, "+en"), None)
    return chosen, verb_bases


def _verb_forms(chosen: Forms, verb_bases: set[str], counts: Mapping[str, int]) -> Readings:
    """Return what each form of a verb is a form of; the more frequent verb wins."""
    pairs: Readings = {}
    for (base, marker), form in chosen.items():
        if form == base or form in _WHOLE or base in _FUNCTION_WORDS:
            continue
        if form in verb_bases and form not in _INFLECTED_THOUGH_BASE and marker != "+s":
            continue
        rival = pairs.get(form)
        if rival is None or counts.get(base, 0) > counts.get(rival[0], 0):
            pairs[form] = (base, marker)
    return pairs


def _add_plurals(pairs: Readings, counts: Mapping[str, int]) -> None:
    """Add regular plurals of words that occur often enough, both ways."""
    for base, count in counts.items():
        plural = regular(base, "+s")
        if (
            len(base) < 3
            or not base.isalpha()
            or base.endswith(("s", "ous", "ics"))
            or base in _FUNCTION_WORDS
            or plural in _WHOLE
            or plural in pairs
            or count < 10
            or counts.get(plural, 0) < 5
            or count * 30 < counts.get(plural, 0)
        ):
            continue
        pairs[plural] = (base, "+s")


def _add_comparatives(pairs: Readings, counts: Mapping[str, int]) -> None:
    """Add the regular comparatives and superlatives that occur."""
    for base in _ADJECTIVES:
        stem = base + base[-1] if base in _DOUBLING else base
        for marker, suffix in (("+er", "er"), ("+est", "est")):
            form = stem + suffix if stem != base else regular(base, marker)
            if form not in pairs and counts.get(form, 0) > 0:
                pairs[form] = (base, marker)
