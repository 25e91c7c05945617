"""align, to_edits, classify, apply."""

import doctest
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.edits import align as module
from gec.edits.align import align
from gec.edits.classify import classify
from gec.edits.edits import Edit, WordEdit, apply
from gec.edits.messages import MESSAGES
from gec.edits.place import to_edits
from gec.text.segmentation import segment
from gec.text.words import split_tokenized, split_words, tokenize_line


def changes(source: str, target: str) -> list[str]:
    """The alignment as strings "old -> new"."""
    a, b = source.split(), target.split()
    pairs = [
        (a[e.source_start : e.source_end], b[e.target_start : e.target_end]) for e in align(a, b)
    ]
    return [f"{' '.join(old)} -> {' '.join(new)}" for old, new in pairs]


SOME = "the a he go goes went to , . ' n't student students 's alot lot more easy easier at cat Cat"


@given(
    st.lists(st.sampled_from(SOME.split()), max_size=14),
    st.lists(st.sampled_from(SOME.split()), max_size=14),
)
@settings(deadline=None)
def test_a_band_leaves_no_better_alignment_out(source: list[str], target: list[str]) -> None:
    found = align(source, target)
    with pytest.MonkeyPatch.context() as patch:
        band = module._table
        patch.setattr(module, "_table", lambda a, b, margin: band(a, b, 100))
        assert align(source, target) == found


def corrected(text: str, target: str, *, spaced: bool | None = None) -> str:
    """The text with its (first) sentence turned into the blank-separated target words."""
    words = segment(text)[0].words
    return apply(text, to_edits(text, words, target.split(), spaced=spaced))


def edit(start: int, end: int, original: str, replacement: str) -> Edit:
    return Edit(start, end, original, replacement, "R:OTHER", 1.0, "")


# -------------------------------------------------------------------------------------- align


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a b c", "a b c", []),
        ("", "", []),
        ("", "a b", [" -> a b"]),
        ("a b", "", ["a b -> "]),
        ("He go home", "He goes home", ["go -> goes"]),
        ("He go to school", "He is going to the school", ["go -> is going", " -> the"]),
        ("He go school", "He goes to school", ["go -> goes", " -> to"]),
        ("I like alot it", "I like a lot it", ["alot -> a lot"]),
        ("every day", "everyday", ["every day -> everyday"]),
        ("I dont know", "I do n't know", ["dont -> do n't"]),
        ("the students book", "the student 's book", ["students -> student 's"]),
        ("It is depend on", "It depends on", ["is depend -> depends"]),
        ("more easy than", "easier than", ["more easy -> easier"]),
        ("Cat sleeps", "The cat sleeps", ["Cat -> The cat"]),
        ("So , he left", "He left", ["So , he -> He"]),
        ("here , it is", "here . It is", [", it -> . It"]),
        ("I go always home", "I always go home", ["go always -> always go"]),
        ("I like very much it now", "I like it very much now", ["very much it -> it very much"]),
        ("the the cat", "the cat", ["the -> "]),
        ("a informations", "information", ["a -> ", "informations -> information"]),
        ("he came and left", "he came , left", ["and -> ,"]),
        ("i live in new york", "I live in New York", ["i -> I", "new york -> New York"]),
        ("buy breads in shop", "buy bread in the shop", ["breads -> bread", " -> the"]),
    ],
)  # fmt: skip
def test_align(source: str, target: str, expected: list[str]) -> None:
    assert changes(source, target) == expected


WORDS = st.lists(
    st.sampled_from("a the The cat cats go goes is . , alot lot 's n't Go".split(" ")), max_size=9
)


@given(WORDS, WORDS)
@settings(max_examples=300, deadline=None)
def test_alignment_turns_source_into_target(source: list[str], target: list[str]) -> None:
    result: list[str] = []
    at = there = 0
    for e in align(source, target):
        assert e.source_start >= at
        assert e.source_start - at == e.target_start - there
        assert (e.source_start, e.target_start) != (e.source_end, e.target_end)
        result += source[at : e.source_start] + target[e.target_start : e.target_end]
        at, there = e.source_end, e.target_end
    assert result + source[at:] == target


def test_alignment_of_a_long_text_with_two_errors_is_quick() -> None:
    words = [f"word{i % 97}" for i in range(2000)]
    started = time.process_time()
    assert align(["a", *words], ["b", *words]) == [WordEdit(0, 1, 0, 1)]
    assert time.process_time() - started < 5


