"""What a drafter reads of its verifier in training is what the engines compute when they decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from fake_models import tiny_network
from tiny_generation import tiny_llama
from torch import Tensor

from gec.models.engines.eager import RememberingEngine
from gec.models.engines.engine import Block
from gec.models.engines.llama_engine import RememberingLlamaEngine
from gec.models.network.llama import Llama
from gec.models.network.transformer import Transformer
from gec.models.training.verifier_states import VerifierStates
from gec.text.vocabulary import EOS_ID

SOURCES = [[5, 6, 7], [9], [3, 30, 20, 10]]
TARGETS = [[8], [9, 10, 11, 12, 13], [4, 4]]


def networks() -> list[Transformer | Llama]:
    alone = tiny_llama(1, 40)
    alone.config = replace(alone.config, separator=(9,))
    return [tiny_network(3).eval(), alone.eval()]


def ids(rows: Sequence[Sequence[int]], width: int) -> Tensor:
    return torch.tensor([[*row, EOS_ID, *[0] * (width - 1 - len(row))] for row in rows])


@pytest.mark.parametrize("engine", ["light", "torch"])
@pytest.mark.parametrize("kind", [0, 1], ids=["encoder-decoder", "decoder alone"])
@torch.inference_mode()
def test_the_states_are_the_engines(
    kind: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ragged rows in half precision, zero behind them, and the same when asked again."""
    monkeypatch.setenv("GEC_ENGINE", engine)
    network = networks()[kind]
    reader = VerifierStates(network, reads_output=True)
    source, target = ids(SOURCES, 6), ids(TARGETS, 7)
    encoded, states = reader.read(source, target)
    assert states is not None
    assert encoded.shape[:2] == source.shape
    assert states.shape[:2] == target.shape
    again = reader.read(source[1:], target[1:])
    assert torch.equal(again[0], encoded[1:])
    runs = (
        RememberingLlamaEngine(network)
        if isinstance(network, Llama)
        else RememberingEngine(network)
    )
    for row, (one, other) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        memory = runs.start([one])
        hidden = runs.run(memory, Block([[runs.bos_id, *other]], [0]))[0]
        expected = runs.encoded([one]).states[0]
        for found, wanted in ((encoded[row], expected.float()), (states[row], hidden.float())):
            assert torch.allclose(found[: len(wanted)], wanted, 1e-3, 2e-3)
            assert not found[len(wanted) :].any()


def test_outputs_are_read_only_if_asked_for() -> None:
    reader = VerifierStates(networks()[0])
    encoded, states = reader.read(ids(SOURCES, 5), ids(TARGETS, 6))
    assert states is None
    assert encoded[1, 2:].eq(0).all()
