"""The Corrector with models that follow rules: text in, text and edits out."""

from __future__ import annotations

import contextlib
import doctest
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import pytest
from counting import growth
from fake_models import Rule, RuleModel, copies, rewrites, sometimes
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from gec.correct import reading as module
from gec.correct.assemble import _letter_distance
from gec.correct.corrector import Corrector
from gec.correct.options import Options, Setting
from gec.correct.plan import WINDOW_OVERLAP, WINDOW_TOKENS, WINDOW_WORDS
from gec.correct.reading import Reading, shares
from gec.correct.result import Correction
from gec.decoding.decoder import Hypothesis
from gec.decoding.parts import Parts
from gec.edits.edits import WordEdit, apply
from gec.errors import ConfigError, ModelError
from gec.models.training.tables.ngram_table import build_ngrams
from gec.output.formats import to_diff, to_findings, to_m2
from gec.text.inflection import Inflections
from gec.text.spelling import Speller
from gec.text.subwords import Subwords

Change = Callable[[list[str]], list[str]]

NOUNS = "dog cat house tree river school friend city song road".split()


@lru_cache(1)
def subwords() -> Subwords:
    table = Inflections([("go", "+s", "goes"), ("like", "+s", "likes")])
    sentence = f"she goes to the old {' '.join(NOUNS)} and likes it .".split()
    return Subwords.train([sentence] * 9, size=400, inflections=table)


def corrector(
    change: Change | None = None,
    *,
    rule: Rule = copies,
    second: Rule | None = None,
    gap: float = 1.0,
    max_positions: int = 512,
    **options: Any,
) -> Corrector:
    """Return a Corrector whose model makes ``change`` of the words, or follows a token rule."""

    @lru_cache(256)
    def target(ids: tuple[int, ...]) -> list[int]:
        assert change is not None
        return subwords().encode(change(subwords().decode(ids)))

    if change is not None:
        rule = rewrites(lambda ids: target(tuple(ids)))
    model = RuleModel(
        rule, vocab_size=len(subwords()), max_positions=max_positions, second=second, gap=gap
    )
    names = {f.name for f in fields(Options)}
    asked = Options(**{name: value for name, value in options.items() if name in names})
    rest = {name: value for name, value in options.items() if name not in names}
    return Corrector(model, subwords(), options=asked, **rest)


def swap(old: str, new: str) -> Change:
    """Replace a word by none, one or several, wherever it stands."""
    return lambda words: [w for word in words for w in (new.split() if word == old else [word])]


def before(word: str, new: str) -> Change:
    return lambda words: [w for old in words for w in ([new, old] if old == word else [old])]


# -------------------------------------------------------------------------- one text


def said(found: Correction) -> tuple[str, ...]:
    return tuple(map(str, found.warnings))


def test_a_correction() -> None:
    text = "She go to school. He likes it."
    correction = corrector(swap("go", "goes")).correct(text)
    assert correction.text == "She goes to school. He likes it."
    assert correction.original == text
    [edit] = correction.edits
    assert (edit.start, edit.end, edit.original, edit.replacement) == (4, 6, "go", "goes")
    assert edit.type == "R:VERB:SVA"
    assert correction.warnings == ()
    first, second = correction.sentences
    assert (first.start, first.end) == (0, 17)
    assert first.source == ("She", "go", "to", "school", ".")
    assert first.target == ("She", "goes", "to", "school", ".")
    assert second.source == second.target
    # a draft up to the changed word, then the rest behind the new marker
    assert [trace.passes for trace in correction.trace] == [2, 1]
    assert "".join(correction.trace[0].tokens) == "<cap> she go<+s> to school .</s>"


@pytest.mark.parametrize(
    ("change", "text", "corrected"),
    [
        (swap("an", ""), "I see an the dog.", "I see the dog."),
        (swap("dog", "old dog"), "The dog, the cat.", "The old dog, the cat."),
        (before("dog", "the"), "I see “dog” here.", "I see “the dog” here."),
        (lambda words: words[1:], "Well she goes.", "she goes."),
        (lambda words: [*words, "."], "She goes to it", "She goes to it."),
        (lambda words: [*words, "."], "She goes there", "She goes there"),
        (lambda words: [w for w in words if w != "."], "She goes .", "She goes"),
        (swap("go", "goes"), "\tShe   go\r\n home\xa0now . ", "\tShe   goes\r\n home\xa0now . "),
    ],
)
def test_what_is_around_an_edit_stays(change: Change, text: str, corrected: str) -> None:
    assert corrector(change).correct(text).text == corrected


@pytest.mark.parametrize("strategy", ["iad", "greedy", "beam"])
def test_strategies_agree_on_a_sure_model(strategy: str) -> None:
    found = corrector(swap("go", "goes"), strategy=strategy, beam_size=2).correct("She go home.")
    assert found.text == "She goes home."
    assert (found.trace[0].drafted > 0) == (strategy == "iad")


