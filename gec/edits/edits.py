"""Edits on the user's text: align two word sequences, merge, place, classify, apply.

The first verbs are ERRANT's (Bryant et al. 2017): align, merge, classify. What is ours is the
placing: an edit replaces code points of the user's own text, and what no edit covers stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gec.edits.messages import describe
from gec.text.words import Word, normalise


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``original == text[start:end]`` by ``replacement``; offsets are code points.

    ``start == end`` inserts. ``type`` is ERRANT's notation, ``confidence`` a probability,
    ``message`` one line of plain English.
    """

    start: int
    end: int
    original: str
    replacement: str
    type: str
    confidence: float
    message: str


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words ``source_start:source_end`` of the source became those words of the target."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return ``text`` with the edits made, in whatever order they come.

    Raises ValueError where one lies outside the text, where its ``original`` is not what stands
    there, and where two overlap or insert at one and the same place.
    """
    pieces: list[str] = []
    at = 0
    previous: Edit | None = None
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}-{edit.end} outside a text of {len(text)}: {edit}")
        if text[edit.start : edit.end] != edit.original:
            found = text[edit.start : edit.end]
            raise ValueError(f"expected {edit.original!r} at {edit.start}, found {found!r}")
        if previous and (
            edit.start < previous.end or edit.start == edit.end == previous.start == previous.end
        ):
            raise ValueError(f"edits overlap: {previous} and {edit}")
        pieces += text[at : edit.start], edit.replacement
        at = edit.end
        previous = edit
    return "".join(pieces) + text[at:]


# ------------------------------------------------------------------------------- align, merge


def align(source: Sequence[str], target: Sequence[str]) -> list[WordEdit]:
    """Return the edits, in order and minimal in words, that turn ``source`` into ``target``.

    A weighted Levenshtein alignment: words that differ in case, forms of one word, and similar
    words are rather substituted; a word and a punctuation mark never are. Neighbouring steps
    become one edit where they make one change: alot -> a lot, is depend -> depends, ", it" ->
    ". It", a word that moved. Time and memory grow with the product of the lengths of what is
    left between the common first and last words.

    >>> align("he go alot to".split(), "he goes a lot to".split())
    [WordEdit(source_start=1, source_end=2, target_start=1, target_end=2),
     WordEdit(source_start=2, source_end=3, target_start=2, target_end=4)]
    """
    shorter = min(len(source), len(target))
    first = 0
    while first < shorter and source[first] == target[first]:
        first += 1
    last = 0
    while last < shorter - first and source[-1 - last] == target[-1 - last]:
        last += 1
    steps = _steps(source[first : len(source) - last], target[first : len(target) - last])
    edits: list[WordEdit] = []
    for i, j, k, m in steps:
        edit = WordEdit(first + i, first + j, first + k, first + m)
        if edits and _touch(edits[-1], edit) and _one_change(source, target, edits[-1], edit):
            edit = _union(edits.pop(), edit)
        edits.append(edit)
    merged: list[WordEdit] = []
    for edit in edits:
        if merged and _moved(source, target, merged[-1], edit):
            edit = _union(merged.pop(), edit)
        merged.append(edit)
    return merged


def _steps(source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Deletions, insertions and substitutions of single words, in order."""
    costs = [[float(j) for j in range(len(target) + 1)]]
    for i, word in enumerate(source):
        above = costs[-1]
        row = [i + 1.0]
        for j, other in enumerate(target):
            swap = above[j] if word == other else above[j] + _cost(word, other)
            row.append(min(swap, above[j + 1] + 1, row[j] + 1))
        costs.append(row)
    steps = []
    i, j = len(source), len(target)
    while i or j:
        here = costs[i][j]
        if i and j and source[i - 1] == target[j - 1] and here == costs[i - 1][j - 1]:
            i, j = i - 1, j - 1
        elif i and j and here == costs[i - 1][j - 1] + _cost(source[i - 1], target[j - 1]):
            i, j = i - 1, j - 1
            steps.append((i, i + 1, j, j + 1))
        elif i and here == costs[i - 1][j] + 1:
            i -= 1
            steps.append((i, i + 1, j, j))
        else:
            j -= 1
            steps.append((i, i, j, j + 1))
    return steps[::-1]


