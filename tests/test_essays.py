"""MultiGEC's essay format: read, corrected, turned into lines and back, scored."""

from __future__ import annotations

import doctest
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_corrector import FakeCorrector

from gec.cli import main
from gec.documents import essays
from gec.documents.essays import Essay, parse, pieces, render
from gec.errors import DataError

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]

TEXT = """\
### essay_id = 7 (dev)
She go to school.
He go, too.

The 2nd  paragraph.

### essay_id = a-1
I have dog.

### essay_id = 3


"""
ESSAYS = [
    Essay("7 (dev)", "She go to school.\nHe go, too.\n\nThe 2nd  paragraph."),
    Essay("a-1", "I have dog."),
    Essay("3", ""),
]


def test_parse() -> None:
    assert parse(TEXT) == ESSAYS
    assert parse(render(ESSAYS)) == ESSAYS
    assert parse(TEXT.replace("\n", "\r\n"))[1:] == ESSAYS[1:]
    assert parse("\n\n### essay_id = 1\ntext")[0] == Essay("1", "text")


def test_a_line_inside_a_text_is_no_head() -> None:
    text = "### essay_id = 1\nhe wrote ### essay_id = 2\n ### essay_id = 3\n## essay_id = 4\n"
    assert [essay.id for essay in parse(text)] == ["1"]


def as_the_organizers(text: str) -> dict[str, str]:
    """What MultiGEC's script reads: cut at the head, the id's line, line breaks around it gone."""
    found = {}
    for essay in text.split("### essay_id = ")[1:]:
        essay_id, _, body = essay.partition("\n")
        found[essay_id] = body.strip("\n")
    return found