def test_any_strategy_that_the_parts_suffice_for() -> None:
    text = "She go home. He likes the the dog."
    expected = corrector(swap("go", "goes")).correct(text)
    plain = corrector(swap("go", "goes"))
    verifier, small = plain.model, corrector().model
    parts = Parts("two", verifier, smaller=(small,))
    for strategy in (
        "iad-paper", "sample:temperature=0", "speculative:gamma=3", "bild", "speculative-beam",
        "speculative-beam:gamma=3,draft=small,beam-size=2", "sample:seed=5",
    ):  # fmt: skip
        made = Corrector(parts, subwords(), strategy=strategy)
        found = made.correct(text)
        assert (found.text, found.edits) == (expected.text, expected.edits), strategy
        assert made.info()["strategy"] == strategy
    with pytest.raises(
        ModelError, match=r"bundle given has no smaller .* \(iad, greedy, beam, iad"
    ):
        corrector(strategy="speculative")


@pytest.mark.parametrize("strategy", ["iad", "greedy", "beam"])
@pytest.mark.parametrize(
    "text", ["", " ", "\n\n\t", "\u200b", "\ufeff", "...", "12", "\0", "\ud800"]
)
def test_texts_without_words(text: str, strategy: str) -> None:
    found = corrector(strategy=strategy).correct(text)
    assert (found.text, found.edits, found.warnings) == (text, (), ())


TEXTS = st.one_of(
    st.text(),  # lone surrogates, too
    st.text(st.sampled_from("aZ éß.,!?'\"-–’“\n\r\t0#*`<@\u200b\u0301\ud800😀日")),
    st.lists(st.sampled_from([*NOUNS, "The", "I", "n't", "don't", ".", ",", "\n\n", "  ", "a.b"]))
    .map(" ".join),
)  # fmt: skip


@settings(deadline=None, max_examples=250)
@given(TEXTS, st.sampled_from(["iad", "greedy"]))
@example("a\ud800b \udfff", "iad")
@example("e\u0301 … “x” ﬁ \u00ad İ ß ẞ ǅ", "iad")
@example("</s> <s> <cap> go<+s>", "greedy")
def test_a_model_that_copies_changes_no_byte(text: str, strategy: str) -> None:
    found = corrector(strategy=strategy).correct(text)
    assert found.text == text
    assert found.edits == ()
    # a word of a hundred rare characters has more subwords than the model takes
    assert all("words too long for the model" in warning for warning in said(found))


@settings(deadline=None, max_examples=150)
@given(TEXTS, st.integers(0, 9999), st.sampled_from([0.5, 0.9]))
def test_a_model_that_says_anything(text: str, seed: int, agreement: float) -> None:
    """Whatever comes out of the model, the text is the original with the edits made."""
    rule = sometimes(seed, len(subwords()), agreement)
    found = corrector(rule=rule).correct(text)
    assert found.text == apply(text, found.edits)
    assert list(found.edits) == sorted(found.edits, key=lambda edit: (edit.start, edit.end))
    for edit in found.edits:
        assert text[edit.start : edit.end] == edit.original != edit.replacement
        assert 0 <= edit.confidence <= 1
        assert edit.type
        assert edit.message


def test_protected_words_stay() -> None:
    text = "See https://go.example/go and `go` in 3 go.py, or go to Gogo."
    found = corrector(lambda words: [w + "x" for w in words], dictionary={"Gogo"}).correct(text)
    for kept in ("https://go.example/go ", " `go` ", " 3 ", " go.py", " Gogo"):
        assert kept in found.text
    assert "andx" in found.text


@pytest.mark.parametrize(
    ("change", "text", "corrected"),
    [
        (None, "She likes it.The dog likes it.", "She likes it. The dog likes it."),
        (
            None,
            "She likes it,but the dog goes!It goes.",
            "She likes it, but the dog goes! It goes.",
        ),
        (swap("go", "goes"), "She go.The dog goes.", "She goes. The dog goes."),
        (swap(".", "!"), "She goes.The dog goes.", "She goes! The dog goes!"),
        (swap(".", ""), "She goes home.The dog goes.", "She goes home The dog goes"),
        (before("The", "Well"), "She goes.The dog goes.", "She goes. Well The dog goes."),
        (before("the", "all"), "She goes,the dog goes.", "She goes, all the dog goes."),
        (swap("the", ""), "She goes,the dog goes.", "She goes, dog goes."),
        (swap("the", "a"), "She goes,the dog goes.", "She goes, a dog goes."),
        (swap(",", ""), "She goes,the dog goes.", "She goes the dog goes."),
        (None, "Ich nicht.The Hund und der Wald ist nicht da.", None),  # another language
    ],
)
def test_a_missing_blank_is_put_in(change: Change | None, text: str, corrected: str | None) -> None:
    found = corrector(change).correct(text)
    assert found.text == (corrected or text)
    assert [found.text for found in corrector(change).correct_tokenized(["it.The it,the"])] == [
        "it.The it,the"
    ]


def test_the_edit_that_puts_a_blank() -> None:
    text = "She likes it.The dog likes it."
    [edit] = corrector().correct(text).edits
    assert (edit.start, edit.end, edit.original, edit.replacement) == (12, 13, ".", ". ")
    assert (edit.type, edit.message) == ("R:ORTH", "Put a space after “.”.")
    for strict in (Setting(min_confidence=0.99), Setting(types={"R:ORTH": 0.99})):
        assert corrector(settings={"balanced": strict}).correct(text).edits == ()
    assert corrector(dictionary=["it.The"]).correct(text).edits == ()


