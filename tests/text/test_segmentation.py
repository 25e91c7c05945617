"""segment, windows, looks_english."""

import doctest
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.text import segmentation as module
from gec.text.language import looks_english
from gec.text.segmentation import (
    Sentence,
    missing_blanks,
    segment,
    windows,
)
from gec.text.stop_words import STOP_WORDS
from gec.text.words import Word, normalise, split_words


def sentences(text: str, *dictionary: str) -> list[str]:
    return [text[s.start : s.end] for s in segment(text, dictionary=dictionary)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith met Dr. Jones.", "They left."],
        ["He met J. R. R. Tolkien.", "Then he left."],
        ["It is 5 p.m. in the U.S. now.", "The U.S. Army left at 5 p.m.", "It was late."],
        ["See Fig. 3 and p. 5.", "No. 5 is e.g. this, i.e. that.", "Is it?", "No.", "Yes."],
        ["It costs 3.14 dollars.", "In 1990.", "Then 2."],
        ["Apples, etc. are good.", "I like apples, etc.", "We go."],
        ["Yahoo! is big.", "What?!", "Wait... what?", "Hmm…", "Ok."],
        ['He said "go."', "She went (at once.)", "“Why?” he asked.", "[1] Yes."],
        ["'Stop!'", "He ran **fast.**", "Then he fell."],
        ["i like it.", "he is good."],
        ["Is it good? yes, approx. five.", "Smith et al. say so."],
        ["So am I.", "He is in room B.", "The door is open."],
        ["It was at Smith Inc. Monday.", "It was in Jan. 2020.", "But no."],
        ["Tokenized text .", 'He said " hi . "', "Mr. X ( yes . )", "Wait . . .", "Ok ."],
        ["Is it ?", "Yes !", "He is ."],
        [
            "See http://x.y/z.",
            "Then `a. B` is.",
            "`foo` works.",
            "He left.</b>",
            "<b>Then</b> not.",
        ],
        ["He is 5.", "10 of them left.", "¿Por qué?", "Ça va."],
    ],
)
def test_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["There are many cases.", "However, it is rare."],
        ["The cost is high.", "The end is near.", "But no."],
        ["It was home.", "I'm sad.", "I’m sad.", "I went.", "A man came."],
        ["She was happy!", "They was sad?!", "It is..."],
        ["They ran.", "In my opinion, it is bad.", "For example, this."],
        [
            "I live in London.",
            "It is big.",
        ],
        ["I was born in 1990.", "The city was small."],
        ["There are some (for example).", "However, no."],
        ["These are well-known.", "This don't work.", "He's old."],
        ["He likes cats .", "But not dogs ."],
    ],
)
def test_sentences_without_a_blank_between_them(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    "text",
    """main.py setup.Py config.In README.The example.com Example.It.org www.This.com
    e.g.The i.e.It U.S.A U.S.The Ph.D. p.m.They J.R.R.Tolkien J.The A.The B.It a.The x.It Mr.He
    Dr.She etc.The Inc.They Fig.3.The No.The vol.The vs.The 3.14 10.30 1.The 2.It v1.2.3.The 1,2,3
    os.Path errors.Is errors.As time.After time.Since slices.All strings.Map fmt.In io.By ASP.NET
    Node.js System.Out.println() self.It() obj.The_x obj.This.that java.lang.The.Object
    `x`.The foo().The https://x.org/a.The C:\\x.The @me.The #tag.The Object.This.is cats.THE
    java.util.List cats.Theo cats.Hearing cats.Italy cats.In cats.the cats,The home.He/she
    London.John file.Its …The""".split(),
)
def test_what_only_looks_like_two_sentences(text: str) -> None:
    whole = f"We see {text} here and there."
    assert sentences(whole) == [whole]
    assert sentences(f"We like {text}") == [f"We like {text}"]


def blanks(text: str) -> str:
    """Put a mark where a blank is missing."""
    found = segment(text)
    ends = [
        word.end
        for sentence, following in zip(found, [*found[1:], None], strict=True)
        for word in missing_blanks(sentence.words, following.start if following else None)
    ]
    for end in reversed(ends):
        text = f"{text[:end]}_{text[end:]}"
    return text