@pytest.mark.parametrize("seed", range(5))
def test_reads_what_the_organizers_read_and_loses_nothing(seed: int) -> None:
    draw = random.Random(seed)
    bodies = ["".join(draw.choices("a .\n#é学", k=30)) for _ in range(6)]
    text = "".join(f"### essay_id = {n}\n{body}\n\n" for n, body in enumerate(bodies))
    assert {essay.id: essay.text for essay in parse(text)} == as_the_organizers(text)
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Just text.\n", "f.md: no line '### essay_id = ID'"),
        ("", "f.md: no line '### essay_id = ID'"),
        ("Title\n### essay_id = 1\nx\n", "f.md, line 1: text before the first line"),
        ("### essay_id = 1\nx\n\n### essay_id = 1\ny\n", "line 4: a second essay with the id 1"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(text, "f.md")


def test_examples() -> None:
    assert doctest.testmod(essays).failed == 0


# ------------------------------------------------------------------------------------ gec correct


def test_correct_keeps_everything_else(
    loads: list[FakeCorrector], file: File, capsys: Capture
) -> None:
    wanted = TEXT.replace("go", "goes").replace("have dog", "have a dog")
    for text, corrected in (
        (TEXT, wanted),
        (TEXT.replace("\n", "\r\n"), wanted.replace("\n", "\r\n")),
        ("\ufeff" + TEXT.rstrip(), "\ufeff" + wanted.rstrip()),
    ):
        name = file(text)
        assert main(["correct", "--essays", name]) == 0
        assert capsys.readouterr().out == corrected
    assert main(["correct", "--essays", "--in-place", name]) == 0
    assert Path(name).read_bytes().decode() == corrected


def test_heads_are_never_corrected(loads: list[FakeCorrector], file: File, capsys: Capture) -> None:
    name = file("### essay_id = go\nI go.\n")
    assert main(["correct", "--essays", name]) == 0
    assert capsys.readouterr().out == "### essay_id = go\nI goes.\n"
    assert main(["correct", "--essays", "--format", "jsonl", name]) == 0
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert (edit["start"], edit["end"]) == (20, 22)  # places are those of the file


def test_options_that_exclude_each_other(file: File, capsys: Capture) -> None:
    for option in ("--tokenized", "--check"):
        assert main(["correct", "--essays", option, file(TEXT)]) == 2
        assert f"--essays and {option} exclude each other" in capsys.readouterr().err


def test_a_file_without_essays(loads: list[FakeCorrector], file: File, capsys: Capture) -> None:
    assert main(["correct", "--essays", file("I go.\n", "plain.txt")]) == 2
    assert "plain.txt: no line '### essay_id = ID'" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- gec essays

ORIGINAL = render([Essay("1", "Jag är hungrig.\n\nOch du?"), Essay("2", "Han gå hem.")])
OUTPUT = render([Essay("2", "Han går hem."), Essay("1", "Jag är hungrig.\n\nOch du?")])
SECOND = render([Essay("2", "Han gick hem.")])


def test_lines_and_back(file: File, capsys: Capture) -> None:
    original, output = file(ORIGINAL, "orig.md"), file(OUTPUT, "out.md")
    assert main(["essays", "lines", original, output, "-o", "lines"]) == 0
    assert Path("lines/orig.txt").read_text("utf-8") == (
        "Jag är hungrig.\t\tOch du?\nHan gå hem.\n"
    )
    assert Path("lines/out.txt").read_text("utf-8") == (
        "Jag är hungrig.\t\tOch du?\nHan går hem.\n"
    )
    assert main(["essays", "back", "lines/orig.txt", original]) == 0
    assert capsys.readouterr().out == ORIGINAL
    assert main(["essays", "back", "lines/out.txt", original, "-o", "back.md"]) == 0
    assert parse(Path("back.md").read_text("utf-8")) == parse(OUTPUT)[::-1]


def test_tokens_of_a_language(file: File, capsys: Capture) -> None:
    name = file(ORIGINAL, "orig.md")
    assert main(["essays", "lines", name, "-o", "lines", "--tokenize", "sv"]) == 0
    assert Path("lines/orig.txt").read_text("utf-8") == (
        "Jag är hungrig .\t\tOch du ?\nHan gå hem .\n"
    )
    assert main(["essays", "lines", name, "-o", "lines", "--tokenize", "qq"]) == 2
    assert "spaCy has no tokenizer for 'qq' here" in capsys.readouterr().err


def test_essays_that_a_file_lacks(file: File, capsys: Capture) -> None:
    original, second = file(ORIGINAL, "orig.md"), file(SECOND, "ref2.md")
    first = file(OUTPUT, "ref1.md")
    command = ["essays", "lines", original, second, "-o", "lines"]
    assert main(command) == 2
    assert "ref2.md: no essay 1; --fill names a file" in capsys.readouterr().err
    assert not Path("lines").exists()
    assert main([*command, "--fill", first]) == 0
    assert Path("lines/ref2.txt").read_text("utf-8").splitlines()[1] == "Han gick hem."
    assert main(["essays", "lines", second, original, "-o", "lines"]) == 2
    assert "orig.md: essay 1 is not in the first file" in capsys.readouterr().err


def test_another_number_of_lines(file: File, capsys: Capture) -> None:
    assert main(["essays", "back", file("a\n", "x.txt"), file(ORIGINAL, "orig.md")]) == 2
    assert "x.txt, orig.md: 1 lines for 2 essays" in capsys.readouterr().err


# -------------------------------------------------------------------------------------- gec score


def test_essays_are_scored_as_lines(file: File, capsys: Capture) -> None:
    original = file(ORIGINAL, "orig.md")
    right = render([Essay("1", "Jag är hungrig.\n\nOch du?"), Essay("2", "Han går hem idag.")])
    reference = file(right, "ref1.md")
    output = file(render(parse(OUTPUT)[::-1]), "out.md")
    assert main(["score", "gleu", output, "-s", original, "-r", reference]) == 0
    by_essays = capsys.readouterr().out.splitlines()[-1]
    assert main(["essays", "lines", original, reference, output, "-o", "."]) == 0
    files = ["out.txt", "-s", "orig.txt", "-r", "ref1.txt"]
    assert main(["score", "gleu", *files]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == by_essays
    # 5 + 3 words for 5 + 4; n-grams: 7 of 8 (hem. is not in the reference), 5 of 6, 3 of 4, 2 of 2,
    # less those of the source only: hem. once
    assert float(by_essays) == pytest.approx(
        2.718281828459045 ** (1 - 9 / 8) * ((7 - 1) / 8 * 5 / 6 * 3 / 4 * 2 / 2) ** 0.25, abs=1e-6
    )


def test_essays_in_another_order_are_refused(file: File, capsys: Capture) -> None:
    original, output = file(ORIGINAL, "orig.md"), file(OUTPUT, "out.md")
    assert main(["score", "gleu", original, "-s", original, "-r", output]) == 2
    message = "out.md has essay 2 where orig.md has 1; put them in one order with gec essays lines"
    assert message in capsys.readouterr().err