@lru_cache(maxsize=65536)
def _cost(word: str, other: str) -> float:
    """Of a substitution, where a deletion and an insertion cost 1 each."""
    if word.lower() == other.lower():
        return 0.1
    if _is_punctuation(word) != _is_punctuation(other):
        return 2.5
    if _is_punctuation(word):
        return 0.8
    if _same_lemma(word, other):
        return 0.3
    cost = 0.4 + 1.5 * (1 - _similarity(word, other))
    return min(cost, 0.9) if _word_class(word) == _word_class(other) != "" else cost


def _similarity(word: str, other: str) -> float:
    """The share of characters in the common beginning and end; 1.0 if equal but for case."""
    word, other = word.lower(), other.lower()
    shorter = min(len(word), len(other))
    head = 0
    while head < shorter and word[head] == other[head]:
        head += 1
    tail = 0
    while tail < shorter - head and word[-1 - tail] == other[-1 - tail]:
        tail += 1
    return 2 * (head + tail) / (len(word) + len(other)) if word or other else 1.0


def _union(a: WordEdit, b: WordEdit) -> WordEdit:
    return WordEdit(a.source_start, b.source_end, a.target_start, b.target_end)


def _touch(a: WordEdit, b: WordEdit) -> bool:
    return a.source_end == b.source_start and a.target_end == b.target_start


def _one_change(
    source: Sequence[str], target: Sequence[str], first: WordEdit, second: WordEdit
) -> bool:
    """Whether two edits without a word between are one change, or would do harm alone."""
    a, b = ([w.lower() for w in _source(source, edit)] for edit in (first, second))
    c, d = ([w.lower() for w in _target(target, edit)] for edit in (first, second))
    if not (a or b) or not (c or d):  # a run of insertions, or of deletions
        return True
    if not (a and c) and not (b and d):  # deleted here, inserted there
        return True
    if sorted(a + b) == sorted(c + d):  # two words changed places
        return True
    pure = (a, c) if not (a and c) else (b, d) if not (b and d) else None
    other = (b, d) if pure == (a, c) else (a, c)
    if b == d and (all(map(_is_punctuation, a + c)) or (pure and first.source_start == 0)):
        return True  # ", it" -> ". It"; "Cat" -> "The cat"
    if pure is None:
        return False
    (word, *more) = pure[0] or pure[1]
    if _is_clitic(word):  # students -> student's
        return True
    leads = pure == (a, c) and not more and word in _HELPERS
    if leads and any(_same_lemma(old, new) for old in b for new in d):
        return True  # is depend -> depends, more easy -> easier; but not go -> goes to
    whole = _similarity(_letters(a + b), _letters(c + d))
    return whole >= 0.8 and whole > _similarity(_letters(other[0]), _letters(other[1]))


def _moved(source: Sequence[str], target: Sequence[str], first: WordEdit, second: WordEdit) -> bool:
    """Whether words were deleted here and inserted a little further on, or the other way round."""
    a, b = ([w.lower() for w in _source(source, edit)] for edit in (first, second))
    c, d = ([w.lower() for w in _target(target, edit)] for edit in (first, second))
    near = second.source_start - first.source_end <= 4
    return near and ((a == d and not b and not c) or (b == c and not a and not d))


def _source(words: Sequence[str], edit: WordEdit) -> Sequence[str]:
    return words[edit.source_start : edit.source_end]


def _target(words: Sequence[str], edit: WordEdit) -> Sequence[str]:
    return words[edit.target_start : edit.target_end]


