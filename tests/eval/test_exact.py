"""gec score exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from fake_corrector import fake_correction

from gec.cli import main
from gec.correct.corrector import Corrector
from gec.correct.result import Correction
from gec.eval.metrics.exact import score_exact


class _Fake:
    def correct_many(self, lines: Iterable[str]) -> Iterator[Correction]:
        return map(fake_correction, lines)


def test_counts_and_misses() -> None:
    corrector = cast(Corrector, _Fake())
    score = score_exact(
        corrector,
        [
            "She go home .\tShe goes home .",
            "She go home .\tShe went home .\tShe goes  home .",
            "I do n't go .\tI don't goes .",
            "He is go .\tHe is going .",
            "",
            "It is fine .",
            "The book is red .",
        ],
    )
    assert (score.right, score.wrong, score.unchanged, score.changed) == (3, 1, 1, 1)
    assert [source for source, _, _ in score.misses] == ["He is go .", "The book is red ."]
    assert (
        str(score)
        == "3 of 4 sentences with errors come out right; 1 of 2 correct sentences changed"
    )


@pytest.mark.usefixtures("loads")
def test_an_empty_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.tsv"
    path.touch()
    assert main(["score", "exact", str(path)]) == 2
    assert "no sentence to score" in capsys.readouterr().err
