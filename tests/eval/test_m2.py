"""gec score m2: every expected case of m2scorer, its messages, its Python functions."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.cli import main
from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.m2 import (
    Edit,
    GoldEdit,
    GoldSentence,
    match_sentence,
    read_gold,
    read_hypotheses,
    score_m2,
)
from gec.eval.metrics.m2.lattice import build_lattice
from gec.eval.metrics.m2.scoring import visiting_order
from gec.eval.metrics.m2.search import cheapest_path, gold_weights

DATA = Path(__file__).with_name("data") / "m2scorer_expected"
CASES = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))["cases"]
VERSIONS = {"v3.2": "3.2", "master": "2016"}

Write = Callable[..., str]
Capture = pytest.CaptureFixture[str]

GOLD = """S The cat sat at mat .
A 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0
A 4 4|||ArtOrDet|||the||a|||REQUIRED|||-NONE-|||0

S The dog .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1
"""


# -------------------------------------------------------------------------------- expected cases


def test_all_cases_are_here() -> None:
    assert len(CASES) == 268
    assert all(set(case["expected"]) == set(VERSIONS) for case in CASES)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_expected_case(case: dict[str, Any], version: str, capsys: Capture) -> None:
    expected = case["expected"][version]
    files = [str(DATA / case["hyp"]), str(DATA / case["gold"])]
    command = ["score", "m2", "--version", VERSIONS[version], *case["options"], *files]
    assert main(command) == expected["exit"]
    captured = capsys.readouterr()
    assert captured.out == expected["stdout"]
    if expected["exit"]:
        assert captured.err.startswith("gec: error: ")
        assert captured.err.count("\n") == 1
        return
    assert captured.err.splitlines()[-1].startswith(f"m2|version:{VERSIONS[version]}|")
    main([*command, "--json"])
    result = json.loads(capsys.readouterr().out)
    for name in ("correct", "proposed", "gold", "chosen_annotators"):
        assert result[name] == expected[name]
    for name, short in {"precision": "P", "recall": "R", "f": "F"}.items():
        assert result[name] == pytest.approx(expected[short], abs=1e-11)
    assert sum(len(sentence["matched"]) for sentence in result["per_sentence"]) == result["correct"]
    assert sum(len(sentence["gold"]) for sentence in result["per_sentence"]) == result["gold"]


@pytest.mark.parametrize("name", ["system", "system2"])
def test_verbose(name: str, capsys: Capture) -> None:
    files = [str(DATA / "cases" / f"example_{name}.{end}") for end in ("hyp", "m2")]
    assert main(["score", "m2", "-v", *files]) == 0
    expected = (DATA / f"verbose.{name}.txt").read_text(encoding="utf-8")
    assert capsys.readouterr().out == expected


def sorted_dictionaries(text: str) -> list[str]:
    """The lines of --very_verbose with dictionaries in one order."""

    def ordered(match: re.Match[str]) -> str:
        return repr(sorted(eval(match[0], {"inf": float("inf")}).items()))

    return [re.sub(r"\{.*\}", ordered, line) for line in text.splitlines()]


def test_very_verbose(capsys: Capture) -> None:
    """All that the original prints of its lattices, weights and paths.

    But for loop variables, back pointers and arcs that are compared with no gold edit.
    """
    files = [str(DATA / "cases" / f"example_system.{end}") for end in ("hyp", "m2")]
    assert main(["score", "m2", "--very_verbose", "--version", "2016", *files]) == 0
    printed = sorted_dictionaries(capsys.readouterr().out)
    expected = sorted_dictionaries(
        (DATA / "very_verbose.system.txt").read_text(encoding="utf-8"),
    )
    visit = ("set weights of edge ", "edit  = ")
    whole = [
        [line for line in lines if not line.startswith((*visit, "v _", "backpointers"))]
        for lines in (printed, expected)
    ]
    assert whole[0] == whole[1]
    rest = iter(expected)
    assert all(line in rest for line in printed), "not in the original's order"
    hits = [i for i, line in enumerate(printed) if line.startswith("matched gold edit")]
    assert len(hits) == 8
    assert all(printed[i - 1].startswith("edit  = ") for i in hits)


def test_verbose_writes_strings_as_python_2_does(file: Write, capsys: Capture) -> None:
    gold = file("S caf\xe9 it 's fine\nA 0 1|||X|||tea\u2019s|||R|||-NONE-|||0\n")
    assert main(["score", "m2", "-v", file("tea it 's fine\n"), gold]) == 0
    out = capsys.readouterr().out
    assert r"EDIT SEQ      : [(0, 1, u'caf\xe9', u'tea')]" in out
    assert r"GOLD EDITS    : [(0, 1, u'caf\xe9', [u'tea\u2019s'])]" in out
    assert "SOURCE        : caf\xe9 it 's fine\n" in out


# ----------------------------------------------------------------------------------- command line


def test_options_after_the_files_and_prefixes(file: Write, capsys: Capture) -> None:
    hypothesis, gold = file("The cat sat on the mat .\nThe dogs .\n"), file(GOLD)
    assert main(["score", "m2", hypothesis, "--max=0", gold, "--be", "1", "--ig"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "Precision   : 0.6667\nRecall      : 1.0000\nF_1.0       : 0.8000\n"
    assert "|beta:1|max_unchanged_words:0|ignore_whitespace_casing:yes|" in captured.err


@pytest.mark.parametrize("files", [[], ["a"], ["a", "b", "c"], ["a", "b", "-v", "c"]])
def test_a_wrong_number_of_files_is_255(files: list[str], capsys: Capture) -> None:
    assert main(["score", "m2", *files]) == 255
    assert "two files are needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--nothing", "-x", "--ver", "--beta=x", "--max=1.5", "--version=4"]
)
def test_a_wrong_option_is_1(option: str, capsys: Capture) -> None:
    assert main(["score", "m2", option, "a", "b"]) == 1
    assert option.lstrip("-").split("=")[0] in capsys.readouterr().err


def test_an_option_without_its_value_is_1(capsys: Capture) -> None:
    assert main(["score", "m2", "a", "b", "--beta"]) == 1
    assert "--beta: expected one argument" in capsys.readouterr().err


def test_empty_files_are_perfect_with_a_warning(file: Write, capsys: Capture) -> None:
    assert main(["score", "m2", file("", "a.txt"), file("", "b.m2")]) == 0
    captured = capsys.readouterr()
    assert captured.out == "Precision   : 1.0000\nRecall      : 1.0000\nF_0.5       : 1.0000\n"
    assert "gec: warning: a.txt and b.m2 are empty" in captured.err


def test_json_is_json_only(file: Write, capsys: Capture) -> None:
    files = [file("The cat .\nThe dog .\n"), file(GOLD)]
    for option in ("-v", "--very_verbose"):
        assert main(["score", "m2", *files, "--json", option]) == 2
        out, err = capsys.readouterr()
        assert (out, "leave out -v and --very_verbose" in err) == ("", True)
    assert main(["score", "m2", *files, "--json", "--beta", "1e200"]) == 2
    out, err = capsys.readouterr()
    assert (out, "JSON cannot hold" in err) == ("", True)


def test_standard_output_is_utf_8_in_every_locale(file: Write) -> None:
    files = [file("caf\xe9\n"), file("S caf\xe9\n")]
    run = "import sys; from gec.cli import main; sys.exit(main(sys.argv[1:]))"
    found = subprocess.run(
        [sys.executable, "-c", run, "score", "m2", "-v", *files],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert "SOURCE        : caf\xe9" in found.stdout.decode("utf-8").splitlines()


def test_standard_input_is_read_once(capsys: Capture) -> None:
    assert main(["score", "m2", "-", "-"]) == 2
    assert "standard input (-) can be read only once" in capsys.readouterr().err


def test_what_is_odd_is_warned_of_once(file: Write, capsys: Capture) -> None:
    edits = [f"A {span}|||X|||x|||R|||N|||0\n" for span in ("0 1", "-1 -1", "1 2", "3 4")]
    hypothesis, gold = file("\ufeffx\n", "hyp.txt"), file("".join(["S a\n", *edits]), "gold.m2")
    assert main(["score", "m2", hypothesis, gold]) == 0
    assert capsys.readouterr().err.splitlines()[:-1] == [
        "gec: warning: hyp.txt: begins with a byte order mark; remove it",
        "gec: warning: gold.m2: edits outside their sentence: 2, the first in line 4",
    ]


def test_swapped_files_get_a_hint(file: Write, capsys: Capture) -> None:
    assert main(["score", "m2", file(GOLD), file("The cat .\n")]) == 1
    assert "is this an M2 file? (HYP and GOLD swapped?)" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- bad input


def test_shifted_lines_are_named(file: Write, capsys: Capture) -> None:
    sources = [f"This is sentence number {word} ." for word in ("one", "two", "three", "four")]
    texts = ["He went home yesterday .", "Many cats sleep all day long .", *sources]
    gold = file("\n".join(f"S {text}\n" for text in texts), "gold.m2")
    hypothesis = file("".join(f"{text}\n" for text in texts[1:]), "hyp.txt")
    assert main(["score", "m2", hypothesis, gold]) == 1
    error = capsys.readouterr().err
    assert "hyp.txt: 5 lines; gold.m2: 6 sentences; they look shifted from line 1 on" in error
    assert "'Many cats sleep all day long .' beside 'He went home yesterday .'" in error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"S a b\nA 0 1|||X|||b|||R\n", "line 2: 4 fields between '|||', expected 6"),
        (b"S a b\n\nS a\nA 0|||X|||b|||R|||N|||0\n", "line 4: not two offsets: '0'"),
        (b"S a b\nA 0 x|||X|||b|||R|||N|||0\n", "line 2: not two offsets: '0 x'"),
        (b"S a b\nA 0 1|||X|||b|||R|||N|||zero\n", "line 2: not an annotator's number: 'zero'"),
        (b"S a\n\nA 0 1|||X|||b|||R|||N|||0\n", "line 3: a block without a sentence"),
        (b"S a b\nB c\n", "line 2: expected 'S ...' or 'A ...', found 'B c'"),
        (b"S a b\n \nS c\n", "line 2: blanks in the line between two blocks"),
        (b"S a b\r\n\r\nS c\r\n", r"line 2: the empty line ends with \r\n, not \n"),
        ("S a\n\nS b\u2028c\n".encode(), "line 3: U+2028 breaks a line here"),
        (b"S a \x0cb\n", "line 1: U+000C breaks a line here"),
        (b"S a\nA \xff\n", "not UTF-8 at byte 6, line 2"),
    ],
)
def test_a_malformed_gold_file_is_explained(content: bytes, message: str, file: Write) -> None:
    with pytest.raises((DataError, InputError)) as caught:
        read_gold(file(content, "gold.m2"))
    assert str(caught.value).startswith("gold.m2: ")
    assert message in str(caught.value)


def test_files_that_are_not_there(file: Write, capsys: Capture) -> None:
    for names in (("missing.txt", file(GOLD)), (file("a\n"), "missing.m2")):
        assert main(["score", "m2", *names]) == 1
        assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"some text", mtime=0)[:-9], gzip.compress(b"a\xff", mtime=0)],
)
def test_a_broken_gz_file(content: bytes, file: Write) -> None:
    with pytest.raises(InputError, match=r"^text\.gz: "):
        read_hypotheses(file(content, "text.gz"))
    with pytest.raises(InputError, match=r"^missing\.gz: cannot be read"):
        read_hypotheses("missing.gz")


def test_lengths_are_checked_by_the_function_too() -> None:
    with pytest.raises(InputError, match="the hypotheses: 1 lines; gold: 0 sentences"):
        score_m2(["a"], [])


def test_an_unknown_version() -> None:
    with pytest.raises(ConfigError, match="version must be one of"):
        score_m2([], [], version="4")


# ---------------------------------------------------------------------------------------- reading


def test_gold_sentences(file: Write) -> None:
    assert read_gold(file(GOLD)) == [
        GoldSentence(
            "The cat sat at mat .",
            {
                0: (
                    GoldEdit(3, 4, "at", ("on",), "Prep"),
                    GoldEdit(4, 4, "", ("the", "a"), "ArtOrDet"),
                )
            },
        ),
        GoldSentence("The dog .", {1: ()}),
    ]


def test_an_edit_is_dropped_where_its_offsets_are_outside(file: Write) -> None:
    lines = [f"A {span}|||X|||x|||R|||N|||0" for span in ("0 1", "2 2", "2 3", "-1 1")]
    (sentence,) = read_gold(file("\n".join(["S a b", *lines])))
    assert [(edit.start, edit.end) for edit in sentence.edits[0]] == [(0, 1), (2, 2)]


def test_sentences_that_share_a_block(file: Write) -> None:
    """Offsets count from the start of the block; the first sentence gets what ends within it."""
    edits = "A 0 1|||X|||x|||R|||N|||0\nA 3 4|||X|||y|||R|||N|||0\n"
    first, second = read_gold(file(f"S a b\nS c d\n{edits}"))
    assert [edit.original for edit in first.edits[0]] == ["a"]
    assert [edit.original for edit in second.edits[0]] == ["a", "d"]


def test_a_none_with_blanks_is_a_word(file: Write) -> None:
    lines = "S a\nA 0 1|||X|||-NONE-|| -NONE- || b |||R|||N|||0\n"
    (sentence,) = read_gold(file(lines))
    assert sentence.edits[0][0].corrections == ("", "-NONE-", "b")


def test_only_a_line_feed_ends_a_hypothesis(file: Write) -> None:
    text = "\ufeffa b\r\nc\x0cd\x85e\u2028f\n\n g"
    assert read_hypotheses(file(text)) == ["\ufeffa b", "c\x0cd\x85e\u2028f", "", "g"]
    compressed = file(gzip.compress(text.encode()), "text.gz")
    assert read_hypotheses(compressed) == read_hypotheses(file(text))


# ---------------------------------------------------------------------------------------- scoring


def test_a_score_with_its_edits(file: Write) -> None:
    score = score_m2(["A cat sat on the mat .", "The dog ."], read_gold(file(GOLD)), beta=1)
    first, second = score.per_sentence
    assert first.proposed == (
        Edit(0, 3, "The cat sat", "A cat sat"),
        Edit(3, 4, "at", "on"),
        Edit(4, 4, "", "the"),
    )
    assert first.matched == first.proposed[1:]
    assert [edit.type for edit in first.gold] == ["Prep", "ArtOrDet"]
    assert (second.annotator, second.proposed, second.gold) == (1, (), ())
    assert (score.correct, score.proposed, score.gold) == (2, 3, 2)
    assert score.chosen_annotators == (0, 1)
    assert (score.precision, score.recall, score.f) == pytest.approx((2 / 3, 1, 0.8))
    assert score.signature.startswith("m2|version:3.2|beta:1|max_unchanged_words:2|")


def test_one_sentence_for_every_annotator() -> None:
    sentence = GoldSentence(
        "is eat", {3: (GoldEdit(0, 1, "is", ("are",)), GoldEdit(1, 2, "eat", ("eating",))), 1: ()}
    )
    split, whole = match_sentence("are eating", sentence)[::-1]
    assert (split.annotator, whole.annotator) == (3, 1)
    assert split.proposed == split.matched == (Edit(0, 1, "is", "are"), Edit(1, 2, "eat", "eating"))
    assert whole.proposed == (Edit(0, 2, "is eat", "are eating"),)
    assert whole.matched == ()


@pytest.mark.parametrize(
    ("source", "hypothesis", "dropped"),
    [
        ("foo Bar", "fooBAR", True),
        ("\u0130x", "ix", True),  # lower() of a dotted capital I has two characters in Python 3
        ("\u039f\u03a3", "\u03bf\u03c2", False),  # nor does a final sigma count as the same
    ],
)
def test_letters_are_compared_as_in_python_2(source: str, hypothesis: str, dropped: bool) -> None:
    (match,) = match_sentence(
        hypothesis, GoldSentence(source, {0: ()}), ignore_whitespace_casing=True
    )
    assert (match.proposed == ()) is dropped


@pytest.mark.parametrize(
    ("named", "visited"),
    [
        ([2, 1, 0], [0, 1, 2]),
        ([1, 8], [8, 1]),
        ([0, 8], [0, 8]),
        ([8, 0], [8, 0]),
        ([9, 1, 17], [9, 1, 17]),  # slots 1, 7, 4; copied in the order 9, 17, 1: 1, 7, 4
        ([*range(5), 40], [0, 1, 2, 3, 4, 40]),  # with the sixth the table grows to 32
        ([40, 8, 0, 1, 2, 3], [0, 1, 2, 3, 8, 40]),  # both in slot 8 of 32; the copy swaps them
        ([-1, 0, 6], [0, -1, 6]),  # hash(-1) is -2
    ],
)
def test_annotators_are_visited_as_in_a_python_2_dict(named: list[int], visited: list[int]) -> None:
    assert visiting_order(named) == visited


# -------------------------------------------------------------------------------- long sentences


def edit_at(source: list[str], start: int, end: int, correction: str) -> GoldEdit:
    return GoldEdit(start, end, " ".join(source[start:end]), (correction,))


def test_repeated_phrases_end_soon() -> None:
    """99 and 100 tokens: 2,525 vertices, 113,966 entries in the list of arcs."""
    source, hypothesis = "a b c " * 33, "a b c d " * 25
    gold = {0: [edit_at(source.split(), 3 * k, 3 * k, "d") for k in range(1, 20)]}
    (match,) = match_sentence(hypothesis, GoldSentence(source, gold))
    assert match.matched
    assert applied(source, match.proposed) == hypothesis.split()


def test_long_sentences_without_a_common_word_end_soon() -> None:
    """More arcs than are made; the reduced lattice has to do."""
    words = [f"w{k}" for k in range(100)]
    hypothesis = [f"v{k}" for k in range(100)]
    gold = {
        0: [
            edit_at(words, 3, 4, "v5"),
            edit_at(words, 50, 50, "v51 v52"),
            edit_at(words, 9, 9, "x"),
        ]
    }
    (match,) = match_sentence(" ".join(hypothesis), GoldSentence(" ".join(words), gold))
    assert match.matched == (Edit(3, 4, "w3", "v5"), Edit(50, 50, "", "v51 v52"))
    assert len(match.proposed) == 5
    assert applied(" ".join(words), match.proposed) == hypothesis


def applied(source: str, edits: tuple[Edit, ...]) -> list[str]:
    tokens = source.split()
    for edit in reversed(edits):
        assert tokens[edit.start : edit.end] == edit.original.split()
        tokens[edit.start : edit.end] = edit.correction.split()
    return tokens


@given(st.integers(0, 10**9), st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_the_arcs_that_can_be_needed_are_enough(seed: int, max_unchanged_words: int) -> None:
    """A lattice reduced to them has a path with as many gold edits and as few other base edges."""
    rng = random.Random(seed)
    words = "abcdefgh"[: rng.choice([3, 5, 8])]
    source, hypothesis = (rng.choices(words, k=rng.randint(0, 14)) for _ in "sh")
    gold = []
    for _ in range(rng.randint(0, 4)):
        start, first = rng.randint(0, len(source)), rng.randint(0, len(hypothesis))
        end = min(start + rng.randint(0, 3), len(source))
        correction = hypothesis[first : first + rng.randint(0, 3)]
        if correction != source[start:end]:
            gold.append(edit_at(source, start, end, " ".join(correction)))
    costs = []
    for most_arcs in (10**9, 0):
        lattice = build_lattice(
            source,
            hypothesis,
            gold,
            version="2016",
            max_unchanged_words=max_unchanged_words,
            most_arcs=most_arcs,
        )
        weights = gold_weights(lattice, gold)
        path = cheapest_path(lattice, weights)
        hits = [arc for arc in path if weights[arc] < 0]
        others = [arc for arc in path if weights[arc] >= 0]
        costs.append((len(hits), sum(lattice.lengths[arc] for arc in others)))
    assert costs[0] == costs[1]
