"""ERRANT's edits in other languages: types from UD tags, lemmas and a list of words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from gec.cli import main
from gec.errors import ConfigError
from gec.eval.metrics.errant import read_blocks
from gec.eval.metrics.errant.universal import UniversalAnnotator, read_words
from gec.eval.metrics.pipeline import load_pipeline

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]

# form: tag and lemma
GERMAN = {
    "der": ("DET", "der"), "die": ("DET", "der"), "dem": ("DET", "der"), "den": ("DET", "der"),
    "Hund": ("NOUN", "Hund"), "Hunde": ("NOUN", "Hund"), "Hunden": ("NOUN", "Hund"),
    "Hundes": ("NOUN", "Hund"), "Hundern": ("NOUN", "Hund"), "Haus": ("NOUN", "Haus"),
    "Katze": ("NOUN", "Katze"), "Kaze": ("NOUN", "Kaze"), "Straße": ("NOUN", "Straße"),
    "ist": ("AUX", "sein"), "hat": ("AUX", "haben"), "läuft": ("VERB", "laufen"),
    "laufen": ("VERB", "laufen"), "lief": ("VERB", "laufen"), "gelaufen": ("VERB", "laufen"),
    "zu": ("PART", "zu"), "in": ("ADP", "in"), "auf": ("ADP", "auf"),
    "schnell": ("ADV", "schnell"), "schnelle": ("ADJ", "schnell"), "heute": ("ADV", "heute"),
    ".": ("PUNCT", "."), ",": ("PUNCT", ","), "3": ("NUM", "3"), "33": ("NUM", "33"),
}  # fmt: skip
ARABIC = {
    "ذهبت": ("VERB", "ذهب"), "ذهب": ("VERB", "ذهب"), "إلى": ("ADP", "إلى"), "الى": ("ADP", "الى"),
    "في": ("ADP", "في"), "المدرسة": ("NOUN", "مدرسة"), "مدرسة": ("NOUN", "مدرسة"),
    "المدرسه": ("NOUN", "المدرسه"), "الولد": ("NOUN", "ولد"), "البنت": ("NOUN", "بنت"),
    "،": ("PUNCT", "،"), ".": ("PUNCT", "."),
}  # fmt: skip
CHINESE = {
    "我": ("PRON", "我"), "去": ("VERB", "去"), "了": ("PART", "了"), "学校": ("NOUN", "学校"),
    "学": ("VERB", "学"), "校": ("NOUN", "校"), "昨天": ("NOUN", "昨天"), "在": ("ADP", "在"),
    "。": ("PUNCT", "。"),
}  # fmt: skip


def pipeline(language: str, words: dict[str, tuple[str, str]]) -> Language:
    """A blank pipeline with a tagger of rules: each form has one tag and one lemma."""
    nlp = spacy.blank(language)
    ruler = nlp.add_pipe("attribute_ruler")
    for form, (tag, lemma) in words.items():
        ruler.add([[{"ORTH": form}]], {"POS": tag, "LEMMA": lemma})  # type: ignore[attr-defined]
    return nlp


@pytest.fixture(scope="module")
def german() -> UniversalAnnotator:
    return UniversalAnnotator(pipeline("de", GERMAN), words=GERMAN.keys() - {"Hundern", "Kaze"})


@pytest.mark.parametrize(
    ("source", "correction", "edits"),
    [
        ("Hund läuft", "der Hund läuft", [(0, 0, "der", "M:DET")]),
        ("der Hund , läuft .", "der Hund läuft .", [(2, 3, "", "U:PUNCT")]),
        ("in dem Haus", "auf dem Haus", [(0, 1, "auf", "R:ADP")]),
        ("die Hund", "der Hund", [(0, 1, "der", "R:DET:FORM")]),
        ("der Hunde läuft", "der Hund läuft", [(1, 2, "Hund", "R:NOUN:FORM")]),
        ("der Hund laufen", "der Hund läuft", [(2, 3, "läuft", "R:VERB:FORM")]),
        ("den Hundern", "den Hunden", [(1, 2, "Hunden", "R:NOUN:INFL")]),
        ("die Kaze", "die Katze", [(1, 2, "Katze", "R:SPELL")]),
        ("der hund", "der Hund", [(1, 2, "Hund", "R:ORTH")]),
        ("der Hund läuft schnelle", "der Hund läuft schnell", [(3, 4, "schnell", "R:MORPH")]),
        ("heute der Hund läuft", "heute läuft der Hund", [(1, 4, "läuft der Hund", "R:WO")]),
        ("er hat gelaufen", "er ist gelaufen", [(1, 2, "ist", "R:AUX")]),
        ("er läuft", "er ist gelaufen", [(1, 2, "ist gelaufen", "R:VERB:FORM")]),
        ("3 Hunde", "33 Hunde", [(0, 1, "33", "R:NUM")]),
        ("der Hund", "der Hund", []),
        ("die Straße", "die Katze", [(1, 2, "Katze", "R:NOUN")]),
        ("auf Katze", "zu Haus", [(0, 1, "zu", "R:OTHER"), (1, 2, "Haus", "R:NOUN")]),
        ("Haus", "in die Katze", [(0, 1, "in die Katze", "R:OTHER")]),
    ],
)
def test_german(
    source: str,
    correction: str,
    edits: list[tuple[int, int, str, str]],
    german: UniversalAnnotator,
) -> None:
    (found,) = german.annotate([(source, correction)])
    assert [(e.start, e.end, e.correction, e.type) for e in found] == edits


@pytest.mark.parametrize(
    ("source", "correction", "kind"),
    [
        ("ذهبت الولد", "ذهب الولد", "R:VERB:FORM"),
        ("ذهب الى المدرسة", "ذهب إلى المدرسة", "R:SPELL"),  # the hamza is left out
        ("ذهب في المدرسة", "ذهب إلى المدرسة", "R:ADP"),
        ("ذهب إلى المدرسه", "ذهب إلى المدرسة", "R:SPELL"),
        ("إلى مدرسة", "إلى المدرسة", "R:NOUN:FORM"),
        ("الولد ذهب", "ذهب الولد", "R:WO"),
        ("ذهب الولد", "ذهب الولد .", "M:PUNCT"),
    ],
)
def test_arabic(source: str, correction: str, kind: str) -> None:
    words = ARABIC.keys() - {"الى", "المدرسه"}
    annotator = UniversalAnnotator(pipeline("ar", ARABIC), words=words)
    (found,) = annotator.annotate([(source, correction)])
    assert [edit.type for edit in found] == [kind]


@pytest.mark.parametrize(
    ("source", "correction", "kind"),
    [
        ("我 昨天 去 学校 。", "我 昨天 去 了 学校 。", "M:PART"),
        ("我 去 在 学校", "我 去 学校", "U:ADP"),
        ("我 去 学 校", "我 去 学校", "R:ORTH"),
        ("我 去 昨天", "我 昨天 去", "R:WO"),
        ("我 去 昨天", "我 去 学校", "R:NOUN"),
    ],
)
def test_chinese(source: str, correction: str, kind: str) -> None:
    annotator = UniversalAnnotator(pipeline("zh", CHINESE), words=CHINESE)
    (found,) = annotator.annotate([(source, correction)])
    assert [edit.type for edit in found] == [kind]


def test_without_a_list_nothing_is_misspelt() -> None:
    annotator = UniversalAnnotator(pipeline("de", GERMAN))
    pairs = [("die Kaze", "die Katze"), ("den Hundern", "den Hunden")]
    assert [[e.type for e in edits] for edits in annotator.annotate(pairs)] == [
        ["R:NOUN"],
        ["R:NOUN:FORM"],
    ]
    assert annotator.settings["words"] == "none"


def test_words_with_vectors_are_a_list() -> None:
    nlp = pipeline("de", GERMAN)
    nlp.vocab.reset_vectors(width=2)
    for word in GERMAN.keys() - {"Kaze"}:
        nlp.vocab.set_vector(word, [1.0, 0.0])  # type: ignore[arg-type]
    annotator = UniversalAnnotator(nlp)
    assert annotator.annotate([("die Kaze", "die Katze")])[0][0].type == "R:SPELL"
    assert annotator.settings["words"] == "vectors"


def test_without_lemmas_there_are_no_forms() -> None:
    nlp = pipeline("de", {form: (tag, "") for form, (tag, _) in GERMAN.items()})
    (found,) = UniversalAnnotator(nlp).annotate([("der Hund laufen", "der Hund läuft")])
    assert [edit.type for edit in found] == ["R:VERB"]


def test_a_pipeline_without_tags_is_refused() -> None:
    with pytest.raises(ConfigError, match="gives no parts of speech"):
        UniversalAnnotator(spacy.blank("de")).annotate([("ein Hund", "der Hund")])


def test_our_own_pipeline() -> None:
    """The edits' borders are ERRANT's; the types need no English."""
    nlp = load_pipeline("en_pipeline")
    pairs = [("He go to school every days .", "He goes to school every day .")]
    (found,) = UniversalAnnotator(nlp).annotate(pairs)
    assert [(e.start, e.end, e.type) for e in found] == [
        (1, 2, "R:VERB:FORM"),
        (5, 6, "R:NOUN:FORM"),
    ]


# -------------------------------------------------------------------------------------- commands


@pytest.fixture
def folder(tmp_path: Path) -> str:
    pipeline("de", GERMAN).to_disk(tmp_path / "de_rules")
    return str(tmp_path / "de_rules")


SOURCE = "der Hunde laufen in Haus .\ndie Kaze läuft .\n"
FIRST = "der Hund läuft in dem Haus .\ndie Katze läuft .\n"
GOLD = """\
S der Hunde laufen in Haus .
A 1 2|||R:NOUN:FORM|||Hund|||REQUIRED|||-NONE-|||0
A 2 3|||R:VERB:FORM|||läuft|||REQUIRED|||-NONE-|||0
A 4 4|||M:DET|||dem|||REQUIRED|||-NONE-|||0

