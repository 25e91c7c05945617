"""The same tokens and scores in fairseq and here, in both directions.

These run where fairseq is installed: ``make test`` builds an environment for them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.models.convert.fairseq import (
    from_fairseq,
    network_from_fairseq,
    network_to_fairseq,
    to_fairseq,
)
from gec.models.convert.fairseq_peer import Peer, decode, make_generator
from gec.models.load.bundle import load, save
from gec.models.load.verifiers import verifier
from gec.models.network.transformer import Transformer, TransformerConfig

if "GEC_FAIRSEQ" not in os.environ:  # set where the environment must have it
    pytest.importorskip("fairseq", reason="fairseq has an environment of its own: make test")

from fake_fairseq import FAMILIES, TO_TRAIN, Toy, corrected, lead_to_the_end, sentences

# fairseq and what it needs were written for older versions of everything
pytestmark = pytest.mark.filterwarnings("ignore")

LONGEST = 20
LIMIT = LengthLimit(0, LONGEST)
WITH_EOS = LONGEST + 1  # fairseq always ends with one, ours stop at the limit


def ours(
    network: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    iad: bool = False,
    batch_size: int = 1,
) -> list[Hypothesis]:
    decoder = Decoder(verifier(network), CopyDrafter() if iad else None, limit=LIMIT)
    return [found[0] for found in decoder.decode(sources, batch_size=batch_size)]


def theirs(toy: Toy, rows: Sequence[Sequence[int]], beam: int, batch_size: int) -> dict[str, Any]:
    generator = make_generator([toy.model], toy.task, beam, WITH_EOS)
    return decode([toy.model], toy.task, generator, rows, batch_size)


def scored(
    network: Transformer, sources: Sequence[Sequence[int]], batch_size: int
) -> dict[int, Hypothesis]:
    """Return by sentence the best of beam search, where no hypothesis was cut at the limit.

    There fairseq puts an EOS, whose probability its score counts, and ours stop without one.
    """
    decoder = Decoder(verifier(network), None, BeamSearch(5), limit=LIMIT)
    found = decoder.decode(sources, batch_size=batch_size)
    whole = {n: h[0] for n, h in enumerate(found) if not any(one.truncated for one in h)}
    assert whole
    return whole


CASES = [(family, False) for family in FAMILIES] + [(family, True) for family in TO_TRAIN]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}{', trained' * case[1]}")
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    family, trained = request.param
    arch, options, joined = FAMILIES[family]
    made = Toy(tmp_path_factory.mktemp("toy"), arch, options, joined=joined)
    if trained:
        made.train()
    made.save(old_style=trained)
    return made


def test_decodes_as_fairseq(toy: Toy, tmp_path: Path) -> None:
    bundle = from_fairseq([toy.folder / "model.pt"], toy.folder, bpe="none")
    save(bundle, tmp_path / "bundle", dtype=torch.float32)
    bundle = load(str(tmp_path / "bundle"))
    network = bundle.network
    texts = sentences(8, seed=7)
    sources = [bundle.subwords.encode(words) for words in texts]
    rows = [toy.source_ids(words) for words in texts]

    for batch_size in (1, 8):
        greedy = theirs(toy, rows, 1, batch_size)
        expected = [toy.target_words(row) for row in greedy["outputs"]]
        for iad in (False, True):
            found = ours(network, sources, iad=iad, batch_size=batch_size)
            assert [bundle.subwords.decode(h.tokens) for h in found] == expected
        beam = theirs(toy, rows, 5, batch_size)
        for n, best in scored(network, sources, batch_size).items():
            assert bundle.subwords.decode(best.tokens) == toy.target_words(beam["outputs"][n])
            assert best.score == pytest.approx(beam["scores"][n], abs=1e-4)
    if toy.trained:  # a random one gets nothing right
        assert sum(a == corrected(words) for a, words in zip(expected, texts, strict=True)) >= 2


def test_goes_out_and_comes_back(toy: Toy, tmp_path: Path) -> None:
    bundle = from_fairseq([toy.folder / "model.pt"], toy.folder, bpe="none")
    to_fairseq(bundle, tmp_path / "out")
    back = from_fairseq([tmp_path / "out" / "model.pt"], tmp_path / "out")
    texts = sentences(8, seed=8)
    sources = [bundle.subwords.encode(words) for words in texts]
    assert [back.subwords.encode(words) for words in texts] == sources
    expected = [h.tokens for h in ours(bundle.network, sources, batch_size=8)]
    assert [h.tokens for h in ours(back.network, sources, batch_size=8)] == expected
    there = Peer(tmp_path / "out").decode(sources, 1, 8, WITH_EOS)
    assert [tuple(row) for row in there["outputs"]] == expected


NETWORKS = {
    "the shipped architecture": {},
    "learned positions": {"positions": "learned"},
    "post-norm": {"norm": "post", "activation": "gelu"},
    "fairseq's sinusoids": {"positions": "sinusoidal_tensor2tensor", "position_offset": 2},
    "untied": {"tie_embeddings": False},
    "norm of the embedding": {"embedding_norm": True, "scale_embedding": False},
    "no final norm of the decoder": {"decoder_final_norm": False},
    "an encoder of its own": {"source_vocab_size": 31, "decoder_heads": 4, "decoder_ffn_width": 24},
    "begins with EOS": {"bos_id": 2},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_ours_decodes_there(name: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    settings = {"vocab_size": 31, "width": 16, "heads": 2, "ffn_width": 32} | NETWORKS[name]
    config = TransformerConfig(encoder_layers=2, decoder_layers=2, max_positions=64, **settings)
    network = Transformer(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    last = network.decoder_norm
    if not isinstance(last, torch.nn.LayerNorm):
        layer = network.decoder[-1]
        last = layer.ffn.down if config.norm == "pre" else layer.ffn_residual.norm
    lead_to_the_end(network.output.weight, last, pad=0, eos=2)
    network_to_fairseq(network, tmp_path / "out")
    peer = Peer(tmp_path / "out")
    back = network_from_fairseq(tmp_path / "out" / "model.pt", tmp_path / "out")
    assert back.config.vocab_size == 31
    sources = [[3 + (7 * n + i) % 28 for i in range(n)] for n in range(1, 13)]
    for batch_size in (1, 6):
        expected = [list(h.tokens) for h in ours(network, sources, batch_size=batch_size)]
        there = peer.decode(sources, 1, batch_size, WITH_EOS)
        assert there["outputs"] == expected
        assert len(there["seconds"]) == len(sources) / batch_size
        assert [list(h.tokens) for h in ours(back, sources, iad=True)] == expected
        there = peer.decode(sources, 5, batch_size, WITH_EOS)
        for n, best in scored(network, sources, batch_size).items():
            assert there["outputs"][n] == list(best.tokens)
            assert there["scores"][n] == pytest.approx(best.score, abs=1e-4)


def test_the_shipped_bundle_decodes_there(tmp_path: Path) -> None:
    bundle = load("en")
    to_fairseq(bundle, tmp_path / "out")
    sample = Path("tests/data/learner_sample.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in sample.splitlines() if line.strip()][:4]
    sources = [bundle.subwords.encode(words) for words in lines]
    there = Peer(tmp_path / "out").decode(sources, 1, 4, LONGEST * 3 + 1)
    decoder = Decoder(verifier(bundle.network), CopyDrafter(), limit=LengthLimit(0, LONGEST * 3))
    assert there["outputs"] == [list(h[0].tokens) for h in decoder.decode(sources)]