def test_a_missing_blank_in_every_output() -> None:
    """The words are the same before and after, which M2 shows."""
    found = corrector(swap("go", "goes")).correct("She go.The dog likes it.")
    assert to_m2(found) == (
        "S She go .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\n"
        "S The dog likes it .\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\n"
    )
    assert '"." → ". " [R:ORTH]' in to_findings("x", found)
    assert "-She go.The dog likes it." in to_diff("x", found)


def test_the_dictionary_protects_tokenized_text() -> None:
    change = swap("dog", "cat")
    [free] = corrector(change).correct_tokenized(["A dog ."])
    [kept] = corrector(change, dictionary=["dog"]).correct_tokenized(["A dog ."])
    assert (free.text, kept.text) == ("A cat .", "A dog .")


# ----------------------------------------------------------------------- confidence


def test_confidence_is_the_least_probability() -> None:
    """The model is sure of the copied words and torn between go and goes."""
    change = swap("cat", "dog")
    certain = corrector(change).correct("A cat sleeps .").edits[0]
    assert certain.confidence > 0.97
    torn = corrector(change, second=copies, gap=0.4)
    [edit] = torn.correct("A cat sleeps .").edits
    chosen = 1 / (1 + math.exp(-0.4) + 398 * math.exp(-10))
    assert edit.confidence == pytest.approx(chosen, abs=0.005)


@pytest.mark.parametrize(
    "change", [swap("cat", "dog"), swap("cat", ""), before("cat", "old"), swap("sleeps", "")]
)
def test_min_confidence(change: Change) -> None:
    text = "A cat sleeps ."
    options: dict[str, Any] = {"second": copies, "gap": 0.4}
    [edit] = corrector(change, **options).correct(text).edits
    kept = corrector(change, min_confidence=edit.confidence - 0.01, **options).correct(text)
    left = corrector(change, min_confidence=edit.confidence + 0.01, **options).correct(text)
    assert kept.edits == (edit,)
    assert left.edits == ()
    assert left.text == text
    assert left.sentences[0].target == left.sentences[0].source


def test_a_least_confidence_by_type() -> None:
    """A setting may ask more, or less, of one type; what a call asks for holds for all."""
    options: dict[str, Any] = {"second": copies, "gap": 0.4}
    change, text = swap("cat", "dog"), "A cat sleeps ."
    [edit] = corrector(change, **options).correct(text).edits
    more, less = edit.confidence + 0.01, edit.confidence - 0.01

    def made(setting: Setting, **asked: Any) -> bool:
        found = corrector(change, settings={"balanced": setting}, **options)
        return bool(found.correct(text, Options(**asked)).edits)

    assert made(Setting(types={"M:DET": 1.0}))
    assert not made(Setting(types={edit.type: more}))
    assert made(Setting(min_confidence=more, types={edit.type: less}))
    assert made(Setting(types={edit.type: more}), min_confidence=less)
    with pytest.raises(ConfigError, match="types, M:DET: must lie between 0 and 1, not 2"):
        Setting(types={"M:DET": 2})


def test_tolerance_leaves_what_is_nearly_as_good() -> None:
    options: dict[str, Any] = {"second": copies, "gap": 0.4}
    change = swap("cat", "dog")
    assert corrector(change, tolerance=0.3, **options).correct("A cat .").text == "A dog ."
    assert corrector(change, tolerance=0.5, **options).correct("A cat .").text == "A cat ."
    # the bundle's own tolerance, and how to switch it off
    options["settings"] = {"balanced": Setting(tolerance=0.5), "thorough": Setting()}
    assert corrector(change, **options).correct("A cat .").text == "A cat ."
    assert corrector(change, tolerance=0.0, **options).correct("A cat .").text == "A dog ."
    assert corrector(change, setting="thorough", **options).correct("A cat .").text == "A dog ."


# ---------------------------------------------------------------------------- limits


def test_a_sentence_without_end_is_left_and_reported() -> None:
    text = "It is fine. She go home. It is fine."
    model = corrector(lambda words: words if "go" not in words else ["old"] * 999)
    found = model.correct(text)
    assert found.text == text
    assert found.edits == ()
    assert said(found) == ("characters 12-24: no end within the length limit, left as it was",)
    assert len(found.trace) == 3


@pytest.mark.parametrize("max_positions", [40, 512])
def test_a_word_too_long_for_the_model_is_left_and_reported(max_positions: int) -> None:
    """A window with more subwords than the model takes; its neighbours are corrected."""
    long = "q" * min(max_positions, WINDOW_TOKENS + 1)
    text = f"She go home. He go {long} home. They go home."
    found = corrector(swap("go", "goes"), max_positions=max_positions).correct(text)
    assert found.text == f"She goes home. He go {long} home. They goes home."
    assert len(found.warnings) == 1
    assert said(found)[0].startswith(f"characters 13-{text.index(' They')}: ")


