"""What a model's family puts before sources and outputs."""

from __future__ import annotations

import random

import torch
from fake_models import BOS, tiny_network

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load.prefixes import Prefixed, prefixed
from gec.models.load.verifiers import verifier


def test_rows_of_a_ragged_block_score_as_each_alone() -> None:
    """Packed through the prefixes or alone behind ids that the prefixes stand for: the same."""
    network = tiny_network(4, source_prefix=(5,), decoder_prefix=(7, 9), decoder_layers=2)
    plain = TransformerVerifier(network)
    model = prefixed(plain, network.config)
    assert type(model) is type(verifier(network))
    rng = random.Random(1)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 12)]
    memory = model.start(sources)
    fed: list[list[int]] = [[], [], []]
    for starts, lengths in (([0, 0, 0], [4, 1, 6]), ([2, 1, 6], [1, 5, 2])):
        first = [[BOS] if start == 0 else [] for start in starts]
        blocks = [
            [*begin, *(rng.randrange(3, 29) for _ in range(n - len(begin)))]
            for begin, n in zip(first, lengths, strict=True)
        ]
        fed = [[*f[:start], *b] for f, start, b in zip(fed, starts, blocks, strict=True)]
        found = model.verify(memory, blocks, starts)
        for row, (source, tokens, start) in enumerate(zip(sources, fed, starts, strict=True)):
            alone = plain.verify(plain.start([[5, *source]]), [[7, 9, *tokens]], [0])
            ours = found.logits[row, : lengths[row]]  # type: ignore[attr-defined]
            torch.testing.assert_close(ours, alone.raw[2 + start :])


def test_rows_of_unequal_drafts_decode_as_each_alone() -> None:
    network = tiny_network(6, source_prefix=(5,), decoder_prefix=(2,)).float()
    decoder = Decoder(Prefixed(TransformerVerifier(network), (5,), (2,)), CopyDrafter())
    rng = random.Random(2)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 12, 1)]
    together, alone = (decoder.decode(sources, batch_size=size) for size in (4, 1))
    assert [row[0].tokens for row in together] == [row[0].tokens for row in alone]
