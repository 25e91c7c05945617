"""GREEN, CLEME, GoToScorer and the I-measure give their authors' numbers; rates count right.

metrics_expected holds random cases with what the authors' programs print: shotakoyama/green,
THUKElab/CLEME, gotutiyan/GTS 1.1.0 and mfelice/imeasure (Python 2.7.18).
"""

from __future__ import annotations

import doctest
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gec.cli import main
from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics import clean as clean_module
from gec.eval.metrics import cleme as cleme_module
from gec.eval.metrics import gotoscorer as gotoscorer_module
from gec.eval.metrics import gotoscorer_chunks, imeasure_alignment, ngrams
from gec.eval.metrics import green as green_module
from gec.eval.metrics import imeasure as imeasure_module
from gec.eval.metrics import rates as rates_module
from gec.eval.metrics import statistics as statistics_module
from gec.eval.metrics.clean import needless, needless_statistics
from gec.eval.metrics.cleme import cleme, partition
from gec.eval.metrics.errant import Block, parse_blocks
from gec.eval.metrics.gotoscorer import gotoscorer
from gec.eval.metrics.green import green, green_statistics
from gec.eval.metrics.imeasure import align, imeasure, imeasure_statistics
from gec.eval.metrics.rates import error_rates
from gec.eval.metrics.significance import compare as compare_statistics
from gec.eval.metrics.statistics import Statistics

DATA = Path(__file__).parent / "data" / "metrics_expected"
Case = dict[str, Any]
Capture = pytest.CaptureFixture[str]
File = Callable[[str, str], str]


def cases(name: str) -> list[Case]:
    found: list[Case] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    assert len(found) == 24
    return found


def blocks(text: str) -> list[Block]:
    return parse_blocks(text, "case.m2")


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    "module",
    [
        clean_module,
        cleme_module,
        gotoscorer_module,
        gotoscorer_chunks,
        green_module,
        imeasure_module,
        ngrams,
        rates_module,
        statistics_module,
    ],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_examples_in_docstrings(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def check_statistics(statistics: Statistics) -> None:
    """What the protocol asks: no failure or warning on zeros, many sums at once."""
    zeros = statistics.score(np.zeros((3, statistics.rows.shape[1])))
    assert zeros.shape == (3, len(statistics.names))
    assert np.isfinite(zeros).all()


# ------------------------------------------------------------------------------------------ GREEN


@pytest.mark.parametrize("case", cases("green"))
def test_green_equals_the_authors_program(case: Case) -> None:
    score = green(case["sources"], case["hypotheses"], case["references"], beta=case["beta"])
    assert score.f == pytest.approx(case["f"], abs=1e-12)
    assert score.sentences == pytest.approx(case["sentences"], abs=1e-12)
    assert list(score.chosen) == case["chosen"]


def test_green_of_the_example_of_gec_metrics() -> None:
    """The corpus and its scores in the tests of gec-metrics 0.1.1."""
    sources = [
        "This sentences contain gramamtical error .",
        "This is a sentence .",
        "This is no change .",
        "I bought a pen to write a letter to a friend .",
    ]
    hypotheses = [
        "This sentence contains a grammatical error .",
        "the sentence was corrected into completely different one .",
        "This is no change .",
        "I bought a pen to write a letter to a friend .",
    ]
    references = [
        [
            "This sentence contains a gramamtical error .",
            "dummy sentence .",
            "This is no change .",
            "I bought a pen to write a letter to the friend .",
        ],
        [
            "These sentences contain grammatical errors .",
            "another dummy sentence .",
            "This is no change .",
            "I bought a pen to write the letter to the friend .",
        ],
    ]
    for beta, f in ((0.5, 67.353281938837), (2.0, 71.852523831581)):
        assert 100 * green(sources, hypotheses, references, beta=beta).f == pytest.approx(f)


def test_green_regions_by_hand() -> None:
    # unigrams: a kept (TK), b deleted as wanted (TD), c deleted against the reference (OD),
    # d inserted as wanted (TI), e inserted by the system alone (OI), f by the reference alone (UI),
    # g kept by the system alone (UD)
    score = green(["a b c g"], ["a d e g"], [["a c d f"]], order=1, beta=1)
    assert (score.precision, score.recall) == (3 / 5, 3 / 5)


def test_green_of_sentences_shorter_than_the_longest_ngram() -> None:
    """The trap: without any n-gram of an order the authors' recall is 0, so the score is."""
    assert green(["a b c"], ["a b c"], [["a b c"]]).f == 0
    assert green(["a b c"], ["a b c"], [["a b c"]], order=3).f == 1


def test_green_of_characters_counts_blanks() -> None:
    assert green(["a b"], ["ab"], [["ab"]], order=2, unit="char").f == 1
    assert green(["a b"], ["a b"], [["ab"]], order=1, unit="char", beta=1).recall == 2 / 3


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"order": 0}, "order must be at least 1"),
        ({"beta": -1.0}, "beta must be 0 or more"),
        ({"unit": "byte"}, "unit must be one of word, char"),
    ],
)
def test_green_refuses_options(change: Any, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        green(["a"], ["a"], [["a"]], **change)


def test_green_refuses_lists_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="at least one reference"):
        green(["a"], ["a"], [])
    with pytest.raises(InputError, match="hypotheses has 1 lines, sources has 2"):
        green(["a", "b"], ["a"], [["a", "b"]])
    with pytest.raises(InputError, match="no sentence"):
        green([], [], [[]])


