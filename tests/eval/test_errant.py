"""gec errant parallel, m2 and agreement, gec score errant: equal to the package's own commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import errant
import pytest
import spacy
from errant.commands import m2_to_m2, parallel_to_m2
from spacy.language import Language

from gec.cli import main
from gec.errors import ConfigError, InputError
from gec.eval.metrics import pipeline
from gec.eval.metrics.errant import (
    Annotator,
    Edit,
    agreement,
    annotate,
    compare,
    parse_blocks,
    reannotate,
    score_errant,
)
from gec.eval.metrics.pipeline import SHIPPED, describe, load_pipeline

File = Callable[..., str]

SOURCES = """\
He go to school every days .
I has  two informations .

She live in in London since 2010
The book , who I read , was good .
Their is many reason to visits it .
I am interested on music .
It depends of the the weathers .
Yesterday I see him in the buss
I like cat
Does n't she knows the girls names ?
We discussed about it .
this is right .
It 's raining , is n't it ?
"""
FIRST = """\
He goes to school every day .
I have two pieces of information .

She has lived in London since 2010 .
The book I read was good .
There are many reasons to visit it .
I am interested in music .
It depends on the weather .
Yesterday I saw him on the bus .
I like cats
Does n't she know the girls ' names ?
We discussed it .
This is right .
It 's raining , is n't it ?
"""
SECOND = """\
He goes to school every day .
I has two informations .
A line beside an empty one .
She has been living in London since 2010 .
The good book , which I read .
There 's many a reason to visit .
I am interested on music .

I saw him in the bus yesterday
Cat I like
Does n't she know the girl 's names ?
We were discussing about it .
this is right .
It is raining .
"""
GOLD = """\
S He go to school every days .
A 1 2|||Vform|||goes|||REQUIRED|||-NONE-|||0
A 5 6|||Nn|||day|||REQUIRED|||-NONE-|||0
A 1 3|||X|||goes to|||REQUIRED|||-NONE-|||2
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||10

S It is an old sentence .
A 2 3|||UNK|||an|||REQUIRED|||-NONE-|||0
A 0 0|||Trans|||Well ,|||REQUIRED|||-NONE-|||0
A 3 4|||Um||||||REQUIRED|||-NONE-|||1

S Nothing is wrong .

S I likes cat and dog .
A 3 3|||Prep|||and the|||REQUIRED|||-NONE-|||0
A 2 3|||Nn|||a cat|||REQUIRED|||-NONE-|||0
A 1 2|||SVA|||like|||REQUIRED|||-NONE-|||0
A 4 5|||Rloc-||||||REQUIRED|||-NONE-|||0

"""


@pytest.fixture(scope="module")
def nlp() -> Language:
    return load_pipeline(SHIPPED)


@pytest.fixture
def reference(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run one of the package's commands in this process, with the shipped pipeline."""
    annotator = errant.load("en", nlp)

    def run(command: Any, *arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["errant", *arguments])
        with mock.patch("errant.load", return_value=annotator):
            command.main()

    return run


# --------------------------------------------------------------------------------------- annotate

PAIRS = {
    "He go to school .": ("He goes to school .", ["R:VERB:SVA"]),
    "I saw cat .": ("I saw a cat .", ["M:DET"]),
    "She has two dog .": ("She has two dogs .", ["R:NOUN:NUM"]),
    "I am interested on music .": ("I am interested in music .", ["R:PREP"]),
    "He wants to going home .": ("He wants to go home .", ["R:VERB:FORM"]),
    "It is realy cold .": ("It is really cold .", ["R:SPELL"]),
    "We are here": ("We are here .", ["M:PUNCT"]),
    "They was late .": ("They were late .", ["R:VERB:SVA"]),
    "we left .": ("We left .", ["R:ORTH"]),
    "I know what is it .": ("I know what it is .", ["R:WO"]),
    "My sister car is red .": ("My sister 's car is red .", ["M:NOUN:POSS"]),
    "She walk to work yesterday .": ("She walked to work yesterday .", ["R:VERB:TENSE"]),
    "He is more big than me .": ("He is bigger than me .", ["R:ADJ:FORM"]),
    "It is an big house .": ("It is a big house .", ["R:DET"]),
    "All is fine .": ("All is fine .", []),
}


