"""The same weights in other engines: the tokens are ours, or of the length they are forced to.

fairseq's process is a stand-in that speaks its lines; the real one is tested where it is installed
(tests/models/fairseq).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from gec.errors import ConfigError, ModelError
from gec.eval.benchmark import peers
from gec.eval.benchmark.contenders import Contender, Ids, Ours, model_of
from gec.eval.benchmark.peers import Setup, check_names, fairseq, gather
from gec.models.load.bundle import Bundle

LIMIT = 30
CPU = torch.device("cpu")
ENGINES = ["ctranslate2", "huggingface"]

PROGRAM = """
import json, sys
print(json.dumps({"ready": True, "arguments": sys.argv[1:]}), flush=True)
for line in sys.stdin:
    job = json.loads(line)
    if job["beam"] == 3:
        print(json.dumps({"error": "KeyError: 99"}), flush=True)
    elif job["beam"] == 4:
        sys.exit("out of beans")
    else:
        length = job["max_length"] - 1 if "--forced" in sys.argv else 2
        outputs = [source[:1] * length for source in job["sources"]]
        print(json.dumps({"outputs": outputs, "seconds": [0.5]}), flush=True)
"""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def setup(bundle: Bundle, folder: Path, **more: Any) -> Setup:
    given: dict[str, Any] = {
        "bundle": bundle, "folder": folder, "strategies": ["greedy", "iad", "beam3", "floor"],
        "precisions": ["fp32", "int8"], "outputs": {}, "lengths": None, "limit": LIMIT,
        "threads": 1, "device": CPU, "fairseq_python": sys.executable,
    }  # fmt: skip
    return Setup(**(given | more))


def named(contenders: list[Contender]) -> dict[str, Contender]:
    return {f"{c.strategy} {c.precision}": c for c in contenders}


@pytest.mark.parametrize("engine", ENGINES)
def test_same_tokens_as_ours(engine: str, tiny: Bundle, sources: list[Ids], tmp_path: Path) -> None:
    model = model_of(tiny.network, "fp32", CPU)
    known = Ours(model, "greedy", "fp32", LIMIT).decode(sources, 1).outputs
    outputs = dict(zip(sources, known, strict=True))
    found = named(peers.PEERS[engine](setup(tiny, tmp_path, outputs=outputs)))
    assert {"greedy fp32", "beam3 fp32"} <= set(found)
    assert ("greedy int8" in found) == ("floor int8" in found) == (engine == "ctranslate2")
    for batch_size in (1, 3):
        answer = found["greedy fp32"].decode(sources, batch_size)
        # engines differ in whether the last place of the limit is left to the EOS
        assert [o[: LIMIT - 1] for o in answer.outputs] == [o[: LIMIT - 1] for o in known]
        assert answer.seconds > 0
    assert len(found["beam3 fp32"].decode(sources, 2).outputs) == len(sources)
    if engine == "ctranslate2":
        assert found["floor int8"].decode(sources, 2).outputs == known


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strategy", ["greedy", "beam3"])
def test_forced_lengths(
    engine: str, strategy: str, tiny: Bundle, sources: list[Ids], tmp_path: Path
) -> None:
    lengths = {source: 3 + len(source) for source in sources}
    given = setup(tiny, tmp_path, lengths=lengths, precisions=["fp32"], strategies=[strategy])
    (contender,) = peers.PEERS[engine](given)
    answer = contender.decode(sources, 1)
    for source, output in zip(sources, answer.outputs, strict=True):
        # the last one may be the EOS, which is not returned
        assert lengths[source] - 1 <= len(output) <= lengths[source]


def test_a_batch_is_forced_to_its_mean_length(tiny: Bundle, tmp_path: Path) -> None:
    lengths: dict[Ids, int] = {(3,): 2, (4,): 3, (5,): 7}
    given = setup(tiny, tmp_path, lengths=lengths)
    assert given.length([(3,), (4,), (5,)]) == (4, 4)
    assert setup(tiny, tmp_path).length([(3,)]) == (0, LIMIT)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stand_in.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(fairseq, "PROGRAM", "stand_in")


@pytest.mark.usefixtures("program")
def test_fairseq_is_asked_batch_by_batch(
    tiny: Bundle, sources: list[Ids], tmp_path: Path, stack: ExitStack
) -> None:
    given = setup(tiny, tmp_path, stack=stack, strategies=["greedy", "beam5"])
    greedy, beam = fairseq.contenders(given)
    assert (greedy.strategy, beam.strategy) == ("greedy", "beam5")
    answer = greedy.decode(sources, 2)
    assert answer.outputs == [source[:1] * 2 for source in sources]
    assert answer.seconds == 0.5 * 3
    forced = setup(
        tiny, tmp_path / "forced", stack=stack, lengths=dict.fromkeys(sources, 8),
        strategies=["greedy"],
    )  # fmt: skip
    (contender,) = fairseq.contenders(forced)
    assert {len(output) for output in contender.decode(sources, 1).outputs} == {7}


@pytest.mark.usefixtures("program")
def test_fairseq_fails_in_one_line(tiny: Bundle, tmp_path: Path, stack: ExitStack) -> None:
    given = setup(tiny, tmp_path, stack=stack, strategies=["beam3", "beam4"])
    wrong, dying = fairseq.contenders(given)
    with pytest.raises(ModelError, match="fairseq: KeyError: 99"):
        wrong.decode([(3,)], 1)
    with pytest.raises(ModelError, match="fairseq has ended: out of beans"):
        dying.decode([(3,)], 1)


def test_what_is_missing_is_said(tiny: Bundle, tmp_path: Path) -> None:
    found, missing = gather(["fairseq"], setup(tiny, tmp_path, fairseq_python="nowhere/python"))
    assert found == []
    assert missing["fairseq"].startswith("no Python with fairseq at nowhere/python: make")
    _, missing = gather(["fairseq"], setup(tiny, tmp_path / "a", precisions=["int8"]))
    assert missing == {"fairseq": "fairseq is timed in fp32 on a CPU only"}


def test_an_environment_without_fairseq(
    tiny: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "without.py").write_text("import fairseq_is_not_here\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(fairseq, "PROGRAM", "without")
    _, missing = gather(["fairseq"], setup(tiny, tmp_path / "b"))
    assert "No module named 'fairseq_is_not_here'" in missing["fairseq"]


def test_an_absent_package(tiny: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    _, missing = gather(["ctranslate2"], setup(tiny, tmp_path))
    assert "pip install" in missing["ctranslate2"]


def test_names() -> None:
    assert check_names(["all"]) == ["fairseq", "ctranslate2", "huggingface"]
    assert check_names(["huggingface", "huggingface"]) == ["huggingface"]
    assert check_names(["torch"]) == ["torch"]
    with pytest.raises(ConfigError, match="unknown peer 'onnx', expected some of fairseq"):
        check_names(["onnx"])


def test_which_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fairseq.VARIABLE, "b")
    assert (fairseq.interpreter("a"), fairseq.interpreter(None)) == ("a", "b")
    monkeypatch.delenv(fairseq.VARIABLE)
    assert fairseq.interpreter(None) == fairseq.DEFAULT
