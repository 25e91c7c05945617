"""Place edits of words in the user's own text: an edit replaces code points, all else stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from gec.edits.align import align, merge
from gec.edits.classify import classify
from gec.edits.edits import Edit, WordEdit
from gec.edits.typography import blanks_before, is_break, is_spaced
from gec.text.words import Word, normalise


def to_edits(
    text: str,
    words: Sequence[Word],
    target: Sequence[str],
    *,
    changes: Sequence[WordEdit] | None = None,
    confidences: Sequence[float] | None = None,
    spaced: bool | None = None,
    misspelt: Collection[str] = (),
) -> list[Edit]:
    """Return the edits on ``text`` that turn one sentence's ``words`` into ``target``.

    They are sorted, do not overlap, and are as small as words allow. Words that differ from the
    target by normalisation only stay the user's own; protected words stay whatever the target
    says, and so does what the alignment cannot tell apart from them. New words take blanks as
    English typography has them, or on all sides if the sentence is tokenized (``spaced``; None:
    look). They take curly quotes and apostrophes if the sentence has no others. Line breaks stay.

    ``changes`` are the edits of words that make the target, in order; None aligns the two.

    ``misspelt``: words that are misspelt whatever they look like (see :func:`classify`).

    ``confidences`` has a probability for each target word and one for the end. An edit's is the
    least of its target words', a deletion's that of what follows. Raises ValueError if their
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
        spaced = is_spaced(words)
    wants = [True] * (len(target) + 1) if spaced else blanks_before(target)
    has = [True] * (len(words) + 1) if spaced else blanks_before(source)
    edits: list[Edit] = []
    floor = 0  # what an edit took from the blanks to its right, the next must not take again
    found = align(source, target) if changes is None else merge(source, target, changes)
    for edit, open_end in _allowed(words, found):
        start, end, replacement = _place(text, words, target, edit, wants, has, open_end)
        start, end = max(start, floor), max(end, floor)
        floor = end
        original = text[start:end]
        if original == replacement:
            continue
        old, new = edit.old(source), edit.new(target)
        kind, message = classify(old, new, misspelt)
        confidence = _confidence(confidences, edit)
        edits.append(Edit(start, end, original, replacement, kind, confidence, message, edit))
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
    """Yield the edits that change no protected word and touch none that does.

    With each comes whether a kept word follows it.
    """
    group: list[WordEdit] = []
    for edit, following in zip(edits, [*edits[1:], None], strict=True):
        group.append(edit)
        if following is None or not edit.touches(following):
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
    wants: Sequence[bool],
    has: Sequence[bool],
    open_end: bool,
) -> tuple[int, int, str]:
    """Return start, end and replacement of one edit, with the blanks that come and go.

    ``wants`` and ``has`` say where the target and the words should have blanks before them.
    """
    i, j, k, m = edit.source_start, edit.source_end, edit.target_start, edit.target_end
    left = words[i - 1].end if i else None  # where the word before ends
    right = words[j].start if j < len(words) else None
    new = _render(text, words, target, edit, wants)
    if i == j:
        return _insertion(text, left, right, new, wants[k], wants[m])
    start, end = words[i].start, words[j - 1].end
    before = "" if left is None else text[left:start]
    after = "" if right is None else text[end:right]
    if k == m:
        inside = "".join(c for c in text[start:end] if is_break(c))
        if inside:  # words at the end of one line and at the start of the next
            start = start if left is None or is_break(before) else left
            end = end if right is None or is_break(after) else right
            return start, end, inside
        if left is None:
            return start, end if is_break(after) else end + len(after), ""
        if right is None:
            return start if is_break(before) else left, end, ""
        if not before and not after:
            return start, end, " " if wants[k] else ""
        if before and (after or not wants[k]) and not is_break(before):
            return left, end, ""
        if after and (before or not wants[k]) and not is_break(after):
            return start, right, ""
        return start, end, ""
    # A substitution: where the old word stood close and the new one does not, or vice versa.
    if left is not None and wants[k] != has[i]:
        if wants[k] and not before:
            new = " " + new
        elif not wants[k] and not is_break(before):
            start = left
    if right is not None and open_end and wants[m] != has[j]:
        if wants[m] and not after:
            new += " "
        elif not wants[m] and not is_break(after):
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
    if blank_after or is_break(gap):
        return left, left, " " * blank_before + new
    return (right if blank_before else left), right, new


def _render(
    text: str, words: Sequence[Word], target: Sequence[str], edit: WordEdit, blanks: Sequence[bool]
) -> str:
    """Return the new words, in the user's own characters as far as they are there."""
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
            pieces.append(gap if is_break(gap) else " " * blanks[i])
        pieces.append(own.get(word, word))
    return "".join(pieces)