def test_green_statistics() -> None:
    statistics = green_statistics(["a b"], ["a"], [["a"]])
    check_statistics(statistics)
    assert statistics["f"] == green(["a b"], ["a"], [["a"]]).f


# ------------------------------------------------------------------------------------------ CLEME

DEMO = """\
S Keeping the Secret of Genetic Testing
{first}
S When we are diagonosed out with certain genetic disease , are we suppose to disclose this result \
to our relatives ?
{second}
"""


def demo(*edits: tuple[int, int, str, int], coders: int) -> list[Block]:
    line = "A {} {}|||X|||{}|||REQUIRED|||-NONE-|||{}\n"
    noop = "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||{}\n"
    first = "".join(noop.format(coder) for coder in range(coders))
    second = "".join(line.format(*edit) for edit in edits)
    return blocks(DEMO.format(first=first, second=second))


def test_cleme_of_the_authors_demo() -> None:
    """demo.errant and demo-AMU.errant, and the numbers that their README shows."""
    reference = demo(
        (3, 4, "diagnosed", 0),
        (4, 5, "", 0),
        (8, 9, "diseases", 0),
        (3, 4, "diagnosed", 1),
        (4, 5, "", 1),
        (6, 6, "a", 1),
        (12, 13, "supposed", 1),
        coders=2,
    )
    hypothesis = demo(
        (3, 4, "diagnosed", 0),
        (8, 9, "diseases", 0),
        (15, 16, "the", 0),
        (16, 17, "results", 0),
        (18, 19, "their", 0),
        coders=1,
    )
    score = cleme(hypothesis, reference)
    assert (score.f, score.accuracy, score.precision, score.recall) == (0.2711, 0.8002, 0.2293, 1)
    counts = (score.tp, score.fp, score.fn, score.tn)
    assert [round(count, 2) for count in counts] == [0.8, 2.7, 0, 10]
    assert score.mean_length == pytest.approx(1.4)
    chunks = [" ".join(piece.source) for piece in partition(hypothesis[1], reference[1])[0]]
    assert chunks[:6] == [
        "When we are",
        "diagonosed out",
        "with",
        "",
        "certain genetic",
        "disease",
    ]


@pytest.mark.parametrize("case", cases("cleme"))
def test_cleme_equals_the_authors_program(case: Case) -> None:
    hypothesis, reference = blocks(case["hypothesis"]), blocks(case["reference"])
    assert len(case["expected"]) == 8
    for how, wanted in case["expected"].items():
        level, assumption, weighted = how.split()
        score = cleme(
            hypothesis,
            reference,
            assumption=assumption,
            level=level,
            weighted=weighted == "weighted",
        )
        ours = {
            "F": score.f,
            "Acc": score.accuracy,
            "P": score.precision,
            "R": score.recall,
            **{name: round(getattr(score, name), 2) for name in ("tp", "fp", "fn", "tn")},
        }
        assert {name: ours[name] for name in wanted} == wanted, how