# -------------------------------------------------------------------------------------- place


def to_edits(
    text: str,
    words: Sequence[Word],
    target: Sequence[str],
    *,
    confidences: Sequence[float] | None = None,
    spaced: bool | None = None,
    misspelt: Collection[str] = (),
) -> list[Edit]:
    """Return the edits on ``text`` that turn one sentence's ``words`` into ``target``.

    Sorted, not overlapping, as small as words allow. Words that differ from the target by
    normalisation only stay the user's own; protected words stay whatever the target says, and
    so does what the alignment cannot tell apart from them. New words take blanks as English
    typography has them, or on all sides where the sentence is tokenized (``spaced``; None:
    look), and curly quotes and apostrophes where the sentence has no others. Line breaks stay.

    ``misspelt``: words that are misspelt whatever they look like (see :func:`classify`).

    ``confidences`` has a probability for each target word and one for the end. An edit's is the
    least of its target words', a deletion's that of what follows. Raises ValueError where their
    number is another.
    """
    if confidences is None:
        confidences = [1.0] * (len(target) + 1)
    if len(confidences) != len(target) + 1:
        raise ValueError(
            f"expected {len(target) + 1} confidences for {len(target)} words and the end, "
            f"got {len(confidences)}"
        )
    source = [word.text for word in words]
    target = [normalise(word) for word in target]
    if not words or source == target:
        return []
    if spaced is None:
        spaced = _is_spaced(words)
    edits: list[Edit] = []
    floor = 0  # what an edit took from the blanks to its right, the next must not take again
    for edit, open_end in _allowed(words, align(source, target)):
        start, end, replacement = _place(text, words, target, edit, spaced, open_end)
        start, end = max(start, floor), max(end, floor)
        floor = end
        original = text[start:end]
        if original == replacement:
            continue
        old, new = _source(source, edit), _target(target, edit)
        kind, message = classify(old, new, misspelt)
        confidence = _confidence(confidences, edit)
        edits.append(Edit(start, end, original, replacement, kind, confidence, message))
    return edits


def _confidence(confidences: Sequence[float], edit: WordEdit) -> float:
    first, last = edit.target_start, max(edit.target_end, edit.target_start + 1)
    least = min(confidences[first:last])
    if least < 1:
        return least
    # Of equal words side by side the alignment may take another one for the new or the lost one.
    reach = max(edit.source_end - edit.source_start, edit.target_end - edit.target_start)
    return min(confidences[max(0, first - reach) : last + reach])


def _allowed(words: Sequence[Word], edits: Sequence[WordEdit]) -> Iterator[tuple[WordEdit, bool]]:
    """Drop what changes a protected word, with all that touches it; tell if a kept word follows."""
    group: list[WordEdit] = []
    for edit, following in zip(edits, [*edits[1:], None], strict=True):
        group.append(edit)
        if following is None or not _touch(edit, following):
            if not any(_changes_protected(words, edit) for edit in group):
                yield from ((edit, edit is group[-1]) for edit in group)
            group = []


def _changes_protected(words: Sequence[Word], edit: WordEdit) -> bool:
    i, j = edit.source_start, edit.source_end
    if i < j or not 0 < i < len(words):
        return any(word.protected for word in words[i:j])
    before, after = words[i - 1], words[i]
    return before.protected and after.protected and before.end == after.start


