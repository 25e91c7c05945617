"""The truncatable cache: whatever was fed and dropped, scores are those of a fresh computation."""

from __future__ import annotations

import random

import pytest
import torch
from fake_models import BOS, EOS, tiny_network
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gec.models.engines.verifier import TransformerVerifier
from gec.models.network.cache import LayerCache, Positions
from gec.models.network.transformer import Transformer

NETWORKS = {
    "pre": tiny_network(4, decoder_layers=2, max_positions=200).float(),
    "post": tiny_network(
        5, decoder_layers=3, norm="post", positions="learned", max_positions=200
    ).float(),
}


@torch.inference_mode()
def fresh(network: Transformer, source: list[int], fed: list[int]) -> Tensor:
    """Return the logits [T, V] after each of the fed tokens, all computed at once."""
    logits: Tensor = network(torch.tensor([[*source, EOS]]), torch.tensor([fed]))[0]
    return logits


@settings(deadline=None, max_examples=60)
@given(name=st.sampled_from(sorted(NETWORKS)), seed=st.integers(0, 10**6), data=st.data())
def test_any_sequence_of_blocks_truncations_and_selections(
    name: str, seed: int, data: st.DataObject
) -> None:
    """Rows are (source, fed tokens); a step feeds ragged blocks anywhere, or selects rows."""
    network, rng = NETWORKS[name], random.Random(seed)
    verifier = TransformerVerifier(network)
    rows = [
        ([rng.randrange(3, 31) for _ in range(rng.randrange(9))], [BOS])
        for _ in range(data.draw(st.integers(1, 4), label="rows"))
    ]
    with torch.inference_mode():
        memory = verifier.start([source for source, _ in rows])
        cached = [0] * len(rows)
        for step in data.draw(st.lists(st.sampled_from("bsg"), max_size=6), label="steps"):
            if step == "s":
                chosen = [rng.randrange(len(rows)) for _ in range(rng.randint(1, 4))]
                memory = verifier.select(memory, chosen)
                rows = [(rows[r][0], list(rows[r][1])) for r in chosen]
                cached = [cached[r] for r in chosen]
                continue
            together = rng.random() < 0.4
            starts = [rng.randint(0, n) for n in cached]
            if together:
                starts = [min(starts)] * len(rows)
            blocks = []
            for (_, fed), start in zip(rows, starts, strict=True):
                length = rng.randint(30, 50) if step == "g" else rng.randint(1, 6)
                block = [rng.randrange(3, 31) for _ in range(length)]
                if start == 0:
                    block[0] = BOS
                fed[start:] = block
                blocks.append(block)
            cached = [len(fed) for _, fed in rows]
            if max(cached) > 150:
                break
            logits = verifier.verify(memory, blocks, starts).logits
            assert logits.shape == (len(rows), max(map(len, blocks)), 31)
            for r, (source, fed) in enumerate(rows):
                expected = fresh(network, source, fed)[starts[r] :]
                torch.testing.assert_close(
                    logits[r, : len(blocks[r])], expected, rtol=1e-5, atol=2e-5
                )


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("offset", [0, 1, 7, 40])
def test_a_block_equals_its_tokens_one_by_one(name: str, offset: int) -> None:
    verifier = TransformerVerifier(NETWORKS[name])
    rng = random.Random(offset)
    tokens = [BOS, *(rng.randrange(3, 31) for _ in range(offset + 11))]
    source = [4, 5, 6]
    with torch.inference_mode():
        memory = verifier.start([source])
        if offset:
            verifier.verify(memory, [tokens[:offset]], [0])
        block = verifier.verify(memory, [tokens[offset:]], [offset]).raw
        single = [
            verifier.verify(memory, [[token]], [i]).raw[0]
            for i, token in enumerate(tokens[offset:], offset)
        ]
    torch.testing.assert_close(torch.stack(single), block, rtol=1e-5, atol=1e-5)


def test_the_cache_grows_and_keeps_what_it_holds() -> None:
    cache = LayerCache(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 4))
    written = torch.empty(2, 0, 1, 4)
    for start, length in ((0, 5), (5, 1), (6, 40), (46, 100)):
        new = torch.randn(2, length, 1, 4)
        written = torch.cat([written, new], 1)
        positions = Positions.of([start, start], length, new.device)
        keys, values = cache.write(new, -new, positions)
        torch.testing.assert_close(keys, written)
        torch.testing.assert_close(values, -written)


def test_ragged_writes_touch_their_own_places_only() -> None:
    cache = LayerCache(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 4))
    first, second = torch.randn(2, 6, 1, 4), torch.randn(2, 2, 1, 4)
    cache.write(first, first, Positions.of([0, 0], 6, first.device))
    keys, _ = cache.write(second, second, Positions.of([1, 4], 2, first.device))
    assert keys.shape[1] == 6
    torch.testing.assert_close(keys[0], torch.cat([first[0, :1], second[0], first[0, 3:]]))
    torch.testing.assert_close(keys[1], torch.cat([first[1, :4], second[1]]))


def test_packed_writes_touch_their_own_places_only() -> None:
    cache = LayerCache(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 4))
    first, second = torch.randn(2, 6, 1, 4), torch.randn(4, 1, 4)
    cache.write(first, first, Positions.of([0, 0], 6, first.device))
    keys, _ = cache.write(second, second, Positions.pack([1, 4], [1, 3], first.device))
    assert keys.shape[1] == 7
    torch.testing.assert_close(keys[0, :6], torch.cat([first[0, :1], second[:1], first[0, 2:]]))
    torch.testing.assert_close(keys[1], torch.cat([first[1, :4], second[1:]]))


@pytest.mark.parametrize("positions", ["sinusoidal", "relative"])
def test_a_packed_pass_scores_as_every_row_alone(positions: str) -> None:
    """Rows of one token, of many, from the beginning and after cached ones."""
    verifier = TransformerVerifier(tiny_network(5, positions=positions, decoder_layers=2))
    sources = [[4, 5, 6], [7, 8, 9, 10, 11], [12]]
    blocks = ([[1, 4, 5], [1], [1, 12]], [[6], [7, 8, 9, 20, 21], [30, 29]], [[3], [4], [5, 6]])
    starts = ([0, 0, 0], [3, 1, 1], [2, 6, 0])
    with torch.inference_mode():
        alone, packed = [verifier.start([source]) for source in sources], verifier.start(sources)
        for block, start in zip(blocks, starts, strict=True):
            want = [
                verifier.verify(memory, [tokens], [at]).raw
                for memory, tokens, at in zip(alone, block, start, strict=True)
            ]
            torch.testing.assert_close(verifier.verify(packed, block, start).raw, torch.cat(want))


def test_selected_rows_are_copies() -> None:
    """Hypotheses of one parent go different ways."""
    network = NETWORKS["pre"]
    verifier = TransformerVerifier(network)
    with torch.inference_mode():
        memory = verifier.start([[4, 5], [6]])
        verifier.verify(memory, [[BOS, 7], [BOS, 8]], [0, 0])
        memory = verifier.select(memory, [1, 0, 1])
        logits = verifier.verify(memory, [[9], [10], [11]], [2, 2, 2]).logits
        for r, (source, fed) in enumerate(
            (([6], [BOS, 8, 9]), ([4, 5], [BOS, 7, 10]), ([6], [BOS, 8, 11]))
        ):
            torch.testing.assert_close(
                logits[r, 0], fresh(network, source, fed)[-1], rtol=1e-5, atol=1e-5
            )