def test_cleme_insertion_beside_an_unchanged_chunk() -> None:
    """The trap: an insertion belongs to its own chunk, not to the kept one that ends there too."""
    text = "S a b\nA 1 1|||M:X|||x|||REQUIRED|||-NONE-|||0\n"
    (pieces, _) = partition(blocks(text)[0], blocks(text)[0])
    assert [(piece.text, piece.changed) for piece in pieces] == [
        (("a",), False),
        (("x",), True),
        (("b",), False),
    ]


def test_cleme_without_any_reference_edit() -> None:
    """The authors' program has no mean length then, and no number comes out."""
    gold = blocks("S a b\n")
    score = cleme(blocks("S a b\nA 0 1|||R:X|||c|||REQUIRED|||-NONE-|||0\n"), gold)
    assert (score.precision, score.tp, score.fn) == (0, 0, 0)


def test_cleme_refuses() -> None:
    gold = blocks("S a\n")
    with pytest.raises(ConfigError, match="assumption must be dependent or independent"):
        cleme(gold, gold, assumption="free")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="level must be corpus or sentence"):
        cleme(gold, gold, level="word")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="beta must be"):
        cleme(gold, gold, beta=-1)
    with pytest.raises(InputError, match="hypothesis has 2 lines, reference has 1"):
        cleme([*gold, *gold], gold)


@pytest.mark.parametrize("level", ["corpus", "sentence"])
def test_cleme_statistics(level: Any) -> None:
    case = cases("cleme")[0]
    measured = cleme_module.measure(
        blocks(case["hypothesis"]), blocks(case["reference"]), level=level
    )
    check_statistics(measured.statistics)
    assert measured.statistics["f"] == pytest.approx(measured.score().f, abs=5e-5)


# ------------------------------------------------------------------------------------- GoToScorer


@pytest.mark.parametrize("case", cases("gotoscorer"))
def test_gotoscorer_equals_the_authors_program(case: Case) -> None:
    score = gotoscorer([blocks(text) for text in case["systems"]], blocks(case["reference"]))
    assert [list(row) for row in score.corrected] == case["corrected"]
    for system, wanted in zip(score.systems, case["scores"], strict=True):
        ours = gotoscorer_module._fields(system)[1:]
        assert ours == pytest.approx(wanted, abs=1e-9)


A = "A {} {}|||{}|||{}|||REQUIRED|||-NONE-|||0\n"
FIRST, SECOND = "S We discussing about its .\n", "S I have been to park tomorrow .\n"


