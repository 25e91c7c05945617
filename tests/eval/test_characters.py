"""gec score m2 and gleu in other scripts: Chinese by words and by characters, Arabic, German."""

from __future__ import annotations

import doctest
import json
import math
import unicodedata
from collections.abc import Callable

import pytest

from gec.cli import main
from gec.eval.metrics import characters
from gec.eval.metrics.characters import by_characters
from gec.eval.metrics.m2 import GoldEdit, GoldSentence
from gec.eval.metrics.m2.gold_characters import gold_by_characters

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]


def line(span: str, correction: str, coder: int = 0) -> str:
    return f"A {span}|||R|||{correction}|||REQUIRED|||-NONE-|||{coder}\n"


CHINESE = (
    "S 我 昨天 去 学效 。\n" + line("2 2", "坐 车") + line("3 4", "学校") + "\n"
    "S 他 有 三 本 收 。\n" + line("4 5", "书") + "\n"
    "S 你好 ！\n" + line("-1 -1", "-NONE-").replace("|||R|||", "|||noop|||") + "\n"
)
ARABIC = (
    "S ذهب الولد الى المدرسه .\n" + line("2 3", "إلى") + line("3 4", "المدرسة") + "\n"
    "S هذا كتاب جديدة\n" + line("2 3", "جديد") + line("3 3", ".") + "\n"
)
GERMAN = (
    "S Ich habe ein Straße mit grosser Häuser gesehen .\n"
    + line("2 3", "eine")
    + line("5 6", "großen")
    + line("6 7", "Häusern")
    + "\n"
)


def counts(gold: str, output: str, file: File, capsys: Capture, *options: str) -> tuple[int, ...]:
    assert main(["score", "m2", file(output), file(gold), "--json", *options]) == 0
    score = json.loads(capsys.readouterr().out)
    return score["correct"], score["proposed"], score["gold"]


@pytest.mark.parametrize(
    ("gold", "output", "wanted"),
    [
        # right: 学校, 书; not made: 坐 车; wrong: 你好 -> 您好
        (CHINESE, "我 昨天 去 学校 。\n他 有 三 本 书 。\n您好 ！\n", (2, 3, 3)),
        # right: إلى and the last dot; wrong: الولد -> البنت; not made: المدرسة, جديد
        (ARABIC, "ذهب البنت إلى المدرسه .\nهذا كتاب جديدة .\n", (2, 3, 4)),
        # right: eine, Häusern; wrong: grosser -> grossen
        (GERMAN, "Ich habe eine Straße mit grossen Häusern gesehen .\n", (2, 3, 3)),
    ],
    ids=["Chinese", "Arabic", "German"],
)
def test_m2_by_words(
    gold: str, output: str, wanted: tuple[int, ...], file: File, capsys: Capture
) -> None:
    assert counts(gold, output, file, capsys) == wanted


def test_m2_by_characters_needs_no_segmentation(file: File, capsys: Capture) -> None:
    """The output has other words than the source, or none: the counts are the same."""
    for output in (
        "我 昨天 去 学校 。\n他 有 三 本 书 。\n您好 ！\n",
        "我昨天去学校。\n他有三本书。\n您好！\n",
        "我昨 天去学 校 。\n他 有三本书 。\n您 好！\n",
    ):
        assert counts(CHINESE, output, file, capsys, "--tokens", "characters") == (2, 3, 3)
    unsegmented = "我昨天去学校。\n他有三本书。\n您好！\n"
    assert counts(CHINESE, unsegmented, file, capsys)[0] == 0


def test_gold_that_is_over_characters_takes_words(file: File, capsys: Capture) -> None:
    gold = "S 我 喜 欢 大 象\n" + line("1 2", "爱") + "\n"
    assert counts(gold, "我 爱 欢 大 象\n", file, capsys) == (1, 1, 1)
    assert counts(gold, "我 爱欢 大象\n", file, capsys, "--tokens", "characters") == (1, 1, 1)
    assert counts(gold, "我 爱欢 大象\n", file, capsys)[0] == 0


def test_the_signature_says_characters(file: File, capsys: Capture) -> None:
    gold, output = file(CHINESE), file("我昨天去学校。\n他有三本书。\n您好！\n")
    assert main(["score", "m2", output, gold, "--tokens", "characters"]) == 0
    assert "|tokens:characters|gec:" in capsys.readouterr().err
    assert main(["score", "m2", output, gold]) == 0
    assert "tokens" not in capsys.readouterr().err


