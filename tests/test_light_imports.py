"""What is around the network imports neither torch nor spaCy, and what one sentence needs, little.

A process that corrects has the libraries that it needs and no others: imports are most of a start.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

FORBID = """
import sys

class Forbidding:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"{name} is not here", name=name)

sys.meta_path.insert(0, Forbidding())
"""
CORRECT = """
from gec.eval.benchmark.around import _corrector
from gec.decoding.decoder import Hypothesis

corrector = _corrector("en")

def decode(sources, tolerance):
    goes, go = (corrector.subwords.encode_word(word) for word in ("goes", "go"))
    texts = [" ".join(map(str, source)) for source in sources]
    said = [text.replace(" ".join(map(str, go)), " ".join(map(str, goes)), 1) for text in texts]
    tokens = [tuple(map(int, text.split())) for text in said]
    return [Hypothesis(t, False, (-0.001,) * (len(t) + 1), 0.0, ()) for t in tokens]

found = corrector.with_decoder(decode).correct(TEXT)
"""
SENTENCE = "She go to school evry day, and she do n’t recieve a letter. (See www.x.org)"


def run(code: str, *forbidden: str) -> str:
    code = f"FORBIDDEN = {set(forbidden)!r}\n{FORBID}{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "package",
    "text correct edits documents output check batch decoding generate cli".split(),
)
def test_every_module_can_do_without(package: str) -> None:
    """Each module alone: no other one has imported what it forgot."""
    folder = import_module(f"gec.{package}").__path__
    names = [found.name for found in pkgutil.walk_packages(folder, f"gec.{package}.")]
    assert len(names) > 0
    run(f"import gec, {', '.join(names)}", "torch", "spacy")


def test_a_sentence_is_corrected_without() -> None:
    code = f"TEXT = {SENTENCE!r}\n{CORRECT}\nprint(found.text)"
    said = run(code, "torch", "spacy", "numpy")
    assert said.strip() == SENTENCE.replace("go", "goes").replace("evry", "every").replace(
        "recieve", "receive"
    )


def test_what_a_sentence_imports() -> None:
    """What it does not need, however quick: the tables of a shipped bundle are only mapped."""
    code = f"TEXT = 'She go to school.'\nfrom gec.cli import parse\nparse(['correct'])\n{CORRECT}"
    code += "\nassert found.text == 'She goes to school.'"
    code += "\nimport json\nprint(json.dumps(sorted(sys.modules)))"
    modules = set(json.loads(run(code)))
    slow = "torch spacy numpy rapidfuzz hashlib gzip tempfile string asyncio ssl urllib.request"
    assert not modules & {*slow.split()}
    others = {name for name in modules if name.startswith("gec.cli.")}
    assert others <= {
        f"gec.cli.{name}"
        for name in "arguments commands console correct failures model_options status".split()
    }
    assert "gec.text.stop_words" not in modules