# -------------------------------------------------------------------------------------- place


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("He go to school.", "He goes to school .", "He goes to school."),
        ("I dont like it", "I do n't like it .", "I don't like it."),
        ("I do nt like it.", "I do n't like it .", "I don't like it."),
        ("He don’t like a apple.", "He does n't like an apple .", "He doesn’t like an apple."),
        ("He said “it ’s it.", "He said “ it 's it . \"", "He said “it ’s it.”"),
        ('He said "hello.', 'He said " hello . "', 'He said "hello."'),
        ("He said hello to me", 'He said " hello " to me', 'He said "hello" to me'),
        ("Well I (think it)", "Well , I think ( it )", "Well, I think (it)"),
        ("He likes it and left", "He likes it , and left", "He likes it, and left"),
        ("He is a very, tall man", "He is a very tall man", "He is a very tall man"),
        ("Go to home.", "Go home .", "Go home."),
        ("The life is hard.", "Life is hard .", "Life is hard."),
        ("It is good the.", "It is good .", "It is good."),
        ("It was good (very).", "It was good .", "It was good."),
        ("It  was   the  good.", "It was good .", "It  was  good."),
        ("I want go\nhome now", "I want to go\nhome now", "I want to go\nhome now"),
        ("I go to\nthe home.", "I go home .", "I go\nhome."),
        ("It is\ndepend on", "It depends on", "It depends on"),
        ("I go\nalways home", "I always go home", "I always\ngo home"),
        ("I like\nto school", "I like school", "I like\nschool"),
        ("Cat is here, it sleeps.", "The cat is here . It sleeps .", "The cat is here. It sleeps."),
        ("I like word,next", "I like the word , and next", "I like the word, and next"),
        ("Although late but he came.", "Although late , he came .", "Although late, he came."),
        ("Dogs house.", "Dog 's house .", "Dog's house."),
        ("the dogs house is", "the dogs ' house is", "the dogs' house is"),
        ("It costs 5.", "It costs $ 5 % .", "It costs $5%."),
        ("I can not, can't go.", "I cannot , can go .", "I cannot, can go."),
        ("caf\u0301es is nice", "caf\u0301es are nice .", "caf\u0301es are nice."),
    ],
)  # fmt: skip
def test_raw_text(text: str, target: str, expected: str) -> None:
    assert corrected(text, target) == expected
    wanted = [w.text for w in split_tokenized(target)]
    assert tokenize_line(expected) == wanted or "‘" in text


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("He go school .", "He goes to school ."),
        ("He do n't know , he say", "He does n't know . He says"),
        ("I think ( so .", "I think ( so ) ."),
        ("It is he book .", "It is his book , he 's told ."),
        ("He said hi .", 'He said " hi " .'),
        ("Remove , this the .", "Remove this ."),
    ],
)
def test_tokenized_text_stays_tokenized(text: str, target: str) -> None:
    assert corrected(text, target) == target
    assert corrected(text, target, spaced=True) == target


def test_spacing_can_be_imposed() -> None:
    assert corrected("He go", "He goes , now .", spaced=True) == "He goes , now ."
    assert corrected("How are you ?", "How , then , are you ?") == "How , then , are you ?"
    assert corrected("Yes, how are you ?", "Yes , how , then , are you ?") == (
        "Yes, how, then, are you ?"
    )


def test_an_insertion_is_empty_and_carries_its_blank() -> None:
    text = "He go school."
    assert [
        (e.start, e.end, e.original, e.replacement, e.type)
        for e in to_edits(text, split_words(text), "He goes to school .".split(" "))
    ] == [(3, 5, "go", "goes", "R:VERB:SVA"), (5, 5, "", " to", "M:PREP")]


@pytest.mark.parametrize(
    "text", ["He’s “here” — now…", "cafe\u0301 at\u00a0home", "\ufeffHi\u200b ``x''"]
)
def test_normalisation_is_no_edit(text: str) -> None:
    words = split_words(text)
    assert to_edits(text, words, [w.text for w in words]) == []
    assert to_edits(text, words, [text[w.start : w.end] for w in words]) == []


