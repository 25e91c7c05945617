"""gec errant compare: what errant_compare prints, byte for byte."""

from __future__ import annotations

import doctest
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from errant.commands import compare_m2

from gec.cli import main
from gec.errors import ConfigError, DataError, InputError
from gec.eval.metrics.errant import (
    Annotation,
    Block,
    Counts,
    ErrantScore,
    compare,
    comparison,
    parse_blocks,
    read_blocks,
)
from gec.eval.metrics.errant.comparison import TITLES

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]
EXPECTED = Path(__file__).parent / "data" / "errant_expected"
CASES: list[dict[str, Any]] = json.loads((EXPECTED / "expected.json").read_text())["cases"]
PRINTED: list[dict[str, Any]] = json.loads((EXPECTED / "printed.json").read_text())
REST = "|||REQUIRED|||-NONE-|||"


def edit(span: str, kind: str, correction: str, coder: int = 0) -> str:
    return f"A {span}|||{kind}|||{correction}{REST}{coder}\n"


def test_every_expected_case_is_here() -> None:
    assert len(CASES) == 55
    assert {case["exit"] for case in CASES} == {0, 1, 2}


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case["name"], *case["options"]]))
def test_expected(case: dict[str, Any], capsys: Capture) -> None:
    files = ["-hyp", str(EXPECTED / case["hyp"]), "-ref", str(EXPECTED / case["ref"])]
    assert main(["errant", "compare", *files, *case["options"]]) == case["exit"]
    out, err = capsys.readouterr()
    assert out == case.get("stdout", "")
    if case["exit"]:
        assert err.startswith("gec: error: ")
        assert err.count("\n") == 1
        return
    read = [read_blocks(str(EXPECTED / case[side])) for side in ("hyp", "ref")]
    if not case["options"]:
        score = compare(*read)
        numbers = (score.tp, score.fp, score.fn, score.precision, score.recall, score.f)
        assert numbers == tuple(case[name] for name in ("TP", "FP", "FN", "P", "R", "F"))


# ------------------------------------------------------------------ tables of published systems


def types_in(printed: str) -> dict[str, Counts]:
    """Read the rows of a table that -cat prints."""
    rows = [line.split() for line in printed.split("\n\n")[0].splitlines()[3:]]
    return {row[0]: Counts(*map(int, row[1:4])) for row in rows}


def score_of(row: dict[str, Any], by_type: dict[str, Counts]) -> ErrantScore:
    options = row["options"]
    mode = next((mode for mode in TITLES if f"-{mode}" in options), "cs")
    beta = float(options[options.index("-b") + 1]) if "-b" in options else 0.5
    total = Counts(row["TP"], row["FP"], row["FN"])
    return ErrantScore(*total, *total.scores(beta), mode, beta, by_type, (), (), "")


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: " ".join([row["output"], *row["options"]]))
def test_what_was_printed_of_large_outputs(row: dict[str, Any]) -> None:
    if "-cat" not in row["options"]:
        assert f"{score_of(row, {})}\n" == row["stdout"]
        return
    score = score_of(row, types_in(row["stdout"]))
    assert f"{score.table(3)}\n{score}\n" == row["stdout"]


@pytest.mark.parametrize("output", sorted({row["output"] for row in PRINTED}))
@pytest.mark.parametrize("level", ["1", "2"])
def test_tables_are_sums_of_the_full_table(output: str, level: str) -> None:
    rows = {" ".join(row["options"]): row for row in PRINTED if row["output"] == output}
    score = score_of(rows["-cat 3"], types_in(rows["-cat 3"]["stdout"]))
    assert f"{score.table(int(level))}\n{score}\n" == rows[f"-cat {level}"]["stdout"]


# --------------------------------------------------------- the reference tool, on random M2 files

KINDS = ["R:NOUN", "M:DET", "U:PUNCT", "R:VERB:SVA", "UNK", "noop", "R:UNK", "X"]
CORRECTIONS = ["x", "x", "y", "p q", "p q r", "", "-NONE-", "x||y", "été", "\u00a0"]
OPTIONS = [
    ["", "-dt", "-ds", "-cs", "-cse"],
    ["", "", "-single", "-multi", "-single -multi"],
    ["", "", "-filt R:NOUN M:DET", "-filt noop"],
    ["", "-cat 1", "-cat 2", "-cat 3"],
    ["", "-v", "--verb"],
    ["", "", "-b 2", "-b 0.25", "-b -1", "--bet 0"],
]


