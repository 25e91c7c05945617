"""M2 and ERRANT's comparison on corpora with thousands of corrections whose counts are known.

A corpus is made of sentences of distinct words with edits far apart, and of a system that makes a
share of them and others besides: what is correct, proposed and gold is then certain.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gec.cli import main

File = Callable[..., str]
Capture = pytest.CaptureFixture[str]
KINDS = ("M:DET", "R:VERB", "U:PUNCT", "R:NOUN")
APART = 4  # more unchanged words between two edits than an edit of m2scorer may span


@dataclass(frozen=True)
class Corpus:
    """The files, and what they must give."""

    gold: str
    output: str
    system: str  # the output's edits, M2
    correct: Counter[str]
    proposed: Counter[str]
    wanted: Counter[str]


def make(seed: int, sentences: int = 400) -> Corpus:
    draw = random.Random(seed)
    files: dict[str, list[str]] = {"gold": [], "output": [], "system": []}
    correct: Counter[str] = Counter()
    proposed: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for number in range(sentences):
        words = [f"w{number}x{i}" for i in range(draw.randrange(1, 60))]
        places = range(draw.randrange(1, APART), len(words), APART + 3)
        lines: dict[str, list[str]] = {"gold": [], "system": []}
        changes: list[tuple[int, int, str]] = []
        for start in places:
            kind = draw.choice(KINDS)
            end = start if kind[0] == "M" else min(start + draw.randrange(1, 3), len(words))
            right = "" if kind[0] == "U" else f"new{start} more"[: draw.choice([4, 50])]
            line = f"A {start} {end}|||{kind}|||{right}|||REQUIRED|||-NONE-|||0\n"
            # a replacement where gold deletes would have gold's deletion in it, for M2
            made = draw.choice(["right", "wrong" if right else "extra", "extra", "missed"])
            if made != "extra":
                lines["gold"].append(line)
                wanted[kind] += 1
            if made in ("right", "extra"):
                lines["system"].append(line)
                changes.append((start, end, right))
            if made == "wrong":
                lines["system"].append(line.replace(f"|||{right}|||REQ", "|||other|||REQ"))
                changes.append((start, end, "other"))
            correct[kind] += made == "right"
            proposed[kind] += made != "missed"
        output = list(words)
        for start, end, text in reversed(changes):
            output[start:end] = text.split()
        files["output"].append(" ".join(output) + "\n")
        for side in ("gold", "system"):
            files[side].append(f"S {' '.join(words)}\n{''.join(lines[side])}\n")
    texts = {name: "".join(parts) for name, parts in files.items()}
    return Corpus(**texts, correct=+correct, proposed=+proposed, wanted=+wanted)


@pytest.mark.parametrize("version", ["3.2", "2016"])
@pytest.mark.parametrize("seed", range(3))
def test_m2(seed: int, version: str, file: File, capsys: Capture) -> None:
    corpus = make(seed)
    files = [file(corpus.output), file(corpus.gold)]
    assert main(["score", "m2", *files, "--json", "--version", version]) == 0
    score = json.loads(capsys.readouterr().out)
    correct, proposed, gold = (
        sum(counts.values()) for counts in (corpus.correct, corpus.proposed, corpus.wanted)
    )
    assert min(correct, proposed - correct, gold - correct) > 300
    assert (score["correct"], score["proposed"], score["gold"]) == (correct, proposed, gold)
    assert score["precision"] == correct / proposed
    assert score["recall"] == correct / gold
    assert score["f"] == pytest.approx(1.25 * correct / (0.25 * gold + proposed), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_errant_compare(seed: int, file: File, capsys: Capture) -> None:
    corpus = make(seed)
    files = ["-hyp", file(corpus.system), "-ref", file(corpus.gold)]
    assert main(["errant", "compare", *files, "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    by_type = {
        kind: [
            corpus.correct[kind],
            corpus.proposed[kind] - corpus.correct[kind],
            corpus.wanted[kind] - corpus.correct[kind],
        ]
        for kind in KINDS
    }
    assert score["by_type"] == by_type
    totals = [sum(column) for column in zip(*by_type.values(), strict=True)]
    assert [score["tp"], score["fp"], score["fn"]] == totals
    assert min(totals) > 300
    tp, fp, fn = totals
    assert score["precision"] == round(tp / (tp + fp), 4)
    assert score["recall"] == round(tp / (tp + fn), 4)
    assert score["f"] == round(1.25 * tp / (1.25 * tp + fp + 0.25 * fn), 4)


def test_errant_detection_counts_the_wrong_corrections_too(file: File, capsys: Capture) -> None:
    corpus = make(7)
    files = ["-hyp", file(corpus.system), "-ref", file(corpus.gold)]
    assert main(["errant", "compare", *files, "--json"]) == 0
    strict = json.loads(capsys.readouterr().out)
    assert main(["errant", "compare", *files, "--json", "-ds"]) == 0
    found = json.loads(capsys.readouterr().out)
    wrong = found["tp"] - strict["tp"]
    assert (found["fp"], found["fn"]) == (strict["fp"] - wrong, strict["fn"] - wrong)
    places = [
        {line.split("|||")[0] for line in block.splitlines()[1:]}
        for text in (corpus.system, corpus.gold)
        for block in text.split("\n\n")
    ]
    half = len(places) // 2
    both = sum(len(a & b) for a, b in zip(places[:half], places[half:], strict=True))
    assert found["tp"] == both > 700