def test_protected_words_stay() -> None:
    text = "See http://x.y/z for informations."
    words = segment(text)[0].words
    target = "See the http link for information .".split()
    assert apply(text, to_edits(text, words, target)) == "See http://x.y/z for information."
    assert (
        apply(text, to_edits(text, words, "For information .".split())).count("http://x.y/z") == 1
    )
    insertion = "See the http://x.y/z for informations .".split()
    assert apply(text, to_edits(text, words, insertion)) == "See the http://x.y/z for informations."


def test_nothing_goes_between_parts_of_one_region() -> None:
    words = [
        w if w.start > 3 else type(w)(w.text, w.start, w.end, True) for w in split_words("a.B c")
    ]
    assert [w.text for w in words] == ["a", ".", "B", "c"]
    assert to_edits("a.B c", words, ["a", "x", ".", "B", "c"]) == []


def test_confidence_is_the_least_of_the_words() -> None:
    text = "I alot like the it"
    edits = to_edits(
        text, split_words(text), ["I", "a", "lot", "like", "it", "."],
        confidences=[1, 0.7, 0.6, 1, 0.5, 0.4, 0.3],
    )  # fmt: skip
    assert [(e.replacement, e.confidence) for e in edits] == [("a lot", 0.6), ("", 0.5), (".", 0.4)]
    (deletion,) = to_edits("a b", split_words("a b"), ["a"], confidences=[1, 0.25])
    assert deletion.confidence == 0.25
    with pytest.raises(ValueError, match="expected 2 confidences"):
        to_edits("a b", split_words("a b"), ["a"], confidences=[1])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_of_equal_words_any_may_be_the_changed_one(place: int) -> None:
    """What the caller put in or took out may be the other one for the alignment."""
    words = split_words("a run run b")
    (deletion,) = to_edits(
        "a run run b",
        words,
        ["a", "run", "b"],
        confidences=[1, *[[0.4, 1], [1, 0.4]][place > 0], 1],
    )
    assert deletion.confidence == 0.4
    confidences = [1.0] * 8
    confidences[1 + place] = confidences[2 + place] = 0.3
    (insertion,) = to_edits(
        "x a b y",
        split_words("x a b y"),
        ["x", "a", "b", "a", "b", "y"],
        confidences=confidences[:7],
    )
    assert insertion.confidence == 0.3


def test_empty_sides() -> None:
    assert to_edits("", [], ["a"]) == []
    assert to_edits("", [], []) == []
    assert apply("a b", to_edits("a b", split_words("a b"), [])) == ""


SOURCES = st.builds(
    str.join,
    st.sampled_from(["", " ", "  "]),
    st.lists(
        st.sampled_from(
            [
                *("He", "go", "the", "cat", "alot", "don’t", "’s", "cafe\u0301", "字", "foo_bar"),
                *(",", ".", "...", "(", ")", '"', "“", "”", "'", "5%", "$", "\n", "\r\n", "\u200b"),
                *("`x y`", "http://x.y/z", "<b>"),
            ]
        ),
        max_size=12,
    ),
)
TARGETS = st.lists(
    st.one_of(
        st.sampled_from("He goes the a lot cat , . ( \" ' 's n't /".split(" ")),
        st.text(min_size=1, max_size=3).filter(str.strip),  # a word is not blank
    ),
    max_size=12,
)


@given(st.one_of(SOURCES, st.text(max_size=20)), TARGETS, st.sampled_from([None, True, False]))
@settings(max_examples=400, deadline=None)
def test_any_target_gives_sound_edits(text: str, target: list[str], spaced: bool | None) -> None:
    everything: list[Edit] = []
    for sentence in segment(text):
        words = sentence.words
        assert to_edits(text, words, [w.text for w in words], spaced=spaced) == []
        edits = to_edits(text, words, target, spaced=spaced)
        assert all(sentence.start <= e.start <= e.end <= sentence.end for e in edits)
        for word in words:
            if word.protected:
                assert not any(e.start < word.end and word.start < e.end for e in edits)
        for e in edits:
            assert e.original != e.replacement
            if not e.replacement.strip():
                assert e.original.count("\n") == e.replacement.count("\n")
        everything += edits
    apply(text, everything)


# -------------------------------------------------------------------------------------- apply