def test_gold_over_characters() -> None:
    edits = (
        GoldEdit(1, 3, "学效 OK", ("学校 OK", "")),
        GoldEdit(3, 3, "", ("。",)),
        GoldEdit(-1, -1, "", ("",)),
    )
    found = gold_by_characters(GoldSentence("我们 学效 OK", {2: edits}))
    assert found == GoldSentence(
        "我 们 学 效 OK",
        {
            2: (
                GoldEdit(2, 5, "学 效 OK", ("学 校 OK", "")),
                GoldEdit(5, 5, "", ("。",)),
                GoldEdit(-1, -1, "", ("",)),
            )
        },
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("今日はAI、行く。", "今 日 は AI 、 行 く 。"),
        ("か\u3099く", "か\u3099 く"),  # a mark belongs to its kana
        ("葛\U000e0100城", "葛\U000e0100 城"),  # so does a variant of a character
        ("𠮷野家", "𠮷 野 家"),
        ("全角　空白", "全 角 空 白"),
        ("ذهب الولد", "ذهب الولد"),
        ("Straße 3,5", "Straße 3,5"),
        ("한국어 문장", "한국어 문장"),
        ("", ""),
    ],
)
def test_characters(text: str, wanted: str) -> None:
    assert by_characters(text) == wanted
    assert by_characters(wanted) == wanted


# ------------------------------------------------------------------------------------------- GLEU


def gleu(
    source: str, reference: str, output: str, file: File, capsys: Capture, *more: str
) -> float:
    files = ["-s", file(source), "-r", file(reference), "--hyp", file(output)]
    assert main(["score", "gleu", *files, "--json", *more]) == 0
    value: float = json.loads(capsys.readouterr().out)["estimates"][0]["mean"]
    return value


def test_gleu_by_characters(file: File, capsys: Capture) -> None:
    """Of 学校很大。 for the reference 学校很大。 all n-grams count; in words there are too few."""
    texts = ("学效很大。\n", "学校很大。\n", "学校很大。\n")
    assert gleu(*texts, file, capsys) == 0
    assert gleu(*texts, file, capsys, "--tokens", "characters") == 1


def test_gleu_counts_ngrams_of_characters(file: File, capsys: Capture) -> None:
    """One character too many, in the middle: n of the n-grams that are there hold it."""
    texts = ("我昨天在家学习中问。\n", "我昨天在家学习中文。\n", "我昨天在家里学习中文。\n")
    found = gleu(*texts, file, capsys, "--tokens", "characters")
    assert found == pytest.approx((10 / 11 * 8 / 10 * 6 / 9 * 4 / 8) ** 0.25, abs=1e-12)
    apart = [" ".join(text.strip()) + "\n" for text in texts]
    assert found == gleu(apart[0], apart[1], apart[2], file, capsys)


@pytest.mark.parametrize(
    ("source", "reference", "output", "shares"),
    [
        (
            "ذهب الولد الصغير الى المدرسه الجديدة اليوم",
            "ذهب الولد الصغير إلى المدرسة الجديدة اليوم",
            "ذهب الولد الصغير إلى المدرسه الجديدة اليوم",
            # against: the uncorrected word, with none, one and two words after it
            ((6 - 1) / 7, (4 - 1) / 6, (2 - 1) / 5, 1 / 4),
        ),
        (
            "er geht in Schule heute um acht Uhr",
            "er geht heute um acht Uhr zur Schule",
            "er geht heute um acht Uhr in Schule",
            # against: in, in Schule
            ((7 - 1) / 8, (5 - 1) / 7, 4 / 6, 3 / 5),
        ),
    ],
    ids=["Arabic", "German"],
)
def test_gleu_in_arabic_and_german(
    source: str,
    reference: str,
    output: str,
    shares: tuple[float, ...],
    file: File,
    capsys: Capture,
) -> None:
    """Lengths are equal, so GLEU is the geometric mean of the shares of n-grams that count."""
    found = gleu(f"{source}\n", f"{reference}\n", f"{output}\n", file, capsys)
    assert found == pytest.approx(math.prod(shares) ** 0.25, abs=1e-12)


# ------------------------------------------------------------------------------------------ forms


def test_files_in_different_unicode_forms_are_named(file: File, capsys: Capture) -> None:
    composed = unicodedata.normalize("NFC", "Häuser größer")
    apart = unicodedata.normalize("NFD", composed)
    gold, output = file(f"S {composed}\n\n", "gold.m2"), file(f"{apart}\n", "output")
    assert main(["score", "m2", output, gold]) == 0
    warning = "gec: warning: output is not in Unicode form NFC, gold.m2 is: words that look equal"
    assert warning in capsys.readouterr().err
    source, reference = file(f"{apart}\n", "source"), file(f"{apart}\n", "reference")
    hypothesis = file(f"{composed}\n", "hypothesis")
    assert main(["score", "gleu", hypothesis, "-s", source, "-r", reference]) == 0
    err = capsys.readouterr().err
    assert "source is not in Unicode form NFC, hypothesis is" in err
    assert err.count("Unicode form") == 1
    assert main(["score", "m2", file(f"{composed}\n"), gold]) == 0
    assert "Unicode" not in capsys.readouterr().err


def test_examples() -> None:
    assert doctest.testmod(characters).failed == 0