S die Kaze läuft .
A 1 2|||R:SPELL|||Katze|||REQUIRED|||-NONE-|||0

"""


def test_parallel_and_score(folder: str, file: File, capsys: Capture) -> None:
    words = file("\n".join(GERMAN.keys() - {"Kaze"}), "words.txt")
    source, first = file(SOURCE), file(FIRST)
    ud = ["--types", "ud", "--spacy-model", folder, "--words", words]
    assert main(["errant", "parallel", "-orig", source, "-cor", first, "-out", "gold.m2", *ud]) == 0
    assert Path("gold.m2").read_text(encoding="utf-8") == GOLD

    output = file("der Hund laufen in dem Haus .\ndie Kaze lief .\n")
    assert main(["score", "errant", output, "gold.m2", "-cat", "3", *ud]) == 0
    out, err = capsys.readouterr()
    rows = {line.split()[0]: line.split()[1:4] for line in out.splitlines() if ":" in line}
    assert rows == {
        "M:DET": ["1", "0", "0"],
        "R:NOUN:FORM": ["1", "0", "0"],
        "R:SPELL": ["0", "0", "1"],
        "R:VERB:FORM": ["0", "1", "1"],
    }
    assert "types:ud|words:list|spacy:de_" in err


def test_m2_files_get_new_types(folder: str, file: File) -> None:
    old = file(GOLD.replace("R:NOUN:FORM", "Nn"), "old.m2")
    ud = ["--types", "ud", "--spacy-model", folder]
    assert main(["errant", "m2", "-gold", old, "-out", "new.m2", *ud]) == 0
    types = [a.type for block in read_blocks("new.m2") for a in block.annotations]
    assert types == ["R:NOUN:FORM", "R:VERB:FORM", "M:DET", "R:NOUN"]


def test_another_language_needs_the_option(folder: str, file: File, capsys: Capture) -> None:
    files = ["-orig", file(SOURCE), "-cor", file(FIRST), "-out", "-"]
    assert main(["errant", "parallel", *files, "--spacy-model", folder]) == 2
    assert "ERRANT needs English; gec score errant and" in capsys.readouterr().err
    assert main(["errant", "parallel", *files, "--words", "w"]) == 2
    assert "--words belongs to --types ud" in capsys.readouterr().err


def test_a_list_without_words(file: File) -> None:
    with pytest.raises(ConfigError, match=r"words\.txt: no words"):
        read_words(file("\n \n", "words.txt"))