@given(st.text(max_size=40), st.data())
@settings(max_examples=200, deadline=None)
def test_apply_touches_nothing_else(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [edit(a, b, text[a:b], data.draw(st.text(max_size=4))) for a, b in spans]
    expected, at = "", 0
    for e in edits:
        expected += text[at : e.start] + e.replacement
        at = e.end
    assert apply(text, data.draw(st.permutations(edits))) == expected + text[at:]


def test_apply_allows_neighbours() -> None:
    assert apply("abc", [edit(1, 1, "", "-"), edit(1, 2, "b", "B"), edit(2, 2, "", "+")]) == "a-B+c"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edit(0, 2, "ab", "x"), edit(1, 3, "bc", "y")], "overlap"),
        ([edit(0, 3, "abc", "x"), edit(1, 1, "", "y")], "overlap"),
        ([edit(1, 1, "", "x"), edit(1, 1, "", "y")], "overlap"),
        ([edit(2, 4, "c", "x")], "outside"),
        ([edit(-1, 1, "", "x")], "outside"),
        ([edit(2, 1, "", "x")], "outside"),
        ([edit(0, 1, "b", "x")], "expected 'b' at 0, found 'a'"),
    ],
)
def test_apply_refuses(edits: list[Edit], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply("abc", edits)


# ----------------------------------------------------------------------------------- classify


TYPES = {
    "M:DET": "-> the",
    "U:DET": "the ->",
    "R:DET": "a -> an | this -> these | Cat -> The cat",
    "M:PREP": "-> to",
    "U:PREP": "of ->",
    "R:PREP": "in -> at",
    "M:PRON": "-> it",
    "R:PRON": "he -> him",
    "M:CONJ": "-> and",
    "M:PART": "-> not",
    "M:NOUN:POSS": "-> 's",
    "M:PUNCT": "-> ,",
    "U:PUNCT": ". ->",
    "R:PUNCT": ", -> . | , it -> . It",
    "R:ORTH": "i -> I | alot -> a lot | well-known -> well known | can not -> cannot",
    "R:CONTR": "dont -> do n't | its -> it 's",
    "R:NOUN:POSS": "students -> student 's | Toms -> Tom 's",
    "R:VERB:SVA": "is -> are | has -> have | do -> does | go -> goes | tries -> try",
    "R:NOUN:NUM": "book -> books | city -> cities | child -> children",
    "R:NOUN:INFL": "childs -> children | mans -> men",
    "R:VERB:TENSE": "go -> went | is -> was | eat -> has eaten | study -> studied | can -> could",
    "M:VERB:TENSE": "-> has | -> will",
    "R:VERB:FORM": "go -> going | to go -> going | wrote -> written | making -> make | be -> been",
    "R:VERB:INFL": "goed -> went | catched -> caught",
    "R:ADJ:FORM": "more easy -> easier | big -> bigger",
    "R:MORPH": "quick -> quickly | importance -> important | worker -> work",
    "R:SPELL": "recieve -> receive | becouse -> because | stoping -> stopping | studys -> studies",
    "R:WO": "go always -> always go",
    "R:OTHER": "do -> make | big -> large | their -> there",
    "U:OTHER": "in the ->",
    "M:OTHER": "-> yesterday",
}


@pytest.mark.parametrize(
    ("kind", "change"), [(k, c) for k, changes in TYPES.items() for c in changes.split(" | ")]
)
def test_classify(kind: str, change: str) -> None:
    original, replacement = change.split("->")
    found, message = classify(original.split(), replacement.split())
    assert found == kind
    assert "\n" not in message
    assert message.endswith(".")


def test_messages_are_plain_english() -> None:
    assert classify(["a"], ["an"])[1] == (
        "Use “an” instead of “a”: the sound that follows decides between “a” and “an”."
    )
    assert classify([], ["the"])[1] == "Add “the”: an article or determiner is missing."
    assert classify(["dont"], ["do", "n't"])[1] == (
        "Use “don't” instead of “dont”: the short form is written in another way."
    )


def test_classify_refuses_nothing() -> None:
    with pytest.raises(ValueError, match="without words"):
        classify([], [])


@given(WORDS, WORDS)
@settings(max_examples=200, deadline=None)
def test_classify_knows_a_type_for_everything(original: list[str], replacement: list[str]) -> None:
    if original or replacement:
        kind, _ = classify(original, replacement)
        assert kind[:2] == ("R:" if original and replacement else "U:" if original else "M:")
        assert kind in MESSAGES


def test_examples() -> None:
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