def _place(
    text: str,
    words: Sequence[Word],
    target: Sequence[str],
    edit: WordEdit,
    spaced: bool,
    open_end: bool,
) -> tuple[int, int, str]:
    """Return start, end and replacement of one edit: this is where blanks come and go."""
    i, j, k, m = edit.source_start, edit.source_end, edit.target_start, edit.target_end
    wants = [True] * (len(target) + 1) if spaced else _blanks(target)
    has = [True] * (len(words) + 1) if spaced else _blanks([word.text for word in words])
    left = words[i - 1].end if i else None  # where the word before ends
    right = words[j].start if j < len(words) else None
    new = _render(text, words, target, edit, wants)
    if i == j:
        return _insertion(text, left, right, new, wants[k], wants[m])
    start, end = words[i].start, words[j - 1].end
    before = "" if left is None else text[left:start]
    after = "" if right is None else text[end:right]
    if k == m:
        inside = "".join(c for c in text[start:end] if _is_break(c))
        if inside:  # words at the end of one line and at the start of the next
            start = start if left is None or _is_break(before) else left
            end = end if right is None or _is_break(after) else right
            return start, end, inside
        if left is None:
            return start, end if _is_break(after) else end + len(after), ""
        if right is None:
            return start if _is_break(before) else left, end, ""
        if not before and not after:
            return start, end, " " if wants[k] else ""
        if before and (after or not wants[k]) and not _is_break(before):
            return left, end, ""
        if after and (before or not wants[k]) and not _is_break(after):
            return start, right, ""
        return start, end, ""
    # A substitution: where the old word stood close and the new one does not, or vice versa.
    if left is not None and wants[k] != has[i]:
        if wants[k] and not before:
            new = " " + new
        elif not wants[k] and not _is_break(before):
            start = left
    if right is not None and open_end and wants[m] != has[j]:
        if wants[m] and not after:
            new += " "
        elif not wants[m] and not _is_break(after):
            end = right
    return start, end, new


def _insertion(
    text: str, left: int | None, right: int | None, new: str, blank_before: bool, blank_after: bool
) -> tuple[int, int, str]:
    if left is None:
        assert right is not None  # there are words
        return right, right, new + " " * blank_after
    if right is None:
        return left, left, " " * blank_before + new
    gap = text[left:right]
    if not gap:
        return left, left, " " * blank_before + new + " " * blank_after
    if blank_after or _is_break(gap):
        return left, left, " " * blank_before + new
    return (right if blank_before else left), right, new


def _render(
    text: str, words: Sequence[Word], target: Sequence[str], edit: WordEdit, blanks: Sequence[bool]
) -> str:
    """The new words, in the user's own characters as far as they are there."""
    old = words[edit.source_start : edit.source_end]
    own = {word.text: text[word.start : word.end] for word in old}
    gaps = [text[a.end : b.start] for a, b in pairwise(old)]
    sentence = text[words[0].start : words[-1].end]
    pieces = []
    for i in range(edit.target_start, edit.target_end):
        word = target[i]
        if word not in own:
            if "’" in sentence and "'" not in sentence:
                word = word.replace("'", "’")
            if word == '"' and '"' not in sentence and ("“" in sentence or "”" in sentence):
                word = "”" if target[:i].count('"') % 2 else "“"
        if i > edit.target_start:
            gap = gaps.pop(0) if gaps else ""
            pieces.append(gap if _is_break(gap) else " " * blanks[i])
        pieces.append(own.get(word, word))
    return "".join(pieces)


_CLOSE_LEFT = frozenset(") ] } , . ; : ? ! ... % ''".split(" "))
_CLOSE_RIGHT = frozenset("( [ { $ £ € #".split(" "))


def _blanks(words: Sequence[str]) -> list[bool]:
    """For each word whether English typography has a blank before it; one more for the end."""
    blanks = []
    open_quotes: set[str] = set()
    close = True  # no blank before the first
    for i, word in enumerate(words):
        close_left, close_right = word in _CLOSE_LEFT or _is_clitic(word), word in _CLOSE_RIGHT
        if word == "/":
            close_left = close_right = True
        elif word in open_quotes or (word == "'" and i and words[i - 1].endswith("s")):
            open_quotes.discard(word)
            close_left = True
        elif word in ('"', "'"):
            open_quotes.add(word)
            close_right = True
        blanks.append(not (close or close_left))
        close = close_right
    return [*blanks, True]


