"""The aggressive loop on ONNX Runtime: the tokens of the network itself, ragged rows included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_models import tiny_network
from huggingface_models import sentences, trained_model

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, LengthLimit
from gec.decoding.drafters.copy import CopyDrafter
from gec.errors import ConfigError, ModelError
from gec.models.convert.huggingface import network_from_huggingface
from gec.models.convert.onnx import load_onnx, network_to_onnx, to_onnx
from gec.models.load import bundle
from gec.models.load.verifiers import verifier
from gec.models.network.transformer import Transformer

SOURCES = [*sentences(9, seed=777), [3, 3, 3, 3], []]
KINDS: dict[str, dict[str, Any]] = {
    "ours": {},
    "post-norm, learned positions": {"norm": "post", "positions": "learned"},
    "relative, RMS norm, gated, prefixes": {
        "positions": "relative",
        "norm_type": "rms",
        "bias": False,
        "scale_attention": False,
        "gated": True,
        "head_width": 5,
        "decoder_heads": 3,
        "scale_output": True,
        "source_prefix": (1,),
        "decoder_prefix": (4,),
    },
}


def network_of(kind: str, folder: Path) -> Transformer:
    if kind == "trained":
        return network_from_huggingface(trained_model("t5").save(folder))
    return tiny_network(5, vocab_size=14, decoder_layers=2, **KINDS[kind]).float()


@pytest.mark.parametrize("kind", [*KINDS, "trained"])
def test_the_loop_on_onnx_runtime(kind: str, tmp_path: Path) -> None:
    network = network_of(kind, tmp_path / "theirs")
    (tmp_path / "onnx").mkdir()
    network_to_onnx(network, tmp_path / "onnx")
    ours, theirs = verifier(network), load_onnx(tmp_path / "onnx", threads=1)
    assert (theirs.bos_id, theirs.eos_id) == (ours.bos_id, ours.eos_id)
    for size in (1, 4, len(SOURCES)):
        for how in ({}, {"drafter": CopyDrafter()}, {"acceptance": BeamSearch(3)}):
            expected, found = (
                Decoder(model, limit=LengthLimit(0, 12), **how).decode(SOURCES, batch_size=size)
                for model in (ours, theirs)
            )
            assert [[h.tokens for h in row] for row in found] == [
                [h.tokens for h in row] for row in expected
            ]
            for one, other in zip(found, expected, strict=True):
                assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)
                assert [len(h.steps) for h in one] == [len(h.steps) for h in other]


def test_ragged_blocks_after_rejected_drafts(tmp_path: Path) -> None:
    """Rows of different lengths, cut back and fed anew, score as in the network."""
    network = network_of("relative, RMS norm, gated, prefixes", tmp_path)
    network_to_onnx(network, tmp_path)
    models = verifier(network), load_onnx(tmp_path, threads=1)
    with torch.inference_mode():
        memories = [model.start([[5, 6, 7], [8]]) for model in models]
        for tokens, starts in (
            ([[1, 5, 6, 7], [1, 8]], [0, 0]),
            ([[9], [10, 11, 12]], [2, 1]),
            ([[3, 4], [5]], [3, 4]),
        ):
            expected, found = (
                model.verify(memory, tokens, starts).logits
                for model, memory in zip(models, memories, strict=True)
            )
            for row, block in enumerate(tokens):
                torch.testing.assert_close(
                    found[row, : len(block)], expected[row, : len(block)], rtol=1e-4, atol=1e-4
                )


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(ModelError, match="was not written by gec convert --to onnx"):
        load_onnx(tmp_path)
    config = tiny_network(5).config.to_dict()
    (tmp_path / "config.json").write_text(json.dumps({"format": "gec-onnx", "network": config}))
    with pytest.raises(ModelError, match="ONNX Runtime cannot load"):
        load_onnx(tmp_path)
    with pytest.raises(ConfigError, match="is not empty"):
        to_onnx(bundle.load("en"), tmp_path)