def test_what_came_before_the_model_ran_away_is_kept() -> None:
    def change(words: list[str]) -> list[str]:
        return [*swap("go", "goes")(words[:6]), *["old"] * 999] if "go" in words else words

    text = "It is. She go to the old school and they go home."
    found = corrector(change).correct(text)
    assert found.text == "It is. She goes to the old school and they go home."
    at = text.index(" and") + 1
    assert said(found) == (
        f"characters {at}-{len(text)}: no end within the length limit, left as it was",
    )


def lost_beyond(count: int, rest: Callable[[list[str]], list[str]]) -> Change:
    """Correct short texts; of longer ones make something else."""
    return lambda words: swap("go", "goes")(words) if len(words) <= count else rest(words)


@pytest.mark.parametrize(
    "rest",
    [
        lambda words: [*words[:5], *["old"] * 999],  # no end
        lambda words: words[:5],  # an early end
        lambda words: [*words[:5], *["tree"] * (len(words) - 5)],  # something else
    ],
)
@pytest.mark.parametrize("length", [30, 60, 150])
def test_a_long_text_in_which_the_model_loses_its_way_is_decoded_in_halves(
    rest: Callable[[list[str]], list[str]], length: int
) -> None:
    words = ["go" if n % 7 == 3 else NOUNS[n % 10] for n in range(length)]
    [found] = corrector(lost_beyond(20, rest)).correct_tokenized([" ".join(words)])
    assert found.text.split() == swap("go", "goes")(words)
    assert found.warnings == ()


def test_a_window_of_too_many_subwords_is_decoded_in_parts() -> None:
    """Twenty words with fifteen subwords each, too many for one window of 200."""
    names = [f"{'qxz' * 5}{letter}" for letter in "abcdefghijklmnopqrst"]
    words = [word for name in names for word in (name, "go")]
    [found] = corrector(swap("go", "goes")).correct_tokenized([" ".join(words)])
    assert len(subwords().encode(words)) > WINDOW_TOKENS
    assert found.text.split() == swap("go", "goes")(words)
    assert found.warnings == ()


def test_beside_a_word_too_long_for_the_model_there_is_no_sentence_end() -> None:
    """The parts of a sentence without the word are not taken for sentences."""
    long = "q" * (WINDOW_TOKENS + 1)
    words = [*NOUNS, "go", "she", long, *NOUNS, "go", "she"]
    text = " ".join(words)

    def change(words: list[str]) -> list[str]:
        return ["The", *swap("go", "goes")(words), "."]

    [found] = corrector(change).correct_tokenized([text])
    assert found.text == f"The {text} .".replace(" go ", " goes ")
    [warning] = said(found)
    [place] = re.findall(r"^characters (\d+)-(\d+): words too long for the model", warning)
    assert long in text[int(place[0]) : int(place[1])]
    assert int(place[1]) - int(place[0]) < len(long) + 60


READINGS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30), st.booleans()), max_size=9)


@given(READINGS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2)), max_size=20))
def test_every_place_of_a_sentence_is_the_share_of_one_reading(
    spans: list[tuple[int, int, bool]], touched: list[tuple[int, int]]
) -> None:
    edits = [WordEdit(start, start + length, 0, 0) for start, length in touched]
    readings = []
    for start, length, whole in spans:
        inside = [e for e in edits if start <= e.source_start and e.source_end <= start + length]
        readings.append(
            Reading(start, start + length, whole, [], [], [], inside, {}),
        )
    at = 0
    for reading, begin, end in shares(readings):
        assert at <= begin <= end
        if begin < end:
            assert reading.start <= begin
            assert end <= reading.end + 1
        at = end


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


# --------------------------------------------------------------------------- windows

