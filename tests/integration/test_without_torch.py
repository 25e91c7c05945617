"""What corrects needs no torch: it runs where torch cannot be imported, and says the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gec.models.native.library import library

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C library here")

TEXT = Path(__file__).parents[1] / "data/learner_sample.txt"
CONFIDENCE = re.compile(r"\b[01]\.\d+(?:e-\d+)?\b")
FORBIDDING = """
import sys

class Forbidding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch is not here", name=name)

sys.meta_path.insert(0, Forbidding())
"""
COMMAND = "from gec.cli import main\nraise SystemExit(main(sys.argv[1:]))"

COMMANDS: dict[str, list[str]] = {
    "iad": ["correct", "--format", "json"],
    "greedy": ["correct", "--strategy", "greedy"],
    "beam": ["correct", "--strategy", "beam", "--beam-size", "3", "--threads", "2"],
    "fp32": ["correct", "--precision", "fp32", "--diff", "--summary"],
    "speculative beam": ["correct", "--strategy", "speculative-beam"],
    "check": ["correct", "--check"],
}


def run(code: str, *args: str, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"} | variables,
    )
    assert done.returncode in (0, 1), done.stderr
    text = re.sub(r'"(milliseconds|seconds)": [\d.e-]+', "", done.stdout)
    return done.returncode, CONFIDENCE.sub("P", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_corrections_without_torch_are_those_with_it(name: str) -> None:
    args = [*COMMANDS[name], str(TEXT)]
    without = run(FORBIDDING + COMMAND, *args)
    assert without == run("import sys\n" + COMMAND, *args, GEC_ENGINE="torch")
    assert len(without[1]) > 200


def test_batches_without_torch(tmp_path: Path) -> None:
    made = []
    for code, engine in ((FORBIDDING, ""), ("import sys\n", "torch")):
        out = tmp_path / f"{engine}out.txt"
        run(code + COMMAND, "batch", "--quiet", str(TEXT), str(out), GEC_ENGINE=engine)
        made.append(out.read_text(encoding="utf-8"))
    assert made[0] == made[1] != TEXT.read_text(encoding="utf-8")


def test_the_server_corrects_without_torch() -> None:
    code = FORBIDDING + (
        "from gec.web.app import create_app\nfrom gec.web.config import Config\n"
        "client = create_app(Config(torch_threads=1)).test_client()\n"
        "found = client.post('/v2/check', data={'text': 'She go home.', 'language': 'en-US'})\n"
        "assert found.json['matches'][0]['replacements'][0]['value'] == 'goes', found.json\n"
        "assert 'torch' not in sys.modules\n"
    )
    run(code)


def test_what_torch_alone_can_do_is_refused_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDING + COMMAND, "correct", "--precision", "bf16", str(TEXT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(r"gec: .*bf16.*pip install .*\n", done.stderr), done.stderr