def gts_demo(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> list[Block]:
    edits = ["".join(A.format(*edit) for edit in each) for each in (first, second)]
    return blocks(f"{FIRST}{edits[0]}\n{SECOND}{edits[1]}")


REFERENCE = gts_demo(
    [(1, 1, "M:VERB", "have been"), (2, 3, "U:PREP", ""), (3, 4, "R:PRON", "it")],
    [(1, 3, "R:VERB", "go"), (4, 4, "M:DET", "the"), (5, 6, "U:NOUN", "")],
)
SYSTEMS = [
    gts_demo(
        [(1, 1, "M:VERB", "have been"), (3, 4, "R:PRON", "it")],
        [(1, 3, "R:VERB", "go"), (4, 4, "M:DET", "the")],
    ),
    gts_demo(
        [
            (0, 0, "M:PUNCT", '"'),
            (1, 1, "M:VERB:TENSE", "are"),
            (2, 3, "U:PREP", ""),
            (3, 4, "R:PRON", "it"),
            (5, 5, "M:PUNCT", '"'),
        ],
        [(2, 3, "R:VERB", "went"), (4, 4, "M:DET", "the")],
    ),
    gts_demo(
        [(1, 3, "R:OTHER", "talking"), (3, 4, "R:PRON", "it")],
        [(2, 2, "M:VERB:FORM", "to"), (4, 4, "M:DET", "the"), (5, 6, "R:NOUN", "past")],
    ),
]
WEIGHTS = "3\n2 3 1 2 3 1 3 3 3 3 2\n3 3 3 1 3 3 3 3 3 0 3 3 3\n"


def test_gotoscorer_of_the_authors_demo() -> None:
    """demo/ref.m2 and demo/hyp.m2: demo/weight.txt, and the means of error_type_difficulty.txt."""
    score = gotoscorer(SYSTEMS, REFERENCE)
    lines = [[score.out_of], *score.corrected]
    assert "".join(" ".join(map(str, row)) + "\n" for row in lines) == WEIGHTS
    assert {kind: round(weight, 2) for kind, weight, _ in score.difficulty} == {
        "U:NOUN": 1,
        "M:VERB": 0.67,
        "R:VERB": 0.67,
        "U:PREP": 0.67,
        "R:PRON": 0,
        "M:DET": 0,
    }


def test_gotoscorer_of_a_single_system_needs_weights() -> None:
    with pytest.raises(ConfigError, match="measured over several systems"):
        gotoscorer(SYSTEMS[:1], REFERENCE)
    together = gotoscorer(SYSTEMS, REFERENCE, names=["a", "b", "c"])
    alone = gotoscorer(SYSTEMS[:1], REFERENCE, names=["a"], corrected=together.corrected, out_of=3)
    assert alone.systems == together.systems[:1]
    plain = gotoscorer(SYSTEMS[:1], REFERENCE, weighted=False).systems[0]
    assert (plain.tp, plain.fp, plain.fn, plain.tn) == (4, 0, 2, 18)


@pytest.mark.parametrize(
    ("corrected", "out_of", "error"),
    [
        ([[1]], 3, "weights of 1 sentences, the reference has 2"),
        ([[1], [1]], 3, "sentence 1: weights of 1 chunks, the reference has 11"),
        ([[4] * 11, [1] * 13], 3, "sentence 1: a weight is not from 0 to 3"),
    ],
)
def test_gotoscorer_refuses_weights(corrected: list[list[int]], out_of: int, error: str) -> None:
    with pytest.raises(DataError, match=error):
        gotoscorer(SYSTEMS, REFERENCE, corrected=corrected, out_of=out_of)


def test_gotoscorer_refuses_an_annotator_who_is_not_there() -> None:
    with pytest.raises(ConfigError, match="no annotator 2 in the reference"):
        gotoscorer(SYSTEMS, REFERENCE, annotator=2)


def test_gotoscorer_statistics() -> None:
    measured = gotoscorer_module.measure(SYSTEMS, REFERENCE)
    for statistics in measured.statistics:
        check_statistics(statistics)
    found = compare_statistics(measured.statistics[2], measured.statistics[0], samples=10)
    assert found["f0.5"].difference.value == pytest.approx(0.8)


# -------------------------------------------------------------------------------------- I-measure


@pytest.mark.parametrize("case", cases("imeasure"))
def test_imeasure_equals_the_authors_program(case: Case) -> None:
    assert len(case["expected"]) == 6
    names = {"p": "precision", "r": "recall", "acc": "accuracy"}
    for how, wanted in case["expected"].items():
        mix, level, optimise = how.split()
        score = imeasure(
            case["hypotheses"],
            blocks(case["reference"]),
            mix=mix == "mix",
            level=level,
            optimise=optimise,
        )
        assert [list(row) for row in score.sentences] == wanted["sentences"], how
        for aspect, ours in (("c", score.correction), ("d", score.detection)):
            for name, number in wanted[aspect].items():
                found = getattr(ours, names.get(name, name))
                assert found == pytest.approx(number, abs=1e-12), (how, aspect, name)


Column = tuple[str, str, str]
GAP = ""


def every_alignment(texts: tuple[list[str], list[str], list[str]]) -> Iterator[list[Column]]:
    if not any(texts):
        yield []
    for taken in itertools.product((0, 1), repeat=3):
        if any(taken) and all(len(t) >= n for t, n in zip(texts, taken, strict=True)):
            column = tuple(t[0] if n else GAP for t, n in zip(texts, taken, strict=True))
            rest = tuple(t[n:] for t, n in zip(texts, taken, strict=True))
            for way in every_alignment(rest):  # type: ignore[arg-type]
                yield [column, *way]  # type: ignore[list-item]


def sum_of_pairs(way: Sequence[Column]) -> int:
    pairs = (pair for column in way for pair in itertools.combinations(column, 2))
    return sum(0 if a == b else 2 if GAP in (a, b) else 3 for a, b in pairs)


def columns(way: Sequence[Column]) -> tuple[int, ...]:
    """How many columns are TN, FN, FP, TP and FPN."""
    counts = [0] * 5
    for s, h, r in way:
        counts[0 if s == h == r else 1 if s == h else 2 if s == r else 3 if h == r else 4] += 1
    return tuple(counts)


@pytest.mark.parametrize("source", ["", "a", "a b", "b c", "b a b"])
def test_alignment_is_a_cheapest_one(source: str) -> None:
    """Against all alignments there are."""
    texts = ["", "a", "a b", "b c", "b a b"]
    for hypothesis, reference in itertools.product(texts, repeat=2):
        ways = list(every_alignment((source.split(), hypothesis.split(), reference.split())))
        least = min(map(sum_of_pairs, ways))
        found = align(source.split(), hypothesis.split(), [reference.split()])
        cheapest = {columns(way) for way in ways if sum_of_pairs(way) == least}
        assert tuple(found[0].tolist()) in cheapest, (source, hypothesis, reference)


def test_references_aligned_together_are_as_if_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source, hypothesis = "a b c d".split(), "a x c d e".split()
    references = [text.split() for text in ("a b c d", "a c d e", "x", "", "a x c d e")]
    together = align(source, hypothesis, references)
    monkeypatch.setattr(imeasure_alignment, "_BATCH", 1)
    assert (align(source, hypothesis, references) == together).all()


MIXED = """\
S He go to school every days .
A 1 2|||X|||goes|||REQUIRED|||-NONE-|||0
A 5 6|||X|||day|||REQUIRED|||-NONE-|||1
"""


def test_edits_of_annotators_are_mixed() -> None:
    text = ["He goes to school every day ."]
    assert imeasure(text, blocks(MIXED)).correction.recall == 1
    alone = imeasure(text, blocks(MIXED), mix=False)
    assert (alone.correction.tp, alone.correction.fp) == (1, 1)


def test_too_many_mixtures(file: File, capsys: Capture) -> None:
    text = "He goes to school every day ."
    assert imeasure([text], blocks(MIXED), most=3).unmixed == 1
    assert imeasure([text], blocks(MIXED), most=4).unmixed == 0
    hyp, gold = file("hyp", f"{text}\n"), file("gold.m2", MIXED)
    assert main(["score", "imeasure", hyp, gold, "--most", "3"]) == 0
    out, err = capsys.readouterr()
    assert "Correction       1       5       1" in out
    assert "1 sentences have more than 3 mixtures" in err


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"optimise": "f"}, "optimise must be one of"),
        ({"level": "text"}, "level must be sent or corpus"),
        ({"weight": -1.0}, "weight must be 0 or more"),
    ],
)
def test_imeasure_refuses_settings(change: Any, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        imeasure(["a"], blocks("S a\n"), **change)


def test_imeasure_statistics() -> None:
    case = cases("imeasure")[0]
    statistics = imeasure_statistics(case["hypotheses"], blocks(case["reference"]))
    check_statistics(statistics)
    assert statistics["i"] == imeasure(case["hypotheses"], blocks(case["reference"])).i


# ------------------------------------------------------------------------------------------ rates

RATED = """\
S a b c
A 0 1|||R:DET|||x|||REQUIRED|||-NONE-|||0
A 1 2|||R:NOUN|||y|||REQUIRED|||-NONE-|||0
A 2 2|||M:DET|||z|||REQUIRED|||-NONE-|||1

S a b c
A 0 1|||U:DET||||||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S a b c
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S a b c
"""
RATED_SYSTEM = """\
S a b c
A 0 1|||R:DET|||x|||REQUIRED|||-NONE-|||0

S a b c
A 0 1|||R:DET|||w|||REQUIRED|||-NONE-|||0

S a b c
A 1 2|||R:NOUN|||v|||REQUIRED|||-NONE-|||0

S a b c
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def test_rates_by_hand() -> None:
    score = error_rates(blocks(RATED_SYSTEM), blocks(RATED))
    assert (score.repaired, score.edited, score.changed, score.correct) == (0, 2, 1, 2)
    rows = {row.type: (row.edits, row.fixed, row.positive, row.broken) for row in score.types}
    assert rows == {
        "R:DET": (1, 1, 1, 0),  # repaired in the first sentence
        "M:DET": (1, 0, 1, 0),
        "R:NOUN": (1, 0, 1, 1),  # made in the third, which is correct
        "U:DET": (1, 0, 1, 0),
    }
    merged = error_rates(blocks(RATED_SYSTEM), blocks(RATED), category=True).types[0]
    assert (merged.type, merged.edits, merged.fixed, merged.positive) == ("DET", 3, 1, 2)


def test_rates_of_nothing_are_no_rates() -> None:
    score = error_rates(blocks("S a\n"), blocks("S a\n"))
    assert (score.success, score.overcorrection, score.types) == (None, 0, ())


def test_rates_of_other_sentences_are_refused() -> None:
    with pytest.raises(DataError, match="line 1: 'b' is not the sentence of reference, line 1"):
        error_rates(blocks("S b\n"), blocks("S a\n"))


def test_paired_rates_are_adjusted(file: File, capsys: Capture) -> None:
    """Twelve sentences of each of two types: one system repairs the first type, one the second."""
    edit = "A 0 1|||{}|||{}|||REQUIRED|||-NONE-|||0\n"
    kinds = ["R:DET"] * 12 + ["R:NOUN"] * 12
    gold = "".join(f"S a b\n{edit.format(kind, 'x')}\n" for kind in kinds)
    ours, theirs = (
        "".join(f"S a b\n{edit.format(k, 'x') if k == right else ''}\n" for k in kinds)
        for right in ("R:DET", "R:NOUN")
    )
    files = [file("ours.m2", ours), file("gold.m2", gold)]
    paired = ["--paired", file("theirs.m2", theirs), "--samples", "999"]
    assert main(["score", "rates", *files, *paired, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    raw = [found["significance"]["comparisons"][f"success:{k}"]["p"] for k in ("R:DET", "R:NOUN")]
    adjusted = {row["type"]: row["p_success"] for row in found["types"]}
    # the smaller p-value is doubled; the larger one is at least that
    assert min(adjusted.values()) == pytest.approx(2 * min(raw))
    assert max(adjusted.values()) == pytest.approx(max(2 * min(raw), max(raw)))
    assert all(row["p_overcorrection"] is None for row in found["types"])


def test_rates_statistics() -> None:
    measured = rates_module.measure([blocks(RATED_SYSTEM)], blocks(RATED))
    check_statistics(measured.statistics[0])
    assert measured.statistics[0]["success:R:DET"] == 1


@pytest.mark.parametrize(
    ("source", "hypothesis", "changes"),
    [
        ("a b c", "a b c", 0),
        ("a b c", "a  b c", 0),  # blanks are no change
        ("a b c d", "a x y d", 1),  # neighbours are one change
        ("a b c d", "x b c y", 2),
        ("a b c", "a c", 1),
        ("a b", "x y a b", 1),
        ("a b", "", 1),
    ],
)
def test_needless_changes(source: str, hypothesis: str, changes: int) -> None:
    score = needless([hypothesis], [source])
    assert (score.changes, score.words) == (changes, len(source.split()))
    assert score.per_1000_words == pytest.approx(1000 * changes / len(source.split()))
    assert score.untouched == (not changes)


def test_needless_statistics() -> None:
    check_statistics(needless_statistics(["a"], ["a"]))
    with pytest.raises(InputError, match="no word"):
        needless([""], [""])


# ---------------------------------------------------------------------------------------- commands

SOURCE = "He go to school .\nIt is fine .\n"
BETTER = "He goes to school .\nIt is fine .\n"
WORSE = "He go to school .\nIt was fine .\n"
GOLD = """\
S He go to school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0

S It is fine .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


@pytest.fixture
def files(file: File) -> dict[str, str]:
    texts = {"src": SOURCE, "better": BETTER, "worse": WORSE, "gold.m2": GOLD}
    return {name: file(name, text) for name, text in texts.items()}


COMMANDS = {
    "green": ["better", "-s", "src", "-r", "better"],
    "cleme": ["better", "gold.m2"],
    "gotoscorer": ["better", "gold.m2"],
    "imeasure": ["better", "gold.m2"],
    "rates": ["better", "gold.m2"],
    "clean": ["better", "src"],
}


@pytest.mark.parametrize("metric", COMMANDS)
def test_commands(metric: str, files: dict[str, str], capsys: Capture) -> None:
    pytest.importorskip("spacy")
    given = ["score", metric, *(files.get(word, word) for word in COMMANDS[metric])]
    paired = ["--paired", files["worse"], "--samples", "20", "--seed", "3"]
    assert main([*given, *paired]) == 0
    out, err = capsys.readouterr()
    assert "Difference from worse" in out
    assert f"{metric}|" in err
    assert "|samples:20|seed:3|paired:worse|gec:" in err
    assert main([*given, *paired, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["significance"]["samples"] == 20
    assert found["signature"].startswith(f"{metric}|")


@pytest.mark.parametrize("metric", COMMANDS)
def test_commands_refuse_files_that_do_not_fit(
    metric: str, files: dict[str, str], file: File, capsys: Capture
) -> None:
    short = file("short", "He goes to school .\n")
    given = [short, *(files.get(word, word) for word in COMMANDS[metric][1:])]
    extra = ["--unweighted"] if metric == "gotoscorer" else []
    assert main(["score", metric, *given, *extra]) == 2
    assert f"{short} has 1 lines" in capsys.readouterr().err


@pytest.mark.parametrize("metric", COMMANDS)
def test_commands_refuse_what_is_no_output(
    metric: str, files: dict[str, str], file: File, capsys: Capture
) -> None:
    empty, joined = file("empty", "He goes to school .\n\n"), file("joined", "He goes.\nFine.\n")
    more = [files.get(word, word) for word in COMMANDS[metric][1:]]
    more += ["--unweighted"] if metric == "gotoscorer" else []
    for name, error in ((empty, "line 2: empty"), (joined, "line 1: not tokenized as")):
        assert main(["score", metric, name, *more]) == 2
        assert f"{name}, {error}" in capsys.readouterr().err
    assert main(["score", metric, empty, *more, "--allow-empty"]) == 0


def test_edits_of_another_tokenization_are_refused(
    files: dict[str, str], file: File, capsys: Capture
) -> None:
    other = file("other.m2", GOLD.replace("school .", "school."))
    assert main(["score", "cleme", other, files["gold.m2"]]) == 2
    message = f"{other}, line 1: 'He go to school.' is not the sentence of {files['gold.m2']}"
    assert message in capsys.readouterr().err


def test_weights_of_gotoscorer_are_written_and_read(
    files: dict[str, str], file: File, tmp_path: Path, capsys: Capture
) -> None:
    systems = [file("a.m2", GOLD), file("b.m2", "S He go to school .\n\nS It is fine .\n")]
    weights = str(tmp_path / "weights")
    command = ["score", "gotoscorer", *systems, files["gold.m2"], "--json"]
    assert main([*command, "--write-weights", weights]) == 0
    first = json.loads(capsys.readouterr().out)
    assert Path(weights).read_text(encoding="utf-8").startswith("2\n2 2 2 1 2")
    assert (
        main(["score", "gotoscorer", systems[0], files["gold.m2"], "--weights", weights, "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["systems"][0] == first["systems"][0]
    file("weights", "2\n2 x\n")
    assert main([*command, "--weights", weights]) == 2
    assert "line 2: expected whole numbers, found '2 x'" in capsys.readouterr().err


def test_leaderboard_of_these_metrics(files: dict[str, str], file: File, capsys: Capture) -> None:
    """GoToScorer measures the difficulty over all systems of the board."""
    pytest.importorskip("spacy")
    systems = [files["better"], files["worse"], file("same", SOURCE)]
    given = ["leaderboard", files["gold.m2"], *systems, "-r", files["better"], "--format", "json"]
    more = ["--metrics", "green,cleme,gotoscorer,imeasure", "--samples", "20"]
    assert main([*given, *more]) == 0
    found = json.loads(capsys.readouterr().out)
    signatures = [ranking["signature"] for ranking in found["rankings"]]
    assert [text.partition("|")[0] for text in signatures] == more[1].split(",")
    assert "|systems:3|" in signatures[2]
    assert all(ranking["rows"][0]["system"] == "better" for ranking in found["rankings"])