CHANGES: dict[str, Change] = {
    "replaces": swap("dog", "cat"),
    "inserts": before("dog", "the"),
    "deletes": swap("dog", ""),
    "doubles": swap("dog", "dog and dog"),
    "joins": lambda words: " ".join(words).replace("old dog", "friend").split(),
    "swaps": lambda words: " ".join(words).replace("old dog", "dog old").split(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_anywhere_in_a_long_sentence(name: str) -> None:
    """Windows overlap: each edit is made once, also where two windows meet."""
    change = CHANGES[name]
    rng = random.Random(1)
    others = [noun for noun in NOUNS if noun not in ("dog", "cat", "friend")]
    length = 2 * WINDOW_WORDS - WINDOW_OVERLAP + 20  # three windows
    lines = []
    for place in range(length - 1):
        words = [rng.choice(others) for _ in range(length)]
        words[place : place + 2] = ["old", "dog"]
        lines.append(words)
    found = corrector(change).correct_tokenized(" ".join(words) for words in lines)
    for words, correction in zip(lines, found, strict=True):
        assert correction.text.split() == change(words)
        assert correction.warnings == ()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(sorted(CHANGES)), st.integers(1, 260))
def test_many_edits_in_a_long_sentence(seed: int, name: str, length: int) -> None:
    rng = random.Random(seed)
    words = [rng.choice(["old", "dog", *NOUNS[2:6], "school"]) for _ in range(length)]
    if name in ("joins", "swaps"):  # a pair cut by a window's end is half a pair
        pair = "old dog".split()
        words = [w for i in range(length) for w in (pair if i % 9 == seed % 9 else ["tree"])]
    [found] = corrector(CHANGES[name]).correct_tokenized([" ".join(words)])
    assert found.text.split() == CHANGES[name](words)
    assert len(found.sentences) == 1
    assert found.sentences[0].target == tuple(CHANGES[name](words))


def test_a_long_sentence_that_ends_nowhere_keeps_the_corrections_of_its_other_windows() -> None:
    words = ["dog"] + ["tree"] * 99
    model = corrector(lambda words: swap("dog", "cat")(words) if "dog" in words else words * 9)
    [found] = model.correct_tokenized([" ".join(words)])
    assert found.text == " ".join(["cat"] + ["tree"] * 99)
    assert len(found.warnings) == 1


# ------------------------------------------------------------------------ many texts


def test_many_texts_come_in_order() -> None:
    texts = [f"{'She go ' * (n % 5)}home ." for n in range(23)]
    one_by_one = [corrector(swap("go", "goes")).correct(text).text for text in texts]
    for batch_size in (1, 4, 100):
        found = corrector(swap("go", "goes")).correct_many(texts, batch_size=batch_size)
        assert [correction.text for correction in found] == one_by_one


def test_many_texts_are_read_lazily() -> None:
    read: list[int] = []

    def texts() -> Iterator[str]:
        for n in range(100):
            read.append(n)
            yield "She go home ."

    found = corrector(swap("go", "goes")).correct_many(texts(), batch_size=4)
    assert read == []
    next(found)
    assert len(read) == 4
    for _ in range(4):
        next(found)
    assert len(read) == 8


@pytest.mark.parametrize("batch_size", [0, -1])
def test_no_batch_size(batch_size: int) -> None:
    model = corrector()
    for call in (
        lambda: model.correct("A dog .", batch_size=batch_size),
        lambda: list(model.correct_many(["A dog ."], batch_size=batch_size)),
        lambda: list(model.correct_tokenized(["A dog ."], batch_size=batch_size)),
    ):
        with pytest.raises(ConfigError, match="batch_size must be at least 1"):
            call()


def test_tokenized_lines() -> None:
    lines = ["She go home . They go home .", "", "   ", "go", 'I do n\'t go ; "go"']
    found = list(corrector(swap("go", "goes")).correct_tokenized(lines))
    assert [c.text for c in found] == [
        "She goes home . They goes home .", "", "   ", "goes", "I do n't goes ; \"go\"",
    ]  # fmt: skip
    assert [len(c.sentences) for c in found] == [1, 0, 0, 1, 1]  # a line is a sentence


def test_another_language_passes_through() -> None:
    text = "Der Hund ist nicht in dem Haus und die Katze ist auch nicht da. 犬がいる。"
    found = corrector(lambda words: ["dog"]).correct(text)
    assert found.text == text
    assert found.trace == ()


# --------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "fast"}, "unknown strategy 'fast', expected one of iad, greedy, beam"),
        ({"strategy": "greedy", "tolerance": 0.5}, "tolerance needs the iad strategy"),
        ({"strategy": "speculative-beam", "tolerance": 0.5}, "tolerance needs the iad strategy"),
        ({"strategy": "iad:tolerance=0.5"}, "the tolerance is the setting's or --tolerance"),
        ({"strategy": "beam:k=3"}, "strategy beam has no option 'k'"),
        ({"tolerance": -1.0}, "tolerance must be a number of nats >= 0"),
        ({"tolerance": float("nan")}, "tolerance must be a number of nats >= 0"),
        ({"min_confidence": 1.5}, "min_confidence must lie between 0 and 1"),
        ({"min_confidence": float("nan")}, "min_confidence must lie between 0 and 1"),
        ({"strategy": "beam", "beam_size": 0}, "beam size must be at least 1"),
        ({"setting": "bold"}, "unknown setting 'bold', this bundle has balanced"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        corrector(**options)


def test_info() -> None:
    info = corrector(tolerance=0.5, about={"bundle": "en"}).info()
    assert info.items() >= {"bundle": "en", "strategy": "iad", "tolerance": 0.5}.items()
    assert int(info["threads"]) >= 1
    assert "tolerance" not in corrector(strategy="beam").info()


# ------------------------------------------------------------- options of a single call


def test_a_calls_options_go_over_the_correctors() -> None:
    made = corrector(
        swap("cat", "dog"),
        second=copies,
        gap=0.4,
        tolerance=0.5,
        dictionary=frozenset({"tree"}),
        settings={"balanced": Setting(), "precise": Setting(2.0), "thorough": Setting(0.1)},
    )
    text = "A cat , a cat , Tree and tree ."
    assert made.correct(text).text == text
    changed = "A dog , a dog , Tree and tree ."
    assert made.correct(text, Options(tolerance=0.1)).text == changed
    assert made.correct(text, Options(setting="thorough")).text == changed
    assert made.correct(text, Options(setting="precise")).text == text
    sure = Options(setting="thorough", min_confidence=0.99)
    assert made.correct(text, sure).text == text
    words = Options(tolerance=0.1, dictionary=frozenset({"cat"}))
    assert made.correct(text, words).text == text
    with pytest.raises(ConfigError, match="unknown setting 'x'"):
        made.correct(text, Options(setting="x"))


def test_the_correctors_dictionary_holds_beside_a_calls() -> None:
    made = corrector(swap("cat", "dog"), dictionary=frozenset({"cat"}))
    assert made.correct("A cat .", Options(dictionary=frozenset({"tree"}))).text == "A cat ."


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(2, 5)], "A cat sees a dog ."),
        ([(3, 4)], "A cat sees a dog ."),  # widened to the word
        ([(2, 2)], "A dog sees a dog ."),  # nothing
        ([(2, 16)], "A cat sees a cat ."),
        ([(13, 16), (2, 5)], "A cat sees a cat ."),
    ],
)
def test_protected_spans(spans: list[tuple[int, int]], expected: str) -> None:
    made = corrector(swap("cat", "dog"))
    assert made.correct("A cat sees a cat .", Options(protected=tuple(spans))).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("😀 A cat .", "😀 A dog ."),
        ("A cat 😀 .", "A dog 😀 ."),
        ("A 😀 cat sees 💚💚 a cat 😀", "A 😀 dog sees 💚💚 a dog 😀"),
        ("👩‍👩‍👧 A cat . ❤️ A cat .", "👩‍👩‍👧 A dog . ❤️ A dog ."),
        ("😀", "😀"),
        ("A cat ✓ ™ ☃", "A dog ✓ ™ ☃"),
    ],
)
def test_the_model_does_not_see_pictures(text: str, expected: str) -> None:
    """It has not learnt any, and says anything when it sees one."""
    seen: list[str] = []

    def change(words: list[str]) -> list[str]:
        seen.extend(words)
        return swap("cat", "dog")(words)

    assert corrector(change).correct(text).text == expected
    assert all(word.isascii() for word in seen)
    assert corrector(change).correct("A + cat costs € 5 .").text == "A + dog costs € 5 ."
    assert "€" in seen


