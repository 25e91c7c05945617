"""The spaCy pipeline for ERRANT: treebank conversion, training data, and the shipped bundle."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from errant.en.classifier import pos_map
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language

import gec.models
from gec.errors import ConfigError, DataError
from gec.models.training.spacy_pipeline import pipeline as training
from gec.models.training.spacy_pipeline.attributes import TAG_MAP
from gec.models.training.spacy_pipeline.treebank import (
    Augmenter,
    Tree,
    join_hyphenated,
    read_conllu,
    to_clearnlp,
)
from gec.models.training.spacy_pipeline.word_vectors import add_vectors, train_vectors

BUNDLE = Path(gec.models.__path__[0]) / "bundles" / "en_pipeline"
RUNTIME_NAMES = ("_SP",)  # given by the attribute ruler to blanks


def tree(text: str) -> Tree:
    """A tree from ``word/TAG/pos/dep/head`` items; heads count from 1, 0 is the root."""
    rows = [item.rsplit("/", 4) for item in text.split()]
    words, tags, pos, deps, heads = (list(column) for column in zip(*rows, strict=True))
    indices = [int(head) - 1 if head != "0" else i for i, head in enumerate(heads)]
    return Tree(words, [w.lower() for w in words], pos, tags, indices, deps, [True] * len(words))


def arcs(tree: Tree) -> str:
    return " ".join(
        f"{word}<{dep}<{tree.words[head]}"
        for word, dep, head in zip(tree.words, tree.deps, tree.heads, strict=True)
    )


def is_tree(tree: Tree) -> bool:
    roots = [i for i, head in enumerate(tree.heads) if head == i]
    for i in range(len(tree.words)):
        node, steps = i, 0
        while tree.heads[node] != node:
            node, steps = tree.heads[node], steps + 1
            if steps > len(tree.words):
                return False
    return len(roots) == 1 and len({len(getattr(tree, n)) for n in tree.__slots__}) == 1


# ------------------------------------------------------------------------------------- conversion


@pytest.mark.parametrize(
    ("universal", "expected"),
    [
        (  # copula, its subject, auxiliary and negation; a preposition with its object
            "She/PRP/PRON/nsubj/5 will/MD/AUX/aux/5 not/RB/PART/advmod/5 be/VB/AUX/cop/5 "
            "happy/JJ/ADJ/root/0 in/IN/ADP/case/8 the/DT/DET/det/8 city/NN/NOUN/obl/5 "
            "././PUNCT/punct/5",
            "She<nsubj<be will<aux<be not<neg<be be<ROOT<be happy<acomp<be in<prep<happy "
            "the<det<city city<pobj<in .<punct<be",
        ),
        (  # passive with agent
            "It/PRP/PRON/nsubj:pass/3 was/VBD/AUX/aux:pass/3 made/VBN/VERB/root/0 "
            "by/IN/ADP/case/5 him/PRP/PRON/obl:agent/3",
            "It<nsubjpass<made was<auxpass<made made<ROOT<made by<agent<made him<pobj<by",
        ),
        (  # infinitive, particle, possessive, object
            "I/PRP/PRON/nsubj/2 want/VBP/VERB/root/0 to/TO/PART/mark/4 pick/VB/VERB/xcomp/2 "
            "up/RP/ADP/compound:prt/4 Tom/NNP/PROPN/nmod:poss/8 's/POS/PART/case/6 "
            "bag/NN/NOUN/obj/4",
            "I<nsubj<want want<ROOT<want to<aux<pick pick<xcomp<want up<prt<pick Tom<poss<bag "
            "'s<case<Tom bag<dobj<pick",
        ),
        (  # a predicate that is a prepositional phrase; coordination
            "He/PRP/PRON/nsubj/5 is/VBZ/AUX/cop/5 in/IN/ADP/case/5 the/DT/DET/det/5 "
            "house/NN/NOUN/root/0 and/CC/CCONJ/cc/7 sleeps/VBZ/VERB/conj/5",
            "He<nsubj<is is<ROOT<is in<prep<is the<det<house house<pobj<in and<cc<is "
            "sleeps<conj<is",
        ),
        (  # gerund after a preposition; an adjective after a verb
            "She/PRP/PRON/nsubj/2 seems/VBZ/VERB/root/0 tired/JJ/ADJ/xcomp/2 "
            "of/IN/SCONJ/mark/5 waiting/VBG/VERB/advcl/3",
            "She<nsubj<seems seems<ROOT<seems tired<acomp<seems of<prep<tired waiting<pcomp<of",
        ),
        (  # two prepositions
            "go/VB/VERB/root/0 out/IN/ADP/case/5 of/IN/ADP/case/5 the/DT/DET/det/5 "
            "room/NN/NOUN/obl/1",
            "go<ROOT<go out<prep<go of<prep<out the<det<room room<pobj<of",
        ),
    ],
)
def test_conversion(universal: str, expected: str) -> None:
    assert arcs(to_clearnlp(tree(universal))) == expected


_DEPS = "cop case mark nsubj nsubj:outer aux cc conj punct obl nmod advcl xcomp det expl".split()


@settings(deadline=None)
@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_conversion_and_augmentation_keep_trees(size: int, rng: random.Random) -> None:
    order = rng.sample(range(size), size)  # each node's head comes before it, so it is a tree
    heads = [0] * size
    for place, node in enumerate(order):
        heads[node] = order[rng.randrange(place)] if place else node
    tags = [rng.choice(["NN", "VBG", "IN", "TO", "HYPH", "JJ", "POS"]) for _ in range(size)]
    deps = ["root" if heads[i] == i else rng.choice(_DEPS) for i in range(size)]
    pos = [rng.choice(["NOUN", "VERB", "ADJ", "ADP", "AUX"]) for _ in range(size)]
    words = [rng.choice(["of", "looking", "house", "It", "-"]) for _ in range(size)]
    spaces = [rng.random() < 0.5 for _ in range(size)]
    given_tree = Tree(words, list(words), pos, tags, heads, deps, spaces)
    converted = to_clearnlp(given_tree)
    assert is_tree(converted)
    assert given_tree.deps == deps, "the argument is not changed"
    assert is_tree(join_hyphenated(converted))
    assert is_tree(Augmenter([converted], rate=0.5).augment(converted, rng))


# ---------------------------------------------------------------------------------------- reading

CONLLU = """\
# text = "I don't.
1\t"\t"\tPUNCT\t"\t_\t3\tpunct\t_\tSpaceAfter=No
2\tI\tI\tPRON\tPRP\t_\t4\tnsubj\t_\t_
3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
4\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
4.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# text = to her
1\tto\t_\tADP\tTO\t_\t2\tcase\t_\t_
2\ther\t_\tPRON\tPRP\t_\t0\troot\t_\t_
"""


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU)
    first, second = read_conllu(path)
    assert first.words == ['"', "I", "do", "n't", "."]
    assert first.spaces == [False, True, False, False, True]
    assert first.heads == [2, 3, 2, 2, 2]
    assert first.tags[0] == "''"
    assert first.lemmas[3] == "not"
    assert (second.tags, second.lemmas) == (["IN", "PRP"], ["", ""])


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("1\tto\t_\n", "3 columns instead of 10"),
        ("1\ta\ta\tX\tXX\t_\t7\tdep\t_\t_\n", "a head outside the sentence"),
        ("1\ta\ta\tX\tXX\t_\tx\tdep\t_\t_\n", "invalid literal"),
    ],
)
def test_malformed_treebank(tmp_path: Path, broken: str, message: str) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU + "\n" + broken)
    with pytest.raises(DataError, match=rf"x\.conllu, sentence that ends at line \d+: .*{message}"):
        list(read_conllu(path))


# ----------------------------------------------------------------------------------- augmentation


def test_wrong_forms_get_the_tags_of_what_is_written() -> None:
    known = [
        tree("a/DT/DET/det/2 dog/NN/NOUN/root/0"),
        tree("two/CD/NUM/nummod/2 dogs/NNS/NOUN/root/0"),
        tree("he/PRP/PRON/nsubj/2 sees/VBZ/VERB/root/0"),
        tree("they/PRP/PRON/nsubj/2 see/VBP/VERB/root/0"),
    ]
    known[1].lemmas[1], known[2].lemmas[1] = "dog", "see"
    augmenter = Augmenter(known, rate=0.6)
    seen = set()
    for seed in range(60):
        for each in known:
            changed = augmenter.augment(each, random.Random(seed))
            seen |= set(zip((w.lower() for w in changed.words), changed.tags, strict=True))
    assert {("dogs", "NNS"), ("dog", "NN"), ("see", "VBP"), ("sees", "VBZ")} <= seen
    assert not {("dogs", "NN"), ("dog", "NNS"), ("see", "VBZ"), ("sees", "VBP")} & seen


def test_a_possessive_follows_its_noun() -> None:
    known = [
        tree("the/DT/DET/det/2 dog/NN/NOUN/poss/4 's/POS/PART/case/2 tail/NN/NOUN/ROOT/0"),
        tree("dogs/NNS/NOUN/ROOT/0"),
    ]
    known[1].lemmas = ["dog"]
    augmenter = Augmenter(known, rate=0.3)
    texts = {
        " ".join(augmenter.augment(known[0], random.Random(seed)).words).lower()
        for seed in range(60)
    }
    assert {"the dog 's tail", "the dogs ' tail"} <= texts
    assert "the dog ' tail" not in texts


def test_augmentation_is_reproducible() -> None:
    trees = [tree("these/DT/DET/det/2 houses/NNS/NOUN/root/0 here/RB/ADV/advmod/2")] * 20
    runs = [list(training.training_trees(trees, copies=2, seed=5)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert any(one.words != trees[0].words for document in runs[0] for one in document)
    assert sum(len(document) for document in runs[0]) == 60
    assert any(len(document) == 2 for document in runs[0])


def test_hyphenated_words_are_joined() -> None:
    split = tree("a/DT/DET/det/5 well/RB/ADV/advmod/4 -/HYPH/PUNCT/punct/4 known/JJ/ADJ/amod/5 "
                 "name/NN/NOUN/root/0")  # fmt: skip
    assert join_hyphenated(split).words == split.words, "blanks around the hyphen"
    split.spaces[1] = split.spaces[2] = False
    joined = join_hyphenated(split)
    assert arcs(joined) == "a<det<name well-known<amod<name name<root<name"
    assert joined.tags[1] == "JJ"


# ----------------------------------------------------------------------------------------- vectors


def test_words_in_the_same_places_get_similar_vectors() -> None:
    nlp = spacy.blank("en")
    rng = random.Random(0)
    nouns, verbs = "dog cat horse bird".split(), "sees likes hears knows".split()
    texts = [
        f"The {rng.choice(nouns)} {rng.choice(verbs)} a {rng.choice(nouns)}." for _ in range(400)
    ]
    words, vectors = train_vectors(nlp, texts, words=30, contexts=10, size=6)
    assert words[0] in ("the", "a", ".")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert vectors.shape == (len(words), 6)
    at = {word: vectors[i] for i, word in enumerate(words)}
    for noun in nouns[1:]:
        assert at["dog"] @ at[noun] > 0.9 > at["dog"] @ at["sees"]
    add_vectors(nlp, words, vectors)
    assert nlp("DOG")[0].vector == pytest.approx(at["dog"])


# ---------------------------------------------------------------------------------------- training


def _write_corpus(data: Path) -> None:
    rows = [
        "1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_",
        "2\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t_\t_",
        "3\tbig\tbig\tADJ\tJJ\t_\t4\tamod\t_\t_",
        "4\tdogs\tdog\tNOUN\tNNS\t_\t2\tobj\t_\t_",
    ]
    folder = data / "english" / "ud" / "ud_x"
    folder.mkdir(parents=True)
    for part, count in (("train", 60), ("dev", 3), ("test", 3)):
        (folder / f"x-ud-{part}.conllu").write_text(("\n".join(rows) + "\n\n") * count)
    (data / "english" / "clean").mkdir()
    for name in training.TEXTS:
        (data / "english" / "clean" / f"{name}.txt").write_text("He sees big dogs.\n" * 30)


def test_training_makes_a_pipeline(
    tmp_path: Path, shipped: Language, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The whole way from treebanks to a folder, with the shipped lemma tables."""
    lemmatizer: Any = shipped.get_pipe("lemmatizer")
    monkeypatch.setattr(training, "_lemma_tables", lambda: lemmatizer.lookups)
    _write_corpus(tmp_path / "data")
    arguments = ["--data-dir", str(tmp_path / "data")]
    out = str(tmp_path / "out")
    assert training.main([*arguments, "--out", out, "--steps", "12"]) == 0
    nlp = spacy.load(out)
    assert nlp.pipe_names == shipped.pipe_names
    assert [(t.tag_, t.lemma_) for t in nlp("He sees big dogs")] == [
        ("PRP", "he"),
        ("VBZ", "see"),
        ("JJ", "big"),
        ("NNS", "dog"),
    ]
    assert str(tmp_path) not in (tmp_path / "out" / "config.cfg").read_text()
    capsys.readouterr()
    assert training.main([*arguments, "--evaluate", out]) == 0
    assert "| Penn tags | 100.0 |" in capsys.readouterr().out
    assert training.main([*arguments, "--out", out]) == 2
    assert "is there already" in capsys.readouterr().err


