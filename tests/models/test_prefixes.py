"""What a model's family puts before sources and outputs, in the loop's packed way."""

from __future__ import annotations

import random

import torch
from fake_models import BOS, tiny_network

from gec.decoding.decoder import Decoder
from gec.decoding.drafters.copy import CopyDrafter
from gec.decoding.model import PackedModel
from gec.models.engines.verifier import TransformerVerifier
from gec.models.load.prefixes import PackedPrefixed, Prefixed, prefixed, verifier


class Unpacked:
    """A model that pads, and nothing else."""

    def __init__(self, model: TransformerVerifier) -> None:
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self.max_positions = model.max_positions
        self.start, self.verify = model.start, model.verify
        self.select, self.join = model.select, model.join


def test_packed_and_padded_blocks_score_the_same() -> None:
    network = tiny_network(4, source_prefix=(5,), decoder_prefix=(7, 9), decoder_layers=2)
    model = verifier(network)
    assert isinstance(model, PackedModel)
    padded = prefixed(Unpacked(TransformerVerifier(network)), network.config)
    assert not isinstance(padded, PackedModel)
    rng = random.Random(1)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 12)]
    with torch.inference_mode():
        memories = model.start(sources), padded.start(sources)
        for starts, lengths in (([0, 0, 0], [4, 1, 6]), ([2, 1, 6], [1, 5, 2])):
            first = [[BOS] if start == 0 else [] for start in starts]
            blocks = [
                [*begin, *(rng.randrange(3, 29) for _ in range(n - len(begin)))]
                for begin, n in zip(first, lengths, strict=True)
            ]
            packed = model.verify_packed(memories[0], blocks, starts)
            logits = padded.verify(memories[1], blocks, starts)
            rows = [logits[r, :n] for r, n in enumerate(lengths)]
            torch.testing.assert_close(packed, torch.cat(rows))


def test_the_loop_takes_the_packed_way() -> None:
    """Rows of unequal drafts go packed through the prefixes; the output is the padded one's."""
    network = tiny_network(6, source_prefix=(5,), decoder_prefix=(2,)).float()
    inner = TransformerVerifier(network)
    calls = []

    class Counted(PackedPrefixed):
        def verify_packed(self, *args: object) -> torch.Tensor:
            calls.append(1)
            return super().verify_packed(*args)  # type: ignore[arg-type]

    rng = random.Random(2)
    sources = [[rng.randrange(3, 29) for _ in range(n)] for n in (7, 2, 12, 1)]
    packed, padded = (
        Decoder(kind(inner, (5,), (2,)), CopyDrafter()).decode(sources, batch_size=4)
        for kind in (Counted, Prefixed)
    )
    assert [row[0].tokens for row in packed] == [row[0].tokens for row in padded]
    assert calls
