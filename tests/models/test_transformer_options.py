"""The options that make the network BART, T5, Marian or fairseq's: parts of them, one by one.

The whole families are compared with their own library in tests/models/convert/.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from fake_models import BOS, EOS, tiny_network

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.errors import ModelError
from gec.models.engines.verifier import TransformerVerifier, Verifier
from gec.models.load.prefixes import Prefixed
from gec.models.load.verifiers import verifier
from gec.models.network.transformer import (
    Transformer,
    TransformerConfig,
    relative_buckets,
    sinusoidal_positions,
)

OPTIONS: dict[str, dict[str, Any]] = {
    "T5": {
        "positions": "relative", "norm_type": "rms", "bias": False, "scale_attention": False,
        "scale_embedding": False, "gated": True, "activation": "gelu_tanh", "head_width": 5,
        "scale_output": True, "relative_buckets": 8, "relative_distance": 12, "bos_id": 0,
    },
    "BART": {
        "norm": "post", "positions": "learned", "embedding_norm": True, "scale_embedding": False,
        "output_bias": True, "activation": "gelu", "bos_id": 2,
    },
    "fairseq": {
        "positions": "sinusoidal_tensor2tensor", "position_offset": 2, "source_vocab_size": 29,
        "tie_embeddings": False, "decoder_final_norm": False, "decoder_heads": 2,
        "decoder_ffn_width": 20, "activation": "silu",
    },
    "Marian": {"norm": "post", "positions": "sinusoidal_halves", "encoder_final_norm": True},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_blocks_over_the_cache_equal_teacher_forcing(name: str) -> None:
    """Ragged rows, cut back and fed anew, score as a fresh computation does."""
    network = tiny_network(6, decoder_layers=2, **OPTIONS[name]).float()
    model, rng = TransformerVerifier(network), random.Random(1)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 20)]
    fed: list[list[int]] = [[], [], []]
    with torch.inference_mode():
        memory = model.start(sources)
        for starts in ([0, 0, 0], [3, 1, 5], [4, 4, 4], [6, 2, 9]):
            blocks = [[rng.randrange(3, 29) for _ in range(rng.randint(5, 9))] for _ in fed]
            logits = model.verify(memory, blocks, starts).logits
            for r, (source, start) in enumerate(zip(sources, starts, strict=True)):
                fed[r][start:] = blocks[r]
                whole = network(torch.tensor([[*source, EOS]]), torch.tensor([fed[r]]))[0]
                torch.testing.assert_close(
                    logits[r, : len(blocks[r])], whole[start:], rtol=1e-4, atol=1e-4
                )


@pytest.mark.parametrize("name", OPTIONS)
def test_drafts_change_nothing(name: str) -> None:
    model = verifier(tiny_network(6, **OPTIONS[name]).float())
    rng = random.Random(2)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 12)]
    greedy, drafted = (Decoder(model, d).decode(sources) for d in (None, CopyDrafter()))
    assert [row[0].tokens for row in drafted] == [row[0].tokens for row in greedy]


@pytest.mark.parametrize("both_ways", [True, False])
def test_relative_buckets(both_ways: bool) -> None:
    """Raffel et al. 2020, section 2.1, with whole numbers: 32 buckets up to distance 128.

    Of n buckets a side, n/2 hold one distance each; bucket n/2 + j begins at n/2 (256/n)^(2j/n).
    """
    config = TransformerConfig(vocab_size=9)
    distances = range(-200, 201)
    found = relative_buckets(torch.tensor(distances), config, both_ways=both_ways).tolist()
    side = 16 if both_ways else 32
    for distance, bucket in zip(distances, found, strict=True):
        steps = abs(distance) if both_ways else max(-distance, 0)
        exact = side // 2
        expected = steps
        if steps >= exact:
            log = math.log(steps / exact) / math.log(128 / exact)
            expected = min(side - 1, exact + math.floor(round(log * (side - exact), 6)))
        assert bucket == expected + (side if both_ways and distance > 0 else 0)


def test_sinusoids_of_other_families() -> None:
    """Marian: sin(p / 10000^(2i/d)), then all cosines; tensor2tensor: the last rate is 1e-4."""
    halves = sinusoidal_positions(40, 8, "sinusoidal_halves")
    tensor2tensor = sinusoidal_positions(40, 8, "sinusoidal_tensor2tensor")
    for place in (0, 1, 39):
        for i in range(4):
            angle = place / 10000 ** (2 * i / 8)
            assert halves[place, i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert halves[place, 4 + i] == pytest.approx(math.cos(angle), abs=1e-6)
            angle = place * 10000 ** (-i / 3)
            assert tensor2tensor[place, i] == pytest.approx(math.sin(angle), abs=1e-4)
            assert tensor2tensor[place, 4 + i] == pytest.approx(math.cos(angle), abs=1e-4)
    config = {"positions": "sinusoidal_halves", "position_offset": 2, "width": 8, "heads": 2}
    shifted = Transformer(
        TransformerConfig.from_dict({"vocab_size": 9, "max_positions": 20} | config)
    )
    torch.testing.assert_close(shifted.position_table, halves[2:22])


def test_prefixes() -> None:
    """They are as if the caller had put them there."""
    network = tiny_network(4)
    plain = TransformerVerifier(network)
    model = Prefixed(plain, [5, 6], [7, BOS, 9])
    source, tokens = [8, 10], [BOS, 11, 12]
    with torch.inference_mode():
        memory = model.start([source, [4]])
        found = model.verify(memory, [tokens, [BOS]], [0, 0]).logits[0]
        again = model.verify(model.select(memory, [0]), [[13]], [2]).logits[0]
        memory = plain.start([[5, 6, *source]])
        expected = plain.verify(memory, [[7, BOS, 9, *tokens, 13]], [0]).logits[0]
        torch.testing.assert_close(found, expected[3:6])
        expected = plain.verify(
            plain.start([[5, 6, *source]]), [[7, BOS, 9, BOS, 11, 13]], [0]
        ).logits
        torch.testing.assert_close(again, expected[0, -1:])
    assert model.max_positions == plain.max_positions - 3
    assert verifier(network).__class__ is Verifier


def test_files_of_the_plain_network_stay_as_they_were() -> None:
    plain = TransformerConfig(vocab_size=9)
    assert "gated" not in plain.to_dict()
    other = TransformerConfig(vocab_size=9, gated=True, source_prefix=(1, 2))
    values = other.to_dict()
    assert set(values) - set(plain.to_dict()) == {"gated", "source_prefix"}
    assert TransformerConfig.from_dict(values | {"source_prefix": [1, 2]}) == other


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm_type": "batch"}, "norm_type must be one of"),
        ({"positions": "rotary"}, "positions must be one of"),
        ({"source_vocab_size": 0}, "source_vocab_size must be a positive integer, not 0"),
        ({"source_vocab_size": 2}, "eos_id must lie between 0 and 1, not 2"),
        ({"head_width": "wide"}, "head_width must be a positive integer, not 'wide'"),
        ({"decoder_heads": 3}, "width 512 is not a multiple of decoder_heads 3"),
        ({"position_offset": -1}, "position_offset must be an integer of at least 0, not -1"),
        ({"norm_epsilon": 0}, "norm_epsilon must be above 0, not 0"),
        ({"source_prefix": (9,)}, "source_prefix must be ids between 0 and 8"),
        ({"decoder_prefix": "ab"}, "decoder_prefix must be ids between 0 and 8, not 'ab'"),
        ({"relative_buckets": 3}, "relative_buckets must be at least 4"),
        ({"relative_distance": 16}, "relative_distance more than half"),
    ],
)
def test_wrong_options(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        TransformerConfig.from_dict({"vocab_size": 9} | settings)
    assert "\n" not in str(caught.value)