def test_words_around_a_picture() -> None:
    assert corrector(before("cat", "old")).correct("A 😀 cat .").text == "A 😀 old cat ."
    assert corrector(swap("cat", "")).correct("A 😀 cat .").text == "A 😀 ."
    joined = corrector(lambda words: " ".join(words).replace("to day", "today").split())
    assert joined.correct("She goes to 😀 day .").text == "She goes to 😀 day ."
    assert joined.correct("She goes to day 😀 .").text == "She goes today 😀 ."


def test_the_edit_that_is_made_is_the_one_that_was_weighed() -> None:
    """Of two equal words, too, when another edit of the sentence is left out."""

    def change(words: list[str]) -> list[str]:
        return swap("dog", "house")(
            [w for w, after in zip(words, [*words[1:], ""], strict=True) if w != after]
        )

    made = corrector(change, settings={"balanced": Setting(types={"R:OTHER": 1.0})})
    found = made.correct("A dog likes the the cat .")
    assert found.text == "A dog likes the cat ."
    [edit], [sentence] = found.edits, found.sentences
    left_out, weighed = sentence.evidence
    assert left_out.replacement == ("house",)
    assert edit.words is not None
    assert (edit.words.source_start, edit.words.source_end) == (weighed.start, weighed.end)
    [word] = sentence.words[weighed.start : weighed.end]
    assert edit.start <= word.start < word.end <= edit.end


@pytest.mark.parametrize("tokenized", [False, True])
def test_protecting_many_spans_is_linear(tokenized: bool) -> None:
    made = corrector()

    def plan(size: int) -> object:
        spans = Options(protected=tuple((6 * n + 2, 6 * n + 5) for n in range(size)))
        return made._planner().plan("a cat " * size, made._rule(spans, tokenized=tokenized))

    assert growth(plan, 300) < 2.3


def test_protected_spans_of_tokenized_text() -> None:
    made = corrector(swap("cat", "dog"))
    [found] = made.correct_tokenized(["A cat sees a cat ."], Options(protected=((2, 5),)))
    assert found.text == "A cat sees a dog ."


@pytest.mark.parametrize("batch_size", [1, 3, 40])
def test_as_many_sentences_as_asked_for_are_decoded_together(batch_size: int) -> None:
    made, sizes = corrector(swap("cat", "dog")), []
    start = made.model.start

    def count(sources: Sequence[Sequence[int]]) -> Any:
        sizes.append(len(sources))
        return start(sources)

    made.model.start = count  # type: ignore[method-assign]
    made.correct("A cat .\n\n" * 40, batch_size=batch_size)
    assert max(sizes) == batch_size
    assert sum(sizes) == 40


