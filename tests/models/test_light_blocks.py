"""Drafts of blocks without torch: the network in C against torch's, in blocks and in the loop."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_models import tiny_network
from tiny_generation import random_bundle

from gec.decoding.strategies import make_decoder
from gec.errors import ModelError
from gec.loading import load_generation_parts
from gec.models.engines.eager import RememberingEngine
from gec.models.engines.inference import prepare
from gec.models.engines.light import LightVerifier
from gec.models.engines.light_blocks import LightBlocks, RememberingVerifier
from gec.models.engines.nat_blocks import TransformerBlocks
from gec.models.load import light
from gec.models.load.generation import save
from gec.models.native.library import library
from gec.models.native.network import serves_drafter
from gec.models.network.nat import NatTransformer
from gec.models.network.nat_config import NatConfig
from gec.models.network.transformer import Transformer

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C library here")

KINDS = {
    "as in the papers": NatConfig(block=8),
    "shared encoder": NatConfig(block=8, shared_encoder=True),
    "causal prefix": NatConfig(block=8, causal_prefix=True),
    "shared encoder, causal prefix": NatConfig(block=8, shared_encoder=True, causal_prefix=True),
    "MASK of the vocabulary": NatConfig(block=8, mask_id=5, causal_prefix=True),
    "no BOS": NatConfig(block=8, causal_prefix=True, begins_with_bos=False, mask_id=5),
}
NETWORKS: dict[str, dict[str, object]] = {
    "plain": {"decoder_layers": 2},
    "learned, post": {"positions": "learned", "norm": "post", "tie_embeddings": False},
}


@cache
def networks(kind: str, shape: str) -> tuple[Transformer, NatTransformer]:
    """Return a verifier and a drafter of random weights in float32."""
    verifier = tiny_network(5, max_positions=40).float()
    config = tiny_network(6, max_positions=40, **NETWORKS[shape]).config
    torch.manual_seed(11)
    drafter = NatTransformer(config, KINDS[kind])
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.mul_(1.5).add_(torch.randn_like(parameter) * 0.1)
        drafter.embedding.weight[config.pad_id].zero_()
    return verifier, drafter.eval()


def both(kind: str, shape: str) -> tuple[TransformerBlocks, LightBlocks]:
    verifier, drafter = networks(kind, shape)
    theirs = TransformerBlocks(drafter, RememberingEngine(verifier))
    remembering = RememberingVerifier(light.from_torch(verifier, "fp32"))
    network = light.from_torch(drafter, "fp32", drafter.nat)
    return theirs, LightBlocks(network, drafter.nat, remembering)


def words(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(3, 31) for _ in range(count)]


@pytest.mark.parametrize("shape", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_drafts_are_torchs(kind: str, shape: str) -> None:
    """Ragged outputs that grow, rows that leave and come, blocks of several sizes."""
    rng = random.Random(3)
    theirs, ours = both(kind, shape)
    sources = [words(rng, n) for n in (7, 0, 12, 3)]
    outputs: list[list[int]] = [[], words(rng, 3), [], words(rng, 1)]
    their_memory, our_memory = theirs.start(sources), ours.start(sources)
    for turn in range(6):
        k = (8, 1, 5, 3, 8, 2)[turn]
        wanted, sure = theirs.draft(their_memory, outputs, k)
        found, certain = ours.draft(our_memory, outputs, k)
        assert found == wanted, turn
        for one, other in zip(certain, sure, strict=True):
            assert one == pytest.approx(other, abs=1e-4)
        outputs = [output + words(rng, rng.randint(0, 3)) for output in outputs]
        if turn == 2:
            rows, more = [2, 0, 3], words(rng, 5)
            their_memory = theirs.join(theirs.select(their_memory, rows), theirs.start([more]))
            our_memory = ours.join(ours.select(our_memory, rows), ours.start([more]))
            outputs = [*(outputs[row] for row in rows), words(rng, 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_ends_where_the_positions_do(kind: str) -> None:
    theirs, ours = both(kind, "plain")
    source = words(random.Random(1), 4)
    memory, their_memory = ours.start([source]), theirs.start([source])
    for length in (30, 34, 37, 38, 39, 39):
        output = [4 + i % 20 for i in range(length)]
        [tokens], [sure] = ours.draft(memory, [output], 8)
        room = 40 - length - KINDS[kind].begins_with_bos
        assert len(tokens) == len(sure) == min(8, room)
        if room >= 8:
            assert tokens == theirs.draft(their_memory, [output], 8)[0][0]


def test_what_is_cached_is_what_is_computed_anew() -> None:
    _, ours = both("shared encoder, causal prefix", "plain")
    rng = random.Random(8)
    source, output = words(rng, 9), words(rng, 12)
    memory = ours.start([source])
    for end in range(len(output)):
        step = ours.draft(memory, [output[:end]], 4)
        assert step == ours.draft(ours.start([source]), [output[:end]], 4)


def test_a_shared_encoder_runs_once() -> None:
    _, ours = both("shared encoder", "plain")
    verifier = ours._verifier
    assert verifier is not None
    sources = [[3, 4, 5], [6]]
    verifier.start(sources)
    states = verifier.encoded(sources)
    ours.start(sources)
    assert verifier.encoded(sources) is states
    ours.start([[7]])  # also where the loop did not start them just now
    assert verifier.encoded([[7]]).states.shape == (2, 32)


def test_states_are_a_threads_own() -> None:
    """Another thread encodes other sources when these have just been encoded."""
    _, ours = both("shared encoder", "plain")
    verifier = ours._verifier
    assert verifier is not None
    mine, others = [[3, 4, 5], [6]], [[7, 8]]
    verifier.start(mine)
    expected = verifier.encoded(mine)
    verifier.start(others)

    class Interrupted(RememberingVerifier):
        """Whatever it is to remember, it has already been replaced when it is read again."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, replaced if name == "_last" else value)

    replaced = verifier._last
    interrupted = Interrupted(verifier.network)
    for _ in range(2):
        assert np.array_equal(interrupted.encoded(mine).states, expected.states)


