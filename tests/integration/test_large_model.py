"""The large English model, if it has been fetched: lossless, and better than the small one."""

from __future__ import annotations

from pathlib import Path

import pytest

import gec
from gec.correct.corrector import Corrector
from gec.eval.benchmark.lossless import check_lossless
from gec.eval.metrics.exact import score_exact
from gec.models.fetch import store

DATA = Path(__file__).parent.parent / "data"


pytestmark = pytest.mark.skipif(
    not (store.fetched("en-large") / "config.json").is_file(),
    reason="gec model get en-large has not been run",
)


@pytest.fixture(scope="module")
def corrector() -> Corrector:
    return gec.load("en-large")


def lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").splitlines()


def test_iad_is_greedy_token_for_token(corrector: Corrector) -> None:
    texts = [line.split("\t")[0] for line in lines("simple_errors.tsv")[:12]]
    texts += lines("simple_clean.txt")[:4]
    sources = [corrector.subwords.encode(text.split()) for text in texts]
    report = check_lossless(corrector.model, sources, batch_sizes=(1, 8))
    assert report.sentences == 16
    assert report.changed >= 10  # something was there to lose
    assert report.lossless, report.describe(corrector.subwords)


def test_most_simple_errors_are_corrected(corrector: Corrector) -> None:
    score = score_exact(corrector, lines("simple_errors.tsv"))
    assert score.right >= 40, score