def test_types(nlp: Language) -> None:
    corrections = [correction for correction, _ in PAIRS.values()]
    found = annotate(list(PAIRS), corrections, nlp=nlp)
    types = dict(zip(PAIRS, ([edit.type for edit in edits] for edits in found), strict=True))
    assert types == {source: expected for source, (_, expected) in PAIRS.items()}


def test_an_edit_says_where_and_what(nlp: Language) -> None:
    source, correction = "We  discussed about it yesterday .", "Yesterday we discussed it ."
    [edits] = annotate([source], [correction], nlp=nlp, merge="all-split")
    tokens = source.split()
    for edit in reversed(edits):
        assert edit.original.split() == tokens[edit.start : edit.end]
        tokens[edit.start : edit.end] = edit.correction.split()
    assert tokens == correction.split()
    assert Edit(1, 2, "a", "b c", "R:X").to_m2(3) == "A 1 2|||R:X|||b c|||REQUIRED|||-NONE-|||3"


def test_alignment_and_merging_can_be_chosen(nlp: Language) -> None:
    pair = (["I saw big a dog there ."], ["I see a dogs ."])
    spans = {
        merge: [(e.start, e.end) for e in annotate(*pair, nlp=nlp, merge=merge)[0]]  # type: ignore[arg-type]
        for merge in ("all-split", "all-merge")
    }
    assert len(spans["all-split"]) > len(spans["all-merge"])
    plain, linguistic = (
        annotate(["a b"], ["b a"], nlp=nlp, lev=lev, merge="all-split") for lev in (True, False)
    )
    assert [e.type for e in linguistic[0]] == ["R:WO"]
    assert [e.type for e in plain[0]] != ["R:WO"]