def test_no_treebanks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no treebank"):
        training.treebanks(tmp_path, "train")


def test_no_lemma_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ValueError("E955")

    monkeypatch.setattr("spacy.lookups.load_lookups", missing)
    with pytest.raises(ConfigError, match=r"pip install 'spacy\[lookups\]'"):
        training._lemma_tables()


# -------------------------------------------------------------------------------------- the bundle


@pytest.fixture(scope="module")
def shipped() -> Language:
    return spacy.load(BUNDLE)


def test_the_bundle_is_small_and_has_a_card(shipped: Language) -> None:
    size = sum(path.stat().st_size for path in BUNDLE.rglob("*") if path.is_file())
    assert size < 12_000_000
    card = (BUNDLE / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"en_pipeline {shipped.meta['version']}" in card
    scores = shipped.meta["performance"]
    assert set(scores) == {"ud_ewt", "ud_eslspok", "ud_pud"}
    for measured in scores.values():
        for value in measured.values():
            assert f"{100 * value:.1f}" in card
    assert "CC BY-SA 4.0" in card
    assert "WordNet" in card


def test_nothing_in_the_bundle_runs_code() -> None:
    """Configuration, message packs and JSON; spaCy loads no code from such a folder."""
    assert not [p for p in BUNDLE.rglob("*") if p.suffix in (".py", ".pkl", ".pickle", ".so")]
    config = (BUNDLE / "config.cfg").read_text()
    makers = set(re.findall(r'^@\w+ = "(\w+)\.', config, re.M))
    assert makers == {"spacy", "Adam", "warmup_linear"}
    assert re.search(r"^(train|dev|vectors) = null$", config, re.M)
    assert "/" not in "".join(re.findall(r'^\w+ = "([^"]*)"$', config, re.M))


def test_every_tag_is_one_that_errant_knows(shipped: Language) -> None:
    assert set(shipped.pipe_labels["tagger"]) <= set(TAG_MAP)
    assert {*TAG_MAP, *RUNTIME_NAMES} <= set(pos_map)


SENTENCES = {
    "She has been walking to the stations .": (
        "PRP VBZ VBN VBG IN DT NNS .",
        "she have be walk to the station .",
        "nsubj aux aux ROOT prep det pobj punct",
    ),
    "He ca n't give up his friend 's books .": (
        "PRP MD RB VB RP PRP$ NN POS NNS .",
        "he can not give up his friend 's book .",
        "nsubj aux neg ROOT prt poss poss case dobj punct",
    ),
    "The children were seen by their teachers .": (
        "DT NNS VBD VBN IN PRP$ NNS .",
        "the child be see by their teacher .",
        "det nsubjpass auxpass ROOT agent poss pobj punct",
    ),
    "I want to be a better student .": (
        "PRP VBP TO VB DT JJR NN .",
        "I want to be a well student .",  # WordNet's table, as in spaCy's own pipelines
        "nsubj ROOT aux xcomp det amod attr punct",
    ),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_tags_lemmas_and_labels(shipped: Language, text: str) -> None:
    doc = shipped(spacy.tokens.Doc(shipped.vocab, words=text.split()))
    tags, lemmas, deps = SENTENCES[text]
    assert " ".join(token.tag_ for token in doc) == tags
    assert " ".join(token.lemma_ for token in doc) == lemmas
    assert " ".join(token.dep_ for token in doc) == deps


def test_universal_tags_follow_the_function(shipped: Language) -> None:
    found = {
        (token.text, token.pos_)
        for text in (
            "This is the book which he has read .",
            "She has this book because it is n't mine .",
        )
        for token in shipped(spacy.tokens.Doc(shipped.vocab, words=text.split()))
    }
    expected = {
        *((word, "AUX") for word in ("is", "has")),
        *((word, "PRON") for word in ("This", "which", "She")),
        ("this", "DET"),
        ("has", "VERB"),
        ("because", "SCONJ"),
        ("n't", "PART"),
    }
    assert expected <= found


def test_blanks_and_nothing(shipped: Language) -> None:
    assert [token.tag_ for token in shipped("a  b")][1] == "_SP"
    assert len(shipped("")) == 0
