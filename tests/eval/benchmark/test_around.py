"""The measurement of everything but the network, on few sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from gec.eval.benchmark import around


def test_sentences_are_as_they_were_written() -> None:
    found = around.sentences(20)
    assert len(found) == 20
    assert all(line and not set(line) & {*"[|]#"} for line in found)
    assert around.sentences(20) == found


def test_what_the_network_said_is_said_again(tmp_path: Path) -> None:
    texts = ["She go to school evry day.", "All is well.", "She go to school evry day."]
    around.record("en", texts, tmp_path / "said.json")
    command = [sys.executable, "-m", "gec.eval.benchmark.around", "--once", "--replay"]
    done = subprocess.run(
        [*command, str(tmp_path / "said.json")], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found.keys() == {"python", "start", "memory", "all"}
    assert min(found.values()) > 0
    recorded = json.loads((tmp_path / "said.json").read_text("utf-8"))
    answers = around._answers(recorded["said"])
    replayed = around._corrector("en").with_decoder(lambda s, _: [next(answers[x]) for x in s])
    assert [c.text for c in replayed.correct_many(texts)] == [
        "She goes to school every day.", "All is well.", "She goes to school every day.",
    ]  # fmt: skip