@pytest.mark.parametrize(
    "expected",
    [
        "It is a risk,_the cost is high._The end is near.",
        "I came,_I saw,_but he's not there!_So we left.",
        "Yes,_it's good,_which is nice.",
        "He has one, the other has 1,2,3 or 1,000 of them.",
        "A key,value pair and name,age,city and (x,y) and a,b,c.",
        "I saw it,_and this,_which is good.",
        "The words and,but,so and he,she,it and him,her.",
        "He said it, and,",
        "Fine,the",
        "Go to `a`,the b,`the` and x.org,the c.",
        "Mr. X is, e.g.The one, here.",
        "One.\n\nThe two.",
    ],
)
def test_missing_blanks(expected: str) -> None:
    assert blanks(expected.replace("_", "")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He go to\nschool. She\nstays", ["He go to\nschool.", "She\nstays"]),
        ("He lives in\nLondon now.", ["He lives in\nLondon now."]),
        ("My holiday\nI went to Spain.", ["My holiday", "I went to Spain."]),
        ("Dear Sir,\nI am here.", ["Dear Sir,\nI am here."]),
        ("One\n\ntwo\r\n \r\nthree\x0c\x0cfour", ["One", "two", "three", "four"]),
        ("One\r\rtwo\u2029\u2028three", ["One", "two", "three"]),
        ("a\r\nb\u2028c\x0cd\x85e\rf", ["a\r\nb\u2028c\x0cd\x85e\rf"]),
        ("# A title\nText here\nwraps.", ["#", "A title", "Text here\nwraps."]),
        ("Title\n=====\nText", ["Title", "=====", "Text"]),
        ("- one\n- two\n  more\n* three", ["-", "one", "-", "two\n  more", "*", "three"]),
        ("1. One.\n2) Two", ["1.", "One.", "2)", "Two"]),
        ("- [x] done", ["- [x]", "done"]),
        ("> he go\n> home\nI stay", [">", "he go\n> home", "I stay"]),
        ("> a\n>\n> b", [">", "a", ">", ">", "b"]),
        ("He go\n```\ncode. Here\n```\nhome", ["He go", "```\ncode. Here\n```", "home"]),
        ("See\nhttp://x.y\nnow", ["See\nhttp://x.y\nnow"]),
        ("| a | b |\n|---|---|\n| c | d |", ["| a | b |", "|---|---|", "| c | d |"]),
        ("a\n<!-- gec: off -->\nB. C\n\nd\n<!-- gec: on -->\ne",
         ["a", "<!-- gec: off -->\nB. C\n\nd\n<!-- gec: on -->", "e"]),
        ("\ufeff# T\nx", ["\ufeff#", "T", "x"]),
        ("1. Open it. 2. Close it.", ["1.", "Open it.", "2. Close it."]),
        ("", []),
        (" \n\t\u3000\n", []),
        ("\0", ["\0"]),
        ("Go.\u200b Then \ud800 he", ["Go.\u200b Then \ud800 he"]),
    ],
)  # fmt: skip
def test_blocks(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_protected_span_is_one_protected_word() -> None:
    text = "Run `a  b. C` (http://x.y/z). Mail Gec’s"
    words = [w for s in segment(text, dictionary=["Gec"]) for w in s.words]
    assert [(w.text, text[w.start : w.end]) for w in words if w.protected] == [
        ("`a b. C`", "`a  b. C`"),
        ("http://x.y/z", "http://x.y/z"),
        ("Gec", "Gec"),
    ]
    assert [w.text for w in words if not w.protected] == ["Run", "(", ")", ".", "Mail", "'s"]


def test_marks_are_protected_and_text_is_not() -> None:
    found = [s for s in segment("# A\n- b\n---\n> c\n> d") if s.words]
    marks = [w.text for s in found for w in s.words if w.protected]
    assert marks == ["#", "-", "---", ">", ">"]
    assert [w.text for s in found for w in s.words if not w.protected] == ["A", "b", "c", "d"]


PIECES = st.sampled_from(
    [
        "Mr.",
        "He go",
        "a.b",
        "`x. Y`",
        "http://x.y.",
        "<b>",
        "</b>",
        "etc.",
        '"',
        "(",
        ")",
        "...",
        "!?",
        "’s",
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\n\n",
        "- ",
        "# ",
        "> ",
        "1. ",
        "| ",
        "```\n",
        " ",
        " ",
        " ",
        ".",
        ",",
        "U.S.",
        "\0",
        "\u200b",
        "\ufeff",
        "\ud800",
        "\u0301",
        "\ue000",
        "\x0c",
        "gec",
        "字。",
        "<!-- gec: off -->",
        "<!-- gec: on -->",
        "😀",
        "don't",
        "3.5",
        "A.",
        "---",
        "cases.The",
        "home,and",
    ]
)


@given(st.one_of(st.lists(PIECES, max_size=25).map("".join), st.text()))
@settings(max_examples=300, deadline=None)
def test_words_cover_everything_but_whitespace(text: str) -> None:
    at = 0
    for sentence in segment(text, dictionary=["gec"]):
        assert sentence.words
        assert (sentence.start, sentence.end) == (sentence.words[0].start, sentence.words[-1].end)
        for word in sentence.words:
            assert at <= word.start < word.end
            assert not text[at : word.start].strip()
            assert word.text == normalise(text[word.start : word.end])
            at = word.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "attack", ["x. ", "1. ", '" . ', "... ", ". .a", "! ", "# ", "> a\n", "- \n", "a\n", "A. ",
               "x.) ", "\n", 'x . " ', "Mr. ", "x.\n\n", ".", "!a", ") ", "\ue000 ",
               "aa.The ", ".The", "?!I"],
)  # fmt: skip
def test_time_is_linear(attack: str) -> None:
    started = time.process_time()
    segment(attack * (200_000 // len(attack)))
    assert time.process_time() - started < 30


# ------------------------------------------------------------------------------------ windows


@given(st.integers(0, 400), st.integers(1, 80), st.data())
@settings(max_examples=200, deadline=None)
def test_windows_cover_and_overlap(count: int, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    ranges = windows([Word("a", i, i + 1) for i in range(count)], size=size, overlap=overlap)
    if count <= size:
        assert ranges == ([(0, count)] if count else [])
        return
    assert ranges[0][0] == 0
    assert ranges[-1][1] == count
    assert all(0 < end - start <= size for start, end in ranges)
    for (start, end), (following, next_end) in pairwise(ranges):
        assert end - following == overlap
        assert start < following
        assert end < next_end


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (5, 5), (5, -1), (-1, 0)])
def test_windows_refuses(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        windows([], size=size, overlap=overlap)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0


# ----------------------------------------------------------------------------------- language

FOREIGN = {
    "German": [
        "Ich gehe heute mit meinem Bruder in die Schule.",
        "Das ist nicht so gut wie es war.",
        "Der Mann hat einen Hund und zwei Katzen.",
    ],
    "French": [
        "Je suis allé à l'école avec mon frère.",
        "Il ne faut pas oublier les enfants.",
        "Nous avons une maison dans le village.",
    ],
    "Spanish": [
        "El hombre tiene un perro y dos gatos.",
        "No me gusta la comida de este lugar.",
        "Mañana vamos a la playa con los niños.",
    ],
    "Italian": [
        "Questo non è il libro che ho comprato.",
        "Vado a scuola con mio fratello per la prima volta.",
    ],
    "Portuguese": [
        "Eu não gosto da comida deste lugar.",
        "O homem tem um cão e dois gatos em casa.",
    ],
    "Dutch": [
        "Ik ga vandaag met mijn broer naar school.",
        "Dat is niet zo goed als het was.",
        "De man heeft een hond en twee katten.",
    ],
    "Swedish": ["Jag går till skolan med min bror i dag.", "Det är inte så bra som det var."],
    "Danish": ["Jeg går i skole med min bror i dag.", "Det er ikke så godt, som det var."],
    "Norwegian": ["Jeg skal på skolen med broren min i dag.", "Det er ikke så bra som det var."],
    "Polish": ["Nie wiem, czy to jest dobry pomysł.", "On nie ma czasu, bo jest w pracy."],
    "Russian": ["Я иду в школу с братом.", "Это не так хорошо."],
    "Greek": ["Πηγαίνω στο σχολείο με τον αδελφό μου."],
    "Japanese": ["私は今日 学校に 行きます 。", "これは 本 です 。"],
    "Arabic": ["أنا أذهب إلى المدرسة مع أخي."],
}

BAD_ENGLISH = """He go to school every day with his brother.
I am agree with you in this topic.
She have two childs and one dog.
Yesterday I go cinema with friend of me.
In my country peoples likes eat rice.
I has been study english since three years.
He explain me how to do.
Me and my family was go to beach last summer.
Is very important learn other languages.
I no like coffee but tea I like.
Tom say he come tomorrow morning.
informations about hotel was not correct
i wnat too lern englsh becouse its usful
We discussed about problem.
Childrens plays football in park.
Why you not come at party?
de man go to la casa with me
My mother she cooks very good pasta al dente.
Last year visited Rio de Janeiro, San Paulo e Buenos Aires.
Students must to do homework on time""".splitlines()


@pytest.mark.parametrize("text", [t for texts in FOREIGN.values() for t in texts])
def test_other_languages_are_left_alone(text: str) -> None:
    assert not looks_english(split_words(text))


@pytest.mark.parametrize(
    "text", [*BAD_ENGLISH, "", "Ja.", "Vielen Dank!", "123 + 4", "naïve café π"]
)
def test_learners_english_and_short_texts_are_english(text: str) -> None:
    assert looks_english(split_words(text))


def test_protected_words_say_nothing_about_the_language() -> None:
    (sentence,) = segment("I write `я иду в школу` in this window.")
    assert looks_english(sentence.words)
    assert isinstance(sentence, Sentence)


def test_languages_are_told_apart_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists are our own: nothing of another package's files is read or run."""
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert not looks_english(split_words("Das ist nicht das, was wir alle hier haben wollten."))
    assert looks_english(split_words("Colourless ideas sleep furiously."))
    assert len(STOP_WORDS) == 16
    for words in STOP_WORDS.values():
        assert len(words) > 200
        assert all(word == word.strip() for word in words)
