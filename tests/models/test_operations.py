"""Operation counts against torch's own counter, and against decoding."""

from __future__ import annotations

import pytest
import torch
from fake_models import tiny_network
from torch.utils.flop_counter import FlopCounterMode

from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.small_model import FixedLength, SmallModelDrafter
from gec.models.engines.operations import Counted, Operations, decoding, encoding
from gec.models.engines.verifier import TransformerVerifier

SETTINGS: dict[str, object] = {
    "encoder_layers": 2, "decoder_layers": 3, "width": 32, "ffn_width": 40, "vocab_size": 50,
}  # fmt: skip


def test_torch_counts_the_same() -> None:
    """Of the products; torch leaves out fused attention on a CPU, which is taken out here, too."""
    network = tiny_network(1, **SETTINGS)
    config, verifier = network.config, TransformerVerifier(network)
    sources = [[3] * 8, [4] * 8]
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        memory = verifier.start(sources)
    s, d = 9, config.width
    attention = 2 * config.encoder_layers * 4 * s * s * d
    assert counter.get_total_flops() in (
        encoding(config, [9, 9]).flops,
        encoding(config, [9, 9]).flops - attention,
    )
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        verifier.verify(memory, [[1, 5, 6]] * 2, [0, 0])
        verifier.verify(memory, [[7, 8]] * 2, [3, 3])
    blocks = (((0, 0), (3, 3)), ((3, 3), (2, 2)))
    whole = sum(decoding(config, [9, 9], starts, sizes).flops for starts, sizes in blocks)
    attention = 2 * config.decoder_layers * 4 * d * (3 * (3 + s) + 2 * (5 + s))
    assert counter.get_total_flops() in (whole, whole - attention)


def test_weights_are_read_once_for_a_whole_draft() -> None:
    config = tiny_network(1, **SETTINGS).config
    one = decoding(config, [9], [4], [1])
    five = decoding(config, [9], [4], [5])
    single = [decoding(config, [9], [4 + i], [1]) for i in range(5)]
    apart = sum(single, Operations())
    assert apart.passes == 5
    assert five.bytes < 2 * one.bytes < apart.bytes
    assert five.flops == pytest.approx(apart.flops, rel=0.05)
    assert five.intensity > 3 * apart.intensity
    assert decoding(config, [9], [4], [5], size=2).bytes == five.bytes / 2


def test_what_decoding_does_is_counted() -> None:
    large, small = tiny_network(1, **SETTINGS), tiny_network(2, width=16, vocab_size=50)
    sources = [[3, 4, 5], [6, 7]]
    limit = LengthLimit(0, 8)

    def counted(network: torch.nn.Module) -> Counted:
        return Counted(TransformerVerifier(network), network.config)  # type: ignore[arg-type]

    plain, verifier, drafter = counted(large), counted(large), counted(small)
    expected = Decoder(plain, limit=limit).decode(sources, batch_size=1)
    drafting = SmallModelDrafter(drafter, length=FixedLength(2))
    found = Decoder(verifier, drafting, limit=limit).decode(sources, batch_size=1)
    assert [f[0].tokens for f in found] == [f[0].tokens for f in expected]
    assert plain.total.passes == sum(len(f[0].steps) for f in expected)
    assert verifier.total.passes == sum(len(f[0].steps) for f in found)
    assert drafter.total.passes == sum(s.drafted for f in found for s in f[0].steps)
    assert verifier.total.flops > 0 < drafter.total.bytes < verifier.total.bytes
