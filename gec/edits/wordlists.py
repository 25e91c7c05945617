"""Closed lists of English words, irregular forms, and what they tell of single words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CLASSES = {
    "DET": _set(
        """a an the this that these those my your his her its our their some any each every no
        both all another either neither much many few several such"""
    ),
    "PREP": _set(
        """of in on at to for from with by about into onto over under after before between through
        during against among without within upon toward towards since until off out up down around
        along across near behind beside besides above below despite as"""
    ),
    "PRON": _set(
        """i you he she it we they me him us them myself yourself himself herself itself ourselves
        themselves mine yours hers ours theirs who whom whose which what someone anyone everyone
        somebody anybody everybody something anything everything nothing nobody one ones"""
    ),
    "CONJ": _set(
        "and or but nor because although though while if when whereas unless whether than so"
    ),
    "ADV": _set(
        """very too also just only really always never often quite again even still already then
        there here now more most well however"""
    ),
    "PART": _set("not n't"),
}
_MODALS = _set("can could will would shall should may might must ca wo sha 'll 'd cannot")
# Forms of be, have and do: present and past are finite, so that a change within is agreement.
AUXILIARIES = {
    form: (lemma, tense)
    for lemma, tenses in {
        "be": {"present": "am is are 'm 're", "past": "was were", "base": "be", "en": "been"},
        "have": {"present": "have has 've", "past": "had"},
        "do": {"present": "do does", "past": "did", "en": "done"},
    }.items()
    for tense, forms in tenses.items()
    for form in forms.split()
} | {"being": ("be", "ing"), "having": ("have", "ing"), "doing": ("do", "ing")}
HELPERS = {*AUXILIARIES, *_MODALS, "to", "more", "most"}

_IRREGULAR_VERBS = """
    become became become|begin began begun|break broke broken|bring brought brought
    build built built|buy bought bought|catch caught caught|choose chose chosen|come came come
    draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
    feel felt felt|fight fought fought|find found found|fly flew flown|forget forgot forgotten
    get got got|give gave given|go went gone|grow grew grown|hear heard heard|hold held held
    keep kept kept|know knew known|lead led led|leave left left|lend lent lent|lose lost lost
    make made made|mean meant meant|meet met met|pay paid paid|ride rode ridden|rise rose risen
    run ran run|say said said|see saw seen|sell sold sold|send sent sent|show showed shown
    sing sang sung|sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent
    stand stood stood|steal stole stolen|swim swam swum|take took taken|teach taught taught
    tell told told|think thought thought|throw threw thrown|understand understood understood
    wake woke woken|wear wore worn|win won won|write wrote written"""
_IRREGULAR_NOUNS = """
    man men|woman women|child children|person people|foot feet|tooth teeth|mouse mice|life lives
    knife knives|wife wives|leaf leaves|half halves|shelf shelves|thief thieves|analysis analyses
    crisis crises|basis bases|hypothesis hypotheses|phenomenon phenomena|criterion criteria"""
# Words whose final s is rather the verb's (he works) than a plural (two works).
VERBS = _set(
    """accept add agree allow appear apply arrive ask avoid be become begin believe belong break
    bring build buy call can carry catch choose come compare consider contain continue create cry
    decide depend describe develop die do draw drive eat encourage enjoy enter exist expect explain
    fall feel find fly follow forget get give go grow happen have hear help hold hope improve
    include increase influence intend introduce involve join keep know laugh lead learn leave let
    like listen live look lose love make marry mean meet move need obtain occur offer open own pay
    play prefer prepare prevent produce protect provide put reach read realize receive reduce
    refer remain remember require run say see seem sell send serve show sing sit sleep speak spend
    stand start stay stop succeed suffer suggest support swim take talk teach tell tend thank think
    travel try turn understand use visit wait walk want watch wear win wish work worry write"""
)
SUFFIXES = _set(
    """ly ness ment tion ation sion ion al ial ful less ous ive able ible ity er or y ic ance ence
    ant ent ism ist th e ed ing"""
) | {""}
# "Its" and the like are "it's" misspelt, others with an s are possessives without apostrophe.
WITH_IS = _set("it let he she that what there here where how who its lets")


@lru_cache(maxsize=65536)
def is_punctuation(word: str) -> bool:
    return not any(character.isalnum() for character in word)


def is_clitic(word: str) -> bool:
    return word.lower() in ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")


def letters(words: Sequence[str]) -> str:
    return "".join(c for word in words for c in word.lower() if c.isalnum())


_CLASS_OF = {word: name for name, words in reversed(_CLASSES.items()) for word in words}
_CLASS_OF |= dict.fromkeys([*AUXILIARIES, *_MODALS], "VERB:TENSE")


def word_class(word: str) -> str:
    return _CLASS_OF.get(word.lower(), "")


@lru_cache(maxsize=65536)
def readings(word: str) -> frozenset[tuple[str, str]]:
    """Return possible (base, form) pairs; most are wrong: one counts if another word shares it.

    Forms: base, s, ed, en, ing, er, est; in capitals if irregular.
    """
    word = word.lower()
    found = {(word, "base"), *_irregular().get(word, ())}
    for form in ("s", "ed", "ing", "er", "est"):
        stem = word.removesuffix(form)
        if stem == word or len(stem) < 2:
            continue
        found.add((stem, form))
        if form != "s" or stem.endswith(("se", "ze", "xe", "che", "she", "oe")):
            found.add((stem.removesuffix("e") if form == "s" else stem + "e", form))
        if stem.endswith(("i", "ie")):
            found.add((stem.removesuffix("e")[:-1] + "y", form))
        if form == "ing" and stem.endswith("y"):
            found.add((stem[:-1] + "ie", form))
        if len(stem) > 2 and stem[-1] == stem[-2] and form != "s":
            found.add((stem[:-1], form))
    return frozenset(found)


@lru_cache(maxsize=1)
def _irregular() -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for line in _IRREGULAR_VERBS.replace("\n", "|").split("|"):
        for form, word in zip(("ED", "EN"), line.split()[1:], strict=False):
            found.setdefault(word, set()).add((line.split()[0], form))
    for line in _IRREGULAR_NOUNS.replace("\n", "|").split("|"):
        for word in line.split()[1:]:
            found.setdefault(word, set()).add((line.split()[0], "S"))
    return found


def same_lemma(word: str, other: str) -> bool:
    if word.lower() in AUXILIARIES and other.lower() in AUXILIARIES:
        return AUXILIARIES[word.lower()][0] == AUXILIARIES[other.lower()][0]
    return not bases(word).isdisjoint(bases(other))


@lru_cache(maxsize=65536)
def bases(word: str) -> frozenset[str]:
    """Return the words that a word may be a form of; see :func:`readings`."""
    return frozenset(base for base, _ in readings(word))


def similarity(word: str, other: str) -> float:
    """Return the share of characters in the common beginning and end, without regard to case."""
    word, other = word.lower(), other.lower()
    if word[:1] != other[:1] and word[-1:] != other[-1:]:  # as most pairs
        return 0.0
    shorter = min(len(word), len(other))
    head = 0
    while head < shorter and word[head] == other[head]:
        head += 1
    tail = 0
    while tail < shorter - head and word[-1 - tail] == other[-1 - tail]:
        tail += 1
    return 2 * (head + tail) / (len(word) + len(other)) if word or other else 1.0