def test_evidence_is_kept_of_what_is_made_and_of_what_is_left_out() -> None:
    options: dict[str, Any] = {"second": copies, "gap": 0.4, "speller": speller()}
    change = swap("cat", "dog")
    for least, edits in ((0.0, 2), (0.99, 0)):
        made = corrector(change, min_confidence=least, **options)
        found = made.correct("She likes a cat to the cat .")
        assert len(found.edits) == edits
        first, second = found.sentences[0].evidence
        assert (first.start, first.end, first.replacement) == (3, 4, ("dog",))
        assert (second.start, second.end, second.replacement) == (6, 7, ("dog",))
        assert (first.type, first.others, first.spelling) == (second.type, 1, 1.0)
        assert 0.5 < first.probability < 0.7
        assert first.fluency == 0.0  # no n-gram model
    [spelt] = corrector(speller=speller()).correct("She likes teh cat .").sentences[0].evidence
    assert spelt.type == "R:SPELL"
    assert 0 < spelt.spelling < 1


def test_the_ngram_model_has_a_say_in_the_evidence() -> None:
    sentences = ["she likes the dog .".split()] * 3 + ["she likes the cat .".split()]
    table = build_ngrams(lambda: sentences, least=(1, 1, 1, 1))
    better = corrector(swap("cat", "dog"), ngrams=table).correct("She likes the cat .")
    worse = corrector(swap("dog", "cat"), ngrams=table).correct("She likes the dog .")
    assert better.sentences[0].evidence[0].fluency > 0
    assert worse.sentences[0].evidence[0].fluency < 0


@pytest.mark.parametrize("span", [(-1, 2), (3, 2), (0, 100)])
def test_protected_spans_outside_the_text(span: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="within the text of 7 code points"):
        corrector().correct("A cat .", Options(protected=(span,)))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ["", " ", "A cat.", "\n A cat. The dog.\n\n- A cat\n- The cat \n"])
def test_a_stream_adds_up_to_the_text(text: str, batch_size: int) -> None:
    made = corrector(swap("cat", "tree"))
    whole = made.correct(text)
    parts = list(made.stream(text, batch_size=batch_size))
    assert "".join(part.original for part in parts) == text
    assert "".join(part.text for part in parts) == whole.text
    assert [edit for part in parts for edit in part.edits] == list(whole.edits)
    places = [(s.start, s.end) for part in parts for s in part.sentences]
    assert places == [(s.start, s.end) for s in whole.sentences]
    assert all(len(part.sentences) <= batch_size for part in parts)


def test_another_decode_function() -> None:
    made = corrector(swap("cat", "dog"), tolerance=0.25)
    asked: list[tuple[list[tuple[int, ...]], float]] = []

    def decode(sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Hypothesis]:
        asked.append((list(sources), tolerance))
        return made.decode(sources, tolerance)

    other = made.with_decoder(decode)
    assert other.correct("A cat . The cat .").edits == made.correct("A cat . The cat .").edits
    assert [len(sources) for sources, _ in asked] == [2]
    assert {tolerance for _, tolerance in asked} == {0.25}
    made.correct("A cat .")
    assert len(asked) == 1  # the first corrector decodes as before


class Late(Exception):
    """A caller's deadline."""


def interrupted(text: str, last: int) -> tuple[int, list[int]]:
    """Correct until the ``last`` call of the interrupt; return its calls, and when was decoded."""
    made = corrector(swap("cat", "dog"), speller=speller())
    calls, decoded = 0, []

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls == last:
            raise Late

    def decode(sources: Sequence[tuple[int, ...]], tolerance: float) -> list[Hypothesis]:
        decoded.append(calls)
        return made.decode(sources, tolerance)

    with contextlib.suppress(Late):
        made.with_decoder(decode, interrupt=interrupt).correct(text, batch_size=100)
    return calls, decoded


def test_a_caller_may_interrupt_every_phase() -> None:
    """Before decoding: while segmenting, spelling and encoding; and after it."""
    calls, decoded = interrupted("She likes teh cat . " * 10, last=0)
    [before] = decoded
    assert before >= 30  # ten each for segmenting, spelling, encoding
    assert calls - before >= 10
    for last in range(1, calls + 1):
        assert interrupted("She likes teh cat . " * 10, last) == (
            last, [before] if last > before else []
        )  # fmt: skip


def test_one_long_sentence_is_interrupted_too() -> None:
    """It has windows to encode, and misspelt words to look up."""
    text = "she likes teh cat " * 200
    assert interrupted(text, 0)[1][0] > 200
    assert interrupted(text, 150) == (150, [])


def test_the_interrupt_stays_with_another_decoder() -> None:
    def late() -> None:
        raise Late

    made = corrector()
    other = made.with_decoder(made.decode, interrupt=late).with_decoder(made.decode)
    with pytest.raises(Late):
        other.correct("A cat .")
    assert made.correct("A cat .").text == "A cat ."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See the page [ here ] ", "See the page [ here ] "),  # at a line's end "]" seemed a "."
        ("See the page here ] ", "See the page here . "),  # alone it may be a slip
        ("See the page ( here ) ", "See the page ( here ) "),
    ],
)
def test_no_edit_takes_one_bracket_of_a_pair(text: str, expected: str) -> None:
    model = swap("]", ".") if "]" in text else swap(")", ".")
    assert corrector(model).correct(text, Options(min_confidence=0.0)).text == expected


