"""gec calibrate: labels, the fit against known weights, and the tables."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gec.cli import main
from gec.correct.confidence import Calibration, Evidence
from gec.correct.result import Correction, SentenceResult
from gec.errors import DataError
from gec.eval.calibration import (
    Judged,
    Sample,
    cross_validated,
    fit,
    judge,
    needless,
    operation,
    ranking,
    reliability,
)

TRUE = Calibration(-0.5, {"probability": 0.8, "R:PREP": 1.0, "R:NOUN:NUM": -1.0})


def by(right: bool) -> frozenset[int]:
    """Who made an edit where there is one annotator."""
    return frozenset({0}) if right else frozenset()


def drawn(size: int, seed: int = 0) -> list[Judged]:
    """Edits whose labels are drawn with the probabilities that TRUE gives them."""
    rng = random.Random(seed)
    edits = []
    for number in range(size):
        kind = rng.choice(["R:PREP", "R:NOUN:NUM"])
        evidence = Evidence(0, 1, ("x",), kind, rng.uniform(0.05, 0.99), 1.0)
        edits.append(Judged("f", number, evidence, by(rng.random() < TRUE(evidence))))
    return edits


def test_the_fit_finds_the_probabilities_that_drew_the_labels() -> None:
    edits = drawn(6000)
    found = fit(edits)
    worst = max(abs(found(edit.evidence) - TRUE(edit.evidence)) for edit in edits)
    assert worst < 0.06
    assert abs(sum(found(e.evidence) for e in edits) - sum(e.right for e in edits)) < 20


def test_cross_validation_is_calibrated_and_does_not_peek() -> None:
    edits = drawn(4000, 1)
    confidences = cross_validated(edits)
    for number, mean, share in reliability(confidences, [e.right for e in edits]):
        assert abs(mean - share) < 4 * math.sqrt(0.25 / number) + 0.02
    noise = [
        Judged("f", e.sentence, e.evidence, by(random.Random(e.sentence).random() < 0.5))
        for e in edits
    ]
    assert abs(ranking(cross_validated(noise), [e.right for e in noise]) - 0.5) < 0.05


def test_rare_types_have_no_weight_of_their_own() -> None:
    edits = drawn(200)
    odd = Evidence(0, 1, ("x",), "R:CONTR", 0.5, 1.0)
    found = fit([*edits, Judged("f", 999, odd, by(True))])
    assert "R:CONTR" not in found.weights
    assert "R:PREP" in found.weights


@pytest.mark.parametrize("right", [True, False])
def test_nothing_to_learn(right: bool) -> None:
    edits = [Judged("f", 0, drawn(1)[0].evidence, by(right))]
    for some in (edits, []):
        with pytest.raises(DataError, match="cannot be calibrated"):
            fit(some)


@pytest.mark.parametrize(
    ("confidences", "right", "expected"),
    [
        ([0.1, 0.2, 0.3], [False, False, True], 1.0),
        ([0.3, 0.2, 0.1], [False, False, True], 0.0),
        ([0.5, 0.5], [True, False], 0.5),
        ([0.1, 0.5, 0.5, 0.9], [False, True, False, True], 0.875),
    ],
)
def test_ranking(confidences: list[float], right: list[bool], expected: float) -> None:
    assert ranking(confidences, right) == pytest.approx(expected)


def test_operation() -> None:
    edits = tuple(
        Judged("f", sentence, drawn(1)[0].evidence, by(right))
        for sentence, right in ((0, True), (0, False), (1, False), (2, False))
    )
    sample = Sample("f", ((4,), (0,), (), (0, 0)), edits)
    found = operation(sample, [0.9, 0.8, 0.5, 0.2], 0.5)
    assert found.precision == pytest.approx(1 / 3)
    assert found.recall == pytest.approx(1 / 4)
    assert found.f05 == pytest.approx(1.25 / 3 / 4 / (0.25 / 3 + 1 / 4))
    assert found.changed == pytest.approx(1 / 3)
    assert operation(sample, [0.9, 0.8, 0.5, 0.2], 1.0).precision == 1.0


def test_an_edit_counts_by_one_annotator_a_sentence() -> None:
    """Two annotators with one edit each, both of which were proposed: one of them is right."""
    evidence = drawn(1)[0].evidence
    both = tuple(Judged("f", 0, evidence, frozenset({annotator})) for annotator in (0, 1))
    found = operation(Sample("f", ((1, 1),), both), [0.9, 0.9], 0.5)
    assert (found.precision, found.recall) == (0.5, 1.0)
    assert found.f05 == pytest.approx(1.25 * 0.5 / (0.25 * 0.5 + 1))


def test_the_annotator_is_chosen_who_is_best_for_all_sentences_so_far() -> None:
    """As M2 does: the second of three edits that one made, or the only one of another."""
    evidence = drawn(1)[0].evidence
    edits = tuple(Judged("f", 0, evidence, frozenset(who)) for who in ({0, 1}, {0}, ()))
    found = operation(Sample("f", ((3, 1),), edits), [0.9] * 3, 0.5)
    assert (found.precision, found.recall) == (2 / 3, 2 / 3)
    alone = operation(Sample("f", ((3, 1),), edits), [0.9, 0.1, 0.1], 0.5)
    assert (alone.precision, alone.recall) == (1.0, 1.0)
    silent = operation(Sample("f", ((3, 0), ()), ()), [], 0.5)  # one found nothing to correct
    assert (silent.precision, silent.recall, silent.f05) == (1.0, 1.0, 1.0)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_no_share_is_above_one(data: st.DataObject) -> None:
    gold = data.draw(
        st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), max_size=5).map(tuple)
    )
    edits = []
    for number, sizes in enumerate(gold):
        left = list(sizes)
        for _ in range(data.draw(st.integers(0, 4))):
            makers = data.draw(st.sets(st.sampled_from(range(len(sizes))))) if sizes else set()
            makers = {maker for maker in makers if left[maker]}
            for maker in makers:
                left[maker] -= 1
            edits.append(Judged("f", number, drawn(1)[0].evidence, frozenset(makers)))
    found = operation(Sample("f", gold, tuple(edits)), [1.0] * len(edits), 0.5)
    assert 0 <= found.precision <= 1
    assert 0 <= found.recall <= 1
    assert 0 <= found.f05 <= 1


class Proposer:
    """Proposes to put X for every first word, and Y for every second."""

    def correct_tokenized(self, lines: list[str]) -> list[Correction]:
        def evidence(place: int, word: str) -> Evidence:
            return Evidence(place, place + 1, (word,), "R:OTHER", 0.5, 0.5)

        known = (evidence(0, "X"), evidence(1, "Y"))
        return [
            Correction(t, t, (), (SentenceResult(0, len(t), (), (), None, 0.0, known),))
            for t in lines
        ]


def test_labels(tmp_path: Path) -> None:
    path = tmp_path / "gold.m2"
    path.write_text(
        "S a b c\nA 0 1|||X|||Q||X|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||X|||Y|||REQUIRED|||-NONE-|||1\nA 2 3|||X|||Z|||REQUIRED|||-NONE-|||1\n\n"
        "S a b\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\nS b c\n\n",
        encoding="utf-8",
    )
    sample = judge(Proposer(), str(path))  # type: ignore[arg-type]
    assert [edit.right for edit in sample.edits] == [True, True, False, False, False, False]
    assert [edit.sentence for edit in sample.edits] == [0, 0, 1, 1, 2, 2]
    assert (sample.sentences, sample.clean) == (3, frozenset({1, 2}))
    assert sample.gold == ((1, 2), (0,), (0,))
    assert [edit.annotators for edit in sample.edits[:2]] == [{0}, {1}]
    text = tmp_path / "clean.txt"
    text.write_text("a b c\na b\n", encoding="utf-8")
    sample = judge(Proposer(), str(text), clean=True, limit=1)  # type: ignore[arg-type]
    assert (sample.sentences, sample.gold, sample.clean) == (1, ((),), frozenset({0}))
    assert not any(edit.right for edit in sample.edits)


def test_the_command_writes_into_the_bundle(
    tmp_path: Path, bundle_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = tmp_path / "gold.m2"
    blocks = [
        f"S She {wrong} to school .\nA 1 2|||R:VERB:SVA|||{right}|||REQUIRED|||-NONE-|||0\n"
        for wrong, right in (("go", "goes"), ("walk", "walks"), ("run", "ran"), ("drive", "drove"))
        for _ in range(3)
    ]
    gold.write_text("\n".join(blocks), encoding="utf-8")
    command = f"calibrate {gold} --model {bundle_copy} --device cpu --tolerance 0"
    assert main(command.split()) == 0
    before = json.loads((bundle_copy / "config.json").read_text())
    out = capsys.readouterr().out
    assert "confidence  right   edits" in out
    assert "gold.m2" in out
    assert main([*command.split(), "--plot", str(tmp_path / "plot.svg")]) == 0
    assert "share right" in (tmp_path / "plot.svg").read_text()
    assert main([*command.split(), "--write", "--setting", "precise=0.6,1"]) == 0
    after = json.loads((bundle_copy / "config.json").read_text())
    assert after["settings"]["precise"] == {"min_confidence": 0.6, "tolerance": 1.0}
    assert after["settings"]["balanced"] == before["settings"]["balanced"]
    assert after["confidence"]["weights"]
    assert after["needless"] == {}
    assert main(["info", "--model", str(bundle_copy)]) == 0


def test_needless_edits_by_kind_of_text() -> None:
    """Of each sentence without errors the surest edit counts; files with errors do not."""

    def edits(file: str, right: bool, *sentences: int) -> tuple[Judged, ...]:
        annotators = frozenset({0} if right else ())
        evidence = [
            Evidence(0, 1, ("x",), "R:PREP", 0.9 if right else 0.1 + 0.01 * n, 0.9)
            for n in range(len(sentences))
        ]
        return tuple(
            Judged(file, sentence, one, annotators)
            for sentence, one in zip(sentences, evidence, strict=True)
        )

    gold = Sample("x/gold.m2", ((1,),) * 40, edits("gold.m2", True, *range(40)))
    clean = Sample("x/fiction.txt", ((),) * 50, edits("fiction.txt", False, 3, 3, 4, *range(9, 20)))
    found = needless([gold, clean])
    assert [*found] == ["fiction"]
    assert found["fiction"].sentences == 50
    assert len(found["fiction"].confidences) == 13
    assert found["fiction"].least(13 / 50) == 0
    assert found["fiction"].least(12 / 50) > 0
    assert found["fiction"].least(0) < 0.9


@pytest.mark.parametrize("value", ["precise", "precise=0.5", "precise=2,1", "=0.5,1", "x=0.5,-1"])
def test_bad_settings(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "x.m2", "--setting", value]) == 2
    assert "--setting" in capsys.readouterr().err