def test_a_verifier_that_remembers_scores_like_another() -> None:
    verifier, _ = networks("shared encoder", "plain")
    network = light.from_torch(verifier, "fp32")
    rows: Sequence[Sequence[int]] = [[1, 4, 5], [1, 9]]
    found = []
    for model in (LightVerifier(network), RememberingVerifier(network)):
        scores = model.verify(model.start([[3, 4], [5]]), rows, [0, 0])
        found.append(scores.read(*scores.logprobs(scores.best())))
    assert found[0] == found[1]


def test_drafters_that_do_not_fit() -> None:
    verifier, drafter = networks("shared encoder", "plain")
    network = light.from_torch(drafter, "fp32", drafter.nat)
    with pytest.raises(ModelError, match="none is there"):
        LightBlocks(network, drafter.nat)
    narrow = tiny_network(5, width=16).float()
    with pytest.raises(ModelError, match="32 wide, the verifier 16"):
        LightBlocks(network, drafter.nat, RememberingVerifier(light.from_torch(narrow, "fp32")))
    assert serves_drafter(verifier.config, NatConfig(mask_id=3, layer_positions=True)) is not None


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("stored", [torch.float16, torch.int8])
def test_a_bundle_with_a_drafter_needs_no_torch(
    shared: bool,
    precision: str,
    stored: torch.dtype,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = random_bundle(heads=False, shared=shared)
    save(made, tmp_path / "toy", dtype=stored)
    texts = ["the big dogs see.", "cats", "one and two birds eat."]
    sources = [made.vocabulary.encode(text) for text in texts]
    outputs = {}
    for engine in ("light", "torch"):
        monkeypatch.setenv("GEC_ENGINE", engine)
        parts, _, _ = load_generation_parts(
            str(tmp_path / "toy"), device="cpu", precision=precision
        )
        assert isinstance(parts.blocks, LightBlocks) == (engine == "light")
        for strategy in ("greedy", "gad", "nat", "gad++", "auto"):
            found = make_decoder(parts, strategy).decode(sources)
            outputs[engine, strategy] = [h.tokens for [h] in found]
        assert outputs[engine, "gad"] == outputs[engine, "greedy"] == outputs[engine, "auto"]
    assert outputs["light", "greedy"] == outputs["torch", "greedy"]
    if precision == "fp32":
        assert outputs["light", "nat"] == outputs["torch", "nat"]


def test_prepared_networks_are_refused() -> None:
    _, drafter = networks("shared encoder", "plain")
    prepared = prepare(NatTransformer(drafter.config, drafter.nat).eval())
    with pytest.raises(ModelError, match="cannot be run without torch"):
        light.from_torch(prepared, "fp32", drafter.nat)