def random_block(draw: random.Random) -> str:
    lines = ["S a b c d e\n"]
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        start = draw.choice([0, 1, 1, 2, 5, -1, -2])
        span = f"{start} {start + draw.choice([0, 0, 1, 1, 2, -1])}"
        if draw.random() < 0.2:
            span = "-1 -1"
        coder = draw.choice([0, 0, 0, 1, 3])
        lines.append(edit(span, draw.choice(KINDS), draw.choice(CORRECTIONS), coder))
    return "".join(lines)


def broken(draw: random.Random, text: str) -> str:
    at = draw.randrange(len(text))
    with_what = ["\n", "\n\n", "|||", "\r", "\r\n", " ", "", "-5", "\u2028", "٣", "1_0", "\ufeff"]
    return text[:at] + draw.choice(with_what) + text[at + draw.choice([0, 0, 1, 3]) :]


def reference(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run errant_compare and return its exit status."""
    monkeypatch.setattr("sys.argv", ["errant_compare", *arguments])
    try:
        compare_m2.main()
    except (ArithmeticError, AssertionError, IndexError, ValueError):  # a traceback
        return 1
    return 0


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("seed", range(200))
def test_as_the_reference_tool(
    seed: int, file: File, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    draw = random.Random(seed)
    blocks = draw.choice([1, 1, 2, 5, 12])
    sides = ["\n".join(random_block(draw) for _ in range(blocks)) for _ in range(2)]
    if draw.random() < 0.2:
        sides[0] = broken(draw, sides[0])
    files = ["-hyp", file(sides[0]), "-ref", file(sides[1])]
    arguments = files + " ".join(draw.choice(values) for values in OPTIONS).split()

    status = reference(arguments, monkeypatch)
    expected = capsys.readouterr().out
    assert main(["errant", "compare", *arguments]) == status
    out, err = capsys.readouterr()
    if status:
        assert err.splitlines()[-1].startswith("gec: error: ")
    else:
        assert out == expected


# ------------------------------------------------------------------------------- python interface


def block(*annotations: Annotation) -> Block:
    return Block("a b c d e", annotations)


X = Annotation(1, 2, "R:NOUN", "x", 0)
Y = Annotation(3, 4, "R:VERB", "y", 0)
Z = Annotation(0, 0, "M:DET", "z", 0)


def test_counts_by_sentence_and_type() -> None:
    score = compare([block(X, Z), block(), block(Y)], [block(X, Y), block(Z), block(Y)])
    assert score.sentences == (Counts(1, 1, 1), Counts(0, 0, 1), Counts(1, 0, 0))
    assert (score.tp, score.fp, score.fn) == (2, 1, 2)
    assert (score.precision, score.recall, score.f) == (0.6667, 0.5, 0.625)
    assert score.by_type == {
        "R:NOUN": Counts(1, 0, 0),
        "M:DET": Counts(0, 1, 1),
        "R:VERB": Counts(1, 0, 1),
    }
    assert score.grouped(1) == {"R": Counts(2, 0, 1), "M": Counts(0, 1, 1)}
    assert score.grouped(2).keys() == {"NOUN", "DET", "VERB"}
    assert score.chosen == ((0, 0), (0, 0), (0, 0))


def test_the_choice_depends_on_beta_and_on_the_sentences_before() -> None:
    bold = [X, Y, Z, Annotation(4, 5, "R:ADJ", "v", 0)]  # 2 true, 2 false positives
    cautious = X._replace(coder=1)  # 1 true positive, 1 false negative
    ours, theirs = block(*bold, cautious), block(X, Y)
    assert compare([ours], [theirs], beta=0.5).chosen == ((1, 0),)
    assert compare([ours], [theirs], beta=2.0).chosen == ((0, 0),)
    before = block(*(X._replace(correction=str(i)) for i in range(10)))
    score = compare([before, ours], [block(), theirs], beta=0.5)
    assert score.chosen == ((0, 0), (0, 0))
    assert score.sentences == (Counts(0, 10, 0), Counts(2, 2, 0))


def test_settings_are_in_the_signature() -> None:
    score = compare(
        [block(X)],
        [block(X)],
        mode="cse",
        beta=1.0,
        single=True,
        filt=["M:DET", "UNK"],
        how={"pipeline": "small"},
    )
    assert score.signature.startswith(
        "errant|mode:cse|beta:1|single:yes|multi:no|filt:M:DET+UNK|pipeline:small|gec:"
    )


def test_json(capsys: Capture) -> None:
    files = [f"-{side}={EXPECTED / 'cases' / 'multi_ref'}.{side}.m2" for side in ("hyp", "ref")]
    assert main(["errant", "compare", *files, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["tp"], result["fp"], result["fn"]) == (1, 1, 0)
    assert result["by_type"] == {"R:NOUN": [1, 0, 0], "R:DET": [0, 1, 0]}
    assert result["chosen"] == [[0, 1], [0, 1]]
    assert main(["errant", "compare", *files, "--json", "-cat", "3"]) == 2
    assert "--json" in capsys.readouterr().err


def test_the_signature_goes_to_standard_error(capsys: Capture) -> None:
    files = [f"-{side}={EXPECTED / 'cases' / 'exact'}.{side}.m2" for side in ("hyp", "ref")]
    assert main(["errant", "compare", *files]) == 0
    assert capsys.readouterr().err.startswith("errant|mode:cs|beta:0.5|")


# -------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "line",
    ["S c d", "A 1|||R:NOUN|||x|||0", "A 1 2|||R:NOUN", "A 1 2|||R:NOUN|||x|||y", "A", ""],
)
def test_malformed_lines_are_named(line: str, file: File, capsys: Capture) -> None:
    good = file("S a b\n\nS a b\n")
    bad = file(
        f"\n\nS a b\n{edit('0 1', 'R:NOUN', 'x')}\nS a b\n{edit('0 1', 'R:ADJ', 'x')}"
        f"{line}\n{edit('1 2', 'R:NOUN', 'x')}",
        "bad.m2",
    )
    status = main(["errant", "compare", "-hyp", good, "-ref", bad])
    err = capsys.readouterr().err
    if line:
        assert status == 1
        assert err.startswith("gec: error: bad.m2, line 8: expected 'A START END|||")
        assert repr(line) in err
    else:  # an empty line too many begins another sentence
        assert "2 sentences, the reference 3" in err


def test_different_numbers_of_sentences_tell_where(file: File, capsys: Capture) -> None:
    sentences = ["The cat sat .", "Dogs bark at night .", "It rains today .", "We go home ."]
    whole = file("".join(f"S {sentence}\n\n" for sentence in sentences))
    short = file("".join(f"S {sentence}\n\n" for sentence in sentences[:1] + sentences[2:]))
    assert main(["errant", "compare", "-hyp", short, "-ref", whole]) == 1
    assert capsys.readouterr().err == (
        "gec: error: the hypothesis has 3 sentences, the reference 4; they look shifted from "
        "sentence 2 on: 'It rains today .' (line 3) beside 'Dogs bark at night .' (line 3)\n"
    )


def test_empty_files_score_one_with_a_warning(file: File, capsys: Capture) -> None:
    empty, blank = file(""), file(" \n\n")
    assert main(["errant", "compare", "-hyp", empty, "-ref", blank]) == 0
    out, err = capsys.readouterr()
    assert "\n0\t0\t0\t1.0\t1.0\t1.0\n" in out
    assert f"gec: warning: {empty} is empty" in err
    assert f"gec: warning: {blank} is empty" in err


def test_an_empty_hypothesis_has_too_few_sentences(file: File, capsys: Capture) -> None:
    assert main(["errant", "compare", "-hyp", file(""), "-ref", file("S a\n\nS b\n")]) == 1
    err = capsys.readouterr().err
    assert "is empty" in err
    assert "the hypothesis has 1 sentences, the reference 2" in err


def test_other_sentences_than_the_reference_has(file: File, capsys: Capture) -> None:
    ours, theirs = file("S a b\n\nS c d\n"), file("S a b\n\nS c e\n")
    assert main(["errant", "compare", "-hyp", ours, "-ref", theirs]) == 0
    warning = "different sentences are compared, first 'c d' (line 3) with 'c e' (line 3)"
    assert warning in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [(None, "no such file"), (b"S caf\xe9\n", "not UTF-8 at byte 5, line 1")],
)
def test_unreadable_files(data: bytes | None, message: str, file: File, capsys: Capture) -> None:
    name = "missing.m2" if data is None else file(data)
    assert main(["errant", "compare", "-hyp", name, "-ref", file("S a\n")]) == 2
    assert message in capsys.readouterr().err


def test_windows_line_ends() -> None:
    text = f"S a b\n{edit('0 1', 'R:NOUN', 'x')}\nS c\n"
    blocks = parse_blocks(text, "unix")
    assert parse_blocks(text.replace("\n", "\r\n"), "windows") == blocks
    assert blocks == [
        Block("a b", (Annotation(0, 1, "R:NOUN", "x", 0),), 1),
        Block("c", (), 4),
    ]


@pytest.mark.parametrize("beta", [0.0, 1e200])
def test_betas_without_an_f(beta: float) -> None:
    with pytest.raises(ConfigError, match="is not defined for P 1 and R 0"):
        compare([block()], [block(X)], beta=beta)


@pytest.mark.parametrize("beta", ["nan", "inf", "much"])
def test_betas_that_are_no_numbers(beta: str, capsys: Capture) -> None:
    assert main(["errant", "compare", "-hyp", "a", "-ref", "b", "-b", beta]) == 2
    assert "--beta" in capsys.readouterr().err


def test_a_type_without_operation() -> None:
    score = compare([block(X._replace(type=""))], [block()])
    with pytest.raises(ConfigError, match="without a type"):
        score.table(1)
    assert score.grouped(2) == {"": Counts(0, 1, 0)}


def test_functions_end_with_2_and_only_the_command_with_1(file: File, capsys: Capture) -> None:
    bad = file("S a\nA 0\n")
    with pytest.raises(DataError, match="line 2: expected 'A START END") as malformed:
        read_blocks(bad)
    with pytest.raises(InputError, match="1 sentences, the reference 2") as unequal:
        compare([block()], [block(), block()])
    assert (malformed.value.status, unequal.value.status) == (2, 2)
    assert main(["errant", "compare", "-hyp", bad, "-ref", bad]) == 1
    capsys.readouterr()
    ours, theirs = file("S a\n"), file("S a\nA 0 1|||R:NOUN|||x|||R|||N|||0\n")
    assert main(["errant", "compare", "-hyp", ours, "-ref", theirs, "-b", "0"]) == 1
    assert "F0.0 is not defined" in capsys.readouterr().err


def test_an_unknown_mode() -> None:
    with pytest.raises(ConfigError, match="mode must be one of dt, ds, cs, cse, not 'x'"):
        compare([], [], mode="x")  # type: ignore[arg-type]


def test_a_file_that_is_not_m2(file: File, capsys: Capture) -> None:
    text = file("S a\n\nThe cat sat .\n", "text")
    message = "text, line 3: expected 'S ...', found 'The cat sat .'; is this an M2 file? (HYP and"
    with pytest.raises(DataError, match="is this an M2 file") as caught:
        read_blocks(text)
    assert message in str(caught.value)
    assert main(["errant", "compare", "-hyp", text, "-ref", text]) == 0
    assert capsys.readouterr().err.count(f"gec: warning: {message}") == 2
    assert [found.sentence for found in parse_blocks("S \n\nS\n\nS a", "empty")] == ["", "", "a"]


def test_edits_outside_their_sentence(file: File, capsys: Capture) -> None:
    spans = ("0 1", "2 2", "-1 -1", "2 3", "-2 -1")
    lines = [f"A {span}|||R:NOUN|||x|||R|||N|||0\n" for span in spans]
    name = file("".join(["S c\n\nS a b\n", *lines]), "far.m2")
    assert main(["errant", "compare", "-hyp", name, "-ref", file("S c\n\nS a b\n")]) == 0
    warning = "far.m2: edits outside their sentence: 2, the first in line 7\n"
    assert capsys.readouterr().err.count(warning) == 1


def test_a_byte_order_mark_is_named(file: File, capsys: Capture) -> None:
    name = file("\ufeffS a\n", "bom.m2")
    assert main(["errant", "compare", "-hyp", name, "-ref", file("S a\n")]) == 0
    warning = "bom.m2: begins with a byte order mark; remove it"
    assert capsys.readouterr().err.count(warning) == 1


def test_standard_input_is_read_once(capsys: Capture) -> None:
    assert main(["errant", "compare", "-hyp", "-", "-ref", "-"]) == 2
    assert "standard input (-) can be read only once" in capsys.readouterr().err


def test_the_signature_of_the_command_names_the_rules(file: File, capsys: Capture) -> None:
    name = file("S a\n")
    assert main(["errant", "compare", "-hyp", name, "-ref", name, "-b", "0.33333337"]) == 0
    signature = capsys.readouterr().err
    assert signature.startswith("errant|mode:cs|beta:0.33333337|")
    assert "|version:3.0.2|gec:" in signature


def test_examples() -> None:
    assert doctest.testmod(comparison).failed == 0
