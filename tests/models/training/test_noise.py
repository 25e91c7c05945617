"""Synthetic errors: every type makes the errors learners make, and nothing else."""

from __future__ import annotations

import lzma
import pickle
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.errors import ConfigError
from gec.models.training.noise import DEFAULT_RATES, ERROR_TYPES, Lexicon, Noiser
from gec.text.inflection import Inflections

VERBS = """
go goes went gone going|play plays played played playing|see sees saw seen seeing
sing sings sang sung singing|swim swims swam swum swimming|like likes liked liked liking
agree agrees agreed agreed agreeing|stop stops stopped stopped stopping
enjoy enjoys enjoyed enjoyed enjoying|want wants wanted wanted wanting
tire tires tired tired tiring|say says said said saying|buy buys bought bought buying
"""
NOUNS = "book books|friend friends|man men|child children|country countries|apple apples|day days"
ADJECTIVES = "tall taller tallest|good better best|quick quicker quickest"
WORDS = """
beautiful beautifully quickly important importance price prize because information music
in on at to for
"""
CONFUSED = (
    "in on 90|at in 80|to for 70|to with 2|important importance 30|price prize 20|colour color 50"
)
MISSPELT = "becuase because|tomorow tomorrow|importence importance"


def write(folder: Path, name: str, lines: list[str]) -> None:
    with lzma.open(folder / name, "wt", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def split(text: str) -> list[str]:
    return text.split()


def table(text: str) -> list[list[str]]:
    return [row.split() for line in text.split("\n") for row in line.split("|") if row.strip()]


def write_lists(folder: Path) -> Inflections:
    """Write tiny lists under the names of the real ones; return their inflection table."""
    verbs, nouns, adjectives = table(VERBS), table(NOUNS), table(ADJECTIVES)
    tags = ("VBZ", "VBD", "VBN", "VBG")
    write(
        folder,
        "verb-form-vocab.txt.xz",
        [f"{v[0]}_{f}:VB_{t}" for v in verbs for f, t in zip(v[1:], tags, strict=True)],
    )
    words = {word for row in (*verbs, *nouns, *adjectives) for word in row} | set(WORDS.split())
    words |= {"colour", "color", "tomorrow"}
    write(folder, "unigrams.tsv.xz", [f"{word}\t100" for word in sorted(words)])
    write(folder, "errorify_common_replaces.tsv.xz", ["\t".join(row) for row in table(CONFUSED)])
    write(folder, "errorify_common_inserts.tsv.xz", ["that\t5000", "and\t4000", "to\t9000"])
    write(folder, "errorify_common_deletes.tsv.xz", ["that\t100", "the\t100", "English\t9"])
    write(folder, "varcon.txt.xz", ["# colour (level 10)", "A Cv: color / B C: colour"])
    write(folder, "homophones_cmudict.tsv.xz", ["see\tsea", "price\tprize"])
    write(folder, "codespell.tsv.xz", ["\t".join(row) for row in table(MISSPELT)])
    for name in ("wikipedia_common_misspellings", "client9_misspell", "typos_words"):
        write(folder, f"{name}.tsv.xz", ["freind\tfriend"])
    write(folder, "toefl_spell_annotations.tsv.xz", ["1\t2-3\tinformacion\tM\tinformation"])
    entries = [(v[0], "+s", v[1]) for v in verbs] + [(v[0], "+ed", v[2]) for v in verbs]
    entries += [(v[0], "+en", v[3]) for v in verbs if v[3] != v[2]]
    entries += [(v[0], "+ing", v[4]) for v in verbs] + [(n[0], "+s", n[1]) for n in nouns]
    entries += [
        (a[0], m, f) for a in adjectives for m, f in zip(("+er", "+est"), a[1:], strict=True)
    ]
    return Inflections(entries)


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    folder = tmp_path_factory.mktemp("lists")
    return Lexicon.load(folder, write_lists(folder))


EXAMPLES: list[tuple[str, str, set[str]]] = [
    ("R:VERB:SVA", "She plays .", {"She play ."}),
    ("R:VERB:SVA", "They are here .", {"They is here ."}),
    ("R:VERB:SVA", "Does he sing ?", {"Do he sing ?"}),
    (
        "R:VERB:TENSE",
        "Yesterday we went home .",
        {"Yesterday we go home .", "Yesterday we have gone home ."},
    ),
    ("R:VERB:TENSE", "I will go tomorrow .", {"I go tomorrow .", "I would go tomorrow ."}),
    ("R:VERB:TENSE", "He plays .", set()),
    ("R:VERB:TENSE", "He played .", set()),
    ("R:VERB:FORM", "I enjoy swimming .", {"I enjoy swim .", "I enjoy to swim ."}),
    (
        "R:VERB:FORM",
        "She can sing .",
        {"She can sang .", "She can singing .", "She can sings .", "She can to sing ."},
    ),
    (
        "R:VERB:FORM",
        "He did n't see it .",
        {"He did n't saw it .", "He did n't seeing it .", "He did n't sees it ."},
    ),
    (
        "R:VERB:FORM",
        "I have seen it .",
        {"I have saw it .", "I have see it .", "I have seeing it ."},
    ),
    ("R:VERB:INFL", "He went .", {"He goed ."}),
    ("R:VERB:INFL", "He stopped .", {"He stoped ."}),
    ("M:VERB", "She is tall .", {"She tall ."}),
    ("U:VERB", "I agree .", {"I am agree ."}),
    ("M:DET", "I want a book .", {"I want book ."}),
    ("U:DET", "I like music .", {"I like a music .", "I like the music ."}),
    ("R:DET", "I see these books .", {"I see this books ."}),
    ("R:DET", "He has many friends .", {"He has much friends ."}),
    ("R:DET:ART", "He has an apple .", {"He has a apple ."}),
    ("R:DET:ART", "He is a man .", {"He is an man ."}),
    ("M:PREP", "We are at school .", {"We are school ."}),
    ("U:PREP", "We went home .", {"We went to home ."}),
    ("R:PREP", "I am at home .", {"I am in home ."}),
    ("R:NOUN:NUM", "He has two books .", {"He has two book ."}),
    ("R:NOUN:NUM", "Thanks for your information .", {"Thanks for your informations ."}),
    ("R:NOUN:NUM", "I want a book .", {"I want a books ."}),
    ("R:NOUN:INFL", "The children sing .", {"The childrens sing .", "The childs sing ."}),
    ("R:NOUN:INFL", "Many countries agree .", {"Many countrys agree ."}),
    ("R:NOUN:POSS", "This is Tom 's book .", {"This is Tom book .", "This is Toms book ."}),
    ("M:PRON", "It is good .", {"Is good .", "is good ."}),
    ("U:PRON", "My friend is here .", {"My friend he is here .", "My friend she is here ."}),
    ("R:PRON", "I like him .", {"I like he .", "Me like him ."}),
    (
        "R:PRON",
        "The man who sings is here .",
        {"The man which sings is here .", "The man whom sings is here ."},
    ),
    ("R:ADJ", "I am tired .", {"I am tiring ."}),
    ("R:ADJ", "It is beautiful .", {"It is beautifully ."}),
    ("R:ADV", "She sings beautifully .", {"She sings beautiful ."}),
    (
        "R:ADJ:FORM",
        "He is taller .",
        {"He is more tall .", "He is more taller .", "He is tallest ."},
    ),
    ("R:OTHER", "It 's taller than me .", {"It 's taller then me .", "Its taller than me ."}),
    ("R:OTHER", "I want their price .", {"I want their prize .", "I want there price ."}),
    ("R:MORPH", "It is important .", {"It is importance ."}),
    ("M:OTHER", "I want to go .", {"I want go ."}),
    (
        "U:OTHER",
        "He has many friends .",
        {"He has many of friends .", "He has many that friends .", "He that has many friends ."},
    ),
    ("R:WO", "What are you playing ?", {"What you are playing ?"}),
    ("R:WO", "I have never seen it .", {"I have never it seen .", "I never have seen it ."}),
    ("M:PUNCT", "Well , we agree .", {"Well , we agree", "Well we agree ."}),
    ("U:PUNCT", "I see that you agree .", {"I see , that you agree ."}),
    (
        "R:PUNCT",
        "He sings . We play .",
        {
            "He sings , we play .",
            "He sings . We play ,",
            "He sings . We play ?",
            "He sings we play .",
        },
    ),
    ("R:PUNCT", "Where is he ?", {"Where is he ."}),
    ("R:ORTH", "He plays on Monday .", {"He plays on monday .", "he plays on Monday ."}),
    ("R:ORTH", "We swim every day .", {"We swim everyday .", "we swim every day ."}),
    ("R:CONTR", "I do n't see it .", {"I dont see it ."}),
    ("R:CONTR", "I 'm tall .", {"Im tall ."}),
    ("U:DUP", "I want it .", {"I want it it .", "I want want it ."}),
]


@pytest.mark.parametrize(("name", "clean", "expected"), EXAMPLES)
def test_each_type_makes_exactly_the_errors_listed(
    lexicon: Lexicon, name: str, clean: str, expected: set[str]
) -> None:
    words = split(clean)
    made = {
        " ".join(result)
        for seed in range(400)
        if (result := ERROR_TYPES[name](words, random.Random(seed), lexicon)) is not None
    }
    assert made == expected
    assert words == split(clean)


def test_every_type_has_an_example() -> None:
    assert {name for name, _, _ in EXAMPLES} | {"R:SPELL"} == set(ERROR_TYPES)
    assert set(DEFAULT_RATES) == set(ERROR_TYPES)


def test_spelling_uses_what_people_wrote_and_touches_no_name(lexicon: Lexicon) -> None:
    made: Counter[str] = Counter()
    for seed in range(300):
        words = split("Anna because 1999 we")
        result = ERROR_TYPES["R:SPELL"](words, random.Random(seed), lexicon)
        if result is not None:
            assert (result[0], result[2:]) == ("Anna", ["1999", "we"])
            made[result[1]] += 1
    assert made.most_common(1)[0][0] == "becuase"
    assert len(made) > 5
    assert "because" not in made


@pytest.mark.parametrize("name", ERROR_TYPES)
def test_nothing_to_do_gives_none(lexicon: Lexicon, name: str) -> None:
    assert ERROR_TYPES[name]([], random.Random(0), lexicon) is None
    assert ERROR_TYPES[name](["http://x.y"], random.Random(0), lexicon) is None


def noiser(lexicon: Lexicon, clean_share: float = 0.0, mean_errors: float = 0.7) -> Noiser:
    return Noiser(lexicon, DEFAULT_RATES, clean_share=clean_share, mean_errors=mean_errors)


def test_the_generator_alone_decides(lexicon: Lexicon) -> None:
    words = split("Yesterday my friend and I went to school by bus .")
    copy = pickle.loads(pickle.dumps(lexicon))
    for seed in range(50):
        first = noiser(lexicon).corrupt(words, random.Random(seed))
        assert noiser(copy).corrupt(words, random.Random(seed)) == first


def test_the_input_is_untouched_and_the_clean_copy_is_a_copy(lexicon: Lexicon) -> None:
    words = split("He goes to school .")
    for seed in range(50):
        noiser(lexicon).corrupt(words, random.Random(seed))
    assert words == split("He goes to school .")
    copy = noiser(lexicon, clean_share=1.0).corrupt(words, random.Random(0))
    assert copy == words
    assert copy is not words


def test_the_clean_share_is_unchanged_and_the_rest_differs(lexicon: Lexicon) -> None:
    words = split("He goes to school by bus every day because it is good for me .")
    rng = random.Random(0)
    some = noiser(lexicon, clean_share=0.25)
    same = sum(some.corrupt(words, rng) == words for _ in range(1000))
    assert 200 < same < 300
    assert all(noiser(lexicon).corrupt(words, rng) != words for _ in range(200))


def test_longer_sentences_get_more_errors_up_to_the_limit(lexicon: Lexicon) -> None:
    class Counting(Noiser):
        made = 0

        def _one_error(self, words: list[str], rng: random.Random) -> list[str]:
            self.made += 1
            return super()._one_error(words, rng)

    made = []
    for words in (split("He goes to school ."), split("He goes to school .") * 4):
        counting = Counting(lexicon, {}, clean_share=0.0, mean_errors=0.7, max_errors=3)
        for seed in range(200):
            before = counting.made
            counting.corrupt(words, random.Random(seed))
            assert 1 <= counting.made - before <= 4  # one more where errors undid each other
        made.append(counting.made)
    assert made[1] > 1.4 * made[0]


def test_only_the_types_named_are_made(lexicon: Lexicon) -> None:
    only = Noiser(lexicon, {"M:DET": 1.0, "R:WO": 0.0}, clean_share=0.0, mean_errors=0.0)
    assert only.corrupt(split("I want a book ."), random.Random(1)) == split("I want book .")
    assert only.corrupt(split("I agree ."), random.Random(1)) == split("I agree .")


def test_an_unknown_type_is_refused_by_name(lexicon: Lexicon) -> None:
    with pytest.raises(ConfigError, match="R:VERB:SVAA"):
        Noiser(lexicon, {"R:VERB:SVAA": 1.0}, clean_share=0.2, mean_errors=0.7)


@pytest.mark.parametrize("rate", [-1.0, 0.0])
def test_rates_must_be_positive(lexicon: Lexicon, rate: float) -> None:
    with pytest.raises(ConfigError, match="rates"):
        Noiser(lexicon, {"M:DET": rate}, clean_share=0.2, mean_errors=0.7)


@pytest.mark.parametrize(("clean_share", "mean_errors"), [(-0.1, 1.0), (1.1, 1.0), (0.5, -1.0)])
def test_shares_must_be_in_range(lexicon: Lexicon, clean_share: float, mean_errors: float) -> None:
    with pytest.raises(ConfigError, match="clean_share"):
        noiser(lexicon, clean_share, mean_errors)


def test_spelling_variants_and_rare_exchanges_are_no_confusions(lexicon: Lexicon) -> None:
    assert "colour" not in lexicon.confusions
    assert lexicon.prepositions["in"] == (("on",), (90.0,))
    assert lexicon.prepositions["to"] == (("for",), (70.0,))


TOKENS = st.sampled_from(
    split(
        """He he I they is are has have do does n't 's 'm ' ’s to the The a an in at . , ? ! " -
        goes went seen play playing book men Tom Monday not who which it well-known because this
    these apple very much more than good better quickly http://x.y 12 1999 & été A"""
    )
)


@settings(max_examples=300, deadline=None)
@given(words=st.lists(TOKENS | st.text(min_size=1, max_size=6), max_size=14), seed=st.integers(0))
def test_any_words_give_words(lexicon: Lexicon, words: list[str], seed: int) -> None:
    before = list(words)
    result = noiser(lexicon, mean_errors=2.0).corrupt(words, random.Random(seed))
    assert words == before
    assert bool(result) == bool(words)
    assert all(result)
    for make_error in ERROR_TYPES.values():
        changed = make_error(words, random.Random(seed), lexicon)
        assert words == before
        assert changed is None or (changed and changed != words)