def test_only_what_must_be_parsed_is_parsed_once(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    pipe = nlp.pipe
    monkeypatch.setattr(
        nlp, "pipe", lambda docs: pipe(parsed.append(doc.text.strip()) or doc for doc in docs)
    )
    annotator = Annotator(nlp)
    found = annotator.annotate(
        [("a dog", "a dog"), ("a dog", "a cat"), ("a dog", "two cats"), ("same ", " same")]
    )
    assert [bool(edits) for edits in found] == [False, True, True, False]
    assert parsed == ["a dog", "a cat", "two cats"]


def test_a_score_is_that_of_the_annotated_edits(nlp: Language) -> None:
    source, hypothesis = ["I has two cat ."], ["I have two cat ."]
    gold = parse_blocks(
        "S I has two cat .\nA 1 2|||R:VERB:SVA|||have|||REQUIRED|||-NONE-|||0\n"
        "A 3 4|||R:NOUN:NUM|||cats|||REQUIRED|||-NONE-|||0\n",
        "gold",
    )
    annotator = Annotator(nlp)
    score = score_errant(hypothesis, gold, annotator=annotator)
    assert (score.tp, score.fp, score.fn) == (1, 0, 1)
    edits = annotator.blocks(source, hypothesis)
    assert score == compare(edits, gold, how=annotator.settings)
    with pytest.raises(InputError, match="the hypotheses has 2 lines"):
        score_errant(["a", "b"], gold, annotator=annotator)


def test_lists_of_different_lengths(nlp: Language) -> None:
    with pytest.raises(InputError, match="has 1 lines, the sources has 2"):
        annotate(["a", "b"], ["a"], nlp=nlp)


# ------------------------------------------------------------------------------- errant parallel

OPTIONS = [
    [],
    ["-lev"],
    ["-merge", "all-split"],
    ["-merge", "all-merge"],
    ["-merge", "all-equal", "-lev"],
    ["-tok"],
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_parallel_equals_errant_parallel(
    file: File, reference: Callable[..., None], options: list[str]
) -> None:
    names = [file(text) for text in (SOURCES, FIRST, SECOND)]
    arguments = ["-orig", names[0], "-cor", *names[1:], *options]
    reference(parallel_to_m2, *arguments, "-out", "expected.m2")
    assert main(["errant", "parallel", *arguments, "-out", "o.m2", "--spacy-model", SHIPPED]) == 0
    expected = Path("expected.m2").read_bytes()
    assert expected.count(b"\nA ") > 30
    assert Path("o.m2").read_bytes() == expected


def test_raw_text_is_tokenized(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    names = [file("He don't go, does he?\n"), file("He doesn't go, does he?\n")]
    assert (
        main(["errant", "parallel", "-orig", names[0], "-cor", names[1], "-out", "-", "-tok"]) == 0
    )
    assert capsys.readouterr().out == (
        "S He do n't go , does he ?\nA 1 2|||R:VERB:SVA|||does|||REQUIRED|||-NONE-|||0\n\n"
    )


def test_parallel_files_of_different_lengths(
    file: File, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [file(SOURCES, "orig"), file("only one line\n", "cor")]
    assert main(["errant", "parallel", "-orig", names[0], "-cor", names[1], "-out", "o.m2"]) == 2
    assert "cor has 1 lines, orig has 14" in capsys.readouterr().err
    assert not Path("o.m2").exists()


def test_output_that_cannot_be_written(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    name = file("a b\n")
    arguments = ["-orig", name, "-cor", name, "-out", "no/such/folder.m2"]
    assert main(["errant", "parallel", *arguments]) == 2
    assert "no/such/folder.m2: cannot be written" in capsys.readouterr().err


# -------------------------------------------------------------------------------------- errant m2


@pytest.mark.parametrize(
    "options",
    [
        ["-auto"],
        ["-auto", "-lev", "-merge", "all-merge"],
        ["-gold"],
        ["-gold", "-no_min"],
        ["-gold", "-old_cats"],
        ["-gold", "-old_cats", "-no_min"],
    ],
    ids=" ".join,
)
def test_m2_equals_errant_m2(
    file: File, reference: Callable[..., None], options: list[str]
) -> None:
    name = file(GOLD)
    reference(m2_to_m2, name, *options, "-out", "expected.m2")
    assert main(["errant", "m2", name, *options, "-out", "o.m2", "--spacy-model", SHIPPED]) == 0
    assert Path("o.m2").read_bytes() == Path("expected.m2").read_bytes()


def test_a_last_sentence_without_an_empty_line_is_kept(nlp: Language) -> None:
    blocks = parse_blocks(GOLD.rstrip("\n"), "gold")
    again = "".join(reannotate(blocks, Annotator(nlp), gold=True, keep_types=True))
    assert again.count("S ") == GOLD.count("S ") == 4


BEYOND = "S fine\n\nS one two three\nA {span}|||X|||y|||REQUIRED|||-NONE-|||0\n\n"


@pytest.mark.parametrize("span", ["-1 2", "3 2"])
def test_an_edit_outside_its_sentence(
    file: File, capsys: pytest.CaptureFixture[str], span: str
) -> None:
    name = file(BEYOND.format(span=span), "bad.m2")
    assert main(["errant", "m2", "-auto", name, "-out", "o.m2"]) == 2
    assert not Path("o.m2").exists()
    assert "error: bad.m2: the sentence in line 3 has an edit" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["-auto", "-gold"])
@pytest.mark.parametrize("span", ["5 9", "3 4", "2 9"])
def test_an_edit_beyond_the_end_stands_at_the_end(
    file: File,
    reference: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    span: str,
    mode: str,
) -> None:
    name = file(BEYOND.format(span=span), "beyond.m2")
    reference(m2_to_m2, name, mode, "-out", "expected.m2")
    assert main(["errant", "m2", mode, name, "-out", "o.m2", "--spacy-model", SHIPPED]) == 0
    assert Path("o.m2").read_bytes() == Path("expected.m2").read_bytes()
    assert "edits outside their sentence: 1, the first in line 4" in capsys.readouterr().err


def test_the_same_file_twice(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    name = file("S one two three\n\nS four\n\n", "o.m2")
    assert main(["score", "errant", name, name]) == 2
    assert "o.m2 has 4 lines, o.m2 has 2" in capsys.readouterr().err
    assert main(["errant", "parallel", "-orig", "-", "-cor", "-", "-out", "-"]) == 2
    assert "only once" in capsys.readouterr().err


# ----------------------------------------------------------------------------------- score errant


def _gold_and_lines(file: File) -> tuple[str, str, str]:
    """An M2 file from this module's sentences, its sources and its corrections."""
    source, correction = file(SOURCES.replace("\n\n", "\n")), file(FIRST.replace("\n\n", "\n"))
    assert main(["errant", "parallel", "-orig", source, "-cor", correction, "-out", "gold.m2"]) == 0
    return "gold.m2", source, correction


def test_score_of_the_gold_and_of_nothing(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    gold, source, correction = _gold_and_lines(file)
    edits = Path(gold).read_text().count("\nA ") - Path(gold).read_text().count("noop")
    assert main(["score", "errant", correction, gold, "-cse", "--spacy-model", SHIPPED]) == 0
    captured = capsys.readouterr()
    assert f"\n{edits}\t0\t0\t1.0\t1.0\t1.0\n" in captured.out
    assert f"|errant:{errant.__version__}|spacy:en_pipeline-" in captured.err
    assert "(ud)|gec:" in captured.err
    assert main(["score", "errant", source, gold]) == 0
    assert f"\n0\t0\t{edits}\t1.0\t0.0\t0.0\n" in capsys.readouterr().out


def test_score_equals_annotating_and_comparing(
    file: File, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, source, _ = _gold_and_lines(file)
    lines = SECOND.splitlines()
    hypothesis = file("".join(f"{lines[i]}\n" for i in range(len(lines)) if i != 2))
    assert main(["errant", "parallel", "-orig", source, "-cor", hypothesis, "-out", "h.m2"]) == 0
    for options in ([], ["-ds"], ["-cse", "-cat", "3"], ["-dt", "-b", "1"]):
        assert main(["errant", "compare", "-hyp", "h.m2", "-ref", gold, *options]) == 0
        expected = capsys.readouterr().out
        assert main(["score", "errant", hypothesis, gold, *options]) == 0
        assert capsys.readouterr().out == expected


def test_score_as_json(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    gold, _, correction = _gold_and_lines(file)
    assert main(["score", "errant", correction, gold, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["precision"], found["fp"], found["fn"]) == (1.0, 0, 0)


def test_score_of_too_few_lines(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    gold, _, _ = _gold_and_lines(file)
    capsys.readouterr()
    assert main(["score", "errant", file("one\ntwo\n", "hyp"), gold]) == 2
    assert "hyp has 2 lines, gold.m2 has 13" in capsys.readouterr().err


# -------------------------------------------------------------------------------------- agreement


def test_agreement(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    line = "A {} {}|||{}|||x|||REQUIRED|||-NONE-|||{}\n"
    noop = "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n"
    sides = [
        [line.format(0, 1, "R:NOUN", 0), line.format(1, 2, "R:VERB", 0), line.format(2, 3, "M", 1)],
        [line.format(0, 1, "R:NOUN", 0), line.format(1, 2, "R:ADJ", 0), line.format(2, 3, "M", 0)],
    ]
    names = [file("S a b c\n" + "".join(lines) + "\nS d\n" + noop) for lines in sides]
    assert main(["errant", "agreement", *names]) == 0
    assert capsys.readouterr().out == (
        "edits in both: 2 of 3 and 3 (F1 0.6667)\n"
        "with the same type: 1 of 2 (0.5000)\n"
        "     1  R:VERB -> R:ADJ\n"
    )
    assert main(["errant", "agreement", *names, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["confusions"] == [["R:VERB", "R:ADJ", 1]]


def test_agreement_of_empty_and_of_unequal_files() -> None:
    assert "(F1 1.0000)" in str(agreement(parse_blocks("S a", "x"), parse_blocks("S a", "y")))
    with pytest.raises(InputError):
        agreement(parse_blocks("S a\n\nS b", "x"), parse_blocks("S a", "y"))


# ------------------------------------------------------------------------------- which pipeline


@pytest.fixture
def fresh() -> Any:
    load_pipeline.cache_clear()
    yield
    load_pipeline.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("installed", [True, False])
def test_the_usual_pipeline_comes_first(
    nlp: Language, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr(spacy.util, "is_package", lambda name: installed)
    asked: list[str] = []
    monkeypatch.setattr(spacy, "load", lambda name, **_: asked.append(str(name)) or nlp)
    assert load_pipeline() is nlp
    assert asked[0].endswith("en_core_web_sm" if installed else "en_pipeline")


AGREEMENT = "S This are it .\nA 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0\n\n"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ([], False),
        (["-ds"], False),
        (["-cse"], True),
        (["-cat", "2"], True),
        (["-filt", "R:SPELL"], True),
        (["-cse", "--spacy-model", "en_pipeline"], False),
    ],
)
def test_types_of_the_stand_in_come_with_a_warning(
    options: list[str],
    warned: bool,
    file: File,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    assert main(["score", "errant", file("This is it .\n"), file(AGREEMENT), *options]) == 0
    assert ("en_core_web_sm is not installed" in capsys.readouterr().err) == warned


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("command", ["parallel", "m2"])
def test_annotating_with_the_stand_in_comes_with_a_warning(
    command: str,
    file: File,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    text = file("This are it .\n")
    given = {"parallel": ["-orig", text, "-cor", text], "m2": ["-auto", file(AGREEMENT)]}[command]
    assert main(["errant", command, *given, "-out", "out.m2"]) == 0
    assert "en_core_web_sm is not installed" in capsys.readouterr().err
    monkeypatch.setattr(spacy.util, "is_package", lambda name: True)
    monkeypatch.setattr(pipeline, "PREFERRED", SHIPPED)
    load_pipeline.cache_clear()
    assert main(["errant", command, *given, "-out", "out.m2"]) == 0
    assert capsys.readouterr().err == ""


def test_the_stand_in_can_be_refused(
    file: File, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    arguments = [
        "score",
        "errant",
        file("This is it .\n"),
        file(AGREEMENT),
        "--require-spacy-model",
    ]
    assert main(arguments) == 2
    assert "en_core_web_sm is not installed; install it" in capsys.readouterr().err
    assert main([*arguments, "--spacy-model", "en_pipeline"]) == 2
    assert "not allowed with" in capsys.readouterr().err


def test_the_shipped_pipeline_is_described(nlp: Language) -> None:
    assert describe(nlp) == f"en_pipeline-{nlp.meta['version']}(ud)"


def test_a_pipeline_can_be_a_folder(
    nlp: Language, file: File, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path / "mine")
    gold, _, correction = _gold_and_lines(file)
    folder = str(tmp_path / "mine")
    assert main(["score", "errant", correction, gold, "--spacy-model", folder]) == 0
    assert "1.0\t1.0\t1.0" in capsys.readouterr().out


def test_there_is_no_such_pipeline(file: File, capsys: pytest.CaptureFixture[str]) -> None:
    gold, _, correction = _gold_and_lines(file)
    capsys.readouterr()
    assert main(["score", "errant", correction, gold, "--spacy-model", "en_nothing"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("gec: error: cannot load the spaCy pipeline 'en_nothing': ")
    assert message.count("\n") == 1


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_pipelines_that_errant_cannot_use(tmp_path: Path) -> None:
    spacy.blank("de").to_disk(tmp_path / "de")
    with pytest.raises(ConfigError, match="is for 'de', ERRANT needs English"):
        load_pipeline(str(tmp_path / "de"))
    blank = spacy.blank("en")
    blank.to_disk(tmp_path / "blank")
    with pytest.raises(ConfigError, match="gives no TAG, POS, LEMMA, DEP"):
        load_pipeline(str(tmp_path / "blank"))
    blank.add_pipe("tagger").add_label("VERB")
    with pytest.raises(ConfigError, match=r"does not give the Penn Treebank tags .* \(but VERB\)"):
        Annotator(blank)


def test_without_the_package(
    file: File, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "errant", None)
    name = file("a\n")
    assert main(["errant", "parallel", "-orig", name, "-cor", name, "-out", "-"]) == 2
    assert "pip install '.[eval]'" in capsys.readouterr().err


def test_importing_is_light() -> None:
    """What other rooms do at import: neither spaCy nor errant is loaded by it."""
    import subprocess

    code = (
        "import sys, gec.eval.metrics.errant; "
        "sys.exit('errant' in sys.modules or 'spacy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert pipeline.PREFERRED == "en_core_web_sm"
