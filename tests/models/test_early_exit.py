"""Early exit: the first layers draft in the verifier's own memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from fake_models import tiny_network
from reference_decoding import greedy
from torch import Tensor

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.early_exit import EarlyExitDrafter
from gec.decoding.drafters.small_model import FixedLength
from gec.decoding.sampling import Sampling, SpeculativeSampling
from gec.errors import ModelError
from gec.models.engines.eager import EagerEngine
from gec.models.engines.exit_verifier import EarlyExitVerifier
from gec.models.engines.verifier import TransformerVerifier
from gec.models.network.early_exit import EarlyExitTrainee
from gec.models.network.transformer import Transformer

LIMIT = LengthLimit(1.0, 6)
NETWORKS: dict[str, dict[str, object]] = {
    "pre": {"decoder_layers": 3},
    "post": {"decoder_layers": 2, "norm": "post", "positions": "learned"},
    "untied": {"decoder_layers": 4, "encoder_layers": 2, "tie_embeddings": False},
    "relative": {"decoder_layers": 3, "positions": "relative"},
}


def network(name: str) -> Transformer:
    return tiny_network(len(name), **NETWORKS[name])


def sources(count: int = 6) -> list[list[int]]:
    rng = random.Random(5)
    return [[3 + i, *(rng.randrange(3, 31) for _ in range(i * 5 % 12))] for i in range(count)]


def plain_scores(net: Transformer) -> Any:
    def scores(source: list[int], output: list[int]) -> Tensor:
        with torch.inference_mode():
            return net(torch.tensor([[*source, 2]]), torch.tensor([[1, *output]]))[0, -1]

    return scores


@pytest.mark.parametrize(
    ("name", "layers", "gamma"),
    [
        ("pre", 1, 0),
        ("pre", 1, 4),
        ("pre", 2, 1),
        ("post", 1, 4),
        ("untied", 2, 4),
        ("relative", 1, 3),
    ],
)
def test_the_output_is_the_whole_networks(name: str, layers: int, gamma: int) -> None:
    net = network(name)
    verifier = EarlyExitVerifier(EagerEngine(net), layers)
    drafter = EarlyExitDrafter(verifier.exit, length=FixedLength(gamma), fallback=0.05)
    expected = [greedy(plain_scores(net), text, LIMIT(text)).tokens for text in sources()]
    for batch_size in (1, 4):
        found = Decoder(verifier, drafter, limit=LIMIT).decode(sources(), batch_size=batch_size)
        assert [h.tokens for [h] in found] == expected


def test_the_first_layers_run_once_for_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass of the verifier computes them for the last drafted token only."""
    verifier = EarlyExitVerifier(EagerEngine(network("pre")))
    fed: list[list[int]] = []
    original = verifier.first_layers

    def watched(memory: Any, tokens: Any, starts: Any) -> Any:
        fed.append([len(block) for block in tokens])
        return original(memory, tokens, starts)

    monkeypatch.setattr(verifier, "first_layers", watched)
    drafter = EarlyExitDrafter(verifier.exit, length=FixedLength(3))
    [[found]] = Decoder(verifier, drafter, limit=LengthLimit(0, 12)).decode([[3, 4, 5]])
    assert all(lengths == [1] for lengths in fed)
    ended = not found.truncated
    assert len(fed) <= sum(step.drafted + 1 for step in found.steps) + ended
    assert max(step.drafted for step in found.steps) == 3


def test_what_the_first_layers_computed_is_taken_over() -> None:
    """The logits behind a draft are those of a verifier that computes everything itself."""
    net = network("untied")
    verifier, plain = EarlyExitVerifier(EagerEngine(net), 2), TransformerVerifier(net)
    texts = [[3, 4, 5], [6], [7, 8, 9, 10]]
    with torch.inference_mode():
        memory, other = verifier.start(texts), plain.start(texts)
        blocks = [[1], [1, 11], [1, 12, 13]]
        one = verifier.verify(memory, blocks, [0, 0, 0]).logits
        two = plain.verify(other, blocks, [0, 0, 0]).logits
        assert torch.allclose(one[2], two[2])
        starts = [1, 2, 3]
        verifier.exit.verify(memory, [[14], [15], [16]], starts)
        verifier.exit.verify(memory, [[17], [18], [19]], [2, 3, 4])
        verifier.exit.verify(memory, [[20], [18], [19]], [2, 3, 4])  # one rejected, two again
        blocks = [[14, 20, 21], [15, 18], [16, 22, 23]]  # the third leaves its draft
        one = verifier.verify(memory, blocks, starts).logits
        two = plain.verify(other, blocks, starts).logits
    for row, block in enumerate(blocks):
        assert torch.allclose(one[row, : len(block)], two[row, : len(block)])


def test_sampling_is_deaf_to_neighbours() -> None:
    sampling = Sampling(1.1, top_p=0.9)
    verifier = EarlyExitVerifier(EagerEngine(network("pre")))
    drafter = EarlyExitDrafter(verifier.exit, length=FixedLength(3), sampling=sampling)
    engine = Decoder(verifier, drafter, SpeculativeSampling(sampling), limit=LIMIT, seed=2)
    alone = [engine.decode([text])[0][0] for text in sources()]
    assert [h for [h] in engine.decode(sources(), batch_size=4)] == alone
    assert any(step.accepted for h in alone for step in h.steps)


def test_training_scores_both_exits() -> None:
    """The last layer's logits are the network's, the first's those of a network cut behind it."""
    net = network("pre")
    source, target = torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([[1, 8, 9], [1, 10, 0]])
    wanted = target != 0
    early, last = EarlyExitTrainee(net)(source, target, wanted)
    assert torch.allclose(last, net(source, target, wanted))
    state = {
        k: v for k, v in net.state_dict().items() if not k.startswith(("decoder.1", "decoder.2"))
    }
    cut = tiny_network(1, decoder_layers=1)
    cut.load_state_dict(state)
    assert torch.allclose(early, cut(source, target, wanted))


def test_the_loss_teaches_the_first_layer() -> None:
    net = network("pre").train()
    trainee = EarlyExitTrainee(net)
    source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 5, 6, 7]])
    truth = torch.tensor([5, 6, 7, 2])
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(60):
        losses = [
            torch.nn.functional.cross_entropy(logits, truth)
            for logits in trainee(source, target, target != 0)
        ]
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    verifier = EarlyExitVerifier(EagerEngine(net))
    drafter = EarlyExitDrafter(verifier.exit, length=FixedLength(5))
    [[found]] = Decoder(verifier, drafter).decode([[5, 6, 7]])
    assert found.tokens == (5, 6, 7)
    assert len(found.steps) == 1, "the first layer drafts all of it"


@pytest.mark.parametrize("layers", [0, 3])
def test_no_layer_behind_or_before_the_exit(layers: int) -> None:
    made: list[Callable[[], Any]] = [
        lambda: EarlyExitVerifier(EagerEngine(network("pre")), layers),
        lambda: EarlyExitTrainee(network("pre"), layers),
    ]
    for make in made:
        with pytest.raises(ModelError, match=f"decoder layer 1 to 2, not {layers}"):
            make()