def _is_spaced(words: Sequence[Word]) -> bool:
    """Whether punctuation is set off by blanks, as in tokenized text: periods, commas and
    clitics tell; question marks and the like, which some people write so, only where no other."""
    strong = weak = 0
    for before, word in pairwise(words):
        vote = 1 if before.end < word.start else -1
        if word.text in (".", ",", ")") or _is_clitic(word.text):
            strong += vote
        elif word.text in ("?", "!", ";", ":"):
            weak += vote
    return (strong or weak) > 0


def _is_break(gap: str) -> bool:
    return len((gap + "x").splitlines()) > 1


# ----------------------------------------------------------------------------------- classify


def classify(
    original: Sequence[str], replacement: Sequence[str], misspelt: Collection[str] = ()
) -> tuple[str, str]:
    """Return an ERRANT-like type and a message in plain English for one edit's words.

    The light version, for where no tagger is installed: closed word lists and suffixes, one
    edit seen alone. The exact classifier is ERRANT's, in ``gec.eval``. What only the sentence
    could tell is guessed: a lost or added final s is R:VERB:SVA for some 130 frequent verbs and
    R:NOUN:NUM for the rest; "to" is a preposition; an unknown word that replaces a similar one
    is R:SPELL, and so is one word for one of ``misspelt``, whatever the two look like. Raises
    ValueError if both sides are empty.
    """
    if not original and not replacement:
        raise ValueError("an edit without words has no type")
    old, new = [w.lower() for w in original], [w.lower() for w in replacement]
    if len(old) == len(new) == 1 and original[0] in misspelt:
        kind = "R:SPELL"
    elif old and new:
        kind = "R:" + _replaced(old, new)
    else:
        kind = ("U:" if old else "M:") + _category(old or new)
    return kind, describe(_shown(original), _shown(replacement), kind)


def _category(words: Sequence[str]) -> str:
    """The category that all of some inserted or deleted words share."""
    if all(map(_is_punctuation, words)):
        return "PUNCT"
    if len(words) == 1 and words[0] == "'s":
        return "NOUN:POSS"
    names = {_word_class(word) for word in words}
    return (names.pop() if len(names) == 1 else "") or "OTHER"


def _replaced(old: list[str], new: list[str]) -> str:
    if "".join(old).replace("-", "") == "".join(new).replace("-", ""):
        return "ORTH"
    if all(map(_is_punctuation, old)) and all(map(_is_punctuation, new)):
        return "PUNCT"
    if _letters(old) == _letters(new):
        if "'s" in old + new and not {*old, *new} & _WITH_IS:
            return "NOUN:POSS"
        return "CONTR" if any(map(_is_clitic, new)) else "PUNCT"
    if sorted(old) == sorted(new):
        return "WO"
    if len(old) == len(new) == 1:
        return _replaced_word(old[0], new[0])
    if old[-1] == new[-1]:  # Cat -> The cat
        return classify(old[:-1], new[:-1])[0][2:]
    if "'s" in old + new and _same_lemma(old[0], new[0]):
        return "NOUN:POSS"
    bare = [[word for word in words if word not in _HELPERS] for words in (old, new)]
    if all(len(words) <= 1 for words in bare) and (
        not any(bare) or (all(bare) and _same_lemma(bare[0][0], bare[1][0]))
    ):
        if {"more", "most"} & {*old, *new}:
            return "ADJ:FORM"
        return "VERB:FORM" if "to" in old + new else "VERB:TENSE"
    category = _category(old)
    return category if category == _category(new) else "OTHER"