def test_bytes_that_are_no_character_are_not_written() -> None:
    options = Options(min_confidence=0.0)
    assert corrector(swap("cat", "\ufffdat")).correct("A cat .", options).text == "A cat ."
    assert corrector(swap("cat", "bat")).correct("A cat .", options).text == "A bat ."


# -------------------------------------------------------------------------- spelling


def speller() -> Speller:
    counts = dict.fromkeys([*NOUNS, "she", "to", "the", "a", "lot", "goes", "likes"], 100000)
    return Speller(counts, {"alot": {"a lot": 3}})


def test_misspelt_words_are_corrected_before_the_model() -> None:
    model = swap("go", "goes")
    text = "She go to teh schol alot . "
    found = corrector(model, speller=speller()).correct(text)
    assert found.text == "She goes to the school a lot . "
    assert [(e.original, e.replacement, e.type) for e in found.edits] == [
        ("go", "goes", "R:VERB:SVA"),
        ("teh", "the", "R:SPELL"),
        ("schol", "school", "R:SPELL"),
        ("alot", "a lot", "R:ORTH"),
    ]
    # the draft is what the model was given; twice something is foreseen in vain, because this model
    # chooses by the place alone, and "goes" is a token longer than "go"
    assert [trace.passes for trace in found.trace] == [4]
    assert corrector(model).correct(text).text == "She goes to teh schol alot . "


def test_the_spellers_doubt_is_in_the_confidence() -> None:
    certain, doubtful = speller().suggest("schol")[0], speller().suggest("teh")[0]
    edits = corrector(speller=speller()).correct("She likes teh schol.").edits
    assert edits[0].confidence <= doubtful.confidence
    assert edits[1].confidence <= certain.confidence
    assert all(edit.confidence > 0 for edit in edits)
    least = max(edit.confidence for edit in edits)
    strict = corrector(speller=speller(), min_confidence=math.nextafter(least, 1.0))
    assert strict.correct("She likes teh schol.").text == "She likes teh schol."


def test_the_model_may_change_what_the_speller_wrote() -> None:
    model = swap("school", "city")
    [edit] = corrector(model, speller=speller()).correct("She goes to the schol.").edits
    assert (edit.original, edit.replacement) == ("schol", "city")


def test_spelling_leaves_protected_words_alone() -> None:
    text = "She likes `teh` and http://x.org/schol and Schol."
    found = corrector(speller=speller(), dictionary=["Schol"]).correct(text)
    assert found.text == text


def test_spelling_in_windows() -> None:
    words = [random.Random(1).choice(NOUNS) for _ in range(150)]
    words[0], words[56], words[100] = "schol", "freind", "alot"
    found = corrector(speller=speller()).correct(" ".join(words) + " .").text.split()
    expected = ["school", *words[1:56], "friend", *words[57:100], "a", "lot", *words[101:], "."]
    assert found == expected


@pytest.mark.parametrize(
    ("change", "corrected"),
    [
        (swap("Hilder", "Hilderll"), "She likes Hilder and the dog ."),  # no such word
        (swap("Hilder", "the"), "She likes Hilder and the dog ."),  # a name is not replaced
        (swap("dog", "dogque"), "She likes Hilder and the dog ."),
        (swap("Hilder", "hilder"), "She likes hilder and the dog ."),  # another case is no new word
        (swap("Hilder", "the Hilder"), "She likes the Hilder and the dog ."),
        (swap("dog", "cat"), "She likes Hilder and the cat ."),
    ],
)
def test_words_that_no_dictionary_has_are_neither_written_nor_replaced(
    change: Change, corrected: str
) -> None:
    text = "She likes Hilder and the dog ."
    assert corrector(change, speller=speller()).correct(text).text == corrected
    assert corrector(change).correct(text).text == " ".join(change(text.split()))


def test_a_second_round_mends_what_the_first_one_left() -> None:
    """The edits lead from the text itself to what the last round wrote."""

    def change(words: list[str]) -> list[str]:
        table = {"dog": "cat", "cat": "house"}
        return [table.get(word, word) for word in words]

    text = "She goes to the dog and the tree."
    once, twice = (corrector(change, rounds=n).correct(text) for n in (1, 2))
    assert once.text == "She goes to the cat and the tree."
    assert twice.text == "She goes to the house and the tree."
    assert [(edit.original, edit.replacement) for edit in twice.edits] == [("dog", "house")]
    [sentence] = twice.sentences
    assert sentence.trace is not None
    assert "".join(sentence.trace.tokens) == "<cap> she go<+s> to the house and the tree .</s>"
    clean = corrector(change, rounds=5).correct("She likes the tree.")
    assert [len(s.trace.steps) for s in clean.sentences if s.trace] == [1]


@given(st.text("abcd é\U0001f600", min_size=1), st.text("abcd é\U0001f600", min_size=1))
def test_the_distance_of_an_edit_is_that_of_optimal_string_alignment(old: str, new: str) -> None:
    assert _letter_distance(old, new) == OSA.normalized_distance(old, new)
