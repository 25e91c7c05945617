"""CTranslate2's own decoder gives the network's tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from fake_models import tiny_network
from huggingface_models import TRAINED, random_model, sentences, trained_model
from huggingface_subwords import NumberSubwords
from tokenizers import Tokenizer

from gec.decoding.beam import BeamSearch
from gec.decoding.decoder import Decoder, Hypothesis, LengthLimit
from gec.errors import ConfigError, ModelError
from gec.models.convert.ctranslate2 import to_ctranslate2
from gec.models.convert.huggingface import network_from_huggingface
from gec.models.load import bundle
from gec.models.load.bundle import Bundle
from gec.models.load.verifiers import verifier
from gec.models.network.transformer import Transformer

LIMIT = 14
SOURCES = [*sentences(11, seed=777), [3, 3, 3, 3]]


def exported(network: Transformer, folder: Path, **how: Any) -> ctranslate2.Translator:
    made = Bundle("tiny", {}, network, NumberSubwords(network.config))
    to_ctranslate2(made, folder, **how)
    return ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=1)


def decode(network: Transformer, **how: Any) -> list[Hypothesis]:
    decoder = Decoder(verifier(network), limit=LengthLimit(0, LIMIT), **how)
    return [found[0] for found in decoder.decode(SOURCES)]


def translate(translator: ctranslate2.Translator, beam_size: int) -> list[Any]:
    tokens = [[str(i) for i in source] for source in SOURCES]
    found: list[Any] = translator.translate_batch(
        tokens,
        beam_size=beam_size,
        max_decoding_length=LIMIT,
        min_decoding_length=0,  # its default allows no empty output
        return_scores=True,
    )
    return found


RANDOM = ["bart", "mbart", "marian", "pegasus", "blenderbot", "m2m_100", "t5", "t5 1.1"]
MODELS = [pytest.param((random_model, kind), id=f"random {kind}") for kind in RANDOM]
MODELS += [pytest.param((trained_model, kind), id=f"trained {kind}") for kind in TRAINED]


@pytest.mark.parametrize("model", MODELS)
def test_the_families(model: tuple[Any, str], tmp_path: Path) -> None:
    make, kind = model
    network = network_from_huggingface(make(kind).save(tmp_path / "theirs"))
    found = translate(exported(network, tmp_path / "out"), beam_size=1)
    tokens = [tuple(map(int, result.hypotheses[0])) for result in found]
    assert tokens == [hypothesis.tokens for hypothesis in decode(network)]


def test_beam_scores(tmp_path: Path) -> None:
    network = network_from_huggingface(trained_model("bart").save(tmp_path / "theirs"))
    found = translate(exported(network, tmp_path / "out"), beam_size=4)
    expected = decode(network, acceptance=BeamSearch(4))
    pairs = zip(found, expected, strict=True)
    same = [(r, h) for r, h in pairs if tuple(map(int, r.hypotheses[0])) == h.tokens]
    assert len(same) >= len(SOURCES) - 2  # its beam search ends by another rule
    assert [r.scores[0] for r, _ in same] == pytest.approx([h.score for _, h in same], abs=1e-4)


@pytest.mark.parametrize("quantization", ["float32", "int8"])
def test_the_shipped_bundle(quantization: str, tmp_path: Path) -> None:
    loaded = bundle.load("en")
    before = {name: tensor.clone() for name, tensor in loaded.network.state_dict().items()}
    to_ctranslate2(loaded, tmp_path, quantization=quantization)
    for name, tensor in loaded.network.state_dict().items():
        assert torch.equal(tensor, before[name]), "the export changed the network"
    translator = ctranslate2.Translator(
        str(tmp_path), inter_threads=1, intra_threads=1, compute_type=quantization
    )
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    sentences = ["She go to school every day .", "I has a apple ."]
    sources = [loaded.subwords.encode(line.split()) for line in sentences]
    found = translator.translate_batch(
        [[tokenizer.id_to_token(i) for i in source] for source in sources], beam_size=1
    )
    ids = [tuple(map(tokenizer.token_to_id, result.hypotheses[0])) for result in found]
    expected = Decoder(verifier(loaded.network)).decode(sources)
    assert ids == [row[0].tokens for row in expected]
    assert loaded.subwords.decode(ids[0]) == "She goes to school every day .".split()


def test_what_is_refused(tmp_path: Path) -> None:
    network = tiny_network(3, norm="post", encoder_final_norm=True)
    with pytest.raises(ModelError, match="cannot express a final norm after post-norm layers"):
        exported(network, tmp_path)
    with pytest.raises(ConfigError, match="unknown quantization 'int3'"):
        exported(tiny_network(3), tmp_path, quantization="int3")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is not empty"):
        exported(tiny_network(3), tmp_path)