def _replaced_word(old: str, new: str) -> str:
    if old in _AUXILIARIES and new in _AUXILIARIES:
        (lemma, tense), (other, later) = _AUXILIARIES[old], _AUXILIARIES[new]
        if lemma != other or {tense, later} == {"present", "past"}:
            return "VERB:TENSE"
        return "VERB:SVA" if tense == later else "VERB:FORM"
    if (category := _word_class(old)) and category == _word_class(new):
        return category
    if inflected := _inflected(old, new):
        return inflected
    if _word_class(old) and _word_class(new):
        return "OTHER"
    heads = range(3, min(len(old), len(new)) + 1)
    if any(old[:n] == new[:n] and old[n:] in _SUFFIXES and new[n:] in _SUFFIXES for n in heads):
        return "MORPH"
    return "SPELL" if _similarity(old, new) >= 0.5 and min(len(old), len(new)) > 2 else "OTHER"


def _inflected(old: str, new: str) -> str:
    """The category of a change from one form of a word to another; empty if it is none."""
    shared = {
        (base, frozenset((form, other)))
        for base, form in _readings(old)
        for other_base, other in _readings(new)
        if base == other_base
    }
    for base, forms in sorted(shared, key=lambda pair: (-len(pair[0]), sorted(pair[1]))):
        plain = {form.lower() for form in forms}
        if forms == plain and len(forms) == 1:
            continue  # studing, studying: a misspelt ending
        if plain == {"s"} or "S" in forms:
            return "NOUN:NUM" if "base" in forms else "NOUN:INFL"
        if plain == {"ed"} or (plain == {"ed", "en"} and "ed" in forms):
            return "VERB:INFL"
        if plain == {"base", "s"}:
            return "VERB:SVA" if base in _VERBS else "NOUN:NUM"
        if plain & {"er", "est"}:
            return "MORPH" if base in _VERBS else "ADJ:FORM"
        if "ing" in plain or "en" in plain:
            return "VERB:FORM"
        return "VERB:TENSE"
    return ""


def _shown(words: Sequence[str]) -> str:
    return "".join(" " * blank + word for word, blank in zip(words, _blanks(words), strict=False))


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
_AUXILIARIES = {
    form: (lemma, tense)
    for lemma, tenses in {
        "be": {"present": "am is are 'm 're", "past": "was were", "base": "be", "en": "been"},
        "have": {"present": "have has 've", "past": "had"},
        "do": {"present": "do does", "past": "did", "en": "done"},
    }.items()
    for tense, forms in tenses.items()
    for form in forms.split()
} | {"being": ("be", "ing"), "having": ("have", "ing"), "doing": ("do", "ing")}
_HELPERS = {*_AUXILIARIES, *_MODALS, "to", "more", "most"}

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
_VERBS = _set(
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
_SUFFIXES = _set(
    """ly ness ment tion ation sion ion al ial ful less ous ive able ible ity er or y ic ance ence
    ant ent ism ist th e ed ing"""
) | {""}
# "Its" and the like are "it's" misspelt, others with an s are possessives without apostrophe.
_WITH_IS = _set("it let he she that what there here where how who its lets")


def _is_punctuation(word: str) -> bool:
    return not any(character.isalnum() for character in word)


def _is_clitic(word: str) -> bool:
    return word.lower() in ("n't", "'s", "'m", "'re", "'ve", "'ll", "'d")


def _letters(words: Sequence[str]) -> str:
    return "".join(c for word in words for c in word.lower() if c.isalnum())


def _word_class(word: str) -> str:
    lower = word.lower()
    if lower in _AUXILIARIES or lower in _MODALS:
        return "VERB:TENSE"
    return next((name for name, members in _CLASSES.items() if lower in members), "")


@lru_cache(maxsize=65536)
def _readings(word: str) -> frozenset[tuple[str, str]]:
    """Possible (base, form) pairs, most of them wrong: they only count if another word shares one.

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


def _same_lemma(word: str, other: str) -> bool:
    if word.lower() in _AUXILIARIES and other.lower() in _AUXILIARIES:
        return _AUXILIARIES[word.lower()][0] == _AUXILIARIES[other.lower()][0]
    return bool({base for base, _ in _readings(word)} & {base for base, _ in _readings(other)})
