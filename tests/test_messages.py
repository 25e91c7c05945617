"""gec.edits.messages: every error type in plain English."""

from __future__ import annotations

import doctest
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.edits import messages as module
from gec.edits.align import align
from gec.edits.classify import classify
from gec.edits.edits import WordEdit
from gec.edits.messages import MESSAGES, TITLES, Message, category, describe, message
from gec.text.words import tokenize_line

EVERY_OPERATION = """ADJ ADV CONJ CONTR DET NOUN NOUN:POSS OTHER PART PREP PRON PUNCT VERB VERB:FORM
    VERB:TENSE""".split()
REPLACED_ONLY = "ADJ:FORM MORPH NOUN:INFL NOUN:NUM ORTH SPELL VERB:INFL VERB:SVA WO".split()
TYPES = {
    *(f"{operation}:{category}" for operation in "MUR" for category in EVERY_OPERATION),
    *(f"R:{category}" for category in REPLACED_ONLY),
    "UNK",
}
# What the light classifier, which sees neither the sentence nor a tag, calls by another name.
NEEDS_A_TAGGER = set(
    """M:ADJ M:CONTR M:NOUN M:PART M:VERB M:VERB:FORM U:ADJ U:ADV U:CONTR U:NOUN U:PART U:VERB
    U:VERB:FORM R:ADJ R:ADV R:NOUN R:PART R:VERB""".split()
)
ROWS = [pytest.param(row, id=type) for type, row in MESSAGES.items()]
WITH_EXAMPLE = [row for row in ROWS if row.id != "UNK"]


def test_the_table_has_the_types_of_errant_and_no_others() -> None:
    assert len(TYPES) == 55  # as the paper counts them
    assert MESSAGES.keys() == TYPES
    assert TITLES.keys() == {*EVERY_OPERATION, *REPLACED_ONLY, "UNK"}
    assert len({*TITLES.values()}) == len(TITLES)
    assert all(type == row.type for type, row in MESSAGES.items())


@pytest.mark.parametrize("row", ROWS)
def test_texts_are_plain(row: Message) -> None:
    assert re.fullmatch(r"[A-Z][^.\n]{10,75}\.", row.short)
    sentences = re.findall(r"[^.?!]+[.?!](?=\s|$)", row.explanation)
    assert 2 <= len(sentences) <= 3
    assert "".join(sentences) == row.explanation  # ends with its last sentence
    assert len(row.explanation) <= 280
    everything = " ".join([row.category_title, row.short, row.explanation])
    assert everything == " ".join(everything.split())
    assert everything.count("“") == everything.count("”")
    assert not re.search(
        r'"|colou?r|learnt|spelt|whilst|[a-z]i[sz]e[sd]?\b|\byour? (error|mistake)|!', everything
    )


def test_shorts_and_explanations_tell_types_apart() -> None:
    assert len({row.short for row in MESSAGES.values()}) == 55
    assert len({row.explanation for row in MESSAGES.values()}) == 55


def the_edit(row: Message) -> tuple[list[str], list[str]]:
    wrong, right = tokenize_line(row.wrong), tokenize_line(row.right)
    edits = align(wrong, right)
    assert len(edits) == 1
    edit: WordEdit = edits[0]
    return (
        list(wrong[edit.source_start : edit.source_end]),
        list(right[edit.target_start : edit.target_end]),
    )


@pytest.mark.parametrize("row", WITH_EXAMPLE)
def test_examples_differ_by_one_edit_of_their_operation(row: Message) -> None:
    assert re.fullmatch(r"[A-Z].*[.?]", row.wrong)
    assert re.fullmatch(r"[A-Z].*[.?]", row.right)
    old, new = the_edit(row)
    assert row.type[0] == ("R" if old and new else "U" if old else "M")


@pytest.mark.parametrize("row", [row for row in WITH_EXAMPLE if row.id not in NEEDS_A_TAGGER])
def test_examples_have_the_type_that_they_are_examples_of(row: Message) -> None:
    assert classify(*the_edit(row))[0] == row.type


def test_a_detected_error_without_correction_has_no_example() -> None:
    assert (MESSAGES["UNK"].wrong, MESSAGES["UNK"].right) == ("", "")


@pytest.mark.parametrize(
    ("type", "nearest"),
    [
        ("R:NOUN:PROPER", "R:NOUN"),
        ("R:VERB:SVA:PAST", "R:VERB:SVA"),
        ("R:SPACE", "R:OTHER"),
        ("M:SPELL", "M:OTHER"),
        ("U:", "U:OTHER"),
        ("M", "M:OTHER"),
        ("ArtOrDet", "UNK"),
        ("noop", "UNK"),
        ("", "UNK"),
        (":", "UNK"),
    ],
)
def test_unknown_types_get_the_nearest_message(type: str, nearest: str) -> None:
    found, known = message(type), message(nearest)
    assert found.type == type
    assert (found.short, found.category_title) == (known.short, known.category_title)


@given(st.text(alphabet="MUR:NOUVERB\n x", max_size=12), st.text(), st.text())
@settings(max_examples=200, deadline=None)
def test_every_type_and_change_has_one_line(type: str, original: str, replacement: str) -> None:
    assert message(type).type == type
    line = describe(original, replacement, type)
    assert len(line.splitlines()) == 1
    assert line.endswith(".")
    for text in (original, replacement):
        assert " ".join(text.split()) in line


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("go | goes | R:VERB:SVA", "Use “goes” instead of “go”: the verb does not agree with its"
         " subject."),
        (" | the | M:DET", "Add “the”: an article or determiner is missing."),
        ("about | | U:PREP", "Remove “about”: this preposition is not needed."),
        ("Cat | The cat | M:DET", "Use “The cat” instead of “Cat”: an article or determiner is"
         " missing."),
        ("A | An | R:DET", "Use “An” instead of “A”: the sound that follows decides between “a”"
         " and “an”."),
        ("a\n lot | many | R:OTHER", "Use “many” instead of “a lot”: another wording fits better"
         " here."),
        ("it it | it it | UNK", "Look at “it it” again: something may be wrong here, but there is"
         " no suggestion."),
        (" | | UNK", "Something may be wrong here, but there is no suggestion."),
        ("x | y | R:WHATEVER", "Use “y” instead of “x”: another wording fits better here."),
    ],
)  # fmt: skip
def test_describe_names_the_words(change: str, line: str) -> None:
    original, replacement, type = (part.strip() for part in change.split("|"))
    assert describe(original, replacement, type) == line


def test_doctests() -> None:
    assert doctest.testmod(module).failed == 0


def test_every_type_has_a_category() -> None:
    kinds: dict[str, set[str]] = {}
    for type in [*TYPES, "R:NOUN:PROPER", "", "nonsense"]:
        kinds.setdefault(category(type), set()).add(type[2:] if type[1:2] == ":" else type)
    assert kinds == {
        "spelling": {"SPELL"},
        "punctuation": {"PUNCT", "ORTH"},
        "style": {"WO", "OTHER", "NOUN", "VERB", "ADJ", "ADV", "CONJ", "PART"},
        "grammar": {
            *"ADJ:FORM CONTR DET MORPH NOUN:INFL NOUN:NUM NOUN:POSS NOUN:PROPER PREP PRON".split(),
            *"UNK VERB:FORM VERB:INFL VERB:SVA VERB:TENSE nonsense".split(),
            "",
        },
    }
